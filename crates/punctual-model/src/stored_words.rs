//! Enums for stored values, with one spelling per variant, so that an unknown value does not compile.

use serde::{Deserialize, Serialize};

/// Declares such enums: the words as they are stored, and as the API spells them.
macro_rules! stored_words {
    ($($(#[$about:meta])* $name:ident { $($(#[$says:meta])* $word:ident = $text:literal),+ $(,)? })+) => { $(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$says])* #[serde(rename = $text)] $word),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$word),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text),+ }
            }

            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$word),)+ _ => None }
            }
        }
    )+ };
}

stored_words! {
    /// Which date of an event or task a rule goes by.
    Anchor {
        Start = "start",
        End = "end",
    }

    /// How far a rule of operations and its schedule agree.
    SyncStatus {
        /// The rule has changed, and its schedule follows.
        Pending = "pending",
        Synced = "synced",
        /// Its schedule could not be written; it is retried.
        Failed = "failed",
    }

    /// What became of a run of a report, in one word for figures.
    RunOutcome {
        Delivered = "delivered",
        /// Another scheduler makes it; this one says only what it would have made.
        Shadow = "shadow",
        Skipped = "skipped",
        Retrying = "retrying",
        Failed = "failed",
        /// Somebody else owns it.
        Conflict = "conflict",
    }

    /// How a consumer of events is on one node.
    ConsumerLink {
        Connecting = "connecting",
        Connected = "connected",
        Disconnected = "disconnected",
    }

    /// How far an erasure of a person is.
    ErasureStatus {
        Planned = "planned",
        Done = "done",
        /// Rows that were in use are left; it is asked for again.
        Incomplete = "incomplete",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_back() {
        for word in RunOutcome::ALL {
            assert_eq!(RunOutcome::parse(word.as_str()), Some(*word));
        }
        assert_eq!(ErasureStatus::parse("done"), Some(ErasureStatus::Done));
        assert_eq!((SyncStatus::parse("lost"), ConsumerLink::parse("")), (None, None));
    }
}
