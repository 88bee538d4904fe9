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
    /// A code for programs, such as `workCreated`, `queued`, `attemptEnded`, `delivered`, `audit`.
    #[schema(example = "attemptEnded")]
    pub what: Cow<'static, str>,
    /// What it is called for people.
    #[schema(example = "Attempt 1 to ann@example.org: accepted")]
    pub title: String,
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
