//! The rule against an oracle that knows only each zone's offset at an instant.

use jiff::{
    civil::{date, time},
    tz::Offset,
};
use proptest::prelude::*;

use super::*;

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

fn offset_at(zone: &TimeZone, second: i64) -> i64 {
    i64::from(zone.to_offset(Timestamp::from_second(second).unwrap()).seconds())
}

fn utc_second(local: DateTime) -> i64 {
    Offset::UTC.to_timestamp(local).unwrap().as_second()
}

/// Finds the instant by trying every offset that the zone has in the days around.
fn oracle(local: DateTime, zone: &TimeZone) -> (i64, Option<Adjustment>) {
    let wanted = utc_second(local);
    // No offset is longer than 26 hours, so whatever matters is in this window; no offset in it is shorter than the steps
    // between samples.
    let samples: Vec<i64> = (-54..=54).map(|half_hours| wanted + half_hours * HOUR / 2).collect();
    let mut offsets: Vec<i64> = samples.iter().map(|second| offset_at(zone, *second)).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let mut hits: Vec<i64> = offsets
        .iter()
        .map(|offset| wanted - offset)
        .filter(|at| at + offset_at(zone, *at) == wanted)
        .collect();
    hits.sort_unstable();
    match hits[..] {
        [one] => (one, None),
        [first, ..] => (first, Some(Adjustment::Overlap)),
        [] => {
            // In a gap local time jumps over the wanted one: bisect to the jump, and add its length.
            let after = samples.iter().position(|second| second + offset_at(zone, *second) > wanted).unwrap();
            let (mut before, mut after) = (samples[after - 1], samples[after]);
            while after - before > 1 {
                let middle = (before + after) / 2;
                if middle + offset_at(zone, middle) > wanted { after = middle } else { before = middle }
            }
            let gap = offset_at(zone, after) - offset_at(zone, before);
            (wanted + gap - offset_at(zone, after), Some(Adjustment::Gap))
        }
    }
}

/// Days on which something happens in the zone, and a few on which nothing does.
fn sampled_days(zone: &TimeZone) -> Vec<Date> {
    let start = date(1970, 1, 2);
    let from = Timestamp::from_second(utc_second(start.at(0, 0, 0, 0))).unwrap();
    let until = Timestamp::from_second(68 * 365 * DAY).unwrap();
    let changes: Vec<Date> = zone
        .following(from)
        .map(|change| change.timestamp())
        .take_while(|at| *at < until)
        .map(|at| zone.to_datetime(at).date())
        .collect();
    let step = (changes.len() / 4).max(1);
    let around = changes.iter().step_by(step).take(4).flat_map(|day| [day.yesterday().unwrap(), *day]);
    let quiet = [date(1970, 1, 2), date(2000, 2, 29), date(2026, 5, 14), date(2037, 12, 31)];
    around.chain(quiet).collect()
}

#[test]
fn r20_every_zone_agrees_with_the_oracle() {
    let times = [time(0, 0, 0, 0), time(2, 30, 0, 0), time(12, 0, 0, 0), time(23, 59, 59, 0)];
    let (mut compared, mut gaps, mut overlaps) = (0, 0, 0);
    for name in db().available() {
        let Ok(zone) = zone(name.as_str()) else {
            assert_eq!(name.as_str(), "Etc/Unknown");
            continue;
        };
        for day in sampled_days(&zone) {
            for time in times {
                let found = resolve(day, time, &zone);
                let (second, adjusted) = oracle(day.to_datetime(time), &zone);
                assert_eq!((found.at.as_second(), found.adjusted), (second, adjusted), "{name} {day} {time}");
                assert_eq!(found.used, zone.to_datetime(found.at));
                assert_eq!(found.used != found.asked, adjusted == Some(Adjustment::Gap));
                compared += 1;
                gaps += usize::from(adjusted == Some(Adjustment::Gap));
                overlaps += usize::from(adjusted == Some(Adjustment::Overlap));
            }
        }
    }
    assert!(compared >= 15_000, "only {compared} comparisons");
    assert!(gaps > 100 && overlaps > 100, "{gaps} gaps and {overlaps} overlaps among {compared}");
}

/// Every zone in the trial, 644,400 comparisons, a minute without optimisation; every twentieth otherwise.
#[test]
fn rig_zones_r20_every_change_of_every_zone_agrees_with_the_oracle() {
    let every =
        if std::env::var("PUNCTUAL_RIG_SCALE").is_ok_and(|scale| scale == "release") { 1 } else { 20 };
    let year = 365 * DAY;
    let (from, until) =
        (Timestamp::from_second(-140 * year).unwrap(), Timestamp::from_second(68 * year).unwrap());
    let minutes = [-150, -90, -61, -59, -45, -30, -15, -1, 0, 1, 15, 30, 45, 59, 61, 90];
    for name in db().available().step_by(every) {
        let Ok(zone) = zone(name.as_str()) else { continue };
        for change in zone.following(from).map(|change| change.timestamp()).take_while(|at| *at < until) {
            for around in minutes.map(jiff::SignedDuration::from_mins) {
                let local = zone.to_datetime(change).checked_add(around).unwrap();
                let found = resolve(local.date(), local.time(), &zone);
                assert_eq!((found.at.as_second(), found.adjusted), oracle(local, &zone), "{name} {local}");
            }
        }
    }
}

