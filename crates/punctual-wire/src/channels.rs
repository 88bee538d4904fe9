//! `/api/v1/channels`: how messages leave, with their settings and their retry policy.
//!
//! Which settings an adapter takes, and which of them are secret, is for the adapter to say. Secrets are written
//! and never read: an answer only names those that are set.

mod circuit;
mod retry;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    batch::Item,
    delivery_policy::{ChannelState, Limits, SendWindow, quiet_hours},
    fields::Fields,
    limits::{BODY_MAX, SETTINGS_MAX},
    reminders::QuietHours,
};

pub use self::{
    circuit::{Circuit, CircuitSetting},
    retry::{RetryPolicy, RetrySettings},
};

/// Calls of one channel under way at once from one node.
const CONCURRENCY_MAX: i64 = 200;

/// A channel to be defined.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelRequest {
    #[schema(example = "smtp")]
    pub adapter: String,
    /// What the adapter needs; a secret may be given as `env:NAME`.
    #[schema(value_type = Object, required = false)]
    pub settings: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetrySettings>,
    /// Do not retry what may have arrived: for receivers that cannot recognise a repetition.
    #[schema(required = false)]
    pub at_most_once: bool,
    #[serde(flatten)]
    pub policy: ChannelPolicy,
}

/// What a channel keeps to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelPolicy {
    /// How much it may send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// When it does not send, in the recipient's zone; alarms go all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
    /// When it sends, in the recipient's zone; alarms go all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_window: Option<SendWindow>,
    /// The zone of these hours for recipients whose own is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// Concurrent calls from one node, 1 to 200; by default the adapter's own value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 200)]
    pub concurrency: Option<i64>,
    /// When nothing is sent for a while because calls fail; `false` where the circuit is never to open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit: Option<CircuitSetting>,
}

impl ChannelPolicy {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            limits: fields.nested("limits", Limits::read),
            quiet_hours: fields.nested("quietHours", quiet_hours),
            send_window: fields.nested("sendWindow", SendWindow::read),
            time_zone: fields.optional_zone("timeZone"),
            concurrency: fields.optional_int("concurrency", 1..=CONCURRENCY_MAX),
            circuit: CircuitSetting::read(fields),
        }
    }

    /// As it is stored: what is inside `limits` is beside the rest.
    pub fn stored(&self) -> Value {
        let Self { limits, quiet_hours, send_window, time_zone, concurrency, circuit } = self;
        let limits = limits.clone().unwrap_or_default();
        let mut stored = serde_json::to_value(limits).unwrap_or_default();
        for (name, value) in [
            ("quietHours", serde_json::to_value(quiet_hours)),
            ("sendWindow", serde_json::to_value(send_window)),
            ("timeZone", serde_json::to_value(time_zone)),
            ("concurrency", serde_json::to_value(concurrency)),
            ("circuit", serde_json::to_value(circuit)),
        ] {
            if let Some(value) = value.ok().filter(|value| !value.is_null()) {
                stored[name] = value;
            }
        }
        stored
    }

    /// What was stored.
    pub fn of_stored(json: &str) -> Self {
        let stored: Value = serde_json::from_str(json).unwrap_or_default();
        let limits: Limits = serde_json::from_value(stored.clone()).unwrap_or_default();
        let rest: Self = serde_json::from_value(stored).unwrap_or_default();
        Self { limits: Some(limits).filter(|limits| *limits != Limits::default()), ..rest }
    }
}

impl ChannelRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            adapter: fields.required_name("adapter"),
            settings: fields
                .object("settings", SETTINGS_MAX)
                .unwrap_or_else(|| Value::Object(Default::default())),
            retry: fields.nested("retry", RetrySettings::read),
            at_most_once: fields.bool("atMostOnce", false),
            policy: ChannelPolicy::read(&mut fields),
        };
        fields.finish().map(|()| request)
    }
}

/// A channel as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Channel {
    #[schema(example = "email:default")]
    pub key: String,
    pub adapter: String,
    /// The settings without the secrets.
    #[schema(value_type = Object)]
    pub settings: Value,
    /// The secrets that are set.
    #[schema(example = json!(["password"]))]
    pub secrets_set: Vec<String>,
    pub retry: RetrySettings,
    pub at_most_once: bool,
    #[serde(flatten)]
    pub policy: ChannelPolicy,
    pub version: i64,
    pub updated_at: Timestamp,
    /// Its state; only for a request of a single channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ChannelState>,
}

