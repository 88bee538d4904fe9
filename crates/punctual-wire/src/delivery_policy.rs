//! The delivery policy: limits and hours of channels, preferences of people, and global settings.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_model::{
    delivery_policy::{handling::ORDER_MAX, hours::Day},
    durations, local_time,
    survey::is_colour,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    batch::Item,
    fields::Fields,
    limits::NAME_MAX,
    names::{channel_fault, name_fault},
    operations::{channels, people::addresses},
    problem::{Code, FieldError},
    reminders::QuietHours,
};

/// Rates of one channel or provider; each has its own slots.
const RATES_MAX: usize = 5;
/// The most that a rate may allow: more is no limit.
const RATE_MAX: i64 = 1_000_000;
/// Topics that one person has said something about, or that an installation has.
const TOPICS_MAX: usize = 200;
/// Messages a day that somebody may want at most.
const CAP_MAX: i64 = 10_000;

/// How much a channel may send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// At most so many sends in any sliding window of that length, over all nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<Rate>,
    /// The account behind the channel, where several channels share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "twilio-main")]
    pub provider: Option<String>,
    /// The same for all channels of that provider together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provider_rates: Vec<Rate>,
}

/// At most `max` in any sliding window of that length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rate {
    #[schema(example = 30)]
    pub max: i64,
    /// `1s` to `30d`.
    #[schema(example = "1m")]
    pub per: String,
}

/// The days and hours in which a channel sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SendWindow {
    /// `mon` to `sun`; every day where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["mon", "tue", "wed", "thu", "fri"]))]
    pub days: Vec<String>,
    #[schema(example = "08:00")]
    pub from: String,
    #[schema(example = "18:00")]
    pub to: String,
}

impl Limits {
    pub fn read(fields: &mut Fields<'_>) -> Self {
        let limits = Self {
            rates: rates(fields, "rates"),
            provider: fields.optional_name("provider"),
            provider_rates: rates(fields, "providerRates"),
        };
        if limits.provider.is_none() && !limits.provider_rates.is_empty() {
            fields.refuse("provider", Code::MissingField, "`providerRates` need the name of a `provider`.");
        }
        limits
    }
}

fn rates(fields: &mut Fields<'_>, name: &'static str) -> Vec<Rate> {
    let mut all: Vec<Rate> = Vec::new();
    for (index, value) in fields.array(name, 0..=RATES_MAX).unwrap_or_default().iter().enumerate() {
        let mut inner = Fields::new(value, format!("{}/{index}", fields.pointer_to(name)));
        let max = inner.required_int("max", 1..=RATE_MAX);
        let per = inner.required_text("per", 1..=16);
        let seconds = durations::parse(&per).map(|per| per.as_secs());
        if !per.is_empty() && !matches!(seconds, Ok(1..=2_592_000)) {
            inner.refuse(
                "per",
                Code::DurationInvalid,
                "`per` takes a length from `1s` to `30d`, such as `1m`.",
            );
        }
        if all.iter().any(|other| durations::parse(&other.per).map(|per| per.as_secs()) == seconds) {
            inner.refuse("per", Code::FieldConflict, "There is a rate of this length already.");
        }
        if fields.accept(inner.finish()).is_some() {
            all.push(Rate { max, per });
        }
    }
    all
}

/// A time of day, as it was written.
fn time(fields: &mut Fields<'_>, name: &'static str) -> String {
    let text = fields.required_text(name, 1..=16);
    if let Some(Err(error)) = (!text.is_empty()).then(|| local_time::parse_time(&text)) {
        fields.refuse(name, Code::DateInvalid, format!("{error}."));
    }
    text
}

/// Quiet hours; `from` may be later than `to`, over midnight.
pub fn quiet_hours(fields: &mut Fields<'_>) -> QuietHours {
    let hours = QuietHours { from: time(fields, "from"), to: time(fields, "to") };
    if !hours.from.is_empty() && hours.from == hours.to {
        fields.refuse("to", Code::OutOfRange, "Quiet hours end at another time than they begin.");
    }
    hours
}

impl SendWindow {
    pub fn read(fields: &mut Fields<'_>) -> Self {
        let words = Day::ALL.map(|(word, _)| word);
        let days = fields.text_items("days", 0..=7, |text, pointer| {
            if words.contains(&text) {
                return Ok(text.to_owned());
            }
            let detail = format!("A day is one of `{}`.", words.join("`, `"));
            Err(FieldError::new(pointer(), Code::OutOfRange, detail))
        });
        let window =
            Self { days: days.unwrap_or_default(), from: time(fields, "from"), to: time(fields, "to") };
        let times = (local_time::parse_time(&window.from), local_time::parse_time(&window.to));
        if let (Ok(from), Ok(to)) = times
            && from >= to
        {
            fields.refuse("to", Code::OutOfRange, "A window closes later on the day than it opens.");
        }
        window
    }
}

