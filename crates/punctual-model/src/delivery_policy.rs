//! The delivery policy: when, how often and over which channel people get messages, as plain values and pure functions.
//!
//! [`hours`] has quiet hours and send windows, [`limiter`] the rate limits of channels, [`circuit`] the circuit breaker,
//! [`preference`] the preferences of people, and [`handling`] the settings of a message. The engine calls these functions and
//! writes the results.

pub mod circuit;
pub mod handling;
pub mod hours;
pub mod limiter;
pub mod preference;
pub mod urgency;

use serde::{Deserialize, Serialize};

pub use circuit::{Breaker, CircuitSetting, CircuitState};
pub use handling::{Handling, HandlingChange};
pub use hours::{SendWindow, Span};
pub use limiter::{Limiter, Rate};
pub use preference::{Preference, Topic};
pub use urgency::{LEVELS, Priority, Urgency};

/// The delivery policy of a channel, as it is stored with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChannelPolicy {
    /// At most so many sends in any sliding window of that length.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<Rate>,
    /// The account behind the channel, where several channels share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The same for all channels of that provider together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provider_rates: Vec<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_window: Option<SendWindow>,
    /// The zone of its hours for people whose own is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Calls under way at once from one node; the adapter's own figure where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    /// When its circuit opens; as in the whole installation where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circuit: Option<CircuitSetting>,
}

impl ChannelPolicy {
    /// What was stored; a text that cannot be read says nothing.
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    pub fn has_hours(&self) -> bool {
        self.quiet_hours.is_some() || self.send_window.is_some()
    }

    /// The limiters that a send over this channel counts in, each with its rates.
    pub fn limiters(&self, channel: &str) -> Vec<(String, Vec<Rate>)> {
        let mut all = Vec::new();
        if !self.rates.is_empty() {
            all.push((format!("channel:{channel}"), self.rates.clone()));
        }
        if let Some(provider) = self.provider.as_deref().filter(|_| !self.provider_rates.is_empty()) {
            all.push((format!("provider:{provider}"), self.provider_rates.clone()));
        }
        all
    }
}

/// The delivery policy of the whole installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeliveryPolicy {
    /// Messages that one person gets on one local day, over all workflows and channels; the rest comes as a digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_cap: Option<i64>,
    /// The local time at which the digest of the day before is sent.
    #[serde(skip_serializing_if = "Option::is_none", with = "hours::optional_time")]
    pub digest_at: Option<jiff::civil::Time>,
    /// What people can choose from on their page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<KnownTopic>,
    /// Who writes to people, as their page says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organisation: Option<String>,
    /// The colour of that page, such as `#1a6f5c`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colour: Option<String>,
}

/// A topic as people see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownTopic {
    pub name: String,
    pub title: String,
}

impl DeliveryPolicy {
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    pub fn title_of<'t>(&'t self, topic: &'t str) -> &'t str {
        self.topics.iter().find(|known| known.name == topic).map_or(topic, |known| &known.title)
    }
}

/// A length as people write it.
mod written {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::durations;

    pub fn serialize<S: Serializer>(length: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&durations::format(*length))
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Duration, D::Error> {
        durations::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_reads_back_and_nonsense_says_nothing() {
        let json = r#"{"rates":[{"max":5,"per":"1s"}],"provider":"acme","providerRates":[{"max":100,"per":"1h"}],"quietHours":{"from":"22:00","to":"07:00"},"sendWindow":{"days":["mon","fri"],"from":"09:00","to":"17:30"},"timeZone":"Europe/Berlin","concurrency":4,"circuit":{"failures":5,"openFor":"10s","maxOpenFor":"1m"}}"#;
        let policy = ChannelPolicy::read(json);
        assert_eq!(serde_json::to_string(&policy).unwrap(), json);
        let limiters = policy.limiters("sms:a");
        assert_eq!((limiters[0].0.as_str(), limiters[1].0.as_str()), ("channel:sms:a", "provider:acme"));
        let never = ChannelPolicy::read(r#"{"circuit":false}"#);
        assert_eq!(never.circuit, Some(CircuitSetting::Never));
        assert_eq!(serde_json::to_string(&never).unwrap(), r#"{"circuit":false}"#);
        assert_eq!(ChannelPolicy::read("nonsense"), ChannelPolicy::default());
        let policy = DeliveryPolicy::read(
            r#"{"dailyCap":3,"digestAt":"08:00","topics":[{"name":"offers","title":"Offers"}]}"#,
        );
        assert_eq!(
            (policy.daily_cap, policy.title_of("offers"), policy.title_of("x")),
            (Some(3), "Offers", "x")
        );
    }
}
