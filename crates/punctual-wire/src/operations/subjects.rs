//! `/api/v1/operations/events` and `/tasks`.
//!
//! Both are one thing with two vocabularies: an event has a start and an end date and participants, a task a start, a
//! finish and related users. They are read by the same code.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use punctual_model::local_time::as_stored;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::rules::Rule;
use crate::{
    batch::Item,
    fields::Fields,
    instant,
    limits::NAME_MAX,
    page::NamePageQuery,
    problem::{Code, FieldError},
};

/// Titles are in the subject of a message, behind a word.
pub const TITLE_MAX: usize = 900;
/// Where something takes place: a line.
pub const LOCATION_MAX: usize = 1_000;
pub const DESCRIPTION_MAX: usize = 8 << 10;
/// Everybody in the room; larger audiences belong in a list.
pub const PEOPLE_MAX: usize = 500;

/// The words of one type.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary {
    pub start: &'static str,
    pub end: &'static str,
    pub people: &'static str,
    pub may_be_all_day: bool,
}

pub const EVENT: Vocabulary =
    Vocabulary { start: "startDate", end: "endDate", people: "participants", may_be_all_day: true };
pub const TASK: Vocabulary =
    Vocabulary { start: "startedAt", end: "finishedAt", people: "relatedUsers", may_be_all_day: false };

/// An event to be created.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewEvent {
    pub title: String,
    /// An instant; for a whole day also a date such as `2026-05-14`.
    #[schema(value_type = Option<String>, required = false, example = "2030-05-14T07:00:00Z")]
    pub start_date: Option<Timestamp>,
    /// An instant; for a whole day also a date.
    #[schema(value_type = Option<String>, required = false, example = "2030-05-14T08:00:00Z")]
    pub end_date: Option<Timestamp>,
    #[schema(required = false)]
    pub is_all_day: bool,
    /// The id of a person.
    pub creator: String,
    #[schema(required = false)]
    pub participants: Vec<String>,
    pub organisation: Option<String>,
    /// The time zone of its dates; by default that of the organisation.
    pub time_zone: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
    pub business_unit: Option<String>,
}

/// A task to be created.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewTask {
    pub title: String,
    #[schema(required = false)]
    pub started_at: Option<Timestamp>,
    #[schema(required = false)]
    pub finished_at: Option<Timestamp>,
    /// The id of a person.
    pub creator: String,
    #[schema(required = false)]
    pub related_users: Vec<String>,
    pub organisation: Option<String>,
    pub time_zone: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
    pub business_unit: Option<String>,
}

/// A date as it was given: an instant, or a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    pub at: Timestamp,
    pub is_day: bool,
    /// The date as it was written, whatever its offset.
    pub date: Date,
}

/// An event or task to be created, whichever it is.
#[derive(Clone, Debug, PartialEq)]
pub struct SubjectRequest {
    pub title: String,
    pub start: Option<Given>,
    pub end: Option<Given>,
    pub is_all_day: bool,
    pub creator: String,
    pub people: Vec<String>,
    pub organisation: Option<String>,
    pub time_zone: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
    pub business_unit: Option<String>,
}

impl SubjectRequest {
    pub fn read(value: &Value, pointer: &str, words: Vocabulary) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let title = fields.required_subject("title");
        limit_title(&mut fields, &title);
        let request = Self {
            title,
            start: date(&mut fields, words.start),
            end: date(&mut fields, words.end),
            is_all_day: words.may_be_all_day && fields.bool("isAllDay", false),
            creator: fields.required_name("creator"),
            people: fields.optional_texts(words.people, 0..=PEOPLE_MAX, 1..=NAME_MAX).unwrap_or_default(),
            organisation: fields.optional_name("organisation"),
            time_zone: fields.optional_zone("timeZone"),
            location: fields.optional_text("location", 1..=LOCATION_MAX),
            description: fields.optional_text("description", 1..=DESCRIPTION_MAX),
            business_unit: fields.optional_name("businessUnit"),
        };
        fields.finish().map(|()| request)
    }
}

/// What is to be different about an event or task. A date, organisation or zone of `null` is taken away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubjectChange {
    pub title: Option<String>,
    pub start: Option<Option<Given>>,
    pub end: Option<Option<Given>>,
    pub is_all_day: Option<bool>,
    pub creator: Option<String>,
    pub people: Option<Vec<String>>,
    pub organisation: Option<Option<String>>,
    pub time_zone: Option<Option<String>>,
    pub location: Option<Option<String>>,
    pub description: Option<Option<String>>,
}