/// The state of a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelState {
    /// `closed`: messages are sent. `open`: the channel failed repeatedly and nothing is sent. `halfOpen`: one message
    /// probes whether it works again.
    #[schema(example = "closed")]
    pub circuit: String,
    /// When an open circuit becomes half open.
    pub open_until: Option<Timestamp>,
    /// How many times in a row the circuit has opened.
    pub open_count: i64,
    pub last_error: Option<String>,
    pub rates: Vec<RateState>,
    /// The hosts that targets name themselves and whose circuits are open or half open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostState>,
}

/// The circuit of one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostState {
    #[schema(example = "hooks.example.com")]
    pub host: String,
    /// `open` or `halfOpen`.
    #[schema(example = "open")]
    pub circuit: String,
    pub open_until: Timestamp,
    pub open_count: i64,
    pub last_error: String,
}

/// How much of one limit is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateState {
    /// `channel:KEY` or `provider:NAME`.
    pub limiter: String,
    pub max: i64,
    pub per: String,
    pub used: i64,
    /// When the next ordinary message may go, where it may not now.
    pub next_at: Option<Timestamp>,
}

/// What a person wants. What is left out is not limited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreferenceRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// Where they are reached: type of channel to address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false, example = json!({"email": "ann@example.org", "sms": "+49301234567"}))]
    pub addresses: BTreeMap<String, String>,
    /// The channels, or types of channels, that may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["email", "sms:twilio"]))]
    pub channels: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
    /// What they want of each topic.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false, example = json!({"offers": {"subscribed": false}}))]
    pub topics: BTreeMap<String, TopicChoice>,
    /// The channels to use, in order, for messages without their own order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, example = json!(["whatsapp:default", "sms:twilio", "email:default"]))]
    pub failover: Vec<String>,
    /// Messages on one local day; the rest comes as a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cap: Option<i64>,
}

/// The preferences of a person for one topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TopicChoice {
    pub subscribed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<Vec<String>>,
}

impl PreferenceRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            time_zone: fields.optional_zone("timeZone"),
            locale: fields.optional_locale("locale"),
            addresses: addresses(&mut fields),
            channels: channels(&mut fields, "channels"),
            quiet_hours: fields.nested("quietHours", quiet_hours),
            topics: topics(&mut fields),
            failover: order(&mut fields),
            daily_cap: fields.optional_int("dailyCap", 1..=CAP_MAX),
        };
        fields.finish().map(|()| request)
    }
}

/// The channels that are used one after another, each once.
pub fn order(fields: &mut Fields<'_>) -> Vec<String> {
    let order = fields.text_items("failover", 0..=ORDER_MAX, |text, pointer| {
        channel_fault(text, pointer).map_or_else(|| Ok(text.to_owned()), Err)
    });
    let order = order.unwrap_or_default();
    for (index, channel) in order.iter().enumerate() {
        if order[..index].contains(channel) {
            let pointer = format!("{}/{index}", fields.pointer_to("failover"));
            fields.push(FieldError::new(
                pointer,
                Code::FieldConflict,
                "A channel may be in the order only once.",
            ));
        }
    }
    order
}

fn topics(fields: &mut Fields<'_>) -> BTreeMap<String, TopicChoice> {
    let mut all = BTreeMap::new();
    for (topic, value) in fields.entries("topics", 0..=TOPICS_MAX).into_iter().flatten() {
        let pointer = format!("{}/{topic}", fields.pointer_to("topics"));
        if let Some(fault) = name_fault(topic, NAME_MAX, &|| pointer.clone()) {
            fields.push(fault);
        }
        let mut inner = Fields::new(value, pointer);
        inner.require("subscribed", || "`true` or `false`".to_owned());
        let choice = TopicChoice {
            subscribed: inner.bool("subscribed", true),
            channels: channels(&mut inner, "channels"),
        };
        if fields.accept(inner.finish()).is_some() {
            all.insert(topic.clone(), choice);
        }
    }
    all
}

/// What is known of a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preference {
    /// Their name here, or the address they are known by.
    pub person: String,
    #[serde(flatten)]
    pub wants: PreferenceRequest,
    pub version: i64,
    pub updated_at: Timestamp,
}

/// The page on which a person says what they want.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PreferenceLink {
    /// Everyone with the link can change the preferences of this person, and nothing else.
    pub url: String,
}

