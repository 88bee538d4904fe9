//! The readiness of this node, as returned by `/readyz`.
//!
//! Probes have their own connections and deadline, so that a slow, overloaded or silent database is reported without waiting
//! for it.

use std::time::Duration;

use punctual_boxed::boxed;
use punctual_model::Doubt;
use punctual_store::{StoreError, facts};

use crate::{Engine, EngineError};

/// How long a read may take, with all its waiting.
const READ: Duration = Duration::from_secs(4);
/// A write that takes longer means that intake is about to stand still.
const WRITE: Duration = Duration::from_secs(2);

/// Why a node cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    #[error("the database could not be read")]
    Reads(#[source] StoreError),
    #[error("the database did not answer a read within {} s", READ.as_secs())]
    ReadsSlowly,
    #[error("the database takes no writes")]
    Writes(#[source] StoreError),
    #[error("the database did not confirm a write within {} s", WRITE.as_secs())]
    WritesSlowly,
    #[error("nothing may be claimed: the time is in doubt")]
    Clock(#[source] Doubt),
}

impl Engine {
    /// Reads, and writes where that is asked too, as the engine does it.
    #[boxed]
    pub async fn readiness(&self, writes: bool) -> Result<(), NotReady> {
        match tokio::time::timeout(READ, self.probe_reads()).await {
            Ok(read) => read.map_err(NotReady::Reads)?,
            Err(_) => return Err(NotReady::ReadsSlowly),
        }
        if let Some(doubt) = self.doubt() {
            return Err(NotReady::Clock(doubt));
        }
        if writes {
            match tokio::time::timeout(WRITE, self.probe_writes()).await {
                Ok(written) => written.map_err(NotReady::Writes)?,
                Err(_) => return Err(NotReady::WritesSlowly),
            }
        }
        Ok(())
    }

    /// Why the time is not good enough to claim anything: of half a lease a node must know that it judges as the others do.
    pub fn doubt(&self) -> Option<Doubt> {
        self.clock.doubt(self.config.lease / 2)
    }

    /// Asked before every claim and every sweep.
    pub(crate) fn check_clock(&self) -> Result<(), EngineError> {
        self.doubt().map_or(Ok(()), |doubt| Err(EngineError::Clock(doubt)))
    }

    async fn probe_reads(&self) -> Result<(), StoreError> {
        let mut reader = self.store.probe().await?;
        facts::get(&mut reader.conn(), "ready").await.map(drop)
    }

    async fn probe_writes(&self) -> Result<(), StoreError> {
        let mut tx = self.store.begin_probe().await?;
        facts::put(&mut tx.conn(), self.clock.now(), "ready", &self.config.node).await?;
        tx.commit().await
    }
}
