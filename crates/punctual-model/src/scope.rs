//! What a key may be used for.

use serde::{Deserialize, Serialize};

/// What a key may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Everything, keys and channels included.
    Admin,
    /// Retry, discard, release, cancel; the scheduler's tick.
    Operate,
    /// Lists, templates, schedules, messages, and what else people write.
    Author,
    /// Events, sources, notifications.
    Ingest,
    /// Send notifications and messages, now or later, and look at what keys of the same client sent.
    Send,
    /// Look at everything, change nothing.
    Read,
    /// Hand over the notifications of one site.
    Site,
}

impl Scope {
    pub const ALL: [Self; 7] =
        [Self::Admin, Self::Operate, Self::Author, Self::Ingest, Self::Send, Self::Read, Self::Site];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operate => "operate",
            Self::Author => "author",
            Self::Ingest => "ingest",
            Self::Send => "send",
            Self::Read => "read",
            Self::Site => "site",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }

    /// The scopes of a key as they are stored, with a space between them; words that are none are left out.
    pub fn read_all(stored: &str) -> Vec<Self> {
        stored.split(' ').filter_map(Self::parse).collect()
    }

    /// The other way round.
    pub fn stored(scopes: &[Self]) -> String {
        scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_have_one_spelling() {
        for scope in Scope::ALL {
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
            assert_eq!(Scope::parse(scope.as_str()), Some(scope));
        }
        assert_eq!(Scope::read_all(&Scope::stored(&Scope::ALL)), Scope::ALL);
        assert_eq!(Scope::read_all("read root"), [Scope::Read]);
    }
}
