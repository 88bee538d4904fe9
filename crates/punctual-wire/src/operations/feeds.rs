//! `/api/v1/operations/feeds`: secret links to calendars.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields};

/// The owner of the calendar: exactly one of the two.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FeedRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organisation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
}

impl FeedRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        fields.one_of("organisation", "person");
        let request = Self {
            organisation: fields.optional_name("organisation"),
            person: fields.optional_name("person"),
        };
        fields.finish().map(|()| request)
    }
}

/// A new link. It is shown once; everyone with the link can read the calendar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Feed {
    /// `organisation` or `person`.
    pub owner_type: String,
    pub owner_id: String,
    /// The path of the calendar, with its secret.
    #[schema(example = "/calendars/4f1d….ics")]
    pub path: String,
    pub created_at: Timestamp,
}

/// What became of an imported calendar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    pub created: usize,
    pub updated: usize,
    pub unchanged: usize,
    /// Dates and events to come that were imported before and are no longer in the file.
    #[serde(default)]
    pub removed: usize,
    /// Components that are not taken, each with its line and why.
    pub skipped: Vec<SkippedComponent>,
}

/// A part of an imported calendar that was not taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SkippedComponent {
    pub line: usize,
    pub reason: String,
}
