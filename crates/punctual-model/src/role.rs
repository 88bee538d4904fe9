//! Roles of people in the console; each role is a set of scopes.

use crate::Scope;

/// What a person may do. Each role may do all that the one before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Looks at everything and changes nothing.
    Viewer,
    /// Retries, discards, releases and cancels.
    Operator,
    /// Writes definitions too.
    Author,
    /// Everything, channels, keys and people included.
    Admin,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Operator, Self::Author, Self::Admin];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Author => "author",
            Self::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }

    /// The scopes that a key with the same rights has.
    pub fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Viewer => &[Scope::Read],
            Self::Operator => &[Scope::Operate, Scope::Read],
            Self::Author => &[Scope::Operate, Scope::Author, Scope::Read],
            Self::Admin => &[Scope::Admin, Scope::Operate, Scope::Author, Scope::Ingest, Scope::Read],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_have_one_spelling_and_each_may_do_what_the_one_before_may() {
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("root"), None);
        for pair in Role::ALL.windows(2) {
            assert!(pair[0] < pair[1]);
            assert!(pair[0].scopes().iter().all(|scope| pair[1].scopes().contains(scope)), "{pair:?}");
            assert!(pair[0].scopes().len() < pair[1].scopes().len(), "{pair:?}");
        }
    }
}
