//! `/api/v1/consumers`: where events are taken from, and how that goes.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields, limits::SETTINGS_MAX};

/// A consumer to be defined.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsumerRequest {
    /// `nats`, `amqp` or `amqp1`.
    #[schema(example = "nats")]
    pub adapter: String,
    /// What the adapter needs; a secret may be given as `env:NAME` or `file:NAME`.
    #[schema(value_type = Object, required = false)]
    pub settings: Value,
    /// The business unit that its events belong to. An event that names another one is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit: Option<String>,
    /// Switched off it takes nothing; its events wait at the broker.
    #[schema(required = false)]
    pub active: bool,
}

impl ConsumerRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            adapter: fields.required_name("adapter"),
            settings: fields
                .object("settings", SETTINGS_MAX)
                .unwrap_or_else(|| Value::Object(Default::default())),
            business_unit: fields.optional_name("businessUnit"),
            active: fields.bool("active", true),
        };
        fields.finish().map(|()| request)
    }
}

/// A consumer as it is stored, and how it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Consumer {
    #[schema(example = "nats:orders")]
    pub key: String,
    pub adapter: String,
    /// The settings without the secrets.
    #[schema(value_type = Object)]
    pub settings: Value,
    /// The secrets that are set.
    pub secrets_set: Vec<String>,
    pub business_unit: Option<String>,
    pub active: bool,
    pub version: i64,
    pub updated_at: Timestamp,
    pub health: ConsumerHealth,
}

/// How a consumer is, over all nodes that run it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsumerHealth {
    /// `connected`, `connecting`, `disconnected`, `notRunning` (no node runs it, as in the sandbox) or `off`.
    #[schema(value_type = String, example = "connected")]
    pub state: Cow<'static, str>,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// Nodes that are connected.
    pub nodes: i64,
    /// When a message was last taken.
    pub last_message_at: Option<Timestamp>,
    /// Messages that wait at the broker, if it reports them.
    pub lag: Option<i64>,
    pub last_error: Option<String>,
    pub last_error_at: Option<Timestamp>,
    /// Events that were taken.
    pub accepted: i64,
    /// Events that the broker handed out again, and that were left aside.
    pub duplicates: i64,
    /// Events that were refused and sent to the dead letters.
    pub refused: i64,
}
