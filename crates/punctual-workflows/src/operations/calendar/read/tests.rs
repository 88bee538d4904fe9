use proptest::prelude::*;

use super::*;

fn now() -> Timestamp {
    "2026-05-01T00:00:00Z".parse().unwrap()
}

fn one(properties: &str) -> Result<Component, Skipped> {
    let text = format!(
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:A\r\n{properties}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    );
    let Read { components: mut taken, mut skipped, .. } = read(&text, "Europe/Berlin", now());
    taken.pop().ok_or_else(|| skipped.remove(0))
}

#[track_caller]
fn check(properties: &str, start: &str, end: Option<&str>) {
    let found = one(properties).unwrap();
    assert_eq!(found.start_at.unwrap().to_string(), start, "{properties}");
    assert_eq!(found.end_at.map(|at| at.to_string()).as_deref(), end, "{properties}");
}

#[test]
fn dates_are_read_in_their_zones() {
    check("DTSTART:20260514T090000Z", "2026-05-14T09:00:00Z", None);
    check("DTSTART;TZID=America/New_York:20260514T090000", "2026-05-14T13:00:00Z", None);
    check("DTSTART;TZID=\"America/New_York\":20260514T090000", "2026-05-14T13:00:00Z", None);
    check("DTSTART:20260514T090000", "2026-05-14T07:00:00Z", None);
    check(
        "DTSTART:20260514T090000Z\r\nDURATION:PT1H30M",
        "2026-05-14T09:00:00Z",
        Some("2026-05-14T10:30:00Z"),
    );
    check(
        "DTSTART;VALUE=DATE:20260514\r\nDTEND;VALUE=DATE:20260516",
        "2026-05-14T00:00:00Z",
        Some("2026-05-15T00:00:00Z"),
    );
}

#[test]
fn people_and_alarms_are_distinguished() {
    let found = one(
        "DTSTART:20260514T090000Z\r\nORGANIZER;CN=Ann:mailto:Ann@X.example\r\nATTENDEE;CN=\"Ben: B\":MAILTO:ben@x.example\r\n\
         BEGIN:VALARM\r\nSUMMARY:Wrong\r\nDTSTART:20200101T000000Z\r\nEND:VALARM",
    );
    let found = found.unwrap();
    assert_eq!((found.title.as_str(), found.organiser.as_deref()), ("A", Some("ann@x.example")));
    assert_eq!(found.attendees, ["ben@x.example"]);
}

#[test]
fn what_cannot_be_taken_is_named_with_its_line() {
    for (properties, why) in [
        ("RRULE:FREQ=DAILY", "repeats and has no date"),
        ("DTSTART:20260514T090000Z\r\nRRULE:FREQ=HOURLY", "more often than daily"),
        ("DTSTART:20200514T090000Z\r\nRRULE:FREQ=DAILY;COUNT=3", "none of its dates"),
        ("STATUS:CANCELLED", "cancelled"),
        ("DTSTART:20260230T000000Z", "no date"),
        ("DTSTART;TZID=Nowhere/Land:20260514T090000", "no IANA time zone"),
        ("DTSTART:20260514T090000Z\r\nDTEND:20260514T080000Z", "ends before"),
        ("DTSTART:20260514T090000Z\r\nDURATION:1H", "no duration"),
    ] {
        let skipped = one(properties).unwrap_err();
        assert!(skipped.line == 2 && skipped.reason.contains(why), "{properties}: {skipped:?}");
    }
    let Read { components: taken, skipped, .. } = read("BEGIN:VEVENT\nSUMMARY:A\n", "UTC", now());
    assert!(taken.is_empty() && skipped[0].reason.contains("no end"));
}

fn dates(text: &str) -> Vec<(String, String)> {
    let Read { components: taken, skipped, .. } = read(text, "Europe/Berlin", now());
    assert_eq!(skipped, []);
    taken.into_iter().map(|one| (one.uid, one.start_at.unwrap().to_string())).collect()
}

