//! Reading a calendar file: events and to-dos with their dates; what cannot be taken is named with its line.

use jiff::{
    SignedDuration, Timestamp, ToSpan,
    civil::{Date, DateTime},
    tz::TimeZone,
};
use punctual_model::{ids::derive_uuid, local_time};

use crate::operations::SubjectType;

/// Components that are taken from one file.
pub const COMPONENTS_MAX: usize = 1_000;
/// Titles stand in the subject of a message.
const TITLE_MAX: usize = 900;
/// The longest identity that is kept.
const UID_MAX: usize = 255;

/// An event or task of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    pub subject_type: SubjectType,
    pub uid: String,
    pub title: String,
    pub start_at: Option<Timestamp>,
    pub end_at: Option<Timestamp>,
    pub is_all_day: bool,
    /// The addresses of who organises it and of who attends, in lower case.
    pub organiser: Option<String>,
    pub attendees: Vec<String>,
}

/// A component that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub line: usize,
    pub reason: String,
}

/// Reads a file; times without a zone are meant in `zone`.
pub fn read(text: &str, zone: &str) -> (Vec<Component>, Vec<Skipped>) {
    let (mut taken, mut skipped) = (Vec::new(), Vec::new());
    let mut open: Option<(usize, &'static str, Vec<Line>)> = None;
    let mut inner = 0;
    for (number, content) in unfolded(text) {
        let line = Line::parse(&content);
        match (line.name.as_str(), &mut open) {
            ("BEGIN", None) => match line.value.to_ascii_uppercase().as_str() {
                "VEVENT" => open = Some((number, "VEVENT", Vec::new())),
                "VTODO" => open = Some((number, "VTODO", Vec::new())),
                _ => {}
            },
            // Alarms inside an event have properties of the same names.
            ("BEGIN", Some(_)) => inner += 1,
            ("END", Some(_)) if inner > 0 => inner -= 1,
            ("END", Some((begun, kind, lines))) => {
                if taken.len() == COMPONENTS_MAX {
                    let reason = format!("at most {COMPONENTS_MAX} are taken from one file");
                    skipped.push(Skipped { line: *begun, reason });
                    return (taken, skipped);
                }
                match component(kind, lines, zone) {
                    Ok(component) => taken.push(component),
                    Err(reason) => skipped.push(Skipped { line: *begun, reason }),
                }
                open = None;
            }
            (_, Some((_, _, lines))) if inner == 0 => lines.push(line),
            _ => {}
        }
    }
    if let Some((line, _, _)) = open {
        skipped.push(Skipped { line, reason: "it has no end".into() });
    }
    (taken, skipped)
}

/// Content lines with the number of the line each begins on; a line that begins with a blank goes on the one before.
fn unfolded(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some((_, before))) => before.push_str(rest),
            _ if line.is_empty() => {}
            _ => lines.push((index + 1, line.to_owned())),
        }
    }
    lines
}

/// One property.
struct Line {
    name: String,
    parameters: Vec<(String, String)>,
    value: String,
}

impl Line {
    fn parse(content: &str) -> Self {
        let mut is_quoted = false;
        let colon = content.find(|character| {
            is_quoted ^= character == '"';
            character == ':' && !is_quoted
        });
        let (head, value) = match colon {
            Some(at) => (&content[..at], &content[at + 1..]),
            None => (content, ""),
        };
        let mut parts = head.split(';');
        let name = parts.next().unwrap_or_default().to_ascii_uppercase();
        let parameters = parts
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| (name.to_ascii_uppercase(), value.trim_matches('"').to_owned()))
            .collect();
        Self { name, parameters, value: value.to_owned() }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// A date of a component: a day, or an instant.
enum Dated {
    Day(Date),
    At(Timestamp),
}

fn component(kind: &str, lines: &[Line], zone: &str) -> Result<Component, String> {
    let line = |name: &str| lines.iter().find(|line| line.name == name);
    if line("RRULE").is_some() || line("RDATE").is_some() {
        return Err("it repeats; only single dates are taken".into());
    }
    if line("STATUS").is_some_and(|line| line.value.eq_ignore_ascii_case("CANCELLED")) {
        return Err("it is cancelled".into());
    }
    let (subject_type, end_name) =
        if kind == "VTODO" { (SubjectType::Task, "DUE") } else { (SubjectType::Event, "DTEND") };
    let start = line("DTSTART").map(|line| dated(line, zone)).transpose()?;
    let end = line(end_name).map(|line| dated(line, zone)).transpose()?;
    let lasts = line("DURATION").map(|line| duration(&line.value)).transpose()?;
    let is_all_day = matches!(start.as_ref().or(end.as_ref()), Some(Dated::Day(_)));
    let start_at = start.map(|start| start.at());
    let end_at = match (end, start_at, lasts) {
        // Whole days end with the day before the one that is written.
        (Some(Dated::Day(day)), Some(start), _) if subject_type == SubjectType::Event => {
            Some(midnight(day.checked_sub(1.day()).unwrap_or(day)).max(start))
        }
        (Some(end), _, _) => Some(end.at()),
        (None, Some(start), Some(lasts)) => start.checked_add(lasts).ok(),
        (None, _, _) => None,
    };
    if let (Some(start), Some(end)) = (start_at, end_at)
        && end < start
    {
        return Err("it ends before it starts".into());
    }
    let title = line("SUMMARY").map(|line| unescaped(&line.value)).unwrap_or_default();
    let title = clipped(&title.split_whitespace().collect::<Vec<_>>().join(" "), TITLE_MAX).to_owned();
    if title.is_empty() {
        return Err("it has no title".into());
    }
    let uid = match line("UID").map(|line| unescaped(&line.value)).filter(|uid| !uid.is_empty()) {
        Some(uid) if uid.len() <= UID_MAX && !uid.chars().any(char::is_control) => uid,
        Some(uid) => derive_uuid(&["uid", &uid]).to_string(),
        None => {
            let date = start_at.or(end_at).map(|at| at.to_string()).unwrap_or_default();
            derive_uuid(&["no uid", kind, &title, &date]).to_string()
        }
    };
    let mail = |line: &Line| {
        let address = line.value.split_once(':').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("mailto"));
        address.map(|(_, address)| address.trim().to_lowercase())
    };
    Ok(Component {
        subject_type,
        uid,
        title,
        start_at,
        end_at,
        is_all_day,
        organiser: line("ORGANIZER").and_then(mail),
        attendees: lines.iter().filter(|line| line.name == "ATTENDEE").filter_map(mail).collect(),
    })
}

