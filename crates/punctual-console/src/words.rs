//! The words that people see for states and reasons: one word and one shape everywhere.

use punctual_model::{
    AttemptOutcome, NotificationStatus, ReasonCode, ReceiptState, WorkStatus, reason::sentence_of,
};

/// A text as a sentence: with a capital, and a full stop at its end.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return String::new() };
    let end = if text.ends_with('.') { "" } else { "." };
    first.to_uppercase().chain(letters).chain(end.chars()).collect()
}

/// What a message is called: its subject, or the template that makes it.
pub fn called(subject: &str, template: Option<&str>) -> String {
    match (subject, template) {
        ("", Some(template)) => format!("From template {template}"),
        ("", None) => "(no subject)".to_owned(),
        (subject, _) => subject.to_owned(),
    }
}

/// A state as a pill: the word, and the class that gives its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pill {
    pub word: &'static str,
    pub class: &'static str,
}

const fn pill(word: &'static str, class: &'static str) -> Pill {
    Pill { word, class }
}

/// The state of a notification.
pub fn notification(status: NotificationStatus) -> Pill {
    match status {
        NotificationStatus::Pending => pill("waiting", "neutral"),
        NotificationStatus::Retrying => pill("retrying", "warn"),
        NotificationStatus::Delivered => pill("delivered", "good"),
        NotificationStatus::Parked => pill("parked", "bad"),
        NotificationStatus::Withdrawn => pill("withdrawn", "muted"),
        NotificationStatus::Discarded => pill("discarded", "muted"),
    }
}

/// The state of a work row.
pub fn work(status: WorkStatus, on_hold: bool) -> Pill {
    match status {
        _ if on_hold => pill("held", "bad outline"),
        WorkStatus::Pending => pill("waiting", "neutral"),
        WorkStatus::Processing => pill("working", "warn outline"),
        WorkStatus::Completed => pill("completed", "good"),
        WorkStatus::Failed => pill("failed", "bad"),
        WorkStatus::Deactivated => pill("skipped", "muted"),
        WorkStatus::Cancelled => pill("cancelled", "muted"),
    }
}

/// The result of one attempt.
pub fn outcome(outcome: Option<AttemptOutcome>) -> Pill {
    let Some(outcome) = outcome else { return pill("under way", "neutral") };
    let class = match outcome {
        AttemptOutcome::Delivered => "good",
        AttemptOutcome::Transient => "warn",
        AttemptOutcome::Permanent => "bad",
        AttemptOutcome::Uncertain => "warn outline",
    };
    pill(outcome.in_words(), class)
}

/// A target that was left out, by the code of the reason.
pub fn left_out(reason: &str) -> Pill {
    match reason.parse() {
        Ok(ReasonCode::Suppressed) => pill("suppressed", "muted"),
        _ => pill("left out", "muted"),
    }
}

/// What a provider reported later.
pub fn receipt(state: ReceiptState) -> Pill {
    match state {
        ReceiptState::Accepted => pill("not confirmed yet", "muted"),
        ReceiptState::Sent => pill("on its way", "neutral"),
        ReceiptState::Delivered => pill("confirmed", "good"),
        ReceiptState::Read => pill("read", "good"),
        ReceiptState::Failed => pill("not delivered", "bad"),
        ReceiptState::Complained => pill("called spam", "bad"),
    }
}

/// The sentence of a stored reason; empty where there is none.
pub fn reason(code: Option<&str>) -> String {
    code.map_or_else(String::new, |code| sentence_of(code).to_owned())
}

/// A source as people call it: its kind and its id, without an id that nobody can read.
pub fn source(kind: &str, id: &str) -> String {
    let kind = kind.replace('-', " ");
    if is_opaque(id) { kind } else { format!("{kind} {id}") }
}

/// Whether an id is made for programs: a UUID.
pub fn is_opaque(id: &str) -> bool {
    let groups = id.split('-').map(str::len);
    groups.eq([8, 4, 4, 4, 12]) && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// An error as people read it: what it marks as code is quoted. One with marks that do not come in pairs is another program's.
pub fn quoted(error: &str) -> String {
    if !error.matches('`').count().is_multiple_of(2) {
        return error.to_owned();
    }
    let parts = error.split('`').enumerate();
    parts.map(|(n, part)| if n % 2 == 1 { format!("“{part}”") } else { part.to_owned() }).collect()
}

/// A kind of work as people call it.
pub fn kind(kind: &str) -> String {
    kind.replace('-', " ")
}

/// A sentence of the API as people read it: a name of the request, which it marks as code, becomes the label that they see; a value is quoted.
pub fn spoken(detail: &str, label_of: impl Fn(&str) -> Option<String>) -> String {
    let parts = detail.split('`').enumerate().map(|(n, part)| match (n % 2 == 1, label_of(part)) {
        (false, _) => part.to_owned(),
        (true, Some(label)) => label,
        (true, None) => in_plain_words(part).unwrap_or_else(|| format!("“{part}”")),
    });
    parts.collect()
}

/// What is wrong at a place of the request, as it is said beside the field.
pub fn said(pointer: &str, detail: &str) -> String {
    let own = pointer.rsplit('/').next().unwrap_or_default();
    spoken(detail, |name| (name == own && !own.is_empty()).then(|| pronoun(detail, name)))
}

/// `It` at the start of a sentence, `it` inside.
fn pronoun(detail: &str, name: &str) -> String {
    let starts = detail.strip_prefix('`').is_some_and(|rest| rest.starts_with(name));
    if starts { "It" } else { "it" }.to_owned()
}

/// The words of a name that is written in one: `business unit` for `businessUnit`.
fn in_plain_words(name: &str) -> Option<String> {
    let is_name =
        name.chars().all(char::is_alphanumeric) && name.starts_with(|first: char| first.is_lowercase());
    if !is_name || !name.contains(char::is_uppercase) {
        return None;
    }
    let mut words = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    Some(words)
}

/// A number with thin groups of three, and the word in its singular or plural.
pub fn counted(count: i64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// `1,234,567`.
pub fn grouped(count: i64) -> String {
    let digits = count.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if count < 0 {
        out.push('−');
    }
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_words_agree() {
        assert_eq!(counted(1, "row", "rows"), "1 row");
        assert_eq!(counted(1_234_567, "row", "rows"), "1,234,567 rows");
        assert_eq!(grouped(-1_000), "−1,000");
    }

    #[test]
    fn an_error_quotes_what_it_marks() {
        assert_eq!(quoted("there is no list `ops`"), "there is no list “ops”");
        assert_eq!(quoted("5`10"), "5`10");
    }

    #[test]
    fn a_source_has_no_id_that_nobody_can_read() {
        assert_eq!(source("document", "103"), "document 103");
        assert_eq!(
            source("report-subscription", "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"),
            "report subscription"
        );
    }

    #[test]
    fn a_sentence_of_the_api_names_what_people_see() {
        let label = |name: &str| (name == "name").then(|| "Name".to_owned());
        assert_eq!(spoken("`name` is missing.", label), "Name is missing.");
        assert_eq!(
            spoken("`name` takes `a` or no `businessUnit`.", label),
            "Name takes “a” or no business unit."
        );
        assert_eq!(said("/rules/0/offset", "`offset` is no time."), "It is no time.");
        assert_eq!(said("/id", "There is no list `nobody`."), "There is no list “nobody”.");
        assert_eq!(said("", "Nothing is marked."), "Nothing is marked.");
    }
}
