//! Calendars as other programs read and write them (iCalendar, RFC 5545): out as a feed, in from a file.

pub(crate) mod dates;
mod lines;
mod read;
pub(crate) mod repeat;
mod zones;

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use punctual_store::operations::subjects::SubjectRow;

pub use read::{AHEAD, COMPONENTS_MAX, Component, DATES_MAX, Read, Skipped, read};

/// The longest line in bytes, without its break.
const LINE_MAX: usize = 75;

/// A calendar of these events and tasks.
pub fn write(name: &str, subjects: &[SubjectRow]) -> String {
    let mut text = String::with_capacity(256 + 320 * subjects.len());
    let mut line = |content: &str| fold(&mut text, content);
    line("BEGIN:VCALENDAR");
    line("VERSION:2.0");
    line("PRODID:-//Punctual//Operations//EN");
    line("CALSCALE:GREGORIAN");
    line("METHOD:PUBLISH");
    line(&format!("X-WR-CALNAME:{}", escaped(name)));
    for subject in subjects {
        let is_task = subject.subject_type == "task";
        let (component, end) = if is_task { ("VTODO", "DUE") } else { ("VEVENT", "DTEND") };
        line(&format!("BEGIN:{component}"));
        line(&format!("UID:{}", escaped(&uid(subject))));
        line(&format!("DTSTAMP:{}", stamp(subject.updated_at)));
        line(&format!("SEQUENCE:{}", (subject.version - 1).max(0)));
        line(&format!("SUMMARY:{}", escaped(&subject.title)));
        for (name, text) in [("LOCATION", &subject.location), ("DESCRIPTION", &subject.description)] {
            if let Some(text) = text {
                line(&format!("{name}:{}", escaped(text)));
            }
        }
        if let Some(at) = subject.start_at {
            line(&format!("DTSTART{}", date(subject, at, 0)));
        }
        if let Some(at) = subject.end_at {
            // Other programs write the day after the last as the end of whole days.
            line(&format!("{end}{}", date(subject, at, 1)));
        }
        line(&format!("END:{component}"));
    }
    line("END:VCALENDAR");
    text
}

/// The identity in other calendars: the one it came with, or its own.
fn uid(subject: &SubjectRow) -> String {
    subject.ical_uid.clone().unwrap_or_else(|| format!("{}@punctual", subject.id))
}

fn date(subject: &SubjectRow, at: Timestamp, days_on: i64) -> String {
    if !subject.is_all_day {
        return format!(":{}", stamp(at));
    }
    let day = TimeZone::UTC.to_datetime(at).date();
    let day = day.checked_add(days_on.days()).unwrap_or(day);
    format!(";VALUE=DATE:{}", day.strftime("%Y%m%d"))
}

fn stamp(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | ';' | ',' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            character if character.is_control() => {}
            character => out.push(character),
        }
    }
    out
}

/// One content line, broken so that no line is too long and no character is cut.
fn fold(text: &mut String, content: &str) {
    let mut length = 0;
    for character in content.chars() {
        if length + character.len_utf8() > LINE_MAX {
            text.push_str("\r\n ");
            length = 1;
        }
        text.push(character);
        length += character.len_utf8();
    }
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(title: &str, start: &str, end: &str, is_all_day: bool) -> SubjectRow {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        SubjectRow {
            id: "0197a3c4".into(),
            subject_type: "event".into(),
            title: title.into(),
            start_at: at(start),
            end_at: at(end),
            is_all_day,
            creator: "ann".into(),
            people: "[]".into(),
            organisation: None,
            time_zone: None,
            business_unit: None,
            ical_uid: None,
            ical_series: None,
            location: None,
            description: None,
            deleted_at: None,
            version: 3,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let long = "Größe, Höhe; Breite\\Tiefe ".repeat(8);
        let rows = [
            subject(long.trim(), "2026-05-14T09:00:00Z", "2026-05-14T10:30:00Z", false),
            subject("Fair", "2026-05-14T00:00:00Z", "2026-05-15T00:00:00Z", true),
        ];
        let text = write("Choir", &rows);
        assert!(text.split("\r\n").all(|line| line.len() <= LINE_MAX));
        assert!(text.contains("DTEND;VALUE=DATE:20260516\r\n"));
        let Read { components: found, skipped, .. } = read(&text, "UTC", Timestamp::UNIX_EPOCH);
        assert!(skipped.is_empty(), "{skipped:?}");
        for (row, found) in rows.iter().zip(&found) {
            assert_eq!(found.title, row.title);
            assert_eq!(found.start_at, row.start_at);
            assert_eq!(found.end_at, row.end_at);
            assert_eq!(found.is_all_day, row.is_all_day);
        }
    }
}
