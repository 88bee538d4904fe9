//! Runs of report subscriptions, and who owns them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields, work::Work};

/// Bytes of the coordinates that an old scheduler reports.
const COORDINATES_MAX: usize = 8 * 1024;

/// A run that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunNowRequest {
    /// The caller's id, so that a repeated request is the same run; created by the server if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual_run_guid: Option<String>,
}

impl RunNowRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self { manual_run_guid: fields.optional_guid("manualRunGuid") };
        fields.finish().map(|()| request)
    }
}

/// A run that was asked for, and where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunNowAnswer {
    pub key: String,
    pub manual_run_guid: String,
    #[schema(example = "pending")]
    pub status: String,
    /// `created`, `unchanged`, `reactivated`, `completed` or `inProgress`.
    pub outcome: String,
    pub work_id: i64,
}

/// Who owns a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ownership {
    pub key: String,
    /// `oldScheduler`, `automationScheduler`, or nobody yet.
    pub owner: Option<String>,
    pub owner_version: Option<String>,
    /// `owned`, `deliveryCreated` or `cancelled`.
    pub status: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub coordinates: Option<Value>,
    pub taken_at: Option<Timestamp>,
    /// The stage of its rollout, if there is one.
    pub stage: Option<i64>,
    /// Whether the old scheduler could take it now.
    pub old_scheduler_may_take: bool,
}

/// A side that takes a run.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnershipRequest {
    /// `oldScheduler` or `automationScheduler`.
    #[schema(example = "oldScheduler")]
    pub owner: String,
    /// Numbers separated by dots. A newer version of the same owner takes over an undelivered run; an older one is refused.
    #[schema(example = "1")]
    pub owner_version: String,
}

const OWNERS: [(&str, &str); 2] =
    [("oldScheduler", "oldScheduler"), ("automationScheduler", "automationScheduler")];

impl OwnershipRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            owner: fields.required_choice("owner", &OWNERS).to_owned(),
            owner_version: fields.optional_text("ownerVersion", 1..=64).unwrap_or_else(|| "1".to_owned()),
        };
        fields.finish().map(|()| request)
    }
}

/// What an owner has to say about its run.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnershipReport {
    #[schema(example = "oldScheduler")]
    pub owner: String,
    /// The version that reports; a version below that of the owner is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_version: Option<String>,
    /// `deliveryCreated`, or `cancelled`: then the run is free again.
    #[schema(example = "deliveryCreated")]
    pub status: String,
    /// The coordinates of the created files.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub coordinates: Option<Value>,
}

impl OwnershipReport {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let statuses = [("deliveryCreated", "deliveryCreated"), ("cancelled", "cancelled")];
        let report = Self {
            owner: fields.required_choice("owner", &OWNERS).to_owned(),
            owner_version: fields.optional_text("ownerVersion", 1..=64),
            status: fields.required_choice("status", &statuses).to_owned(),
            coordinates: fields.object("coordinates", COORDINATES_MAX),
        };
        fields.finish().map(|()| report)
    }
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    #[serde(flatten)]
    pub work: Work,
    pub subscription_guid: String,
    pub storage_run_key_hash: String,
    /// `delivered`, `shadow`, `skipped`, `retrying`, `failed` or `conflict`; nothing before its turn.
    pub run_outcome: Option<String>,
    pub owner: Option<String>,
}

/// A run, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationRun {
    #[serde(flatten)]
    pub run: RunSummary,
    pub period_start: Option<Timestamp>,
    pub period_end: Option<Timestamp>,
    pub ownership: Ownership,
    #[schema(value_type = Option<Object>)]
    pub coordinates: Option<Value>,
    pub notifications: Vec<RunDelivery>,
    pub artefacts: Vec<Artefact>,
    pub rows: Option<i64>,
    pub truncated: Option<bool>,
    /// Why there is no report, if there is none.
    #[schema(value_type = Option<Object>)]
    pub fault: Option<Value>,
    /// How often the run itself was decided.
    #[serde(rename = "tries")]
    pub attempt_count: i64,
    /// The latest attempts to deliver its messages, newest first, up to 100.
    pub attempts: Vec<RunAttempt>,
}

/// One attempt to deliver a message of a run to one address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAttempt {
    /// The id of the message.
    pub notification: String,
    pub target: String,
    /// Which attempt for this address it was.
    pub attempt: i64,
    pub channel: String,
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// `delivered`, `transient`, `permanent` or `uncertain`; nothing while it is under way.
    pub outcome: Option<String>,
    /// What the provider answered.
    pub answer: Option<String>,
}

/// A message of a run, and whether its send was claimed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunDelivery {
    pub id: String,
    pub channel: String,
    pub status: String,
    /// How often a send was claimed.
    #[serde(rename = "tries")]
    pub attempt_count: i64,
    pub delivered_at: Option<Timestamp>,
    pub last_error: Option<String>,
}

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artefact {
    pub name: String,
    pub media_type: String,
    pub bytes: i64,
    pub blob: String,
    /// Where it can be downloaded.
    pub href: String,
    /// The language and zone it is written in: those of the people who get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// When it was removed, after the time for which files are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purged_at: Option<Timestamp>,
}

/// The coordinates of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coordinates {
    pub key: String,
    pub storage_run_key_hash: String,
    #[schema(value_type = Option<Object>)]
    pub coordinates: Option<Value>,
    pub notifications: Vec<RunDelivery>,
    pub artefacts: Vec<Artefact>,
}
