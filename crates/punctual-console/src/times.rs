//! Instants for people: relative first, the exact one on hover, in the viewer's zone, which is always named.

use jiff::{Timestamp, civil, tz::TimeZone};

/// The zone a viewer lives in; their browser sends it in a cookie.
#[derive(Clone, Debug)]
pub struct Zone {
    zone: TimeZone,
    /// The city, or `UTC`.
    pub name: String,
    /// Its whole name, such as `Pacific/Auckland`.
    pub whole: String,
}

/// An instant as a page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    /// For machines.
    pub iso: String,
    /// The exact instant, local and in UTC.
    pub title: String,
    pub text: String,
}

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

impl Zone {
    /// The zone of this name, or UTC.
    pub fn named(name: Option<&str>) -> Self {
        let found = name.and_then(|name| Some((TimeZone::get(name).ok()?, name)));
        match found {
            Some((zone, name)) => {
                let city = name.rsplit('/').next().unwrap_or(name).replace('_', " ");
                Self { zone, name: city, whole: name.to_owned() }
            }
            None => Self { zone: TimeZone::UTC, name: "UTC".to_owned(), whole: "UTC".to_owned() },
        }
    }

    /// How far it is from UTC at this instant: `+13:00`.
    pub fn offset(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%:z").to_string()
    }

    /// How long ago, or in how long; further away, the day and time.
    pub fn when(&self, at: Timestamp, now: Timestamp) -> When {
        let micros = now.as_microsecond().saturating_sub(at.as_microsecond());
        let text = match micros {
            0..SECOND => "just now".to_owned(),
            SECOND..DAY => format!("{} ago", rough(micros)),
            DAY.. => self.written(at, now),
            _ if micros > -SECOND => "now".to_owned(),
            _ if micros > -HOUR => format!("in {}", rough(-micros)),
            _ if micros > -14 * DAY => format!("in {}, {}", rough(-micros), self.weekday(at)),
            _ => self.written(at, now),
        };
        When { text, ..self.exact(at) }
    }

    /// The exact instant, to the second.
    pub fn exact(&self, at: Timestamp) -> When {
        let local = at.to_zoned(self.zone.clone());
        let day = local.strftime("%a %-d %b %Y, %H:%M:%S");
        let utc = at.to_zoned(TimeZone::UTC);
        When {
            iso: at.to_string(),
            title: format!("{day} {} · {} UTC", self.name, utc.strftime("%Y-%m-%d %H:%M:%S%.3f")),
            text: local.strftime("%-d %b %Y, %H:%M:%S").to_string(),
        }
    }

    fn written(&self, at: Timestamp, now: Timestamp) -> String {
        let (local, today) = (at.to_zoned(self.zone.clone()), now.to_zoned(self.zone.clone()));
        let form = if local.year() == today.year() { "%-d %b, %H:%M" } else { "%-d %b %Y, %H:%M" };
        local.strftime(form).to_string()
    }

    /// The day of the week and the time of day: `Mon 09:00 Auckland`.
    pub fn weekday(&self, at: Timestamp) -> String {
        format!("{} {}", at.to_zoned(self.zone.clone()).strftime("%a %H:%M"), self.name)
    }

    /// The time of day, for a step of a timeline that goes on within a day; the day itself where it is another one.
    pub fn step(&self, at: Timestamp, before: Option<Timestamp>) -> When {
        let local = at.to_zoned(self.zone.clone());
        let is_same_day =
            before.is_some_and(|before| before.to_zoned(self.zone.clone()).date() == local.date());
        let form = if is_same_day { "%H:%M:%S" } else { "%-d %b %Y, %H:%M:%S" };
        When { text: local.strftime(form).to_string(), ..self.exact(at) }
    }

    /// Hours and minutes, for the axis of a chart.
    pub fn clock(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%H:%M").to_string()
    }

    /// The day and the hour, for the axis of a chart over days.
    pub fn day_and_clock(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%-d %b %H:%M").to_string()
    }

    /// The day and the time of day, such as a clock on a wall shows.
    pub fn wall(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%a %-d %b %Y, %H:%M:%S").to_string()
    }

    /// The local day of an instant.
    pub fn day(&self, at: Timestamp) -> civil::Date {
        at.to_zoned(self.zone.clone()).date()
    }

