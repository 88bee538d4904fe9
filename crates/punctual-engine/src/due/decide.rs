//! Asking a workflow to decide, row by row: a row whose decision panics is put on hold and affects no other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jiff::Timestamp;
use punctual_model::{Decided, Decision, ReasonCode};

use crate::{Claimed, Decide};

pub(super) fn decide_all(
    on: &dyn Decide,
    rows: &[Claimed],
    prepared: &serde_json::Value,
    now: Timestamp,
) -> Vec<Decided> {
    rows.iter()
        .map(|row| {
            // Pure functions over shared references: nothing is left half changed.
            catch_unwind(AssertUnwindSafe(|| on.decide(row, prepared, now))).unwrap_or_else(|panic| {
                let held = Decided::from(Decision::Hold(ReasonCode::Panic));
                held.with_trace(serde_json::json!({ "panic": text_of(&*panic) }))
            })
        })
        .collect()
}

/// Returns the message of a panic, where it has one.
fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no panic message")
}
