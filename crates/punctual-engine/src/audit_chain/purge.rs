//! Purges the audit log if a retention time is set: removes a sealed prefix and keeps the signed digest of the last removed
//! entry as the checkpoint for verification.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{
    Lane,
    audit::{self, ChainRow},
    retention::Window,
};

use super::{erase::AUDIT, signed};
use crate::{Engine, EngineError};

/// Entries that one transaction removes at most.
const AT_ONCE: i64 = 2_000;

impl Engine {
    /// Removes sealed entries that are past their time; returns how many. Without a time, none is.
    #[boxed]
    pub async fn purge_audit(&self, now: Timestamp) -> Result<u64, EngineError> {
        let windows = self.windows().await?;
        let Some(before) = windows.before(Window::Audit, now) else { return Ok(0) };
        let mut removed = 0;
        loop {
            let batch = self.purge_audit_batch(now, before).await?;
            if batch == 0 {
                return Ok(removed);
            }
            removed += batch;
        }
    }

    async fn purge_audit_batch(&self, now: Timestamp, before: Timestamp) -> Result<u64, EngineError> {
        let mut tx = self.store.begin(Lane::Claim).await?;
        let chain = audit::lock_chain(&mut tx.conn()).await?;
        let (from, to) = (chain.start_id, chain.head_id);
        let rows = audit::entries_after(&mut tx.conn(), from, to, AT_ONCE).await?;
        // Only what stands in front of the first entry that is kept: the chain stays whole.
        let Some(last) = rows.iter().take_while(|row| row.at < before).last().map(|row| row.id) else {
            return Ok(0);
        };
        self.check_chain(&mut tx.conn(), &chain).await?;
        let seal = audit::seals_after(&mut tx.conn(), last - 1, last, 1).await?;
        let Some(seal) = seal.into_iter().next() else { return Ok(0) };
        let chain = ChainRow {
            start_id: last,
            start_position: seal.position,
            start_digest: seal.digest.clone(),
            ..chain
        };
        audit::move_chain(&mut tx.conn(), &signed(&self.vault, chain)).await?;
        let removed = audit::remove_up_to(&mut tx.conn(), last).await?;
        let data = serde_json::json!({ "removed": removed, "upTo": last, "digest": seal.digest });
        let entry = audit::Entry {
            data: Some(data.to_string()),
            ..audit::Entry::new(AuditAction::Purge, AUDIT, last, None)
        };
        audit::append(&mut tx.conn(), now, &[entry]).await?;
        tx.commit().await?;
        Ok(removed)
    }
}
