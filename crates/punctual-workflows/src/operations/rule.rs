//! Computes when a rule fires: pure, from the event or task, the rule and the organisation.

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, Time},
    tz::TimeZone,
};
use punctual_model::{Anchor, durations, local_time};
use punctual_store::operations::{organisations::OrganisationRow, rules::RuleRow, subjects::SubjectRow};
use serde::{Deserialize, Serialize};

use super::spec_of;

/// The local time at which an all-day date counts, where nobody has set another.
pub const ALL_DAY_AT: &str = "12:00";

/// What a rule says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RuleSpec {
    /// At the date itself.
    AtSubjectDate { anchor: Anchor },
    /// So long before (`-24h`) or after (`+15m`) it.
    Relative { anchor: Anchor, offset: String },
    /// At a local time on its day, or some days before or after that day.
    OnDay {
        anchor: Anchor,
        at: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_zone: Option<String>,
        #[serde(default, skip_serializing_if = "is_zero")]
        day_offset: i64,
    },
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl RuleSpec {
    pub fn anchor(&self) -> Anchor {
        match self {
            Self::AtSubjectDate { anchor } | Self::Relative { anchor, .. } | Self::OnDay { anchor, .. } => {
                *anchor
            }
        }
    }

    /// `24h before the start`.
    pub fn in_words(&self) -> String {
        let date = self.anchor().as_str();
        match self {
            Self::AtSubjectDate { .. } => format!("at the {date}"),
            Self::Relative { offset, .. } => match offset.split_at_checked(1) {
                Some(("-", length)) => format!("{length} before the {date}"),
                Some((_, length)) => format!("{length} after the {date}"),
                None => format!("at the {date}"),
            },
            Self::OnDay { at, time_zone, day_offset, .. } => {
                let day = match day_offset {
                    0 => format!("on the day of the {date}"),
                    -1 => format!("on the day before the {date}"),
                    days if *days < 0 => format!("{} days before the {date}", -days),
                    days => format!("{days} days after the {date}"),
                };
                let zone = time_zone.as_deref().map(|zone| format!(" ({zone})")).unwrap_or_default();
                format!("at {at} {day}{zone}")
            }
        }
    }

    pub fn type_name(&self) -> &'static str {
        match self {
            Self::AtSubjectDate { .. } => "at_subject_date",
            Self::Relative { .. } => "relative",
            Self::OnDay { .. } => "on_day",
        }
    }

    /// Whether it means the same moment, however it is written.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Relative { anchor, offset }, Self::Relative { anchor: of, offset: by }) => {
                anchor == of && parse_offset(offset) == parse_offset(by)
            }
            _ => self == other,
        }
    }

    /// As it is stored.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Whether two rules, each with its channels, are the same message: at the same moment, over the same channels.
pub fn is_same_message(one: (&RuleSpec, &[String]), other: (&RuleSpec, &[String])) -> bool {
    let ((one, over), (other, channels)) = (one, other);
    over.len() == channels.len() && over.iter().all(|word| channels.contains(word)) && one.is_same(other)
}

/// Reads an offset with its sign; `None` for anything else.
pub fn parse_offset(text: &str) -> Option<SignedDuration> {
    let (sign, length) = text.split_at_checked(1)?;
    let length = SignedDuration::try_from(durations::parse(length).ok()?).ok()?;
    match sign {
        "-" => Some(-length),
        "+" => Some(length),
        _ => None,
    }
}

/// The moment at which a rule fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub run_at: Timestamp,
    /// Names this moment in the key: a moved date is another occurrence.
    pub occurrence: String,
    /// The local plan beside the instant, where a zone decides: date and zone.
    pub local: Option<(String, String)>,
}

/// When the rule fires; `None` where it has no date to go by, or is not to fire at all.
pub fn wanted(
    subject: Option<&SubjectRow>,
    rule: &RuleRow,
    organisation: Option<&OrganisationRow>,
) -> Option<Wanted> {
    let subject = subject.filter(|subject| subject.deleted_at.is_none())?;
    if rule.deleted_at.is_some() || !rule.active {
        return None;
    }
    moment(subject, &spec_of(rule)?, organisation)
}