#[test]
fn r20_a_change_that_did_not_take_place_is_none() {
    // Nuuk stayed at −02:00 that night, though the rule it has followed since would have moved it.
    let nuuk = zone("America/Nuuk").unwrap();
    let found = resolve(date(2023, 10, 28), time(23, 30, 0, 0), &nuuk);
    assert_eq!((found.at.to_string().as_str(), found.adjusted), ("2023-10-29T01:30:00Z", None));
}

#[test]
fn r20_a_daily_rule_fires_once_on_every_date_that_exists() {
    for name in [
        "Europe/Berlin",
        "America/Nuuk",
        "Pacific/Apia",
        "Pacific/Kwajalein",
        "America/Sao_Paulo",
        "Australia/Lord_Howe",
    ] {
        let zone = zone(name).unwrap();
        for first in
            [date(1993, 8, 1), date(2011, 12, 1), date(2018, 10, 20), date(2024, 3, 1), date(2024, 10, 1)]
        {
            for time in [time(0, 0, 0, 0), time(0, 30, 0, 0), time(2, 30, 0, 0), time(23, 30, 0, 0)] {
                let days = first.series(jiff::Span::new().days(1)).take(60);
                let fired: Vec<_> = days
                    .filter(|day| date_exists(*day, &zone))
                    .map(|day| resolve(day, time, &zone).at)
                    .collect();
                assert!(fired.is_sorted_by(|a, b| a < b), "{name} from {first} at {time}");
                assert!(fired.len() >= 59);
            }
        }
    }
}

#[test]
fn r20_a_skipped_date_moves_to_the_next_and_says_so() {
    let apia = zone("Pacific/Apia").unwrap();
    let skipped = date(2011, 12, 30);
    assert!(!date_exists(skipped, &apia));
    assert!(date_exists(date(2011, 12, 29), &apia) && date_exists(date(2011, 12, 31), &apia));
    let found = resolve(skipped, time(9, 0, 0, 0), &apia);
    assert_eq!(found.used, date(2011, 12, 31).at(9, 0, 0, 0));
    assert_eq!(found.adjusted, Some(Adjustment::Gap));
}

#[test]
fn r20_half_past_two_becomes_half_past_three_in_spring_and_the_first_one_in_autumn() {
    let berlin = zone("europe/berlin").unwrap();
    let spring = resolve(date(2026, 3, 29), time(2, 30, 0, 0), &berlin);
    assert_eq!(
        (spring.at.to_string().as_str(), spring.adjusted),
        ("2026-03-29T01:30:00Z", Some(Adjustment::Gap))
    );
    assert_eq!(spring.used, date(2026, 3, 29).at(3, 30, 0, 0));
    let autumn = resolve(date(2026, 10, 25), time(2, 30, 0, 0), &berlin);
    assert_eq!(
        (autumn.at.to_string().as_str(), autumn.adjusted),
        ("2026-10-25T00:30:00Z", Some(Adjustment::Overlap))
    );
    assert_eq!(autumn.used, autumn.asked);
}

#[test]
fn a_zone_is_found_in_any_case_or_its_neighbours_are_named() {
    assert_eq!(zone("EUROPE/BERLIN").unwrap().iana_name(), Some("Europe/Berlin"));
    assert_eq!(zone("utc").unwrap(), TimeZone::UTC);
    for (asked, first) in [
        ("Europe/Berln", Some("Europe/Berlin")),
        ("Berlin", Some("Europe/Berlin")),
        ("New York", Some("America/New_York")),
        ("Asia/Bagdad", Some("Asia/Baghdad")),
        ("Etc/Unknown", None),
        ("Nowhere/At/All/Of/It", None),
        ("", None),
    ] {
        let unknown = zone(asked).unwrap_err();
        assert_eq!(unknown.code(), "zone_unknown");
        if let Some(first) = first {
            assert_eq!(unknown.nearest.first().map(String::as_str), Some(first), "{asked}");
        }
        assert!(unknown.nearest.len() <= SUGGESTIONS);
    }
    let message = zone("Europe/Berln").unwrap_err().to_string();
    assert!(
        message.starts_with("`Europe/Berln` is no IANA time zone; near it are `Europe/Berlin`"),
        "{message}"
    );
    assert!(zone(&"x".repeat(1_000_000)).unwrap_err().to_string().len() < 200);
    assert!(zone("../../etc/passwd").is_err());
}