    /// When a local day begins.
    pub fn begins(&self, day: civil::Date) -> Timestamp {
        day.to_zoned(self.zone.clone()).map(|zoned| zoned.timestamp()).unwrap_or_default()
    }

    /// The next full hour on the clocks of the zone.
    pub fn next_hour(&self, at: Timestamp) -> Option<Timestamp> {
        let local = at.to_zoned(self.zone.clone());
        let past = i64::from(local.minute()) * MINUTE + i64::from(local.second()) * SECOND;
        let past = past + i64::from(local.subsec_nanosecond()) / 1_000;
        Timestamp::from_microsecond(at.as_microsecond() - past + HOUR).ok()
    }

    /// An instant as a field for a local date and time wants it; seconds only where there are some.
    pub fn field(&self, at: Timestamp) -> String {
        let local = at.to_zoned(self.zone.clone());
        let form = if local.second() == 0 { "%Y-%m-%dT%H:%M" } else { "%Y-%m-%dT%H:%M:%S" };
        local.strftime(form).to_string()
    }

    /// What a field for a local date and time holds. A time in a gap or an overlap is taken as calendars do.
    pub fn read(&self, text: &str) -> Option<Timestamp> {
        let local: civil::DateTime = text.parse().ok()?;
        local.to_zoned(self.zone.clone()).ok().map(|zoned| zoned.timestamp())
    }
}

/// A length of time in one unit, rounded down: `41 s`, `3 min`, `2 h`, `5 days`.
pub fn rough(micros: i64) -> String {
    match micros {
        ..SECOND => format!("{} ms", micros.max(0) / 1_000),
        SECOND..MINUTE => format!("{} s", micros / SECOND),
        MINUTE..HOUR => format!("{} min", micros / MINUTE),
        HOUR..DAY => format!("{} h", micros / HOUR),
        _ if micros < 2 * DAY => "1 day".to_owned(),
        _ => format!("{} days", micros / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_near_or_far_and_always_have_their_zone() {
        let zone = Zone::named(Some("Pacific/Auckland"));
        let now: Timestamp = "2026-05-14T05:00:00Z".parse().unwrap();
        let text = |at: &str| zone.when(at.parse().unwrap(), now).text;
        assert_eq!(text("2026-05-14T04:59:58.5Z"), "1 s ago");
        assert_eq!(text("2026-05-14T05:30:00Z"), "in 30 min");
        assert_eq!(text("2026-05-14T21:00:00Z"), "in 16 h, Fri 09:00 Auckland");
        assert_eq!(text("2026-05-17T21:00:00Z"), "in 3 days, Mon 09:00 Auckland");
        assert_eq!(text("2026-05-01T00:00:00Z"), "1 May, 12:00");
        assert_eq!(text("2025-05-01T00:00:00Z"), "1 May 2025, 12:00");
        assert_eq!(text("2026-05-14T04:59:59.5Z"), "just now");
        assert_eq!(text("2026-05-14T05:00:00.4Z"), "now");
        let step = |before: &str| zone.step(now, Some(before.parse().unwrap())).text;
        assert_eq!(step("2026-05-14T04:00:00Z"), "17:00:00");
        assert_eq!(step("2026-05-13T04:00:00Z"), "14 May 2026, 17:00:00");
        let exact = zone.exact(now);
        assert_eq!(exact.title, "Thu 14 May 2026, 17:00:00 Auckland · 2026-05-14 05:00:00.000 UTC");
        assert_eq!(zone.read("2026-05-14T17:00"), Some(now));
        assert_eq!(zone.read("yesterday"), None);
        let half = Zone::named(Some("Asia/Kolkata"));
        let next = half.next_hour("2026-05-14T05:12:03.5Z".parse().unwrap());
        assert_eq!(next, Some("2026-05-14T05:30:00Z".parse().unwrap()));
        assert_eq!(Zone::named(Some("Nowhere/Else")).name, "UTC");
    }

    #[test]
    fn lengths_have_one_unit() {
        let lengths = [-1, 1_500, 41 * SECOND, 3 * MINUTE, 2 * HOUR, DAY, 5 * DAY].map(rough);
        assert_eq!(lengths, ["0 ms", "1 ms", "41 s", "3 min", "2 h", "1 day", "5 days"]);
    }
}
