//! Delivery receipts of providers. Accepting a message and delivering it are separate facts.

use jiff::Timestamp;

use crate::suppression::SuppressionReason;

/// How far a message got, as its provider knows. A later receipt only ever adds: the order is that of what is worth more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReceiptState {
    /// The provider took it and nothing more is known.
    Accepted,
    /// It is on its way.
    Sent,
    /// It arrived.
    Delivered,
    /// Somebody opened it.
    Read,
    /// It did not arrive, or came back, and will not be retried by the provider.
    Failed,
    /// Its reader called it spam.
    Complained,
}

impl ReceiptState {
    pub const ALL: [Self; 6] =
        [Self::Accepted, Self::Sent, Self::Delivered, Self::Read, Self::Failed, Self::Complained];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Sent => "sent",
            Self::Delivered => "delivered",
            Self::Read => "read",
            Self::Failed => "failed",
            Self::Complained => "complained",
        }
    }

    /// Its place in the order, as it is stored.
    pub fn rank(self) -> i64 {
        match self {
            Self::Accepted => 0,
            Self::Sent => 1,
            Self::Delivered => 2,
            Self::Read => 3,
            Self::Failed => 4,
            Self::Complained => 5,
        }
    }

    pub fn of_rank(rank: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.rank() == rank)
    }

    /// Whether it says that the message arrived. Who complains has it.
    pub fn confirms(self) -> bool {
        matches!(self, Self::Delivered | Self::Read | Self::Complained)
    }
}

/// One report of a provider about one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The provider's id of the message.
    pub message_id: String,
    pub state: ReceiptState,
    /// When it happened, where the provider says so.
    pub at: Option<Timestamp>,
    /// The provider's own code and words for a failure.
    pub code: Option<String>,
    pub detail: Option<String>,
    /// What it means for the address, if anything.
    pub suppress: Option<SuppressionReason>,
}

impl Receipt {
    pub fn new(message_id: impl Into<String>, state: ReceiptState) -> Self {
        Self { message_id: message_id.into(), state, at: None, code: None, detail: None, suppress: None }
    }
}

/// A call of a provider, as received.
#[derive(Clone, Copy)]
pub struct Callback<'a> {
    /// Only a GET asks whether the address is ours; receipts come with a POST.
    pub is_get: bool,
    /// The part after the `?`, as it was sent.
    pub query: &'a str,
    /// The last part of the address, for providers that sign nothing.
    pub path_secret: Option<&'a str>,
    pub header: &'a (dyn Fn(&str) -> Option<String> + Sync),
    pub body: &'a [u8],
    /// Wall time, against which signatures grow old.
    pub at: Timestamp,
}

/// What is to be done with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackTaken {
    Receipts(Vec<Receipt>),
    /// The provider expects this text.
    Answer(String),
}

/// Why a call is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackFault {
    #[error("the channel takes no callbacks")]
    NotTaken,
    #[error("the signature does not match")]
    Signature,
    #[error("the signature is too old")]
    Stale,
    #[error("the body cannot be read: {0}")]
    Unreadable(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_states_is_that_of_their_ranks() {
        for pair in ReceiptState::ALL.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].rank() + 1 == pair[1].rank());
        }
        for state in ReceiptState::ALL {
            assert_eq!(ReceiptState::of_rank(state.rank()), Some(state));
        }
        assert_eq!(ReceiptState::of_rank(6), None);
    }
}
