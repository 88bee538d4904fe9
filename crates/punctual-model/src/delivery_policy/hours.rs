//! Quiet hours and send windows, in local time.

use jiff::{
    Timestamp,
    civil::{Date, Time, Weekday},
    tz::TimeZone,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    ReasonCode,
    local_time::{parse_time, resolve},
};

/// How often the rules may alternate before the search ends: rules that leave no time at all must not loop.
const HANDOVERS: usize = 16;
/// A window that opens once a week is found within these days.
const DAYS_AHEAD: usize = 9;

/// A part of the day; from later than to means over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    #[serde(with = "time")]
    pub from: Time,
    #[serde(with = "time")]
    pub to: Time,
}

impl Span {
    /// When the quiet hours end that `at` falls into. Of an hour that happens twice the first counts.
    pub fn quiet_until(&self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let local = zone.to_datetime(at);
        let (now, Self { from, to }) = (local.time(), *self);
        let over_midnight = from > to;
        let is_quiet = if over_midnight { now >= from || now < to } else { now >= from && now < to };
        if !is_quiet {
            return None;
        }
        let ends_tomorrow = over_midnight && now >= from;
        let date = if ends_tomorrow { local.date().tomorrow().ok()? } else { local.date() };
        let until = resolve(date, to, zone).at;
        (until > at).then_some(until)
    }
}

