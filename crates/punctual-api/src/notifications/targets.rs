//! The outcome of each target: the latest attempt, the receipt, and skipped targets.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_model::ReceiptState;
use punctual_store::{
    Conn, StoreError,
    attempts::{self, AttemptRow},
    receipts::{self, ReceiptRow},
    skipped_targets::{self, SkippedTarget},
};
use punctual_wire::notifications::{ResolvedTarget, TargetReceipt};

/// What is stored about the targets of some notifications.
pub struct Ends {
    attempts: Vec<AttemptRow>,
    skipped: Vec<SkippedTarget>,
    receipts: Vec<ReceiptRow>,
}

impl Ends {
    pub async fn of(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<Self, StoreError> {
        Ok(Self {
            attempts: attempts::of(conn, seqs.clone()).await?,
            skipped: skipped_targets::of(conn, seqs.clone()).await?,
            receipts: receipts::of(conn, seqs).await?,
        })
    }

    /// When the latest attempt began. A claim that came to none, because a limit or an hour was in the way, is no attempt.
    pub fn last_attempt_at(&self, seq: i64) -> Option<Timestamp> {
        let own = self.attempts.iter().filter(|one| one.notification_seq == seq);
        own.map(|one| one.started_at).max()
    }

    /// Each target of a notification, in the order of their first attempts; then those that were left out.
    pub fn targets(&self, seq: i64) -> Result<Vec<ResolvedTarget>, StoreError> {
        let mut targets: Vec<ResolvedTarget> = Vec::new();
        for one in self.attempts.iter().filter(|one| one.notification_seq == seq) {
            let latest = self.tried(one)?;
            match targets.iter_mut().find(|target| target.address == one.target) {
                Some(target) => *target = latest,
                None => targets.push(latest),
            }
        }
        for one in self.skipped.iter().filter(|one| one.notification_seq == seq) {
            let left_out = ResolvedTarget {
                address: one.target.clone(),
                outcome: Some(Cow::Owned(one.reason.clone())),
                message_id: None,
                at: Some(one.at),
                confirmed_at: None,
                receipt: None,
            };
            match targets.iter_mut().find(|target| target.address == one.target) {
                // Tried again since, by a person who took it off the list.
                Some(target) if target.at > left_out.at => {}
                Some(target) => *target = left_out,
                None => targets.push(left_out),
            }
        }
        Ok(targets)
    }

    fn tried(&self, one: &AttemptRow) -> Result<ResolvedTarget, StoreError> {
        let receipt = self.receipts.iter().find(|receipt| {
            receipt.notification_seq == Some(one.notification_seq)
                && receipt.target.as_ref() == Some(&one.target)
                && receipt.attempt == Some(one.n)
        });
        let reported = receipt.map(|row| TargetReceipt {
            state: ReceiptState::of_rank(row.rank).map_or("unknown", ReceiptState::as_str).into(),
            code: row.code.clone(),
            detail: row.detail.clone(),
            failed_at: row.failed_at,
            received_at: row.received_at,
        });
        Ok(ResolvedTarget {
            address: one.target.clone(),
            outcome: one.outcome.map(|outcome| Cow::Borrowed(outcome.as_str())),
            message_id: one.provider_id.clone(),
            at: Some(one.finished_at.unwrap_or(one.started_at)),
            confirmed_at: receipt.and_then(|row| row.confirmed_at),
            receipt: reported,
        })
    }
}
