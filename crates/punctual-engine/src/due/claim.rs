//! Claiming rows ahead of their decision, with a lease.

use jiff::Timestamp;
use punctual_store::{Lane, work};

use super::Batch;
use crate::{Engine, EngineError, config::later};

impl Engine {
    /// Claims rows of one kind that are ready at `ready_by`; one row only where the kind is long-running.
    pub(crate) async fn claim(
        &self,
        kind: &str,
        now: Timestamp,
        ready_by: Timestamp,
        limit: i64,
    ) -> Result<Option<Batch>, EngineError> {
        let Some(workflow) = self.workflows.get(kind) else { return Ok(None) };
        let limit = if workflow.is_long_running() { 1 } else { limit.min(self.config.batch) };
        let mut tx = self.store.begin(Lane::Intake).await?;
        let rows = work::claim(&mut tx, kind, ready_by, later(now, self.config.lease), limit).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        tx.commit().await?;
        self.metrics.claimed(rows.len());
        Ok(Some(Batch { workflow: workflow.clone(), rows }))
    }
}
