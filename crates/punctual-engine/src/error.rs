//! What can go wrong in the engine. Business outcomes are not errors; they are reason codes.

use punctual_model::Doubt;
use punctual_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the store failed")]
    Store(#[from] StoreError),
    #[error("the engine is stopping and takes nothing more")]
    Stopping,
    #[error("no such id")]
    NotFound,
    /// What was asked does not fit the state the row is in.
    #[error("{subject} is {state}; {allowed}")]
    StateNotAllowed { subject: &'static str, state: String, allowed: &'static str },
    /// Nothing may be claimed, and no lease judged.
    #[error("the time is in doubt")]
    Clock(#[source] Doubt),
    #[error("panicked: {0}")]
    Panicked(String),
}

impl EngineError {
    /// Whether the database or its clock is at fault and no row: the same may work a little later.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Store(error) => error.is_unavailable(),
            Self::Clock(_) => true,
            Self::Stopping | Self::NotFound | Self::StateNotAllowed { .. } | Self::Panicked(_) => false,
        }
    }
}
