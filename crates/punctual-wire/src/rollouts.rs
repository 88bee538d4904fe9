//! `/api/v1/rollouts`: migration from an old scheduler, stage by stage.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields, names::guid};

/// A stage to be set.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RolloutRequest {
    /// 0 design validation, 1 shadow, 2 run-now allowlist, 3 scheduled allowlist, 4 cutover.
    #[schema(minimum = 0, maximum = 4)]
    pub stage: i64,
    /// Points of the checklist that are confirmed with it; those from before stay.
    #[schema(required = false)]
    pub confirm: Vec<String>,
    /// At stage 2: the runs that are made here, by their `manualRunGuid`; the old scheduler keeps the others. Left out, all that
    /// people ask for are made here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 1000)]
    pub runs: Option<Vec<String>>,
}

/// Runs that one selection names at most.
pub const SELECTED_MAX: usize = 1_000;

const POINTS: [&str; 3] = ["deliveryPath", "oldScheduler", "ownershipStorage"];

impl RolloutRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let confirm = fields.text_items("confirm", 0..=POINTS.len(), |text, pointer| {
            if POINTS.contains(&text) {
                return Ok(text.to_owned());
            }
            let detail =
                format!("The checklist has {}.", POINTS.map(|point| format!("`{point}`")).join(", "));
            Err(crate::FieldError::new(pointer(), crate::Code::OutOfRange, detail))
        });
        let runs = fields.text_items("runs", 0..=SELECTED_MAX, |text, pointer| {
            let why = "a run is named by its `manualRunGuid`, a GUID such as `0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071`";
            guid(text).ok_or_else(|| crate::FieldError::key_invalid(pointer(), why))
        });
        let stage = fields.required_int("stage", 0..=4);
        if runs.is_some() && stage != 2 {
            let detail = "Single runs can only be selected at stage 2.";
            fields.push(crate::FieldError::new(format!("{pointer}/runs"), crate::Code::OutOfRange, detail));
        }
        let request = Self { stage, confirm: confirm.unwrap_or_default(), runs };
        fields.finish().map(|()| request)
    }
}

/// Going back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct RollBackRequest {
    /// The stage to go back to; by default 1, the shadow.
    #[schema(minimum = 0, maximum = 3)]
    pub stage: Option<i64>,
    /// Kept in the audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl RollBackRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            stage: fields.optional_int("stage", 0..=3),
            reason: fields.optional_text("reason", 1..=1_000),
        };
        fields.finish().map(|()| request)
    }
}

/// A rollout as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// The workflow it belongs to: `report-subscription`.
    pub path: String,
    /// `subscription` or `business-unit`.
    pub scope: String,
    pub id: String,
    pub stage: i64,
    /// `designValidation`, `shadow`, `runNowAllowlist`, `scheduledAllowlist` or `cutover`.
    pub stage_name: String,
    pub checklist: Vec<ChecklistPoint>,
    /// The runs that were chosen at stage 2, where some were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Vec<String>>,
    pub version: i64,
    pub updated_at: Timestamp,
}

/// A point that must be confirmed before the shadow begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChecklistPoint {
    pub name: String,
    pub what: String,
    pub confirmed: bool,
    pub by: Option<String>,
    pub at: Option<String>,
}

/// What going back gave back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    pub rollout: Rollout,
    /// Runs that were taken here and not delivered: the old scheduler may take them.
    pub given_back: Vec<String>,
}

/// The expected runs against those of the old scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    pub from: Timestamp,
    pub to: Timestamp,
    /// How many of each verdict.
    pub counts: BTreeMap<String, i64>,
    pub items: Vec<ComparedRun>,
    /// There are more rows than one response can hold.
    pub cut: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedRun {
    pub key: String,
    /// `match`, `missing` or `extra`.
    pub verdict: String,
    pub expected_at: Option<Timestamp>,
    pub found_at: Option<Timestamp>,
    /// How much later the old scheduler was.
    pub difference_seconds: Option<i64>,
}

/// What each stage came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RolloutFigures {
    pub from: Timestamp,
    pub to: Timestamp,
    pub stages: Vec<StageFigures>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageFigures {
    /// Nothing for runs without a rollout.
    pub stage: Option<i64>,
    pub runs: i64,
    pub delivered: i64,
    pub shadow: i64,
    pub skipped: i64,
    pub failed: i64,
    pub retrying: i64,
    pub conflicts: i64,
    pub mean_latency_ms: Option<i64>,
    pub longest_latency_ms: Option<i64>,
}
