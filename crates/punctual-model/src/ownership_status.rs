//! The delivery status of an owned run.

/// The status of an ownership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnershipStatus {
    /// Taken, and nothing delivered yet.
    Owned,
    DeliveryCreated,
    /// Given back: the run may be taken again.
    Cancelled,
}

impl OwnershipStatus {
    pub const ALL: [Self; 3] = [Self::Owned, Self::DeliveryCreated, Self::Cancelled];

    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owned => "owned",
            Self::DeliveryCreated => "delivery_created",
            Self::Cancelled => "cancelled",
        }
    }

    /// As the API spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Owned => "owned",
            Self::DeliveryCreated => "deliveryCreated",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}