#[test]
fn what_repeats_becomes_an_event_for_each_of_its_dates() {
    let series = "BEGIN:VEVENT\r\nUID:a\r\nSUMMARY:Rehearsal\r\nDTSTART;TZID=W. Europe Standard Time:20260512T190000\r\n\
        DURATION:PT2H\r\nRRULE:FREQ=WEEKLY;COUNT=5\r\nEXDATE;TZID=Europe/Berlin:20260519T190000\r\n\
        RDATE:20260601T100000Z\r\nEND:VEVENT\r\n";
    let mut expected = vec![
        ("a", "2026-05-12T17:00:00Z"),
        ("a#20260526T170000Z", "2026-05-26T17:00:00Z"),
        ("a#20260601T100000Z", "2026-06-01T10:00:00Z"),
        ("a#20260602T170000Z", "2026-06-02T17:00:00Z"),
        ("a#20260609T170000Z", "2026-06-09T17:00:00Z"),
    ];
    let owned = |expected: &[(&str, &str)]| -> Vec<(String, String)> {
        expected.iter().map(|(uid, at)| ((*uid).to_owned(), (*at).to_owned())).collect()
    };
    assert_eq!(dates(series), owned(&expected));
    // One date is moved, another cancelled.
    let moved = "BEGIN:VEVENT\r\nUID:a\r\nSUMMARY:Rehearsal\r\nRECURRENCE-ID:20260526T170000Z\r\n\
        DTSTART:20260527T170000Z\r\nEND:VEVENT\r\n";
    let cancelled = "BEGIN:VEVENT\r\nUID:a\r\nSUMMARY:Rehearsal\r\nRECURRENCE-ID:20260602T170000Z\r\n\
        DTSTART:20260602T170000Z\r\nSTATUS:CANCELLED\r\nEND:VEVENT\r\n";
    expected.retain(|(uid, _)| *uid != "a#20260602T170000Z" && *uid != "a#20260526T170000Z");
    expected.push(("a#20260526T170000Z", "2026-05-27T17:00:00Z"));
    assert_eq!(dates(&format!("{series}{moved}{cancelled}")), owned(&expected));
}

#[test]
fn a_series_is_taken_a_year_ahead_and_no_further() {
    let series = |rule: &str| {
        format!("BEGIN:VEVENT\nUID:a\nSUMMARY:A\nDTSTART;VALUE=DATE:20150101\nRRULE:{rule}\nEND:VEVENT\n")
    };
    let daily = dates(&series("FREQ=DAILY"));
    assert_eq!((daily.len(), daily[0].1.as_str()), (367, "2026-05-01T00:00:00Z"));
    assert_eq!(dates(&series("FREQ=YEARLY")).len(), 1);
    let many: String = (0..3).map(|n| series("FREQ=DAILY").replace("UID:a", &format!("UID:{n}"))).collect();
    let Read { components: taken, skipped, .. } = read(&many, "UTC", now());
    assert_eq!((taken.len(), skipped.len()), (COMPONENTS_MAX, 1));
}

#[test]
fn a_file_s_own_name_of_a_zone_is_understood() {
    let text = "BEGIN:VTIMEZONE\nTZID:Here\nX-LIC-LOCATION:Asia/Tokyo\nEND:VTIMEZONE\n\
        BEGIN:VEVENT\nUID:a\nSUMMARY:A\nDTSTART;TZID=Here:20260514T090000\nEND:VEVENT\n";
    assert_eq!(dates(text), [("a".to_owned(), "2026-05-14T00:00:00Z".to_owned())]);
}

proptest! {
    #[test]
    fn no_text_panics(text in "(BEGIN:VEVENT\n)?((RRULE|EXDATE|RDATE|DTSTART)?[A-Z]{0,8}[;:=\"T0-9ZP\\\\ é]{0,12}\n){0,6}(END:VEVENT\n)?|\\PC{0,80}") {
        let _ = read(&text, "UTC", now());
    }

    #[test]
    fn no_date_or_duration_panics(value in "[0-9TZPDHMSW+-]{0,20}") {
        let _ = one(&format!("DTSTART:{value}\r\nDURATION:{value}\r\nDTEND;VALUE=DATE:{value}"));
    }
}