/// A message that shows whether the channel works.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChannelTestRequest {
    /// The address to send to.
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

impl ChannelTestRequest {
    /// Reads the request for a channel whose key starts with `kind`.
    pub fn read(value: &Value, pointer: &str, kind: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            address: fields.required_address("address", Some(kind)),
            subject: fields.optional_subject("subject"),
            body: fields.optional_text("body", 0..=BODY_MAX),
        };
        fields.finish().map(|()| request)
    }
}

/// What came of the trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelTest {
    /// `delivered`, `transient` or `permanent`.
    pub outcome: String,
    pub message_id: Option<String>,
    /// The provider's answer, in words.
    pub detail: Option<String>,
    pub duration_ms: u64,
}

/// A webhook's new signing secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RotatedSecret {
    /// Shown once; a repetition of the request does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    pub channel: Channel,
}

/// How a channel did in the last hour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelHealth {
    #[schema(example = "email:default")]
    pub channel: String,
    /// Attempts that have ended.
    #[serde(rename = "tries")]
    pub attempt_count: i64,
    pub delivered: i64,
    /// Between 0 and 1.
    pub success_share: f64,
    /// How long an attempt took.
    pub average_ms: i64,
    /// The error of the last attempt that failed.
    pub last_error: Option<String>,
    pub last_error_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_channel_is_read() {
        let body = json!({"adapter": "smtp", "settings": {"host": "mail.example", "password": "env:X"},
                          "retry": {"max": 5, "intervalSeconds": 30}});
        let request = ChannelRequest::read(&body, "").unwrap();
        let retry = request.retry.unwrap();
        assert_eq!(
            (retry.policy, retry.max, retry.interval_seconds),
            (RetryPolicy::Fixed, Some(5), Some(30))
        );
        assert_eq!(request.settings["password"], "env:X");
        let bare = ChannelRequest::read(&json!({"adapter": "memory"}), "").unwrap();
        assert_eq!((bare.settings, bare.retry, bare.at_most_once), (json!({}), None, false));
    }

    #[test]
    fn a_policy_is_written_as_it_is_read() {
        for retry in [
            json!({"policy": "fixed", "max": 3, "intervalSeconds": 60}),
            json!({"policy": "steps", "afterSeconds": [60, 300]}),
            json!({"policy": "exponential", "max": 0, "intervalSeconds": 1, "factor": 2, "capSeconds": 60, "jitterPercent": 0}),
        ] {
            let request = ChannelRequest::read(&json!({"adapter": "x", "retry": retry}), "").unwrap();
            assert_eq!(serde_json::to_value(request.retry.unwrap()).unwrap(), retry);
        }
    }

    #[test]
    fn each_fault_names_its_field() {
        #[track_caller]
        fn check(body: Value, expected: &[(&str, &str)]) {
            let faults = ChannelRequest::read(&body, "").unwrap_err();
            let found: Vec<_> =
                faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
            assert_eq!(found, expected, "{body}");
        }
        let retry = |retry: Value| json!({"adapter": "smtp", "retry": retry});
        check(json!({"adaptor": "smtp"}), &[("/adapter", "missing_field"), ("/adaptor", "unknown_field")]);
        check(json!({"adapter": "smtp", "settings": []}), &[("/settings", "wrong_type")]);
        check(retry(json!({"policy": "linear"})), &[("/retry/policy", "out_of_range")]);
        check(retry(json!({"max": 101})), &[("/retry/max", "out_of_range")]);
        check(retry(json!({"intervalSeconds": 0})), &[("/retry/intervalSeconds", "out_of_range")]);
        check(retry(json!({"interval": 60})), &[("/retry/interval", "unknown_field")]);
        check(retry(json!({"factor": 2})), &[("/retry/factor", "field_conflict")]);
        check(retry(json!({"afterSeconds": [60]})), &[("/retry/afterSeconds", "field_conflict")]);
        check(retry(json!({"policy": "steps"})), &[("/retry/afterSeconds", "missing_field")]);
        check(
            retry(json!({"policy": "steps", "afterSeconds": [60, 0], "max": 2})),
            &[("/retry/max", "field_conflict"), ("/retry/afterSeconds/1", "out_of_range")],
        );
        let with = |name: &str, value: Value| json!({"adapter": "smtp", name: value});
        check(with("concurrency", json!(0)), &[("/concurrency", "out_of_range")]);
        check(with("concurrency", json!(201)), &[("/concurrency", "out_of_range")]);
        check(with("circuit", json!(true)), &[("/circuit", "wrong_type")]);
        check(with("circuit", json!({"failures": 0})), &[("/circuit/failures", "out_of_range")]);
        check(with("circuit", json!({"openFor": "x"})), &[("/circuit/openFor", "duration_invalid")]);
        check(with("circuit", json!({"opensFor": "1m"})), &[("/circuit/opensFor", "unknown_field")]);
        check(
            with("circuit", json!({"openFor": "1m", "maxOpenFor": "30s"})),
            &[("/circuit/maxOpenFor", "out_of_range")],
        );
        check(
            retry(json!({"policy": "exponential", "capSeconds": 5})),
            &[("/retry/capSeconds", "out_of_range")],
        );
    }

    #[test]
    fn limits_and_hours_are_read_stored_and_answered_alike() {
        let policy = json!({"limits": {"rates": [{"max": 30, "per": "1m"}], "provider": "acme", "providerRates": [{"max": 5, "per": "1s"}]},
            "quietHours": {"from": "22:00", "to": "07:00"}, "sendWindow": {"days": ["mon"], "from": "08:00", "to": "18:00"}, "timeZone": "UTC",
            "concurrency": 40, "circuit": {"failures": 5, "openFor": "10s", "maxOpenFor": "1m"}});
        let mut body = policy.clone();
        body["adapter"] = "smtp".into();
        let read = ChannelRequest::read(&body, "").unwrap().policy;
        let stored = read.stored().to_string();
        assert_eq!(ChannelPolicy::of_stored(&stored), read);
        assert_eq!(serde_json::to_value(&read).unwrap(), policy);
        let model = punctual_model::delivery_policy::ChannelPolicy::read(&stored);
        assert_eq!((model.rates.len(), model.provider_rates.len(), model.has_hours()), (1, 1, true));
        assert_eq!(ChannelPolicy::of_stored("{}"), ChannelPolicy::default());
        assert_eq!(ChannelPolicy::default().stored(), json!({}));
    }

    #[test]
    fn limits_and_hours_that_cannot_be_name_their_field() {
        for (policy, pointer, code) in [
            (json!({"limits": {"rates": [{"max": 0, "per": "1m"}]}}), "/limits/rates/0/max", "out_of_range"),
            (
                json!({"limits": {"rates": [{"max": 1, "per": "1 month"}]}}),
                "/limits/rates/0/per",
                "duration_invalid",
            ),
            (
                json!({"limits": {"rates": [{"max": 1, "per": "60s"}, {"max": 2, "per": "1m"}]}}),
                "/limits/rates/1/per",
                "field_conflict",
            ),
            (
                json!({"limits": {"providerRates": [{"max": 1, "per": "1m"}]}}),
                "/limits/provider",
                "missing_field",
            ),
            (json!({"quietHours": {"from": "22:00", "to": "22:00"}}), "/quietHours/to", "out_of_range"),
            (
                json!({"sendWindow": {"days": ["monday"], "from": "08:00", "to": "18:00"}}),
                "/sendWindow/days/0",
                "out_of_range",
            ),
            (json!({"sendWindow": {"from": "18:00", "to": "08:00"}}), "/sendWindow/to", "out_of_range"),
            (json!({"timeZone": "Berlin"}), "/timeZone", "zone_unknown"),
        ] {
            let mut body = policy;
            body["adapter"] = "smtp".into();
            let faults = ChannelRequest::read(&body, "").unwrap_err();
            assert_eq!(
                (faults.len(), faults[0].pointer.as_str(), faults[0].code.as_str()),
                (1, pointer, code),
                "{body}"
            );
        }
    }

    #[test]
    fn a_trial_needs_an_address_of_the_channel_s_kind() {
        assert!(ChannelTestRequest::read(&json!({"address": "a@b.example"}), "", "email").is_ok());
        for (body, code) in [
            (json!({}), "missing_field"),
            (json!({"address": "x"}), "address_invalid"),
            (json!({"address": 1}), "wrong_type"),
        ] {
            let faults = ChannelTestRequest::read(&body, "", "email").unwrap_err();
            assert_eq!((faults.len(), faults[0].code.as_str()), (1, code));
        }
    }
}
