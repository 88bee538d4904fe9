//! Topic, priority and failover: the three settings that every workflow has for its messages.
//!
//! They are stored with the definition and copied to a message when it is created, so a change of the definition applies to
//! later messages.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Priority;
use crate::{ChannelKey, Fault, NewNotification, object::Object};

/// Channels that one order may name.
pub const ORDER_MAX: usize = 10;
/// Bytes of a topic.
const TOPIC_MAX: usize = 128;

/// What a message is about, how urgent it is, and where it continues if its own channel does not get it across.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Handling {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failover: Vec<ChannelKey>,
}

impl Handling {
    /// What was stored; nothing, or a text that cannot be read, says nothing.
    pub fn read(json: Option<&str>) -> Self {
        json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
    }

    /// The handling among the fields of a stored definition.
    pub fn of(definition: &Value) -> Self {
        Self::deserialize(definition).unwrap_or_default()
    }

    /// As it is stored, where it says anything.
    pub fn written(&self) -> Option<String> {
        if *self == Self::default() { None } else { serde_json::to_string(self).ok() }
    }

    /// Reads it from the fields of a definition.
    pub fn read_from(object: &mut Object<'_, '_>) -> Self {
        let topic = object.text("topic", TOPIC_MAX);
        if topic.is_some_and(|topic| topic.chars().any(char::is_control)) {
            object.refuse("topic", "key_invalid", "A topic has no control characters.");
        }
        let word = object.text("priority", TOPIC_MAX);
        let priority = word.and_then(|word| Priority::ALL.into_iter().find(|(known, _)| *known == word));
        if word.is_some() && priority.is_none() {
            let words = Priority::ALL.map(|(word, _)| word).join("`, `");
            object.refuse("priority", "out_of_range", format!("`priority` takes one of `{words}`."));
        }
        Self {
            topic: topic.map(str::to_owned),
            priority: priority.map(|(_, priority)| priority),
            failover: order(object),
        }
    }

    /// What a message says of itself already.
    pub fn said_by(new: &NewNotification) -> Self {
        let priority = Some(Priority::of(new.priority)).filter(|priority| *priority != Priority::default());
        Self { topic: new.topic.clone(), priority, failover: new.failover.clone() }
    }

    /// Gives it to a message.
    pub fn give(&self, new: &mut NewNotification) {
        new.topic = self.topic.clone();
        new.priority = self.priority.unwrap_or_default().number();
        new.failover = self.failover.clone();
    }
}

/// What is to be different about a handling; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandlingChange {
    pub topic: Option<Option<String>>,
    pub priority: Option<Option<Priority>>,
    pub failover: Option<Vec<ChannelKey>>,
}

impl HandlingChange {
    pub fn of(self, before: Handling) -> Handling {
        Handling {
            topic: self.topic.unwrap_or(before.topic),
            priority: self.priority.unwrap_or(before.priority),
            failover: self.failover.unwrap_or(before.failover),
        }
    }
}

/// The channels that are used one after another, each once.
fn order(object: &mut Object<'_, '_>) -> Vec<ChannelKey> {
    let mut order: Vec<ChannelKey> = Vec::new();
    for (pointer, value) in object.array("failover", 0..=ORDER_MAX, false) {
        let fault = match value.as_str().map(str::parse::<ChannelKey>) {
            Some(Ok(key)) if order.contains(&key) => {
                Some(("field_conflict", "A channel may be in the order only once.".to_owned()))
            }
            Some(Ok(key)) => {
                order.push(key);
                None
            }
            Some(Err(fault)) => Some(("key_invalid", format!("{fault}."))),
            None => Some(("wrong_type", "A channel is a text such as `email:default`.".to_owned())),
        };
        object.faults().extend(fault.map(|(code, detail)| Fault::new(pointer, code, detail)));
    }
    order
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Audience, NotificationId};

    fn read(value: &Value) -> (Handling, Vec<(String, &'static str)>) {
        let mut faults = Vec::new();
        let handling =
            Object::new(value, String::new(), &mut faults).map(|mut object| Handling::read_from(&mut object));
        let found = faults.into_iter().map(|fault| (fault.pointer, fault.code)).collect();
        (handling.unwrap_or_default(), found)
    }

    #[test]
    fn what_is_written_reads_back_and_goes_to_the_message() {
        let value = json!({"topic": "offers", "priority": "campaign", "failover": ["sms:a", "email:b"]});
        let (handling, faults) = read(&value);
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(serde_json::to_value(&handling).unwrap(), value);
        assert_eq!(Handling::read(handling.written().as_deref()), handling);
        assert_eq!(Handling::of(&value), handling);
        let id = NotificationId(Default::default());
        let mut new = NewNotification::new(id, Audience::List("ops".into()), "S", "B");
        handling.give(&mut new);
        assert_eq!((new.topic.as_deref(), new.priority, new.failover.len()), (Some("offers"), 8, 2));
        assert_eq!(Handling::said_by(&new), handling);
    }

    #[test]
    fn nothing_said_is_nothing_stored_and_an_ordinary_message() {
        assert_eq!(Handling::default().written(), None);
        assert_eq!(Handling::read(None), Handling::default());
        assert_eq!(Handling::read(Some("nonsense")), Handling::default());
        assert_eq!(Handling::of(&json!({"channel": "email:default"})), Handling::default());
        let id = NotificationId(Default::default());
        let mut new = NewNotification::new(id, Audience::List("ops".into()), "S", "B");
        let before = new.clone();
        Handling::default().give(&mut new);
        assert_eq!(new, before);
    }

    #[test]
    fn each_fault_names_its_field() {
        let odd = json!({"topic": "a\nb", "priority": "urgent", "failover": ["sms:a", "sms:a", "sms", 7]});
        let expected = [
            ("/topic", "key_invalid"),
            ("/priority", "out_of_range"),
            ("/failover/1", "field_conflict"),
            ("/failover/2", "key_invalid"),
            ("/failover/3", "wrong_type"),
        ];
        assert_eq!(read(&odd).1, expected.map(|(pointer, code)| (pointer.to_owned(), code)));
    }
}
