//! What a channel says about its circuit.

use std::time::Duration;

use punctual_model::{delivery_policy::Breaker, durations};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{fields::Fields, problem::Code};

/// The circuit of a channel, or `false`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum CircuitSetting {
    #[schema(title = "Never")]
    Never(bool),
    #[schema(title = "Opens")]
    Opens(Circuit),
}

/// When a circuit opens, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Circuit {
    /// It opens after this many failures in a row, 1 to 1000; 10 by default.
    #[schema(required = false, minimum = 1, maximum = 1000)]
    pub failures: i64,
    /// How long it stays open at first; twice as long after each probe that fails. `1s` to `1d`, `30s` by default.
    #[schema(required = false, example = "30s")]
    pub open_for: String,
    /// The longest time that it stays open without a probe; `5m` by default.
    #[schema(required = false, example = "5m")]
    pub max_open_for: String,
}

impl Circuit {
    fn read(fields: &mut Fields<'_>) -> Self {
        let breaker = Breaker::default();
        let failures = fields.optional_int("failures", 1..=1000).unwrap_or(i64::from(breaker.failures));
        let open_for = length(fields, "openFor", breaker.open_for);
        // A longer first time raises the default, so that naming `openFor` alone is never wrong.
        let max_open_for = length(fields, "maxOpenFor", breaker.max_open_for.max(open_for));
        if max_open_for < open_for {
            fields.refuse("maxOpenFor", Code::OutOfRange, "`maxOpenFor` is not less than `openFor`.");
        }
        Self {
            failures,
            open_for: durations::format(open_for),
            max_open_for: durations::format(max_open_for),
        }
    }
}

fn length(fields: &mut Fields<'_>, name: &'static str, default: Duration) -> Duration {
    let Some(text) = fields.optional_text(name, 1..=16) else { return default };
    match durations::parse(&text) {
        Ok(length) if (1..=86_400).contains(&length.as_secs()) => length,
        _ => {
            let detail = format!("`{name}` takes a length from `1s` to `1d`, such as `30s`.");
            fields.refuse(name, Code::DurationInvalid, detail);
            default
        }
    }
}

impl CircuitSetting {
    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        if fields.get("circuit") == Some(&Value::Bool(false)) {
            return Some(Self::Never(false));
        }
        fields.nested("circuit", Circuit::read).map(Self::Opens)
    }
}
