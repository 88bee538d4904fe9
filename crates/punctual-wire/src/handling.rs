//! Topic, priority and failover: fields of everything that sends messages, read by one function.

use punctual_model::{Priority, delivery_policy};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{delivery_policy::order, fields::Fields};

/// How a message is handled on its way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Handling {
    /// What it is about, for people who want messages about some things only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "outages")]
    pub topic: Option<String>,
    /// `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "normal")]
    pub priority: Option<Priority>,
    /// The channels to use, in order, if its own channel fails.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, example = json!(["sms:twilio", "email:default"]))]
    pub failover: Vec<String>,
}

impl Handling {
    pub fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            topic: fields.optional_name("topic"),
            priority: fields.optional_choice("priority", &Priority::ALL),
            failover: order(fields),
        }
    }
}

impl From<Handling> for delivery_policy::Handling {
    fn from(given: Handling) -> Self {
        let failover = given.failover.iter().filter_map(|key| key.parse().ok()).collect();
        Self { topic: given.topic, priority: given.priority, failover }
    }
}

impl From<delivery_policy::Handling> for Handling {
    fn from(stored: delivery_policy::Handling) -> Self {
        let failover = stored.failover.iter().map(ToString::to_string).collect();
        Self { topic: stored.topic, priority: stored.priority, failover }
    }
}

/// What is to be different about it: `null` takes a topic or priority away, what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct HandlingChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub topic: Option<Option<String>>,
    /// `alarm`, `high`, `normal` or `campaign`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub priority: Option<Option<Priority>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<Vec<String>>,
}

impl HandlingChange {
    /// Reads it from the fields of a body; the body itself distinguishes what was left out from what was removed.
    pub fn read(fields: &mut Fields<'_>, body: &Value) -> Self {
        let Handling { topic, priority, failover } = Handling::read(fields);
        let says = |name: &str| body.get(name).is_some();
        Self {
            topic: says("topic").then_some(topic),
            priority: says("priority").then_some(priority),
            failover: says("failover").then_some(failover),
        }
    }
}

impl From<HandlingChange> for delivery_policy::HandlingChange {
    fn from(given: HandlingChange) -> Self {
        let HandlingChange { topic, priority, failover } = given;
        let failover = failover.map(|keys| keys.iter().filter_map(|key| key.parse().ok()).collect());
        Self { topic, priority, failover }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_read_written_and_stored_alike() {
        let body = json!({"topic": "outages", "priority": "alarm", "failover": ["sms:a", "email:b"]});
        let mut fields = Fields::new(&body, "");
        let handling = Handling::read(&mut fields);
        fields.finish().unwrap();
        assert_eq!(serde_json::to_value(&handling).unwrap(), body);
        let stored = delivery_policy::Handling::from(handling.clone());
        assert_eq!(Handling::from(stored), handling);
        assert_eq!(serde_json::to_value(Handling::default()).unwrap(), json!({}));
    }

    #[test]
    fn a_change_takes_away_what_is_null_and_leaves_what_is_absent() {
        let before = json!({"topic": "news", "priority": "high", "failover": ["sms:a"]});
        let after = |change: Value| {
            let mut fields = Fields::new(&change, "");
            let read = HandlingChange::read(&mut fields, &change);
            fields.finish().unwrap();
            let change = delivery_policy::HandlingChange::from(read);
            serde_json::to_value(change.of(delivery_policy::Handling::of(&before))).unwrap()
        };
        assert_eq!(after(json!({})), before);
        assert_eq!(after(json!({"topic": null, "failover": []})), json!({"priority": "high"}));
        assert_eq!(
            after(json!({"topic": "offers", "priority": null})),
            json!({"topic": "offers", "failover": ["sms:a"]})
        );
    }
}
