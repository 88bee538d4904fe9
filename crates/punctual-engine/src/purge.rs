//! The daily purge: terminal notifications past their window go, in small batches, and leave a tombstone.

use jiff::Timestamp;
use punctual_store::{Lane, facts, idempotency, notifications};
use serde::{Deserialize, Serialize};

use crate::{Engine, EngineError, config::earlier};

/// The name under which the last run is remembered.
const FACT: &str = "purge.last";

/// What a purge did, and when; kept so that people can see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PurgeReport {
    pub at: Timestamp,
    pub removed: usize,
    pub keep_for_days: u64,
}

impl Engine {
    /// Removes everything that is past its window.
    pub async fn purge(&self, now: Timestamp) -> Result<PurgeReport, EngineError> {
        let finished_before = earlier(now, self.config.keep_for);
        let mut removed = 0;
        loop {
            let mut tx = self.store.begin(Lane::Intake).await?;
            let batch =
                notifications::purge(&mut tx.conn(), now, finished_before, self.config.purge_batch).await?;
            tx.commit().await?;
            removed += batch.notifications;
            if batch.notifications == 0 {
                break;
            }
        }
        let report = PurgeReport { at: now, removed, keep_for_days: self.config.keep_for.as_secs() / 86_400 };
        let mut tx = self.store.begin(Lane::Intake).await?;
        idempotency::forget(&mut tx.conn(), earlier(now, self.config.remember_for)).await?;
        let text = serde_json::to_string(&report).unwrap_or_default();
        facts::put(&mut tx.conn(), now, FACT, &text).await?;
        tx.commit().await?;
        tracing::info!(removed, "purged");
        Ok(report)
    }

    /// What the last purge did, if there was one.
    pub async fn last_purge(&self) -> Result<Option<PurgeReport>, EngineError> {
        let mut reader = self.store.read().await?;
        let fact = facts::get(&mut reader.conn(), FACT).await?;
        Ok(fact.and_then(|text| serde_json::from_str(&text).ok()))
    }
}
