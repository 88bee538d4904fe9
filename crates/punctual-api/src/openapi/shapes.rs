//! Shapes that only the document has: one thing, or many at once.

use punctual_wire::{Batch, BatchItem};
use serde::Serialize;
use utoipa::ToSchema;

/// One item, or an array of at most 1,000.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "described, never made")]
pub enum OneOrMany<T: ToSchema> {
    One(T),
    Many(Vec<T>),
}

/// The response for one known item; for an array, the outcome of each item.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "described, never made")]
pub enum KnownOrBatch<T: ToSchema> {
    Known(T),
    Batch(Batch<BatchItem>),
}
