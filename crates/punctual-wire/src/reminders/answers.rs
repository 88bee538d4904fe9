//! What the routes of reminders answer.

use std::{borrow::Cow, collections::BTreeMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::problem::FieldError;

/// A setting as it is stored: its definition, and who and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReminderSetting {
    pub id: String,
    /// All that was given when it was made or changed.
    #[serde(flatten)]
    #[schema(value_type = super::ReminderSettingRequest)]
    pub definition: Value,
    /// Send it with a change: if the object was changed meanwhile, the request is refused with `stale_version`.
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The effect of the change; only in the response to a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<ReminderPlan>,
    /// Warnings about accepted values that do not work yet, such as a channel that does not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<FieldError>,
}

/// What a change of a setting does to due work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReminderPlan {
    pub create: u64,
    pub deactivate: u64,
    /// The same row at another moment.
    #[serde(rename = "move")]
    pub moved: u64,
    /// Of those created or moved: at a local time that a clock change skips; they move forward by the gap.
    pub gap: u64,
    /// Of those created or moved: at a local time that happens twice; the first counts.
    pub overlap: u64,
    pub unchanged: u64,
}

/// What will be sent, by local day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Forecast {
    pub days: Vec<ForecastDay>,
    /// There are more rows than one response can hold.
    pub cut: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForecastDay {
    #[schema(example = "2026-05-14")]
    pub local_date: String,
    #[schema(example = "Pacific/Auckland")]
    pub time_zone: String,
    /// What is sent; an entry that sends nothing (`expiry`, `shadow`) is not counted.
    pub count: u64,
    /// How many addresses its reminders go to, as lists and sources are now.
    pub recipients: u64,
    /// How many for each workflow.
    pub by_path: BTreeMap<String, u64>,
    /// At most the first hundred.
    pub items: Vec<ForecastItem>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForecastItem {
    pub key: String,
    /// When it will be sent, with what quiet hours do to it.
    pub due_at: Timestamp,
    /// What it is about, for people.
    #[schema(example = "First aid certificate, document 103: 7 days before 14 May")]
    pub title: String,
    /// `message`, `expiry`, `run` or `shadow`.
    #[schema(example = "message")]
    pub kind: Cow<'static, str>,
    /// Why it is sent at another time than it is due, such as `quiet-hours`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Why something was sent on a day, or why not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// Oldest first.
    pub decisions: Vec<WhyStep>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhyStep {
    pub at: Timestamp,
    /// The setting's name.
    pub setting: Option<String>,
    pub setting_id: Option<String>,
    /// `planned`, a status of work, an act in the audit, or `notWanted`, `otherDay`, `notPlanned`.
    pub outcome: Cow<'static, str>,
    pub reason: Option<String>,
    /// What was checked.
    #[schema(value_type = Object)]
    pub values: Value,
    pub key: Option<String>,
    pub work_id: Option<i64>,
}

/// How far a trigger provider's reconciliation has looked, how it is bounded, and what its last run did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reconciliation {
    #[schema(example = "dateBased")]
    pub provider: String,
    pub every_seconds: i64,
    /// Rows that become due within so many days are repaired.
    pub window_days: u32,
    pub batch: u32,
    /// Sources that changed before it have been checked.
    pub looked_until: Option<Timestamp>,
    pub last_run_at: Option<Timestamp>,
    pub sources: u64,
    pub created: u64,
    pub moved: u64,
    pub deactivated: u64,
}

/// `{"dryRun": true}` changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunRequest {
    #[schema(required = false, default = false)]
    pub dry_run: bool,
}

/// What a run would do, or the due work that does it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReconciliationRun {
    pub provider: String,
    pub dry_run: bool,
    pub sources: Option<u64>,
    pub create: Option<u64>,
    #[serde(rename = "move")]
    pub moved: Option<u64>,
    pub deactivate: Option<u64>,
    pub work_id: Option<i64>,
}
