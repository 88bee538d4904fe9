//! Reads a calendar file: events and to-dos with their dates; skipped entries are reported with their line.
//!
//! A recurring entry becomes one event for each date within a year, so that single dates can be moved or deleted. Reading the
//! same file again finds the same events.

use std::{collections::HashSet, ops::RangeInclusive};

use jiff::{SignedDuration, Timestamp, ToSpan};
use punctual_model::ids::derive_uuid;
use punctual_wire::operations::subjects::{DESCRIPTION_MAX, LOCATION_MAX};

use super::{
    dates::{Dated, duration, midnight},
    lines::{Line, clipped, unescaped, unfolded},
    repeat::Rule,
    zones::Zones,
};
use crate::operations::SubjectType;

/// Events and tasks that are taken from one file.
pub const COMPONENTS_MAX: usize = 1_000;
/// Dates that are taken of something that repeats.
pub const DATES_MAX: usize = 400;
/// How far ahead the dates of something that repeats are taken.
pub const AHEAD: SignedDuration = SignedDuration::from_hours(24 * 366);
/// Titles are in the subject of a message.
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
    /// The identity of the series that it is a date of.
    pub series: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
}

/// What a file comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    pub components: Vec<Component>,
    pub skipped: Vec<Skipped>,
    /// The identities of which the file was read to the end: what else was imported of them is no longer there.
    pub complete: Vec<String>,
}

/// A component that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub line: usize,
    pub reason: String,
}

/// A component as it is stored in the file.
struct Parsed {
    line: usize,
    component: Component,
    /// The date of the series that it stands for.
    stands_for: Option<String>,
    is_cancelled: bool,
    /// Its first date, where it repeats, and how.
    repeats: Option<(Dated, Repeats)>,
}

#[derive(Default)]
struct Repeats {
    rules: Vec<Rule>,
    more: Vec<Dated>,
    except: Vec<Dated>,
}

