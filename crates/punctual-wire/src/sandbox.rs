//! `/api/v1/sandbox`: a clock that the API moves, and channels that keep what they were given.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields, limits::NAME_MAX};

/// How to move the clock: to an instant, or ahead by a duration.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ClockRequest {
    /// Jump there, then run what is ready.
    Now(Timestamp),
    /// Moves the clock ahead and runs the work that becomes due at every instant on the way. A duration such as `24h`, not
    /// parsed here.
    Advance(String),
}

impl ClockRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        fields.one_of("now", "advance");
        let now = fields.optional_instant("now");
        let advance = fields.optional_text("advance", 1..=NAME_MAX);
        fields.finish()?;
        Ok(now.map_or_else(|| Self::Advance(advance.unwrap_or_default()), Self::Now))
    }
}

/// The time of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SandboxClock {
    pub now: Timestamp,
}

/// A message that a captured channel kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentMessage {
    pub channel: String,
    pub address: String,
    pub subject: String,
    pub body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// Which attempt it was, from 1.
    pub attempt: i64,
    pub at: Timestamp,
    pub notification_id: String,
}

/// All that was sent, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SentMessages {
    pub items: Vec<SentMessage>,
}

/// How a captured channel is to misbehave.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MisbehaviourRequest {
    pub outcome: SandboxOutcome,
    /// For how many sends; for all of them when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<i64>,
    /// What the provider is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "451 later")]
    pub error: Option<String>,
}

/// What a captured channel returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum SandboxOutcome {
    Delivered,
    Transient,
    Permanent,
    /// It takes the message, and its answer never arrives.
    LostReply,
}

impl SandboxOutcome {
    pub const ALL: [(&'static str, Self); 4] = [
        ("delivered", Self::Delivered),
        ("transient", Self::Transient),
        ("permanent", Self::Permanent),
        ("lostReply", Self::LostReply),
    ];

    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, one)| *one == self).map_or("", |(word, _)| word)
    }
}

impl MisbehaviourRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            outcome: fields.required_choice("outcome", &SandboxOutcome::ALL),
            times: fields.optional_int("times", 1..=1_000_000),
            error: fields.optional_text("error", 1..=1_000),
        };
        fields.finish().map(|()| request)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_clock_is_set_or_advanced() {
        #[track_caller]
        fn check(body: Value, expected: Result<Value, (&str, &str)>) {
            match (ClockRequest::read(&body, ""), expected) {
                (Ok(request), Ok(json)) => assert_eq!(serde_json::to_value(request).unwrap(), json),
                (Err(faults), Err(expected)) => {
                    assert_eq!((faults[0].pointer.as_str(), faults[0].code.as_str()), expected);
                }
                (found, expected) => panic!("{found:?}, expected {expected:?}"),
            }
        }
        check(json!({"now": "2026-05-14T05:12:34Z"}), Ok(json!({"now": "2026-05-14T05:12:34Z"})));
        check(json!({"advance": "24h"}), Ok(json!({"advance": "24h"})));
        check(json!({}), Err(("/now", "missing_field")));
        check(json!({"now": "2026-05-14T05:12:34Z", "advance": "24h"}), Err(("/advance", "field_conflict")));
        check(json!({"now": "2026-05-14"}), Err(("/now", "time_no_offset")));
        check(json!({"advance": 24}), Err(("/advance", "wrong_type")));
        check(json!({"advance": "1h", "by": 1}), Err(("/by", "unknown_field")));
    }

    #[test]
    fn a_channel_can_be_made_to_misbehave() {
        let body = json!({"outcome": "lostReply", "times": 2, "error": "451 later"});
        assert_eq!(serde_json::to_value(MisbehaviourRequest::read(&body, "").unwrap()).unwrap(), body);
        for (body, code) in [
            (json!({}), "missing_field"),
            (json!({"outcome": "lost"}), "out_of_range"),
            (json!({"outcome": "transient", "times": 0}), "out_of_range"),
            (json!({"outcome": "transient", "time": 1}), "unknown_field"),
        ] {
            assert_eq!(MisbehaviourRequest::read(&body, "").unwrap_err()[0].code.as_str(), code, "{body}");
        }
    }
}