/// The days and hours in which messages may go; from is earlier than to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendWindow {
    /// Every day, where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<Day>,
    #[serde(with = "time")]
    pub from: Time,
    #[serde(with = "time")]
    pub to: Time,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Day {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

impl Day {
    pub const ALL: [(&'static str, Self); 7] = [
        ("mon", Self::Mon),
        ("tue", Self::Tue),
        ("wed", Self::Wed),
        ("thu", Self::Thu),
        ("fri", Self::Fri),
        ("sat", Self::Sat),
        ("sun", Self::Sun),
    ];

    fn of(date: Date) -> Self {
        match date.weekday() {
            Weekday::Monday => Self::Mon,
            Weekday::Tuesday => Self::Tue,
            Weekday::Wednesday => Self::Wed,
            Weekday::Thursday => Self::Thu,
            Weekday::Friday => Self::Fri,
            Weekday::Saturday => Self::Sat,
            Weekday::Sunday => Self::Sun,
        }
    }
}

impl SendWindow {
    /// When the window opens, where it is closed at `at`.
    pub fn opens_at(&self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut date = zone.to_datetime(at).date();
        for _ in 0..DAYS_AHEAD {
            if self.days.is_empty() || self.days.contains(&Day::of(date)) {
                let (opens, closes) = (resolve(date, self.from, zone).at, resolve(date, self.to, zone).at);
                if opens <= at && at < closes {
                    return None;
                }
                if at < opens && opens < closes {
                    return Some(opens);
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }
}

/// The first moment from `at` on that all of these allow, and the first reason to wait; nothing where it may go now.
pub fn wait(
    at: Timestamp,
    zone: &TimeZone,
    quiet: &[Span],
    window: Option<&SendWindow>,
) -> Option<(Timestamp, ReasonCode)> {
    let (mut moment, mut reason) = (at, None);
    for _ in 0..HANDOVERS {
        let quiet = quiet.iter().filter_map(|span| span.quiet_until(moment, zone)).max();
        let closed = window.and_then(|window| window.opens_at(moment, zone));
        let (until, why) = match (quiet, closed) {
            (Some(until), _) => (until, ReasonCode::QuietHours),
            (None, Some(until)) => (until, ReasonCode::SendWindow),
            (None, None) => break,
        };
        moment = until;
        reason.get_or_insert(why);
    }
    reason.map(|reason| (moment, reason))
}

/// A time of day as `HH:MM`.
mod time {
    use super::{Deserialize, Deserializer, Serializer, Time, parse_time};

    pub fn serialize<S: Serializer>(time: &Time, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&super::written(*time))
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Time, D::Error> {
        parse_time(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// The same where it may be missing.
pub mod optional_time {
    use super::{Deserialize, Deserializer, Serializer, Time, parse_time};

    pub fn serialize<S: Serializer>(time: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => to.collect_str(&super::written(*time)),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<Time>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| parse_time(&text).map_err(serde::de::Error::custom)).transpose()
    }
}

/// A time of day as people write it.
pub fn written(time: Time) -> String {
    format!("{:02}:{:02}", time.hour(), time.minute())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::local_time;

    fn span(from: &str, to: &str) -> Span {
        Span { from: parse_time(from).unwrap(), to: parse_time(to).unwrap() }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[track_caller]
    fn check(quiet: Span, zone: &str, now: &str, until: Option<&str>) {
        let zone = local_time::zone(zone).unwrap();
        assert_eq!(quiet.quiet_until(at(now), &zone), until.map(at), "{now}");
    }

    #[test]
    fn quiet_hours_end_at_their_local_end() {
        let night = span("22:00", "07:00");
        check(night, "UTC", "2026-05-14T21:59:59Z", None);
        check(night, "UTC", "2026-05-14T22:00:00Z", Some("2026-05-15T07:00:00Z"));
        check(night, "UTC", "2026-05-15T06:59:59Z", Some("2026-05-15T07:00:00Z"));
        check(night, "UTC", "2026-05-15T07:00:00Z", None);
        check(
            span("12:00", "13:00"),
            "Pacific/Auckland",
            "2026-05-14T00:30:00Z",
            Some("2026-05-14T01:00:00Z"),
        );
    }

    #[test]
    fn a_change_of_the_clock_neither_loses_nor_doubles_quiet_hours() {
        // 29 March 2026: 02:00 becomes 03:00 in Berlin; 25 October: 03:00 becomes 02:00.
        let night = span("22:00", "07:00");
        check(night, "Europe/Berlin", "2026-03-28T21:30:00Z", Some("2026-03-29T05:00:00Z"));
        check(night, "Europe/Berlin", "2026-10-24T20:30:00Z", Some("2026-10-25T06:00:00Z"));
        // An end inside the gap is shifted; one inside the overlap is the first.
        check(span("22:00", "02:30"), "Europe/Berlin", "2026-03-29T00:30:00Z", Some("2026-03-29T01:30:00Z"));
        check(span("22:00", "02:30"), "Europe/Berlin", "2026-10-24T23:30:00Z", Some("2026-10-25T00:30:00Z"));
        check(span("22:00", "02:30"), "Europe/Berlin", "2026-10-25T01:10:00Z", None);
    }

    #[test]
    fn a_window_opens_on_its_days() {
        let zone = local_time::zone("Europe/Berlin").unwrap();
        let office = SendWindow {
            days: vec![Day::Mon, Day::Fri],
            from: parse_time("09:00").unwrap(),
            to: parse_time("17:00").unwrap(),
        };
        // 15 May 2026 is a Friday.
        for (now, opens) in [
            ("2026-05-15T06:59:00Z", Some("2026-05-15T07:00:00Z")),
            ("2026-05-15T07:00:00Z", None),
            ("2026-05-15T14:59:59Z", None),
            ("2026-05-15T15:00:00Z", Some("2026-05-18T07:00:00Z")),
            ("2026-05-19T10:00:00Z", Some("2026-05-22T07:00:00Z")),
        ] {
            assert_eq!(office.opens_at(at(now), &zone), opens.map(at), "{now}");
        }
    }

    #[test]
    fn both_together_give_the_first_moment_that_all_allow() {
        let zone = local_time::zone("UTC").unwrap();
        let window =
            SendWindow { days: vec![], from: parse_time("08:00").unwrap(), to: parse_time("20:00").unwrap() };
        let quiet = [span("22:00", "09:00")];
        let (until, why) = wait(at("2026-05-14T20:30:00Z"), &zone, &quiet, Some(&window)).unwrap();
        assert_eq!((until, why), (at("2026-05-15T09:00:00Z"), ReasonCode::SendWindow));
        assert_eq!(wait(at("2026-05-14T10:00:00Z"), &zone, &quiet, Some(&window)), None);
        // Rules that leave nothing end the search somewhere instead of never.
        assert!(wait(at("2026-05-14T10:00:00Z"), &zone, &[span("07:00", "21:00")], Some(&window)).is_some());
    }

    proptest! {
        /// Whatever the zone and the day: the end of the wait is later than now, and is itself no quiet time.
        #[test]
        fn a_wait_ends_in_a_moment_that_is_allowed(
            zone in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Pacific/Auckland", "Asia/Kathmandu", "America/Nuuk", "Australia/Lord_Howe"]),
            second in 1_700_000_000i64..1_900_000_000,
            from in 0i8..24, to in 0i8..24, minute in 0i8..60,
        ) {
            let zone = local_time::zone(zone).unwrap();
            let quiet = Span { from: Time::constant(from, minute, 0, 0), to: Time::constant(to, 0, 0, 0) };
            let now = Timestamp::from_second(second).unwrap();
            if let Some((until, _)) = wait(now, &zone, &[quiet], None) {
                prop_assert!(until > now);
                prop_assert!(until.duration_since(now).as_hours() <= 49);
                prop_assert_eq!(quiet.quiet_until(until, &zone), None);
            }
        }
    }
}