#[test]
fn instants_need_an_offset_and_a_date_of_the_calendar() {
    for (text, instant) in [
        ("2026-05-14T05:12:34Z", "2026-05-14T05:12:34Z"),
        ("2026-05-14t05:12:34z", "2026-05-14T05:12:34Z"),
        ("2026-05-14 07:12:34+02:00", "2026-05-14T05:12:34Z"),
        ("2026-05-14T05:12:34-00:00", "2026-05-14T05:12:34Z"),
        ("2026-05-14T05:12:34.123456789123Z", "2026-05-14T05:12:34.123456789Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
    ] {
        assert_eq!(parse_instant(text).unwrap().to_string(), instant, "{text}");
    }
    for (text, code) in [
        ("2026-05-14T05:12:34", "time_no_offset"),
        ("2026-05-14T05:12:34.5", "time_no_offset"),
        ("2026-02-30T05:12:34Z", "date_invalid"),
        ("2026-02-30T05:12:34", "date_invalid"),
        ("2025-02-29T05:12:34Z", "date_invalid"),
        ("2026-13-01T05:12:34Z", "date_invalid"),
        ("9999-12-31T23:59:59-23:00", "date_invalid"),
        ("2026-05-14", "time_invalid"),
        ("2026-05-14T05:12Z", "time_invalid"),
        ("2026-05-14T24:00:00Z", "time_invalid"),
        ("2026-05-14T05:61:00Z", "time_invalid"),
        ("2026-05-14T05:12:34.Z", "time_invalid"),
        ("2026-05-14T05:12:34+2", "time_invalid"),
        ("2026-05-14T05:12:34+24:00", "time_invalid"),
        ("2026-05-14T05:12:34Z[UTC]", "time_invalid"),
        ("2026-05-14T05:12:34 Z", "time_invalid"),
        (" 2026-05-14T05:12:34Z", "time_invalid"),
        ("tomorrow", "time_invalid"),
        ("1778735554", "time_invalid"),
        ("", "time_invalid"),
        ("2026-05-1é", "time_invalid"),
    ] {
        assert_eq!(parse_instant(text).unwrap_err().code(), code, "{text:?}");
    }
    let message = parse_instant("2026-05-14T05:12:34").unwrap_err().to_string();
    assert!(message.contains("`2026-05-14T09:00:00Z`"), "{message}");
}

#[test]
fn dates_and_times_of_day_are_read_strictly() {
    assert_eq!(parse_date("2024-02-29"), Ok(date(2024, 2, 29)));
    for text in ["2026-02-30", "2026-2-3", "20260203", "2026-02-03T00:00", "", "２026-02-03"] {
        assert_eq!(parse_date(text).unwrap_err().code(), "date_invalid", "{text}");
    }
    assert_eq!(parse_time("09:00"), Ok(time(9, 0, 0, 0)));
    assert_eq!(parse_time("23:59:59"), Ok(time(23, 59, 59, 0)));
    for text in ["9:00", "24:00", "09:60", "09:00:60", "0900", "09:00Z", "", "noon"] {
        assert_eq!(parse_time(text).unwrap_err().code(), "time_invalid", "{text}");
    }
}

#[test]
fn instants_are_stored_in_microseconds() {
    let whole: Timestamp = "2026-05-14T05:12:34.123456Z".parse().unwrap();
    for at in [Timestamp::UNIX_EPOCH, whole] {
        assert_eq!(as_stored(at), at);
    }
    assert_eq!(as_stored(whole + jiff::SignedDuration::from_nanos(999)), whole);
    let before_1970 = Timestamp::UNIX_EPOCH - jiff::SignedDuration::from_nanos(1_500);
    assert_eq!(as_stored(before_1970).as_microsecond(), before_1970.as_microsecond());
    assert_eq!(as_stored(as_stored(Timestamp::MIN)), as_stored(Timestamp::MIN));
}

#[test]
fn the_ends_of_the_calendar_do_not_panic() {
    for name in ["Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC"] {
        let zone = zone(name).unwrap();
        for day in [Date::MIN, Date::MAX] {
            for time in [Time::MIN, Time::MAX] {
                resolve(day, time, &zone);
                date_exists(day, &zone);
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_as_rfc_3339_reads_back(micros in -62_135_596_800_000_000..253_402_200_000_000_000i64, minutes in -1439..=1439i32) {
        let at = Timestamp::from_microsecond(micros).unwrap();
        prop_assert_eq!(parse_instant(&at.to_string()), Ok(at));
        let offset = Offset::from_seconds(minutes * 60).unwrap();
        let local = offset.to_datetime(at);
        if local.year() >= 0 {
            let sign = if minutes < 0 { '-' } else { '+' };
            let text = format!("{local}{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60);
            prop_assert_eq!(parse_instant(&text), Ok(at), "{}", text);
        }
    }

    #[test]
    fn no_text_panics(text in "[0-9TZ:.+ -]{0,32}|\\PC{0,30}") {
        let _ = parse_instant(&text);
        let _ = parse_date(&text);
        let _ = parse_time(&text);
        let _ = zone(&text);
    }
}