impl Dated {
    fn at(&self) -> Timestamp {
        match self {
            Self::Day(day) => midnight(*day),
            Self::At(at) => *at,
        }
    }
}

fn midnight(day: Date) -> Timestamp {
    local_time::resolve(day, jiff::civil::Time::midnight(), &TimeZone::UTC).at
}

fn dated(line: &Line, zone: &str) -> Result<Dated, String> {
    let wrong = || format!("`{}` is no date of {}", clipped(&line.value, 40), line.name);
    if line.parameter("VALUE") == Some("DATE") || line.value.len() == 8 {
        return Date::strptime("%Y%m%d", &line.value).map(Dated::Day).map_err(|_| wrong());
    }
    let (local, is_utc) = match line.value.strip_suffix(['Z', 'z']) {
        Some(local) => (local, true),
        None => (line.value.as_str(), false),
    };
    let local = DateTime::strptime("%Y%m%dT%H%M%S", local).map_err(|_| wrong())?;
    let name = if is_utc { "UTC" } else { line.parameter("TZID").unwrap_or(zone) };
    let zone = local_time::zone(name).map_err(|error| error.to_string())?;
    Ok(Dated::At(local_time::resolve(local.date(), local.time(), &zone).at))
}

/// A length such as `PT1H30M`, `P1D` or `P2W`.
fn duration(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("`{}` is no duration", clipped(text, 40));
    let mut rest = text.strip_prefix('+').unwrap_or(text).strip_prefix('P').ok_or_else(wrong)?;
    let mut seconds: i64 = 0;
    while !rest.is_empty() {
        rest = rest.strip_prefix('T').unwrap_or(rest);
        let digits = rest.find(|character: char| !character.is_ascii_digit()).ok_or_else(wrong)?;
        let number: i64 = rest[..digits].parse().map_err(|_| wrong())?;
        let mut characters = rest[digits..].chars();
        let unit = match characters.next() {
            Some('W') => 7 * 86_400,
            Some('D') => 86_400,
            Some('H') => 3_600,
            Some('M') => 60,
            Some('S') => 1,
            _ => return Err(wrong()),
        };
        seconds = number.checked_mul(unit).and_then(|part| seconds.checked_add(part)).ok_or_else(wrong)?;
        rest = characters.as_str();
    }
    Ok(SignedDuration::from_secs(seconds))
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n' | 'N') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

/// The beginning of a text, cut between characters.
fn clipped(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(properties: &str) -> Result<Component, Skipped> {
        let text = format!(
            "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:A\r\n{properties}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        );
        let (mut taken, mut skipped) = read(&text, "Europe/Berlin");
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
    fn people_and_alarms_are_told_apart() {
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
            ("RRULE:FREQ=DAILY", "repeats"),
            ("STATUS:CANCELLED", "cancelled"),
            ("DTSTART:20260230T000000Z", "no date"),
            ("DTSTART;TZID=Nowhere/Land:20260514T090000", "no IANA time zone"),
            ("DTSTART:20260514T090000Z\r\nDTEND:20260514T080000Z", "ends before"),
            ("DTSTART:20260514T090000Z\r\nDURATION:1H", "no duration"),
        ] {
            let skipped = one(properties).unwrap_err();
            assert!(skipped.line == 2 && skipped.reason.contains(why), "{properties}: {skipped:?}");
        }
        let (taken, skipped) = read("BEGIN:VEVENT\nSUMMARY:A\n", "UTC");
        assert!(taken.is_empty() && skipped[0].reason.contains("no end"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(BEGIN:VEVENT\n)?([A-Z]{0,8}[;:=\"T0-9ZP\\\\ é]{0,12}\n){0,6}(END:VEVENT\n)?|\\PC{0,80}") {
            let _ = read(&text, "UTC");
        }

        #[test]
        fn no_date_or_duration_panics(value in "[0-9TZPDHMSW+-]{0,20}") {
            let _ = one(&format!("DTSTART:{value}\r\nDURATION:{value}\r\nDTEND;VALUE=DATE:{value}"));
        }
    }
}
