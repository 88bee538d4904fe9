//! `/api/v1/nodes`: the processes that serve and work.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// All nodes, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Nodes {
    pub items: Vec<Node>,
}

/// A node, as it last reported itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    #[schema(example = "plant-server-4711")]
    pub node: String,
    #[schema(example = "0.1.0")]
    pub version: String,
    /// `all`, `api` or `worker`.
    #[schema(example = "all")]
    pub role: String,
    /// How far the machine's clock is ahead of the time that the node uses, in milliseconds.
    pub clock_offset_ms: i64,
    pub started_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub holds: Holds,
}

/// What a node has claimed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Holds {
    pub work: i64,
    pub notifications: i64,
}
