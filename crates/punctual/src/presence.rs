//! This node among the others: it reports itself, and finds out when the database asks for a newer program.

use std::time::Duration;

use jiff::SignedDuration;
use punctual_engine::{Engine, EngineError, Identity};
use punctual_store::StoreError;

use crate::config::Role;

/// How often a node reports itself.
const EVERY: SignedDuration = SignedDuration::from_secs(5);
/// How long a node that stops waits to say so.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Reports the node for as long as it may run.
pub struct Presence {
    engine: Engine,
    identity: Identity,
}

impl Presence {
    /// Reports the node for the first time.
    pub async fn start(engine: &Engine, role: Role) -> Result<Self, EngineError> {
        let identity = Identity {
            version: env!("CARGO_PKG_VERSION"),
            role: role.as_str(),
            started_at: engine.clock.now(),
        };
        engine.report_node(&identity).await?;
        Ok(Self { engine: engine.clone(), identity })
    }

    /// Reports the node again and again; ends when it must stop, with why.
    pub async fn until_too_old(&self) -> StoreError {
        loop {
            self.engine.clock.sleep_until(self.engine.clock.now() + EVERY).await;
            match self.engine.report_node(&self.identity).await {
                Ok(()) => {}
                Err(EngineError::Store(error @ StoreError::ProgramTooOld { .. })) => return error,
                Err(error) => tracing::debug!(%error, "the node could not record its presence"),
            }
        }
    }

    /// Says that the node stops in order, if the database listens.
    pub async fn leave(&self) {
        if let Ok(Err(error)) = tokio::time::timeout(LAST_WORDS, self.engine.leave_nodes()).await {
            tracing::debug!(%error, "the node could not record its shutdown");
        }
    }
}
