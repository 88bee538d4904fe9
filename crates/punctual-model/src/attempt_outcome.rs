//! The recorded outcome of one call for one target.

use crate::SendOutcome;

/// The recorded result of an attempt; an attempt without one is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    Delivered,
    /// It may work later.
    Transient,
    /// It will not work later either.
    Permanent,
    /// It may or may not have arrived.
    Uncertain,
}

impl AttemptOutcome {
    pub const ALL: [Self; 4] = [Self::Delivered, Self::Transient, Self::Permanent, Self::Uncertain];

    /// As it is stored, and as the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Uncertain => "uncertain",
        }
    }

    /// As people read it.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Delivered => "accepted",
            Self::Transient => "failed for now",
            Self::Permanent => "refused",
            Self::Uncertain => "uncertain",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

impl From<&SendOutcome> for AttemptOutcome {
    fn from(outcome: &SendOutcome) -> Self {
        match outcome {
            SendOutcome::Delivered { .. } => Self::Delivered,
            SendOutcome::Transient { .. } => Self::Transient,
            SendOutcome::Permanent { .. } => Self::Permanent,
            SendOutcome::Uncertain { .. } => Self::Uncertain,
        }
    }
}
