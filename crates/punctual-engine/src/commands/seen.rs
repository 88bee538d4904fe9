//! The version of a definition that a caller saw before replacing it.

use super::CommandError;

/// What the caller has seen of what they replace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seen {
    /// They did not look: whatever is there is replaced.
    #[default]
    Anything,
    /// Nothing: it is meant to be new.
    Nothing,
    /// This version; where there is no number, the time of its last change.
    Version(i64),
}

impl Seen {
    /// That what is stored now is what was seen.
    pub fn check(self, stored: Option<i64>, id: &str) -> Result<(), CommandError> {
        match (self, stored) {
            (Self::Anything, _) | (Self::Nothing, None) => Ok(()),
            (Self::Nothing, Some(_)) => Err(CommandError::taken(id)),
            (Self::Version(seen), Some(stored)) if seen == stored => Ok(()),
            (Self::Version(_), _) => Err(CommandError::Stale),
        }
    }

    /// Nobody wrote between the read and this write, which gave the definition this number.
    pub fn check_written(self, written: i64) -> Result<(), CommandError> {
        match self {
            Self::Anything => Ok(()),
            Self::Nothing if written == 1 => Ok(()),
            Self::Version(seen) if written == seen + 1 => Ok(()),
            Self::Nothing | Self::Version(_) => Err(CommandError::Stale),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_seen_is_replaced() {
        assert!(Seen::Anything.check(Some(7), "a").is_ok());
        assert!(Seen::Nothing.check(None, "a").is_ok());
        assert!(matches!(Seen::Nothing.check(Some(1), "a"), Err(CommandError::IdReused { .. })));
        assert!(Seen::Version(2).check(Some(2), "a").is_ok());
        for stored in [None, Some(1), Some(3)] {
            assert!(matches!(Seen::Version(2).check(stored, "a"), Err(CommandError::Stale)));
        }
        assert!(Seen::Version(2).check_written(3).is_ok() && Seen::Nothing.check_written(1).is_ok());
        assert!(Seen::Version(2).check_written(4).is_err() && Seen::Nothing.check_written(2).is_err());
    }
}
