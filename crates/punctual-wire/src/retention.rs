//! `/api/v1/retention`: how long finished notifications are kept, and what the daily purge did.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields};

/// How long is kept, and the last run of the purge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// Days for which finished notifications are kept.
    pub keep_for_days: u64,
    /// Days for which the files of reports are kept.
    #[serde(default)]
    pub keep_files_for_days: u64,
    /// Days for which entries of the audit are kept; null where they are kept for good.
    #[serde(default)]
    pub keep_audit_for_days: Option<u64>,
    /// Days for which finished work keeps its input and its trace.
    #[serde(default)]
    pub keep_work_for_days: u64,
    /// Days for which finished surveys keep recipients and answers; null where they are kept for good.
    #[serde(default)]
    pub keep_surveys_for_days: Option<u64>,
    /// Days for which ids of removed messages are known; null where they are known for good.
    #[serde(default)]
    pub keep_ids_for_days: Option<u64>,
    /// Settings that the configuration of the server sets: they cannot be changed here.
    #[serde(default)]
    #[schema(example = json!(["keep_for"]))]
    pub fixed: Vec<String>,
    /// The rule of every table.
    #[serde(default)]
    pub tables: Vec<TableRetention>,
    /// Nothing before the first run.
    pub last_run: Option<PurgeRun>,
}

/// How long is kept, as somebody wants it. What is left out or null is kept as the configuration says, or as Punctual comes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionSettings {
    /// Days for which finished notifications are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 90, minimum = 1, maximum = 36500)]
    pub keep_for_days: Option<i64>,
    /// Days for which the files of reports are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 36500)]
    pub keep_files_for_days: Option<i64>,
    /// Days for which finished work keeps its input and its trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 36500)]
    pub keep_work_for_days: Option<i64>,
    /// Days for which finished surveys keep recipients and answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 36500)]
    pub keep_surveys_for_days: Option<i64>,
    /// Days for which entries of the audit are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 36500)]
    pub keep_audit_for_days: Option<i64>,
    /// Days for which ids of removed messages are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 36500)]
    pub keep_ids_for_days: Option<i64>,
}

impl RetentionSettings {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        const DAYS: std::ops::RangeInclusive<i64> = 1..=36_500;
        let mut fields = Fields::new(value, pointer);
        let settings = Self {
            keep_for_days: fields.optional_int("keepForDays", DAYS),
            keep_files_for_days: fields.optional_int("keepFilesForDays", DAYS),
            keep_work_for_days: fields.optional_int("keepWorkForDays", DAYS),
            keep_surveys_for_days: fields.optional_int("keepSurveysForDays", DAYS),
            keep_audit_for_days: fields.optional_int("keepAuditForDays", DAYS),
            keep_ids_for_days: fields.optional_int("keepIdsForDays", DAYS),
        };
        fields.finish().map(|()| settings)
    }
}

/// What other times would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RetentionPlan {
    /// Null if nothing changes.
    pub changes: Vec<RetentionChange>,
}

/// The effect of another time for one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionChange {
    #[schema(example = "keep_for")]
    pub setting: String,
    /// Days now; null for good.
    pub from_days: Option<u64>,
    /// Days then; null for good.
    pub to_days: Option<u64>,
    /// Rows that the next purge would take; null where they are not counted.
    pub rows: Option<i64>,
    /// There are more than were counted.
    pub is_more: bool,
}

/// How long a table keeps its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TableRetention {
    #[schema(example = "notifications")]
    pub table: String,
    /// What happens to a row, as a sentence.
    #[schema(example = "Removed 365 days after its end")]
    pub rule: String,
    /// The setting that has the time, if there is one.
    #[schema(example = "keep_for")]
    pub setting: Option<String>,
    /// Why it is so.
    pub why: Option<String>,
}

/// One run of the purge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PurgeRun {
    pub at: Timestamp,
    pub removed: u64,
    /// Removed files, such as those of reports.
    #[serde(default)]
    pub files: u64,
    /// Rows past their window that wait for a person, because they are more than the usual share.
    pub held_back: Option<u64>,
}

/// That a purge may remove what it held back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct PurgeRequest {
    /// Remove everything past its window, however much it is.
    #[schema(required = false)]
    pub confirm: bool,
}

impl PurgeRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self { confirm: fields.bool("confirm", false) };
        fields.finish().map(|()| request)
    }
}
