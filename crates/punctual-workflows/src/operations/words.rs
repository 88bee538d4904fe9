//! Default texts of messages without a template.

use jiff::tz::TimeZone;
use punctual_model::local_time;
use punctual_store::operations::subjects::SubjectRow;

use super::Anchor;

/// The date in the words of one zone: `Thu 14 May 2026, 11:00 (Europe/Berlin)`; a whole day has no hour.
pub fn when_label(subject: &SubjectRow, anchor: Anchor, zone: &str) -> String {
    let Some(at) = subject.date(anchor) else { return "at no set time".to_owned() };
    if subject.is_all_day {
        return TimeZone::UTC.to_datetime(at).strftime("%a %-d %b %Y").to_string();
    }
    let Ok(found) = local_time::zone(zone) else {
        return format!("{} (UTC)", TimeZone::UTC.to_datetime(at).strftime("%a %-d %b %Y, %H:%M"));
    };
    format!("{} ({zone})", found.to_datetime(at).strftime("%a %-d %b %Y, %H:%M"))
}

/// The subject line.
pub fn subject_line(subject: &SubjectRow, anchor: Anchor) -> String {
    let word = match anchor {
        Anchor::Start => "Starts",
        Anchor::End => "Ends",
    };
    format!("{word}: {}", subject.title)
}

/// The text.
pub fn body(subject: &SubjectRow, anchor: Anchor, when: &str) -> String {
    let verb = match anchor {
        Anchor::Start => "starts",
        Anchor::End => "ends",
    };
    format!("{} {verb} {when}.\n", subject.title)
}
