//! Reading numbers, booleans, instants and dates.

use std::ops::RangeInclusive;

use jiff::{Timestamp, civil::Date};
use serde_json::Value;

use super::Fields;
use crate::{
    instant::{self, NotAnInstant},
    problem::{Code, excerpt},
};

impl<'v> Fields<'v> {
    pub fn required_int(&mut self, name: &'static str, range: RangeInclusive<i64>) -> i64 {
        self.require(name, || format!("a whole number from {} to {}", range.start(), range.end()));
        self.optional_int(name, range).unwrap_or_default()
    }

    pub fn optional_int(&mut self, name: &'static str, range: RangeInclusive<i64>) -> Option<i64> {
        let value = self.get(name)?;
        let Some(number) = whole_number(value, self.from_query) else {
            self.wrong_type(name, "a whole number", value);
            return None;
        };
        let number = i64::try_from(number).ok().filter(|number| range.contains(number));
        if number.is_none() {
            let detail = format!("`{name}` takes a whole number from {} to {}.", range.start(), range.end());
            self.refuse(name, Code::OutOfRange, detail);
        }
        number
    }

    /// A producer's own count of changes: a whole number, or one written as text as CloudEvents has it.
    pub fn optional_sequence(&mut self, name: &'static str) -> Option<i64> {
        let value = self.get(name)?;
        let number =
            whole_number(value, true).and_then(|number| i64::try_from(number).ok()).filter(|n| *n >= 0);
        if number.is_none() {
            let detail = format!("`{name}` takes a whole number that is not negative, as number or text.");
            self.refuse(name, Code::WrongType, detail);
        }
        number
    }

    pub fn bool(&mut self, name: &'static str, default: bool) -> bool {
        self.optional_bool(name).unwrap_or(default)
    }

    pub fn optional_bool(&mut self, name: &'static str) -> Option<bool> {
        let value = self.get(name)?;
        let truth = match value {
            Value::Bool(truth) => Some(*truth),
            Value::String(text) if self.from_query => text.parse().ok(),
            _ => None,
        };
        if truth.is_none() {
            self.wrong_type(name, "`true` or `false`", value);
        }
        truth
    }

    /// An instant with its offset, such as `2026-05-14T09:00:00+02:00`.
    pub fn instant(&mut self, name: &'static str) -> Timestamp {
        self.require(name, || format!("an instant such as `{}`", instant::EXAMPLE));
        self.optional_instant(name).unwrap_or_default()
    }

    pub fn optional_instant(&mut self, name: &'static str) -> Option<Timestamp> {
        let value = self.get(name)?;
        let Some(text) = value.as_str() else {
            self.wrong_type(name, &format!("an instant as text, such as `{}`", instant::EXAMPLE), value);
            return None;
        };
        instant::parse(text)
            .map_err(|error| self.push(error.at(self.pointer_to(name), text, instant::EXAMPLE)))
            .ok()
    }

    /// When something happened. What lies beyond the calendar of plans is in the future, as everything that is more than a day
    /// ahead (which only a clock can tell).
    pub fn optional_past_instant(&mut self, name: &'static str) -> Option<Timestamp> {
        let text = self.get(name)?.as_str();
        if let Some((text, Err(NotAnInstant::TooLate))) = text.map(|text| (text, instant::parse(text))) {
            let detail = format!("`{}` lies in the future; `{name}` is when it happened.", excerpt(text));
            self.refuse(name, Code::TimeInFuture, detail);
            return None;
        }
        self.optional_instant(name)
    }

    /// A date without time, such as `2026-05-14`.
    pub fn optional_date(&mut self, name: &'static str) -> Option<Date> {
        let text = self.text(name)?;
        instant::parse_date(text)
            .map_err(|error| self.push(error.at(self.pointer_to(name), text, "2026-05-14")))
            .ok()
    }
}

/// A whole number in any of its spellings: `7`, `7.0`, and in a query `"7"`.
fn whole_number(value: &Value, from_query: bool) -> Option<i128> {
    /// Beyond it a float does not stand for one whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).or_else(|| {
                number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() <= EXACT).map(|n| n as i128)
            })
        }
        Value::String(text) if from_query => text.parse().ok(),
        _ => None,
    }
}
