//! `/api/v1/restore`: the last restore of the database, and what waits for a person because of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The last restore, if there was one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Restores {
    /// Nothing where this database was never restored.
    pub last: Option<Restore>,
}

/// A restore of the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restore {
    /// When the backup was taken, where that is known.
    pub backup_at: Option<Timestamp>,
    pub restored_at: Timestamp,
    /// What was due by this moment, the first start after the restore, waits for a person.
    pub held_by: Option<Timestamp>,
    /// What still waits, counted up to 10,000 each.
    pub waiting: RestoredRows,
}

/// Rows that were due or under way between the backup and the first start after the restore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RestoredRows {
    /// Work on hold.
    pub work: u64,
    /// Parked notifications.
    pub notifications: u64,
    /// Messages that had settled and whose workflow was not called yet: what follows from them may have been sent.
    #[serde(default)]
    pub owed: u64,
}

/// What was released or discarded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RestoreSettled {
    pub work: u64,
    pub notifications: u64,
    #[serde(default)]
    pub owed: u64,
    /// The remaining rows, counted up to 10,000 each: one request processes at most ten thousand rows of each kind.
    pub remaining: RestoredRows,
}