/// When this would fire for this subject.
pub fn moment(
    subject: &SubjectRow,
    spec: &RuleSpec,
    organisation: Option<&OrganisationRow>,
) -> Option<Wanted> {
    let at = subject.date(spec.anchor())?;
    let day = subject.is_all_day.then(|| TimeZone::UTC.to_datetime(at).date());
    let (run_at, local) = match spec {
        RuleSpec::AtSubjectDate { .. } => base(subject, organisation, at, day),
        RuleSpec::Relative { offset, .. } => {
            let (at, local) = base(subject, organisation, at, day);
            let moved = at.checked_add(parse_offset(offset)?).ok()?;
            // The local date of an offset across midnight is another one: only the instant is given.
            (moved, if moved == at { local } else { None })
        }
        RuleSpec::OnDay { at: time, time_zone, day_offset, .. } => {
            let name = time_zone.as_deref().or(zone_name(subject, organisation)).unwrap_or("UTC");
            let zone = local_time::zone(name).ok()?;
            let date = day.unwrap_or_else(|| zone.to_datetime(at).date());
            let date = date.checked_add(jiff::Span::new().try_days(*day_offset).ok()?).ok()?;
            resolved(date, local_time::parse_time(time).ok()?, &zone, name)
        }
    };
    let occurrence = compact(run_at);
    Some(Wanted { run_at, occurrence, local })
}

/// The zone that dates of this subject are meant in, where one is set.
pub fn zone_name<'a>(subject: &'a SubjectRow, organisation: Option<&'a OrganisationRow>) -> Option<&'a str> {
    subject.time_zone.as_deref().or(organisation.and_then(|organisation| organisation.time_zone.as_deref()))
}

/// The date as an instant. A whole day counts at noon UTC, or at the organisation's hour where a zone is set.
fn base(
    subject: &SubjectRow,
    organisation: Option<&OrganisationRow>,
    at: Timestamp,
    day: Option<Date>,
) -> (Timestamp, Option<(String, String)>) {
    let Some(date) = day else { return (at, None) };
    let noon = Time::constant(12, 0, 0, 0);
    match zone_name(subject, organisation).and_then(|name| Some((name, local_time::zone(name).ok()?))) {
        None => (local_time::resolve(date, noon, &TimeZone::UTC).at, None),
        Some((name, zone)) => {
            let hour = organisation.and_then(|organisation| organisation.all_day_at.as_deref());
            let hour = local_time::parse_time(hour.unwrap_or(ALL_DAY_AT)).unwrap_or(noon);
            resolved(date, hour, &zone, name)
        }
    }
}

fn resolved(date: Date, time: Time, zone: &TimeZone, name: &str) -> (Timestamp, Option<(String, String)>) {
    (local_time::resolve(date, time, zone).at, Some((date.to_string(), name.to_owned())))
}