/// What is to be different about an event; a date, organisation or zone of `null` is taken away.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventChange {
    pub title: Option<String>,
    /// An instant; for a whole day also a date such as `2026-05-14`.
    #[schema(value_type = Option<String>)]
    pub start_date: Option<Timestamp>,
    #[schema(value_type = Option<String>)]
    pub end_date: Option<Timestamp>,
    pub is_all_day: Option<bool>,
    pub creator: Option<String>,
    pub participants: Option<Vec<String>>,
    pub organisation: Option<String>,
    pub time_zone: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
}

/// What is to be different about a task; a date, organisation or zone of `null` is taken away.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskChange {
    pub title: Option<String>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub creator: Option<String>,
    pub related_users: Option<Vec<String>>,
    pub organisation: Option<String>,
    pub time_zone: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
}

impl SubjectChange {
    pub fn read(value: &Value, pointer: &str, words: Vocabulary) -> Item<Self> {
        let taken_away = |name: &str| value.get(name).is_some_and(Value::is_null);
        let mut fields = Fields::new(value, pointer);
        let title = fields.optional_subject("title");
        limit_title(&mut fields, title.as_deref().unwrap_or_default());
        let mut dated = |name: &'static str| match date(&mut fields, name) {
            None if taken_away(name) => Some(None),
            given => given.map(Some),
        };
        let (start, end) = (dated(words.start), dated(words.end));
        let change = Self {
            title,
            start,
            end,
            is_all_day: if words.may_be_all_day { fields.optional_bool("isAllDay") } else { None },
            creator: fields.optional_name("creator"),
            people: fields.optional_texts(words.people, 0..=PEOPLE_MAX, 1..=NAME_MAX),
            organisation: match fields.optional_name("organisation") {
                None if taken_away("organisation") => Some(None),
                given => given.map(Some),
            },
            time_zone: match fields.optional_zone("timeZone") {
                None if taken_away("timeZone") => Some(None),
                given => given.map(Some),
            },
            location: match fields.optional_text("location", 1..=LOCATION_MAX) {
                None if taken_away("location") => Some(None),
                given => given.map(Some),
            },
            description: match fields.optional_text("description", 1..=DESCRIPTION_MAX) {
                None if taken_away("description") => Some(None),
                given => given.map(Some),
            },
        };
        fields.finish().map(|()| change)
    }
}

fn limit_title(fields: &mut Fields<'_>, title: &str) {
    if title.len() > TITLE_MAX {
        let detail = format!("`title` takes text of 1 to {TITLE_MAX} bytes; it has {}.", title.len());
        fields.refuse("title", Code::OutOfRange, detail);
    }
}

/// A date without time, or an instant with its offset.
fn date(fields: &mut Fields<'_>, name: &'static str) -> Option<Given> {
    let text = fields.get(name)?.as_str().unwrap_or_default();
    if text.len() == 10 {
        let date = fields.optional_date(name)?;
        return Some(Given { at: midnight(date), is_day: true, date });
    }
    let at = fields.optional_instant(name)?;
    let written = text.get(..10).and_then(|date| instant::parse_date(date).ok());
    let date = written.unwrap_or_else(|| TimeZone::UTC.to_datetime(at).date());
    Some(Given { at, is_day: false, date })
}

/// The instant that stands for a whole day. Days that are read lie far from the end of time; another one is its end, and never
/// another day.
pub fn midnight(date: Date) -> Timestamp {
    date.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |zoned| zoned.timestamp())
}

/// The instant that is stored for a date; a day where a time is needed is refused.
pub fn settle(given: Option<Given>, is_all_day: bool, name: &str) -> Result<Option<Timestamp>, FieldError> {
    match given {
        Some(Given { date, .. }) if is_all_day => Ok(Some(midnight(date))),
        Some(Given { is_day: true, date, .. }) => {
            let detail = format!(
                "`{name}` is a day without time; give an instant such as `{date}T09:00:00Z`, or `isAllDay`."
            );
            Err(FieldError::new(format!("/{name}"), Code::TimeNoOffset, detail))
        }
        given => Ok(given.map(|given| as_stored(given.at))),
    }
}

