//! A notification that is to be queued: one message to one list or set of targets over one channel.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{ChannelKey, NotificationId};

/// Whom a notification is for. A list is resolved when it is delivered, not before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Audience {
    List(String),
    Targets(Vec<String>),
}

impl Audience {
    /// A text that is equal for equal audiences, whatever the order of the targets.
    pub fn identity(&self) -> String {
        match self {
            Self::List(name) => format!("list={name}"),
            Self::Targets(targets) => {
                let mut sorted: Vec<&str> = targets.iter().map(String::as_str).collect();
                sorted.sort_unstable();
                sorted.dedup();
                format!("targets={}", sorted.join("\n"))
            }
        }
    }
}

/// Where a notification from a remote site comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationSource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

/// A notification as its producer hands it over.
#[derive(Clone, Debug, PartialEq)]
pub struct NewNotification {
    pub id: NotificationId,
    /// What kind of message it is for filters and KPIs; by default the channel's type.
    pub kind: String,
    pub channel: Option<ChannelKey>,
    pub audience: Audience,
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    pub template: Option<String>,
    pub locale: Option<String>,
    /// What the template sees, a JSON object.
    pub context: Option<serde_json::Value>,
    /// Fields that only this type of channel understands, a JSON object.
    pub type_data: Option<serde_json::Value>,
    pub business_unit: Option<String>,
    pub source: NotificationSource,
    pub site_enqueued_at: Option<Timestamp>,
    /// Lower is sooner; 5 is ordinary.
    pub priority: i64,
    /// Not before this instant.
    pub not_before: Option<Timestamp>,
}

/// The priority of an ordinary message.
pub const ORDINARY_PRIORITY: i64 = 5;

impl NewNotification {
    /// A plain message; everything else keeps its default.
    pub fn new(id: NotificationId, audience: Audience, subject: impl Into<String>, body: impl Into<String>) -> Self {
        Self {
            id,
            kind: String::new(),
            channel: None,
            audience,
            subject: subject.into(),
            body: body.into(),
            html: None,
            template: None,
            locale: None,
            context: None,
            type_data: None,
            business_unit: None,
            source: NotificationSource::default(),
            site_enqueued_at: None,
            priority: ORDINARY_PRIORITY,
            not_before: None,
        }
    }
}