/// An instant as it is stored in keys; parts of a second are left out, so that they alone make no new occurrence.
fn compact(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(start: Option<&str>, end: Option<&str>, all_day: bool, zone: Option<&str>) -> SubjectRow {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        SubjectRow {
            id: "s".into(),
            subject_type: "event".into(),
            title: "Stand-up".into(),
            start_at: start.map(at),
            end_at: end.map(at),
            is_all_day: all_day,
            creator: "ann".into(),
            people: "[]".into(),
            organisation: None,
            time_zone: zone.map(str::to_owned),
            business_unit: None,
            ical_uid: None,
            ical_series: None,
            location: None,
            description: None,
            deleted_at: None,
            version: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn organisation(zone: Option<&str>, all_day_at: Option<&str>) -> OrganisationRow {
        OrganisationRow {
            id: "o".into(),
            name: "O".into(),
            time_zone: zone.map(str::to_owned),
            all_day_at: all_day_at.map(str::to_owned),
            rules: None,
            business_unit: None,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[track_caller]
    fn check(
        subject: &SubjectRow,
        spec: &str,
        organisation: Option<&OrganisationRow>,
        expected: Option<&str>,
    ) {
        let spec: RuleSpec = serde_json::from_str(spec).unwrap();
        let found = moment(subject, &spec, organisation).map(|wanted| wanted.run_at.to_string());
        assert_eq!(found.as_deref(), expected, "{spec:?}");
    }

    const AT_START: &str = r#"{"type":"at_subject_date","anchor":"start"}"#;
    const AT_END: &str = r#"{"type":"at_subject_date","anchor":"end"}"#;

    #[test]
    fn a_date_is_the_moment_itself_and_no_date_is_no_moment() {
        let event = subject(Some("2026-05-14T09:00:00Z"), None, false, None);
        check(&event, AT_START, None, Some("2026-05-14T09:00:00Z"));
        check(&event, AT_END, None, None);
    }

    #[test]
    fn a_whole_day_counts_at_noon_utc_or_at_the_organisations_hour() {
        let event = subject(Some("2026-05-14T00:00:00Z"), Some("2026-05-15T00:00:00Z"), true, None);
        check(&event, AT_START, None, Some("2026-05-14T12:00:00Z"));
        check(&event, AT_END, None, Some("2026-05-15T12:00:00Z"));
        let berlin = organisation(Some("Europe/Berlin"), Some("09:00"));
        check(&event, AT_START, Some(&berlin), Some("2026-05-14T07:00:00Z"));
        let berlin = organisation(Some("Europe/Berlin"), None);
        check(&event, AT_START, Some(&berlin), Some("2026-05-14T10:00:00Z"));
        // Without a zone the hour is nobody's.
        check(&event, AT_START, Some(&organisation(None, Some("09:00"))), Some("2026-05-14T12:00:00Z"));
        let own = subject(Some("2026-05-14T00:00:00Z"), None, true, Some("Pacific/Auckland"));
        check(&own, AT_START, Some(&berlin), Some("2026-05-14T00:00:00Z"));
    }

    #[test]
    fn relative_rules_count_from_the_date() {
        let event = subject(Some("2026-05-14T09:00:00Z"), Some("2026-05-14T10:00:00Z"), false, None);
        let day_before = r#"{"type":"relative","anchor":"start","offset":"-24h"}"#;
        check(&event, day_before, None, Some("2026-05-13T09:00:00Z"));
        let after = r#"{"type":"relative","anchor":"end","offset":"+15m"}"#;
        check(&event, after, None, Some("2026-05-14T10:15:00Z"));
        check(&event, r#"{"type":"relative","anchor":"end","offset":"15m"}"#, None, None);
        let whole_day = subject(Some("2026-05-14T00:00:00Z"), None, true, None);
        check(&whole_day, day_before, None, Some("2026-05-13T12:00:00Z"));
    }

    #[test]
    fn on_the_day_means_the_day_in_the_zone() {
        // 23:30 UTC is already the 15th in Berlin.
        let late = subject(Some("2026-05-14T23:30:00Z"), None, false, None);
        let morning = r#"{"type":"on_day","anchor":"start","at":"08:00"}"#;
        check(&late, morning, None, Some("2026-05-14T08:00:00Z"));
        let berlin = organisation(Some("Europe/Berlin"), None);
        check(&late, morning, Some(&berlin), Some("2026-05-15T06:00:00Z"));
        let named = r#"{"type":"on_day","anchor":"start","at":"08:00","timeZone":"America/New_York"}"#;
        check(&late, named, Some(&berlin), Some("2026-05-14T12:00:00Z"));
        let eve = r#"{"type":"on_day","anchor":"start","at":"18:00","dayOffset":-1}"#;
        check(&late, eve, Some(&berlin), Some("2026-05-14T16:00:00Z"));
        // 02:30 does not exist on 29 March 2026 in Berlin: the gap rule moves it on.
        let spring = subject(Some("2026-03-29T10:00:00Z"), None, false, None);
        let gap = r#"{"type":"on_day","anchor":"start","at":"02:30"}"#;
        check(&spring, gap, Some(&berlin), Some("2026-03-29T01:30:00Z"));
    }

    #[test]
    fn rules_are_written_as_they_are_read() {
        for text in [
            AT_START,
            r#"{"type":"relative","anchor":"start","offset":"-24h"}"#,
            r#"{"type":"on_day","anchor":"end","at":"08:00","timeZone":"Europe/Berlin","dayOffset":-1}"#,
        ] {
            assert_eq!(serde_json::from_str::<RuleSpec>(text).unwrap().to_json(), text);
        }
    }
}
