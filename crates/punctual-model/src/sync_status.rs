//! Whether what a rule of operations wants is scheduled.

/// How far a rule and its schedule agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncStatus {
    /// The rule has changed, and its schedule follows.
    Pending,
    Synced,
    /// Its schedule could not be written; it is retried.
    Failed,
}

impl SyncStatus {
    pub const ALL: [Self; 3] = [Self::Pending, Self::Synced, Self::Failed];

    /// As it is stored, and as the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Synced => "synced",
            Self::Failed => "failed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}
