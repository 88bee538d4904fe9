//! Retries all parked deliveries of a subscriber that was unreachable.

use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{Lane, audit, notifications, subscribers};
use serde_json::json;

use super::{Actor, CommandError, causes::follow_retry};
use crate::{Engine, channels::subscriber_channel};

/// Rows of one transaction.
const BATCH: i64 = 500;
/// The maximum number of rows per command; callers repeat the command for more.
const AT_ONCE: usize = 10_000;

/// What a retry of all came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetriedAll {
    pub retried: usize,
    /// Deliveries that are still parked.
    pub remaining: i64,
}

impl Engine {
    /// Retries the deliveries of one subscriber that were given up, oldest first, in batches that each commit. Every one is
    /// in the audit, and the subscriber once for each batch, with the reason that was given.
    #[boxed]
    pub async fn retry_subscriber(&self, by: &Actor, key: &str) -> Result<RetriedAll, CommandError> {
        let channel = subscriber_channel(key);
        let now = self.clock.now();
        let (mut done, mut after) = (RetriedAll::default(), 0);
        let missing = || CommandError::not_found("subscriber", key);
        let mut reader = self.store.read().await?;
        subscribers::get(&mut reader.conn(), key).await?.ok_or_else(missing)?;
        drop(reader);
        // By number and never back: what is given up again at once waits for the next command.
        while done.retried < AT_ONCE {
            let mut tx = self.store.begin(Lane::Intake).await?;
            let rows = notifications::retry_of_channel(&mut tx.conn(), now, &channel, after, BATCH).await?;
            let Some(last) = rows.iter().map(|row| row.seq).max() else { break };
            after = last;
            done.retried += rows.len();
            follow_retry(&mut tx, by, now, &rows).await?;
            let entry = audit::Entry {
                data: Some(json!({ "retried": rows.len() }).to_string()),
                ..audit::Entry::new(AuditAction::Retry, "subscriber", key, None)
            };
            by.audit_entry(&mut tx, now, entry).await?;
            tx.commit().await?;
        }
        let mut reader = self.store.read().await?;
        let left = notifications::parked_of_channels(&mut reader.conn(), vec![channel]).await?;
        done.remaining = left.first().map_or(0, |count| count.parked);
        Ok(done)
    }
}
