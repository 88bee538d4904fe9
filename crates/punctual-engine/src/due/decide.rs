//! Asking a path, row by row: a row whose decision panics is held and harms no other.

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
            catch_unwind(AssertUnwindSafe(|| on.decide(row, prepared, now)))
                .unwrap_or_else(|_| Decision::Hold(ReasonCode::new("panic")).into())
        })
        .collect()
}
