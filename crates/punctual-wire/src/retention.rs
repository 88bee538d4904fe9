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
    /// The rule of every table.
    #[serde(default)]
    pub tables: Vec<TableRetention>,
    /// Nothing before the first run.
    pub last_run: Option<PurgeRun>,
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
    /// The setting that says how long, where there is one.
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
    /// Files that went, such as those of reports.
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
