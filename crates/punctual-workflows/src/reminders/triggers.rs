//! The built-in triggers: a date of the source, an anniversary, a metric that crosses a threshold.

pub mod dates;
mod key_base;
pub mod metric;
pub mod recurring;
pub mod threshold;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::civil::{Date, Time};
use punctual_model::{
    Fault, KeyError, ReasonCode, WorkKey,
    local_time::{self, DATE_YEARS, InstantError},
};
use serde_json::Value;

use super::{
    Setting,
    providers::{ScanBounds, TriggerProvider, Zone, placed},
};

/// The triggers that ship.
pub fn built_in() -> Vec<Arc<dyn TriggerProvider>> {
    vec![Arc::new(dates::DateBased), Arc::new(recurring::Recurring), Arc::new(threshold::Threshold)]
}

/// The time of day at which a reminder is sent when its setting does not say.
pub const SEND_TIME: Time = Time::constant(9, 0, 0, 0);

/// How the built-in providers bound their reconciliation.
fn bounds() -> ScanBounds {
    ScanBounds {
        active_only: true,
        changed_since: true,
        window_days: Some(400),
        business_units: Some(Vec::new()),
        batch: Some(500),
        cursor: true,
    }
}

/// A date in a source's state: a date as it is, or the local date of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Date(Dated),
    Missing,
    Unreadable,
    OutOfRange,
}

impl Found {
    /// The date, or why a setting does not apply to the source.
    fn date(self) -> Result<Dated, ReasonCode> {
        match self {
            Self::Date(date) => Ok(date),
            Self::Missing => Err(ReasonCode::DateMissing),
            Self::Unreadable => Err(ReasonCode::DateUnreadable),
            Self::OutOfRange => Err(ReasonCode::DateOutOfRange),
        }
    }
}

struct Keys {
    key: WorkKey,
    formerly: Option<WorkKey>,
    fault: Option<ReasonCode>,
}

/// A date, and the one that it has in keys. For an instant the latter is the date as it is written: its local date changes
/// with the zone of the business unit, and its reminders are the same ones all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dated {
    local: Date,
    in_keys: Date,
}

impl Dated {
    /// The key over the date in keys, and the one over the local date, which earlier versions used.
    fn keys(self, setting: &Setting, key: impl Fn(Date) -> Result<WorkKey, KeyError>) -> Option<Keys> {
        let formerly = if self.local == self.in_keys { None } else { key(self.local).ok() };
        let (key, fault) = placed(setting, key(self.in_keys))?;
        Some(Keys { key, formerly, fault })
    }

    fn map(self, change: impl Fn(Date) -> Option<Date>) -> Option<Self> {
        Some(Self { local: change(self.local)?, in_keys: change(self.in_keys)? })
    }
}

fn date_at(state: &Value, pointer: &str, zone: &Zone) -> Found {
    match state.pointer(pointer) {
        None | Some(Value::Null) => Found::Missing,
        Some(Value::String(text)) if text.is_empty() => Found::Missing,
        Some(Value::String(text)) => read_date(text, zone),
        Some(_) => Found::Unreadable,
    }
}

fn read_date(text: &str, zone: &Zone) -> Found {
    let written = text.get(..10).and_then(|date| local_time::parse_date(date).ok());
    let dated = match (written, local_time::parse_instant(text)) {
        (Some(date), _) if text.len() == 10 => Dated { local: date, in_keys: date },
        (written, Ok(at)) => {
            let local = zone.date(at);
            Dated { local, in_keys: written.unwrap_or(local) }
        }
        // At the ends of the calendar, a date exists whose instant does not.
        (Some(date), Err(InstantError::Date(_))) if !DATE_YEARS.contains(&date.year()) => {
            return Found::OutOfRange;
        }
        (_, Err(_)) => return Found::Unreadable,
    };
    let is_real = |date: Date| DATE_YEARS.contains(&date.year());
    if is_real(dated.local) && is_real(dated.in_keys) { Found::Date(dated) } else { Found::OutOfRange }
}

/// Reads the part of a definition under `name`, which must be an object.
fn part<'v>(definition: &'v Value, name: &str) -> Result<&'v Value, Vec<Fault>> {
    definition.get(name).filter(|part| part.is_object()).ok_or_else(|| {
        let kind = definition.get("kind").and_then(Value::as_str).unwrap_or_default();
        vec![Fault::new(
            format!("/{name}"),
            "missing_field",
            format!("`{name}` is missing; a setting of kind `{kind}` takes one."),
        )]
    })
}

/// A JSON pointer into a source's state.
fn pointer_at(part: &Value, name: &str, at: &str, faults: &mut Vec<Fault>) -> String {
    let text = part.get(name).and_then(Value::as_str).unwrap_or_default();
    check_pointer(text, &format!("{at}/{name}"), faults);
    text.to_owned()
}

/// Pointers are as RFC 6901 has them; ours lead into the state.
pub(crate) fn check_pointer(text: &str, at: &str, faults: &mut Vec<Fault>) {
    if text.is_empty() {
        faults.push(Fault::new(
            at,
            "missing_field",
            "A JSON pointer into the source's state is missing, such as `/expiresOn`.",
        ));
    } else if !text.starts_with('/') || text.len() > 512 {
        let detail =
            "A field is a JSON pointer into the source's state, such as `/expiresOn`, of at most 512 bytes.";
        faults.push(Fault::new(at, "out_of_range", detail));
    }
}

fn send_time(part: &Value, at: &str, faults: &mut Vec<Fault>) -> Time {
    match part.get("sendTime").and_then(Value::as_str).map(local_time::parse_time) {
        None => SEND_TIME,
        Some(Ok(time)) => time,
        Some(Err(error)) => {
            faults.push(Fault::new(format!("{at}/sendTime"), error.code(), super::setting::sentence(&error)));
            SEND_TIME
        }
    }
}
