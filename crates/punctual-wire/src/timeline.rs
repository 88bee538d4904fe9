//! What happened, in order: the timeline of a notification and the trace of a work row.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelineEntry {
    pub at: Timestamp,
    /// A word such as `created`, `claimed`, `attempt`, `delivered`, `parked`.
    #[schema(example = "attempt")]
    pub what: Cow<'static, str>,
    /// A sentence for people.
    pub detail: String,
    /// The facts behind the sentence.
    #[schema(value_type = Option<Object>)]
    #[serde(default)]
    pub data: Value,
}

/// All that is known to have happened, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Timeline {
    /// The id of the thing it is about.
    pub id: String,
    pub items: Vec<TimelineEntry>,
}
