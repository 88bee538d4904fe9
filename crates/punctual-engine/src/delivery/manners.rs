//! Manners at the moment of sending: under which terms a channel is claimed, and what each recipient wants.
//!
//! [`terms`] comes before the claim: how many rows may be taken, and how urgent they must be. [`mind`] comes after the
//! plan: who is left out, who waits, who gets a digest. [`failover`] comes after a failure. What is decided is decided by
//! pure functions; nothing is read where nothing is set up.

mod digest;
pub(super) mod failover;
mod mind;
mod people;
pub(super) mod rest;
pub(super) mod terms;

use jiff::Timestamp;
use punctual_store::notifications::{ClaimedNotification, Delivery};

pub(super) use terms::Promise;

/// A delivery that waits until then, for a reason that people see; nothing is counted as a failure.
pub(super) fn deferred(row: &ClaimedNotification, until: Timestamp, reason: &str) -> Delivery {
    Delivery {
        seq: row.seq,
        token: row.version,
        status: if row.retry_count == 0 { "pending" } else { "retrying" },
        retry_count: row.retry_count,
        last_error: None,
        reason: Some(reason.to_owned()),
        retry_at: Some(until),
        channel: None,
    }
}
