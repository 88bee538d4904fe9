//! The JSON format of a retry policy: `{"policy":"fixed","max":3,"intervalSeconds":60}`, or
//! `{"policy":"steps","afterSeconds":[60,300]}`, which lists each delay.
//!
//! An exponential policy may also have `factor` (default 2), `capSeconds` (default 3600, or the
//! interval if that is longer) and `jitterPercent` (default 20); its `intervalSeconds` is the first delay.
//! The ladder and the daily policy belong to workflows, and are written but not read.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{HOUR, INTERVALS, MAX_ATTEMPTS, MINUTE, RetryPolicy};
use crate::{
    fault::{Fault, pointer_step, shown},
    nearest::suggestion,
};

const POLICIES: [&str; 3] = ["fixed", "exponential", "steps"];
const STEPS_FIELDS: [&str; 2] = ["policy", "afterSeconds"];
const FIXED_FIELDS: [&str; 3] = ["policy", "max", "intervalSeconds"];
const EXPONENTIAL_FIELDS: [&str; 6] =
    ["policy", "max", "intervalSeconds", "factor", "capSeconds", "jitterPercent"];

impl RetryPolicy {
    /// Reads a policy and finds every fault in it. Whatever is left out has its default.
    pub fn from_json(value: &Value) -> Result<Self, Vec<Fault>> {
        let Value::Object(fields) = value else {
            let detail =
                r#"a retry policy is an object such as {"policy":"fixed","max":3,"intervalSeconds":60}"#;
            return Err(vec![Fault::new("", "wrong_type", detail)]);
        };
        let mut reader = Reader { fields, faults: Vec::new() };
        if fields.get("policy").and_then(Value::as_str) == Some("steps") {
            return reader.steps();
        }
        let exponential = reader.is_exponential();
        reader.refuse_unknown(if exponential { &EXPONENTIAL_FIELDS } else { &FIXED_FIELDS });

        let seconds = INTERVALS.start().as_secs()..=INTERVALS.end().as_secs();
        let max = reader.number("max", 3, 0..=u64::from(MAX_ATTEMPTS));
        let interval = reader.number("intervalSeconds", MINUTE.as_secs(), seconds.clone());
        let policy = if exponential {
            let cap = reader.number("capSeconds", HOUR.as_secs().max(interval), seconds);
            if cap < interval {
                reader.fault("capSeconds", "out_of_range", "`capSeconds` is not less than `intervalSeconds`");
            }
            Self::Exponential {
                first: Duration::from_secs(interval),
                factor: narrow(reader.number("factor", 2, 1..=10)),
                cap: Duration::from_secs(cap),
                max: narrow(max),
                jitter_percent: u8::try_from(reader.number("jitterPercent", 20, 0..=100)).unwrap_or(100),
            }
        } else {
            Self::Fixed { interval: Duration::from_secs(interval), max: narrow(max) }
        };
        if reader.faults.is_empty() { Ok(policy) } else { Err(reader.faults) }
    }

    /// The policy as it is shown; what [`Self::from_json`] accepts comes back the same.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Ladder => json!({"policy": "ladder"}),
            Self::Daily => json!({"policy": "daily"}),
            Self::Fixed { interval, max } => {
                json!({"policy": "fixed", "max": max, "intervalSeconds": interval.as_secs()})
            }
            Self::Steps(waits) => {
                let seconds: Vec<u64> = waits.iter().map(Duration::as_secs).collect();
                json!({"policy": "steps", "afterSeconds": seconds})
            }
            Self::Exponential { first, factor, cap, max, jitter_percent } => json!({
                "policy": "exponential",
                "max": max,
                "intervalSeconds": first.as_secs(),
                "factor": factor,
                "capSeconds": cap.as_secs(),
                "jitterPercent": jitter_percent,
            }),
        }
    }
}

/// A number that a range has already bounded.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

struct Reader<'a> {
    fields: &'a Map<String, Value>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn fault(&mut self, field: &str, code: &'static str, detail: impl Into<String>) {
        self.faults.push(Fault::new(format!("/{}", pointer_step(field)), code, detail));
    }

    /// A list of waits, one for each attempt after the first.
    fn steps(mut self) -> Result<RetryPolicy, Vec<Fault>> {
        self.refuse_unknown(&STEPS_FIELDS);
        let range = INTERVALS.start().as_secs()..=INTERVALS.end().as_secs();
        let waits: Option<Vec<Duration>> =
            self.fields.get("afterSeconds").and_then(Value::as_array).and_then(|all| {
                let seconds = |one: &Value| one.as_u64().filter(|seconds| range.contains(seconds));
                all.iter().map(|one| seconds(one).map(Duration::from_secs)).collect()
            });
        let most = usize::try_from(MAX_ATTEMPTS).unwrap_or(usize::MAX);
        match waits.filter(|waits| (1..=most).contains(&waits.len())) {
            Some(waits) if self.faults.is_empty() => return Ok(RetryPolicy::Steps(waits.into())),
            Some(_) => {}
            None => {
                let detail = format!(
                    "`afterSeconds` is a list of 1 to {MAX_ATTEMPTS} whole numbers from {} to {}",
                    range.start(),
                    range.end()
                );
                self.fault("afterSeconds", "out_of_range", detail);
            }
        }
        Err(self.faults)
    }

    fn is_exponential(&mut self) -> bool {
        match self.fields.get("policy") {
            None => false,
            Some(Value::String(policy)) if policy == "fixed" => false,
            Some(Value::String(policy)) if policy == "exponential" => true,
            Some(Value::String(policy)) => {
                let detail =
                    format!("`{}` is no retry policy: {}", shown(policy), suggestion(policy, &POLICIES));
                self.fault("policy", "out_of_range", detail);
                // The wider set of fields, so that one wrong word does not make the others wrong too.
                true
            }
            Some(_) => {
                self.fault("policy", "wrong_type", "`policy` is the text `fixed`, `exponential` or `steps`");
                true
            }
        }
    }

    fn refuse_unknown(&mut self, known: &[&str]) {
        for name in self.fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let detail = if EXPONENTIAL_FIELDS.contains(&name.as_str()) {
                format!("`{name}` belongs to the policy `exponential`")
            } else {
                format!("a retry policy has no field `{}`: {}", shown(name), suggestion(name, known))
            };
            self.faults.push(Fault::new(format!("/{}", pointer_step(name)), "unknown_field", detail));
        }
    }

    /// A whole number in the range; the default when it is missing or wrong.
    fn number(&mut self, name: &str, default: u64, range: std::ops::RangeInclusive<u64>) -> u64 {
        let Some(value) = self.fields.get(name) else { return default };
        let expected = format!("`{name}` is a whole number from {} to {}", range.start(), range.end());
        match value {
            Value::Number(number) => match number.as_u64() {
                Some(number) if range.contains(&number) => return number,
                _ => self.fault(name, "out_of_range", expected),
            },
            _ => self.fault(name, "wrong_type", expected),
        }
        default
    }
}
