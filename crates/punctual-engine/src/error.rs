//! What can go wrong in the engine. Business outcomes are not errors; they are reason codes.

use punctual_model::Doubt;
use punctual_store::StoreError;

use crate::{audit_chain::ChainFault, due::chain};

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
    #[error(transparent)]
    AuditChain(#[from] ChainFault),
    #[error("panicked: {0}")]
    Panicked(String),
    #[error(transparent)]
    Outage(#[from] Outage),
}

/// The database failed for several requests at once; each of them gets this.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the storage failed for several requests at once: {why}")]
pub struct Outage {
    why: String,
    /// Whether it failed while it committed.
    pub may_be_stored: bool,
}

impl Outage {
    pub(crate) fn of(error: &EngineError) -> Self {
        let may_be_stored = matches!(error, EngineError::Store(StoreError::Commit(_)));
        Self { why: chain(error), may_be_stored }
    }
}

impl From<&Outage> for EngineError {
    fn from(outage: &Outage) -> Self {
        outage.clone().into()
    }
}

impl EngineError {
    /// Whether the database was gone or took no writes: no row is at fault, and none should pay for it.
    pub fn is_of_the_server(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_of_the_server())
    }

    /// Whether the database or its clock is at fault and no row: the same may work a little later.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Store(error) => error.is_unavailable(),
            Self::Clock(_) | Self::Outage(_) => true,
            Self::Stopping
            | Self::NotFound
            | Self::StateNotAllowed { .. }
            | Self::AuditChain(_)
            | Self::Panicked(_) => false,
        }
    }
}
