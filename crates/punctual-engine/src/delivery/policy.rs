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
use punctual_model::{NotificationEvent, ReasonCode};
use punctual_store::notifications::{Delivery, NotificationRow};

pub(super) use claim_budget::Reservation;
pub(super) use digest::digested;

/// A delivery that waits until then, for a reason that people see; it is not counted as a failure.
pub(super) fn deferred(row: &NotificationRow, until: Timestamp, reason: ReasonCode) -> Delivery {
    Delivery { reason: Some(reason), ..postponed(row, until) }
}

/// The same without a reason: it goes on then.
pub(super) fn postponed(row: &NotificationRow, until: Timestamp) -> Delivery {
    Delivery { retry_at: Some(until), ..row.after(NotificationEvent::Requeue) }
}
