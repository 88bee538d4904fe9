//! When a failed delivery is retried.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    fields::Fields,
    limits::{RETRIES_MAX, RETRY_INTERVAL_SECONDS_MAX},
    problem::{Code, FieldError},
};

/// When a failed delivery is retried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetrySettings {
    /// `fixed` by default.
    #[serde(default)]
    pub policy: RetryPolicy,
    /// Attempts after the first, 0 to 100; 3 by default. Not for `steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<i64>,
    /// The wait before each attempt, or before the first repetition of an exponential policy; 60 by default. Not for `steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<i64>,
    /// The wait before each attempt after the first, 1 to 100 of them; `steps` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!([60, 300, 900]))]
    pub after_seconds: Option<Vec<i64>>,
    /// The factor by which each delay grows; exponential only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<i64>,
    /// The longest wait; exponential only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap_seconds: Option<i64>,
    /// How much of each wait may be taken off at random; exponential only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_percent: Option<i64>,
}

/// How the waits between attempts grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum RetryPolicy {
    #[default]
    Fixed,
    Exponential,
    Steps,
}

const RETRIES: i64 = 3;
const INTERVAL_SECONDS: i64 = 60;

impl RetrySettings {
    /// Reads the object's fields; what is left out has its default.
    pub fn read(fields: &mut Fields<'_>) -> Self {
        let policies = [
            ("fixed", RetryPolicy::Fixed),
            ("exponential", RetryPolicy::Exponential),
            ("steps", RetryPolicy::Steps),
        ];
        let policy = fields.optional_choice("policy", &policies).unwrap_or_default();
        if policy == RetryPolicy::Steps { Self::steps(fields) } else { Self::grown(fields, policy) }
    }

    fn steps(fields: &mut Fields<'_>) -> Self {
        refuse_of(
            fields,
            &["max", "intervalSeconds", "factor", "capSeconds", "jitterPercent"],
            "fixed` or `exponential",
        );
        fields.require("afterSeconds", || "a list of waits in seconds, such as [60, 300]".to_owned());
        let waits = fields.array("afterSeconds", 1..=usize::try_from(RETRIES_MAX).unwrap_or(0));
        let range = 1..=RETRY_INTERVAL_SECONDS_MAX;
        let mut seconds = Vec::new();
        for (index, wait) in waits.unwrap_or_default().iter().enumerate() {
            match wait.as_i64().filter(|wait| range.contains(wait)) {
                Some(wait) => seconds.push(wait),
                None => {
                    let detail = format!("A wait is a whole number from 1 to {RETRY_INTERVAL_SECONDS_MAX}.");
                    let pointer = format!("{}/{index}", fields.pointer_to("afterSeconds"));
                    fields.push(FieldError::new(pointer, Code::OutOfRange, detail));
                }
            }
        }
        Self {
            policy: RetryPolicy::Steps,
            max: None,
            interval_seconds: None,
            after_seconds: Some(seconds),
            factor: None,
            cap_seconds: None,
            jitter_percent: None,
        }
    }

    fn grown(fields: &mut Fields<'_>, policy: RetryPolicy) -> Self {
        let interval = fields
            .optional_int("intervalSeconds", 1..=RETRY_INTERVAL_SECONDS_MAX)
            .unwrap_or(INTERVAL_SECONDS);
        let settings = Self {
            policy,
            max: Some(fields.optional_int("max", 0..=RETRIES_MAX).unwrap_or(RETRIES)),
            interval_seconds: Some(interval),
            after_seconds: None,
            factor: fields.optional_int("factor", 1..=10),
            cap_seconds: fields.optional_int("capSeconds", 1..=RETRY_INTERVAL_SECONDS_MAX),
            jitter_percent: fields.optional_int("jitterPercent", 0..=100),
        };
        refuse_of(fields, &["afterSeconds"], "steps");
        if policy == RetryPolicy::Fixed {
            refuse_of(fields, &["factor", "capSeconds", "jitterPercent"], "exponential");
        }
        if settings.cap_seconds.is_some_and(|cap| cap < interval) {
            fields.refuse("capSeconds", Code::OutOfRange, "`capSeconds` is not less than `intervalSeconds`.");
        }
        settings
    }
}

/// These fields belong to another policy.
fn refuse_of(fields: &mut Fields<'_>, names: &[&'static str], policy: &str) {
    for name in names.iter().copied().filter(|name| fields.has(name)).collect::<Vec<_>>() {
        let detail = format!("`{name}` belongs to the policy `{policy}`.");
        fields.refuse(name, Code::FieldConflict, detail);
    }
}