/// Reads a file; times without a zone are meant in `zone`, and of what repeats the dates after `now` are taken.
pub fn read(text: &str, zone: &str, now: Timestamp) -> Read {
    let lines = unfolded(text);
    let zones = zones(&lines, zone);
    let (mut parsed, mut skipped) = (Vec::new(), Vec::new());
    let mut unreadable = HashSet::new();
    let mut open: Option<(usize, &'static str, Vec<Line>)> = None;
    let mut inner = 0;
    for (number, content) in &lines {
        let line = Line::parse(content);
        match (line.name.as_str(), &mut open) {
            ("BEGIN", None) => match line.value.to_ascii_uppercase().as_str() {
                "VEVENT" => open = Some((*number, "VEVENT", Vec::new())),
                "VTODO" => open = Some((*number, "VTODO", Vec::new())),
                _ => {}
            },
            // Alarms inside an event have properties of the same names.
            ("BEGIN", Some(_)) => inner += 1,
            ("END", Some(_)) if inner > 0 => inner -= 1,
            ("END", Some((begun, kind, own))) => {
                match component(*begun, kind, own, &zones) {
                    Ok(one) => parsed.push(one),
                    Err(reason) => {
                        unreadable.extend(own.iter().find(|line| line.name == "UID").and_then(uid));
                        skipped.push(Skipped { line: *begun, reason });
                    }
                }
                open = None;
            }
            (_, Some((_, _, own))) if inner == 0 => own.push(line),
            _ => {}
        }
    }
    if let Some((line, _, _)) = open {
        skipped.push(Skipped { line, reason: "it has no end".into() });
    }
    let mut components = Vec::new();
    let named: HashSet<String> = parsed.iter().map(|one| one.component.uid.clone()).collect();
    let stood_for: HashSet<String> = parsed.iter().filter_map(Parsed::place).collect();
    for one in parsed {
        let line = one.line;
        let (dates, fault) = one.dates(&stood_for, now);
        skipped.extend(fault.map(|reason| Skipped { line, reason }));
        for date in dates {
            if components.len() == COMPONENTS_MAX {
                let reason = format!("at most {COMPONENTS_MAX} are taken from one file");
                skipped.push(Skipped { line, reason });
                return Read { components, skipped, complete: Vec::new() };
            }
            components.push(date);
        }
    }
    let complete = named.into_iter().filter(|uid| !unreadable.contains(uid)).collect();
    Read { components, skipped, complete }
}

impl Parsed {
    /// The place in a series that it takes.
    fn place(&self) -> Option<String> {
        Some(named(&self.component.uid, self.stands_for.as_deref()?))
    }

    /// What it comes to: itself, each of its dates, or nothing and why.
    fn dates(self, stood_for: &HashSet<String>, now: Timestamp) -> (Vec<Component>, Option<String>) {
        if self.is_cancelled {
            // One date of a series that is cancelled is simply not there.
            let reason = self.stands_for.is_none().then(|| "it is cancelled".to_owned());
            return (Vec::new(), reason);
        }
        let place = self.place();
        let component = self.component;
        let Some((first, repeats)) = self.repeats.filter(|_| place.is_none()) else {
            let series = place.as_ref().map(|_| component.uid.clone());
            let uid = place.unwrap_or_else(|| component.uid.clone());
            return (vec![Component { uid, series, ..component }], None);
        };
        let begins = first.at();
        let lasts = |at: Option<Timestamp>| at.map(|at| at.duration_since(begins));
        let (start, end) = (lasts(component.start_at), lasts(component.end_at));
        let length = end.or(start).unwrap_or_default();
        let from = now.checked_sub(length).unwrap_or(Timestamp::MIN);
        let until = now.checked_add(AHEAD).unwrap_or(Timestamp::MAX);
        let dates = repeats.dates(&first, from, until);
        if dates.is_empty() {
            return (Vec::new(), Some("none of its dates lies within a year from now".to_owned()));
        }
        let moved = |by: Option<SignedDuration>, at: Timestamp| by.and_then(|by| at.checked_add(by).ok());
        let one = |date: &Dated| {
            let at = date.at();
            Component {
                // The first date keeps the name that it had when it did not repeat yet.
                uid: match at == begins {
                    true => component.uid.clone(),
                    false => named(&component.uid, &date.name()),
                },
                series: Some(component.uid.clone()),
                start_at: moved(start, at),
                end_at: moved(end, at),
                ..component.clone()
            }
        };
        let is_free = |date: &&Dated| !stood_for.contains(&named(&component.uid, &date.name()));
        (dates.iter().filter(is_free).map(one).collect(), None)
    }
}

impl Repeats {
    fn dates(&self, first: &Dated, from: Timestamp, until: Timestamp) -> Vec<Dated> {
        let mut all: Vec<Dated> = vec![first.clone()];
        for rule in &self.rules {
            all.extend(rule.dates(first, from, until, DATES_MAX));
        }
        all.extend(self.more.iter().cloned());
        all.retain(|one| {
            let is_within = one.at() >= from && one.at() <= until;
            let is_out = |except: &Dated| match except.is_day() {
                true => except.date() == one.date(),
                false => except.at() == one.at(),
            };
            is_within && !self.except.iter().any(is_out)
        });
        all.sort_by_key(Dated::at);
        all.dedup_by_key(|one| one.at());
        all.truncate(DATES_MAX);
        all
    }
}

/// The name of one date of a series.
fn named(uid: &str, date: &str) -> String {
    let name = format!("{uid}#{date}");
    if name.len() <= UID_MAX { name } else { derive_uuid(&["date of a series", uid, date]).to_string() }
}

/// What the file says about the zones that it names.
fn zones(lines: &[(usize, String)], default: &str) -> Zones {
    let mut zones = Zones::new(default);
    let (mut name, mut place) = (None, None);
    for (_, content) in lines {
        let line = Line::parse(content);
        match (line.name.as_str(), line.value.as_str()) {
            ("BEGIN", "VTIMEZONE") => (name, place) = (None, None),
            ("TZID", _) => name = Some(line.value),
            ("X-LIC-LOCATION", _) => place = Some(line.value),
            ("END", "VTIMEZONE") => {
                if let (Some(name), Some(place)) = (name.take(), place.take()) {
                    zones.learn(&name, &place);
                }
            }
            _ => {}
        }
    }
    zones
}

fn component(begun: usize, kind: &str, lines: &[Line], zones: &Zones) -> Result<Parsed, String> {
    let line = |name: &str| lines.iter().find(|line| line.name == name);
    let is_cancelled = line("STATUS").is_some_and(|line| line.value.eq_ignore_ascii_case("CANCELLED"));
    let (subject_type, end_name) =
        if kind == "VTODO" { (SubjectType::Task, "DUE") } else { (SubjectType::Event, "DTEND") };
    let dated = |name: &str| line(name).map(|line| dated(line, &line.value, zones)).transpose();
    let (start, end) = (dated("DTSTART")?, dated(end_name)?);
    let stands_for = dated("RECURRENCE-ID")?.map(|date| date.name());
    let lasts = line("DURATION").map(|line| {
        duration(&line.value).ok_or_else(|| format!("`{}` is no duration", clipped(&line.value, 40)))
    });
    let lasts = lasts.transpose()?;
    let is_all_day = start.as_ref().or(end.as_ref()).is_some_and(Dated::is_day);
    let start_at = start.as_ref().map(Dated::at);
    let end_at = match (&end, start_at, lasts) {
        // Whole days end with the day before the one that is written.
        (Some(Dated::Day(day)), Some(start), _) if subject_type == SubjectType::Event => {
            Some(midnight(day.checked_sub(1.day()).unwrap_or(*day)).max(start))
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
    let repeats = repeats(lines, start.or(end), zones)?;
    let title = line("SUMMARY").map(|line| unescaped(&line.value)).unwrap_or_default();
    let title = clipped(&title.split_whitespace().collect::<Vec<_>>().join(" "), TITLE_MAX).to_owned();
    if title.is_empty() {
        return Err("it has no title".into());
    }
    let uid = line("UID").and_then(uid).unwrap_or_else(|| {
        let date = start_at.or(end_at).map(|at| at.to_string()).unwrap_or_default();
        derive_uuid(&["no uid", kind, &title, &date]).to_string()
    });
    let text = |name: &str, longest: usize| {
        let text = line(name).map(|line| unescaped(&line.value))?;
        let text: String = text.chars().filter(|one| *one == '\n' || !one.is_control()).collect();
        Some(clipped(text.trim(), longest).to_owned()).filter(|text| !text.is_empty())
    };
    let mail = |line: &Line| {
        let address = line.value.split_once(':').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("mailto"));
        address.map(|(_, address)| address.trim().to_lowercase())
    };
    let component = Component {
        subject_type,
        uid,
        title,
        start_at,
        end_at,
        is_all_day,
        organiser: line("ORGANIZER").and_then(mail),
        attendees: lines.iter().filter(|line| line.name == "ATTENDEE").filter_map(mail).collect(),
        series: None,
        location: text("LOCATION", LOCATION_MAX),
        description: text("DESCRIPTION", DESCRIPTION_MAX),
    };
    Ok(Parsed { line: begun, component, stands_for, is_cancelled, repeats })
}

/// The identity that a line gives, in a form that can be kept.
fn uid(line: &Line) -> Option<String> {
    let uid = unescaped(&line.value);
    match uid.len() {
        0 => None,
        1..=UID_MAX if !uid.chars().any(char::is_control) => Some(uid),
        _ => Some(derive_uuid(&["uid", &uid]).to_string()),
    }
}

/// How a component repeats, counted from its first date; nothing where it does not.
fn repeats(lines: &[Line], first: Option<Dated>, zones: &Zones) -> Result<Option<(Dated, Repeats)>, String> {
    let mut repeats = Repeats::default();
    for line in lines {
        let dates = || line.value.split(',').filter(|text| !text.is_empty());
        match line.name.as_str() {
            "RRULE" => repeats.rules.push(Rule::parse(&line.value)?),
            "RDATE" => {
                for text in dates() {
                    // Of a period its beginning counts; it lasts as long as the others.
                    let begins = text.split('/').next().unwrap_or(text);
                    repeats.more.push(dated(line, begins, zones)?);
                }
            }
            "EXDATE" => {
                for text in dates() {
                    repeats.except.push(dated(line, text, zones)?);
                }
            }
            _ => {}
        }
    }
    if repeats.rules.is_empty() && repeats.more.is_empty() {
        return Ok(None);
    }
    Ok(Some((first.ok_or("it repeats and has no date")?, repeats)))
}

/// The years that dates are taken from, as everywhere: an end in 9999 is how some programs write "for ever".
const YEARS: RangeInclusive<i16> = 1900..=2200;

fn dated(line: &Line, text: &str, zones: &Zones) -> Result<Dated, String> {
    let date = read_date(line, text, zones)?;
    if YEARS.contains(&date.date().year()) {
        Ok(date)
    } else {
        Err(format!("`{}` is out of range: dates are from 1900 to 2200", clipped(text, 40)))
    }
}

fn read_date(line: &Line, text: &str, zones: &Zones) -> Result<Dated, String> {
    let wrong = || format!("`{}` is no date of {}", clipped(text, 40), line.name);
    if line.parameter("VALUE") == Some("DATE") || text.len() == 8 {
        return jiff::civil::Date::strptime("%Y%m%d", text).map(Dated::Day).map_err(|_| wrong());
    }
    let (local, zone) = match text.strip_suffix(['Z', 'z']) {
        Some(local) => (local, zones.get(Some("UTC"))?),
        None => (text, zones.get(line.parameter("TZID"))?),
    };
    Dated::local(local, zone).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
