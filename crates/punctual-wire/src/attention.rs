//! What needs attention, over all workflows.

use std::{borrow::Cow, collections::BTreeMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Everything that needs attention: the latest of each kind, and how many there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Attention {
    /// Newest first.
    pub items: Vec<AttentionItem>,
    /// How many of each kind, and `total`. Counting stops at 10,000.
    #[schema(example = json!({"hold": 1, "parked": 3, "subscriber": 0, "sync": 0, "site": 0, "receipt": 0, "runHeld": 0, "runFailed": 0, "orphan": 0, "circuit": 0, "node": 0, "clock": 0, "locked": 0, "failed": 0, "owed": 0, "reconcile": 0, "purge": 0, "audit": 0, "consumer": 0, "restore": 0, "quota": 0, "total": 4}))]
    pub counts: BTreeMap<String, i64>,
}

/// One thing that needs attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttentionItem {
    /// `hold`, `parked`, `subscriber`, `sync`, `site`, `receipt`, `runHeld`, `runFailed`, `orphan`, `circuit`, `node`, `clock`, `locked`, `failed`, `owed`,
    /// `reconcile`, `purge`, `audit`, `consumer` or `restore`; others may be added.
    #[schema(value_type = String, example = "parked")]
    pub kind: Cow<'static, str>,
    /// The state it is in, as lists show it.
    #[schema(value_type = String, example = "parked")]
    pub word: Cow<'static, str>,
    pub id: String,
    pub title: String,
    /// Why, in plain words.
    pub reason: String,
    pub since: Timestamp,
    /// Its page in the console.
    #[schema(example = "/notifications/0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071")]
    pub link: String,
    /// Why a message is parked, and the object at fault, such as a list that does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "list-unknown: cold-chain")]
    pub cause: Option<String>,
    /// How many messages are parked for the same cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
}
