//! The preferences of a person: topics, channels, hours, and the order of channels for failover.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Span;
use crate::{ChannelKey, ReasonCode};

/// What is known about one person; as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Preference {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// Where they are reached: type of channel to address.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub addresses: BTreeMap<String, String>,
    /// The channels, or types of channels, that may be used; all where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<Span>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub topics: BTreeMap<String, Topic>,
    /// The channels to use, in order, for messages without their own order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failover: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_cap: Option<i64>,
}

/// The preferences of a person for one topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Topic {
    pub subscribed: bool,
    /// As for all messages, for this topic alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<Vec<String>>,
}

impl Preference {
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Why a message of this topic must not go to this person over this channel; nothing where it may.
    pub fn refuses(&self, topic: Option<&str>, channel: &str) -> Option<ReasonCode> {
        let of_topic = topic.and_then(|topic| self.topics.get(topic));
        if of_topic.is_some_and(|topic| !topic.subscribed) {
            return Some(ReasonCode::Unsubscribed);
        }
        let allowed = of_topic.and_then(|topic| topic.channels.as_ref()).or(self.channels.as_ref());
        let allows = |allowed: &Vec<String>| allowed.iter().any(|one| names(one, channel));
        allowed.is_some_and(|allowed| !allows(allowed)).then_some(ReasonCode::Preference)
    }

    /// The address of this person for a type of channel.
    pub fn address(&self, kind: &str) -> Option<&str> {
        self.addresses.get(kind).map(String::as_str)
    }
}

/// Whether a word names this channel: its key, or its type.
pub fn names(word: &str, channel: &str) -> bool {
    word == channel || channel.split(':').next() == Some(word)
}

/// The channel after this one in an order of channels; the first, where this one is not in it.
pub fn next_in<'o>(order: &'o [ChannelKey], channel: &ChannelKey) -> Option<&'o ChannelKey> {
    let at = order.iter().position(|one| one == channel).map_or(0, |at| at + 1);
    order.get(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_s_own_word_comes_before_the_general_one() {
        let preference = Preference::read(
            r#"{"channels":["email"],"topics":{"offers":{"subscribed":false},"alerts":{"subscribed":true,"channels":["sms:twilio"]}}}"#,
        );
        for (topic, channel, refused) in [
            (None, "email:default", None),
            (None, "sms:twilio", Some(ReasonCode::Preference)),
            (Some("offers"), "email:default", Some(ReasonCode::Unsubscribed)),
            (Some("news"), "email:x", None),
            (Some("alerts"), "sms:twilio", None),
            (Some("alerts"), "sms:other", Some(ReasonCode::Preference)),
            (Some("alerts"), "email:default", Some(ReasonCode::Preference)),
        ] {
            assert_eq!(preference.refuses(topic, channel), refused, "{topic:?} {channel}");
        }
        assert_eq!(Preference::default().refuses(Some("offers"), "email:default"), None);
    }

    #[test]
    fn an_order_goes_on_from_where_a_channel_stands_in_it() {
        let order = ["whatsapp:a", "sms:b", "email:c"].map(ChannelKey::stored);
        for (channel, next) in [
            ("teams:x", Some("whatsapp:a")),
            ("whatsapp:a", Some("sms:b")),
            ("sms:b", Some("email:c")),
            ("email:c", None),
        ] {
            assert_eq!(next_in(&order, &ChannelKey::stored(channel)).map(ChannelKey::as_str), next);
        }
        assert_eq!(next_in(&[], &ChannelKey::stored("email:c")), None);
    }
}
