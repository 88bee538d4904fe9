//! `/api/v1/inbox`: the inbox of the caller.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::{
    batch::Item,
    fields::{Fields, query_object},
    page::PageQuery,
    problem::FieldError,
};

/// One message to one person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxMessage {
    pub id: String,
    /// The notification it came with.
    pub notification_id: String,
    pub channel: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub subject: String,
    pub body: String,
    pub created_at: Timestamp,
    pub read_at: Option<Timestamp>,
}

/// A page of messages, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inbox {
    pub items: Vec<InboxMessage>,
    pub next_cursor: Option<String>,
    /// How many are not read, counted up to 1,000.
    pub unread: i64,
}

/// Which messages are wanted.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct InboxQuery {
    /// Only those that are not read.
    #[param(value_type = Option<bool>)]
    pub unread: bool,
    #[param(inline, ignore)]
    pub page: PageQuery,
}

impl InboxQuery {
    pub fn read(parameters: impl IntoIterator<Item = (String, String)>) -> Result<Self, Vec<FieldError>> {
        let object = query_object(parameters);
        let mut fields = Fields::query(&object);
        let query = Self { unread: fields.bool("unread", false), page: PageQuery::read(&mut fields) };
        fields.finish().map(|()| query)
    }
}

/// Marks messages as read.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxRead {
    /// Everything up to this message; what came after it stays as it is.
    pub up_to: String,
}

impl InboxRead {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self { up_to: fields.required_name("upTo") };
        fields.finish().map(|()| request)
    }
}
