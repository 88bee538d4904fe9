//! The delivery policy, applied when messages are sent.
//!
//! [`claim_budget`] runs before the claim: how many rows may be claimed, and how urgent they must be. [`apply`] runs after
//! the plan: who is left out, who waits, who gets a digest. [`failover`] runs after a failure. The decisions are pure
//! functions; nothing is read where nothing is configured.

mod apply;
pub(super) mod circuit;
pub(super) mod claim_budget;
mod digest;
pub(super) mod failover;
mod people;

use jiff::Timestamp;
use punctual_model::ReasonCode;
use punctual_store::notifications::{ClaimedNotification, Delivery};

pub(super) use claim_budget::Reservation;

/// A delivery that waits until then, for a reason that people see; it is not counted as a failure.
pub(super) fn deferred(row: &ClaimedNotification, until: Timestamp, reason: ReasonCode) -> Delivery {
    Delivery { reason: Some(reason.into()), ..postponed(row, until) }
}

/// The same without a reason: it goes on then.
pub(super) fn postponed(row: &ClaimedNotification, until: Timestamp) -> Delivery {
    Delivery {
        seq: row.seq,
        token: row.version,
        status: if row.retry_count == 0 { "pending" } else { "retrying" },
        retry_count: row.retry_count,
        last_error: None,
        reason: None,
        retry_at: Some(until),
        channel: None,
    }
}
