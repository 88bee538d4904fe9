//! Converts a local date, time and time zone into an instant, by one rule.
//!
//! A local time that the zone skips is shifted forward by the length of the gap (02:30 becomes 03:30); of one that occurs
//! twice, the first is used. Reminders, cron and recurrence all use this rule. Time zones come from the IANA database inside
//! the binary, so all nodes agree. [`text`] parses instants and dates.

#[cfg(test)]
mod tests;
pub mod text;

use jiff::{
    Timestamp,
    civil::{Date, DateTime, Time},
    tz::{AmbiguousOffset, Offset, TimeZone, db},
};

use crate::{fault::shown, nearest::nearest};

pub use text::{DATE_YEARS, InstantError, parse_date, parse_instant, parse_time};

/// How many zones are suggested for an unknown one.
const SUGGESTIONS: usize = 3;

/// A local time as an instant, with what was asked for and what it became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub at: Timestamp,
    pub asked: DateTime,
    /// The local time at that instant; other than `asked` only in a gap.
    pub used: DateTime,
    pub adjusted: Option<Adjustment>,
}

/// Why a local time did not name exactly one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjustment {
    /// The zone skips it: moved forward by the length of the gap, perhaps to the next date.
    Gap,
    /// It happens twice: the first counts.
    Overlap,
}

/// The instant of a local time. Beyond the calendar's ends it is the first or last instant there is.
pub fn resolve(date: Date, time: Time, zone: &TimeZone) -> Resolved {
    let asked = date.to_datetime(time);
    let (before, after) = match zone.to_ambiguous_timestamp(asked).offset() {
        AmbiguousOffset::Unambiguous { offset } => (offset, offset),
        AmbiguousOffset::Gap { before, after } | AmbiguousOffset::Fold { before, after } => (before, after),
    };
    // Which of the two it is, is asked of the zone again: where a zone's table of changes ends and its
    // yearly rule begins, jiff 0.2.39 takes the rule's change for one that took place (America/Nuuk,
    // 28 October 2023).
    let real = |offset: Offset| offset.to_timestamp(asked).ok().filter(|at| zone.to_offset(*at) == offset);
    let end = if date.year() > 0 { Timestamp::MAX } else { Timestamp::MIN };
    let (at, adjusted) = match (real(before), real(after)) {
        (Some(first), Some(second)) if first != second => (first.min(second), Some(Adjustment::Overlap)),
        (Some(at), _) | (None, Some(at)) => (at, None),
        // Neither holds: what the clock showed before the gap continues through it.
        (None, None) => match before.to_timestamp(asked) {
            Ok(at) => (at, Some(Adjustment::Gap)),
            Err(_) => (end, None),
        },
    };
    Resolved { at, asked, used: zone.to_datetime(at), adjusted }
}

/// Whether the zone has that date at all; a few have skipped one to move across the date line.
///
/// A daily rule leaves a skipped date out: by the gap rule it would fall on the next one, which has its own occurrence.
pub fn date_exists(date: Date, zone: &TimeZone) -> bool {
    resolve(date, Time::midnight(), zone).used.date() == date
}

/// A name that is no time zone, with the names it may have meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no IANA time zone{}", shown(.asked), hint(.nearest))]
pub struct ZoneUnknown {
    pub asked: String,
    pub nearest: Vec<String>,
}

impl ZoneUnknown {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        "zone_unknown"
    }
}

fn hint(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return " such as `Europe/Berlin` or `UTC`".to_owned();
    }
    let names: Vec<_> = nearest.iter().map(|name| format!("`{name}`")).collect();
    format!("; near it are {}", names.join(", "))
}

/// Finds a zone by its IANA name, in upper or lower case.
pub fn zone(name: &str) -> Result<TimeZone, ZoneUnknown> {
    // `Etc/Unknown` is in the database as a placeholder, and nothing can be planned in it.
    let known = db().get(name).ok().filter(|zone| !zone.is_unknown());
    known.ok_or_else(|| ZoneUnknown { asked: name.to_owned(), nearest: nearest_zones(name) })
}

/// Every zone there is, by name.
pub fn names() -> Vec<String> {
    db().available().map(|name| name.to_string()).collect()
}

fn nearest_zones(asked: &str) -> Vec<String> {
    let names = names();
    // People write `Berlin` or `New York` where the database has `Europe/Berlin` and `America/New_York`.
    let spelled: String = asked.trim().chars().take(100).collect::<String>().replace(' ', "_");
    let city = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let wanted = city(&spelled);
    let mut found: Vec<String> =
        names.iter().filter(|name| city(name).eq_ignore_ascii_case(&wanted)).cloned().collect();
    for name in nearest(&spelled, names.iter().map(String::as_str), SUGGESTIONS) {
        if !found.iter().any(|already| already == name) {
            found.push(name.to_owned());
        }
    }
    found.truncate(SUGGESTIONS);
    found
}

/// An instant as it is read back once it is stored: in whole microseconds. What is finer is cut off.
pub fn as_stored(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}