/// The delivery policy of the whole installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryPolicy {
    /// Messages that one person gets on one local day, over all workflows and channels; alarms are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cap: Option<i64>,
    /// The local time at which the digest of the day before is sent; by default 08:00.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "08:00")]
    pub digest_at: Option<String>,
    /// What people can choose from on their page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub topics: Vec<TopicTitle>,
    /// Who writes to people, as their page says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Rafidain Motors")]
    pub organisation: Option<String>,
    /// The colour of that page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "#1a6f5c")]
    pub colour: Option<String>,
}

/// A topic as people see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TopicTitle {
    #[schema(example = "offers")]
    pub name: String,
    #[schema(example = "Offers and news")]
    pub title: String,
}

impl DeliveryPolicy {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let daily_cap = fields.optional_int("dailyCap", 1..=CAP_MAX);
        let digest_at = fields.has("digestAt").then(|| time(&mut fields, "digestAt"));
        let mut topics = Vec::new();
        for (index, value) in fields.array("topics", 0..=TOPICS_MAX).unwrap_or_default().iter().enumerate() {
            let mut inner = Fields::new(value, format!("{}/{index}", fields.pointer_to("topics")));
            let topic = TopicTitle { name: inner.required_name("name"), title: inner.required_name("title") };
            if fields.accept(inner.finish()).is_some() {
                topics.push(topic);
            }
        }
        let organisation = fields.optional_text("organisation", 1..=NAME_MAX);
        let colour = fields.optional_text("colour", 1..=7);
        if colour.as_deref().is_some_and(|colour| !is_colour(colour)) {
            fields.refuse("colour", Code::OutOfRange, "`colour` is written as `#1a6f5c`.");
        }
        fields.finish().map(|()| Self { daily_cap, digest_at, topics, organisation, colour })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults<T>(read: Item<T>) -> Vec<(String, &'static str)> {
        let faults = read.err().unwrap_or_default();
        faults.iter().map(|fault| (fault.pointer.clone(), fault.code.as_str())).collect()
    }

    #[test]
    fn what_a_person_wants_is_read_and_written_alike() {
        let body = json!({"timeZone": "Europe/Berlin", "locale": "de", "addresses": {"email": "ann@example.org"},
            "channels": ["email"], "quietHours": {"from": "22:00", "to": "07:00"},
            "topics": {"offers": {"subscribed": false}}, "failover": ["sms:a", "email:b"], "dailyCap": 3});
        assert_eq!(serde_json::to_value(PreferenceRequest::read(&body, "").unwrap()).unwrap(), body);
        // The stored form is the model's, and both agree on every name.
        let stored: punctual_model::delivery_policy::Preference =
            serde_json::from_value(body.clone()).unwrap();
        assert_eq!(serde_json::to_value(stored).unwrap(), body);
        let odd = json!({"timeZone": "Berlin", "addresses": {"email": "x"}, "channels": ["E mail"],
            "quietHours": {"from": "late", "to": "07:00"}, "topics": {"offers": {}}, "failover": ["sms:a", "sms:a"],
            "dailyCap": 0, "colour": 1});
        let found = faults(PreferenceRequest::read(&odd, ""));
        let expected = [
            ("/timeZone", "zone_unknown"),
            ("/addresses/email", "address_invalid"),
            ("/channels/0", "key_invalid"),
            ("/quietHours/from", "date_invalid"),
            ("/topics/offers/subscribed", "missing_field"),
            ("/failover/1", "field_conflict"),
            ("/dailyCap", "out_of_range"),
            ("/colour", "unknown_field"),
        ];
        assert_eq!(found, expected.map(|(pointer, code)| (pointer.to_owned(), code)));
    }

    #[test]
    fn settings_of_everybody_name_their_faults() {
        let body = json!({"dailyCap": 5, "digestAt": "08:00", "topics": [{"name": "offers", "title": "Offers"}],
                "organisation": "Rafidain Motors", "colour": "#0B5f8a"});
        assert_eq!(serde_json::to_value(DeliveryPolicy::read(&body, "").unwrap()).unwrap(), body);
        let odd = json!({"digestAt": "8", "topics": [{"name": ""}], "colour": "red;", "organisation": "", "cap": 1});
        let found: Vec<_> =
            faults(DeliveryPolicy::read(&odd, "")).into_iter().map(|(pointer, _)| pointer).collect();
        assert_eq!(
            found,
            ["/digestAt", "/topics/0/name", "/topics/0/title", "/organisation", "/colour", "/cap"]
        );
    }
}