/// The end of something does not come before its start.
pub fn check_order(
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    words: Vocabulary,
) -> Result<(), FieldError> {
    match (start, end) {
        (Some(start), Some(end)) if end < start => {
            let detail = format!("`{}` is before `{}`; it takes {start} or later.", words.end, words.start);
            Err(FieldError::new(format!("/{}", words.end), Code::OutOfRange, detail))
        }
        _ => Ok(()),
    }
}

/// Which events or tasks are wanted.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SubjectQuery {
    /// Only those with a date at or after this instant; needs `to`.
    pub from: Option<Timestamp>,
    /// Only those with a date before this instant; needs `from`.
    pub to: Option<Timestamp>,
    /// The `nextCursor` of the page before.
    pub cursor: Option<String>,
    /// Items on one page, 1 to 200.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 200, default = 50)]
    pub limit: u32,
}

impl SubjectQuery {
    pub fn read(fields: &mut Fields<'_>) -> Self {
        let (from, to) = (fields.optional_instant("from"), fields.optional_instant("to"));
        if from.is_some() != to.is_some() {
            let missing = if from.is_some() { "to" } else { "from" };
            fields.refuse(missing, Code::MissingField, "`from` and `to` are given together.");
        }
        let NamePageQuery { cursor, limit } = NamePageQuery::read(fields);
        Self { from, to, cursor, limit }
    }
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub id: String,
    pub title: String,
    pub start_date: Option<Timestamp>,
    pub end_date: Option<Timestamp>,
    pub is_all_day: bool,
    pub creator: String,
    pub participants: Vec<String>,
    pub organisation: Option<String>,
    pub time_zone: Option<String>,
    #[serde(default)]
    pub location: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    pub business_unit: Option<String>,
    /// When its people are notified.
    #[serde(default)]
    pub rules: Vec<Rule>,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A task as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub id: String,
    pub title: String,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub creator: String,
    pub related_users: Vec<String>,
    pub organisation: Option<String>,
    pub time_zone: Option<String>,
    #[serde(default)]
    pub location: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    pub business_unit: Option<String>,
    /// When its people are notified.
    #[serde(default)]
    pub rules: Vec<Rule>,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check<T: std::fmt::Debug>(read: Item<T>, expected: &[(&str, &str)]) {
        let faults = read.unwrap_err();
        let found: Vec<_> =
            faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_event_is_read() {
        let body = json!({"title": "Fair", "startDate": "2026-05-14", "endDate": "2026-05-15T00:00:00+02:00",
            "isAllDay": true, "creator": "ann", "participants": ["ben"]});
        let read = SubjectRequest::read(&body, "", EVENT).unwrap();
        let settled = |given| settle(given, read.is_all_day, "x").unwrap().unwrap().to_string();
        assert_eq!(settled(read.start), "2026-05-14T00:00:00Z");
        assert_eq!(settled(read.end), "2026-05-15T00:00:00Z", "the day as it was written");
    }

    #[test]
    fn each_fault_names_its_field() {
        check(
            SubjectRequest::read(&json!({}), "", TASK),
            &[("/title", "missing_field"), ("/creator", "missing_field")],
        );
        let body = json!({"title": "a\nb", "startedAt": "2026-02-30T00:00:00Z", "creator": "ann",
            "relatedUsers": [7], "isAllDay": true});
        let expected = [
            ("/title", "subject_invalid"),
            ("/startedAt", "date_invalid"),
            ("/relatedUsers/0", "wrong_type"),
            ("/isAllDay", "unknown_field"),
        ];
        check(SubjectRequest::read(&body, "", TASK), &expected);
        let day = SubjectRequest::read(
            &json!({"title": "a", "startDate": "2026-05-14", "creator": "ann"}),
            "",
            EVENT,
        );
        let refused = settle(day.unwrap().start, false, "startDate").unwrap_err();
        assert_eq!((refused.pointer.as_str(), refused.code.as_str()), ("/startDate", "time_no_offset"));
        check(
            SubjectRequest::read(&json!({"title": "x".repeat(901), "creator": "ann"}), "", EVENT),
            &[("/title", "out_of_range")],
        );
    }

    #[test]
    fn null_takes_a_date_away_and_absence_leaves_it() {
        let change = SubjectChange::read(&json!({"startDate": null, "title": "b"}), "", EVENT).unwrap();
        assert_eq!((change.start, change.end, change.title.as_deref()), (Some(None), None, Some("b")));
    }
}
