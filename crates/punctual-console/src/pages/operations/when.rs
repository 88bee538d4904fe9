//! When a message is sent, as people write it into a field and as they read it.

use punctual_workflows::operations::{Anchor, RuleSpec, rule::parse_offset};
use serde_json::{Value, json};

/// What a field offers; anything else of the same shapes is taken too.
pub const SUGGESTED: [(&str, &str); 6] = [
    ("-24h", "24h before"),
    ("-1h", "1h before"),
    ("-15m", "15m before"),
    ("at", "at"),
    ("+15m", "15m after"),
    ("08:00", "08:00 on the day of"),
];

/// The rule that a text means, in the shape the API takes: `at`, `-24h`, `+15m`, `08:00`, or `18:00 -1 Europe/Berlin` for a
/// local time so many days before or after. What is none of them goes on as an offset, and is refused as one.
pub fn rule(text: &str, anchor: &str) -> Value {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    if first == "at" {
        return json!({ "type": "at_subject_date", "anchor": anchor });
    }
    if parse_offset(first).is_some() || !first.contains(':') {
        return json!({ "type": "relative", "anchor": anchor, "offset": text });
    }
    let mut rule = json!({ "type": "on_day", "anchor": anchor, "at": first });
    for word in words {
        match word.parse::<i64>() {
            Ok(days) => rule["dayOffset"] = days.into(),
            Err(_) => rule["timeZone"] = word.into(),
        }
    }
    rule
}

/// The text that means this rule.
pub fn written(spec: &RuleSpec) -> String {
    match spec {
        RuleSpec::AtSubjectDate { .. } => "at".to_owned(),
        RuleSpec::Relative { offset, .. } => offset.clone(),
        RuleSpec::OnDay { at, time_zone, day_offset, .. } => {
            let mut text = at.clone();
            if *day_offset != 0 {
                text.push_str(&format!(" {day_offset:+}"));
            }
            if let Some(zone) = time_zone {
                text.push_str(&format!(" {zone}"));
            }
            text
        }
    }
}

/// `24h before the start`, as the beginning of a line.
pub fn in_words(spec: &RuleSpec) -> String {
    let words = spec.in_words();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The date that a field names.
pub fn anchor(text: &str) -> Anchor {
    if text == Anchor::End.as_str() { Anchor::End } else { Anchor::Start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["at", "-24h", "+15m", "08:00", "18:00 -1", "18:00 +2 Europe/Berlin", "07:30 Asia/Tokyo"]
        {
            let spec: RuleSpec = serde_json::from_value(rule(text, "end")).unwrap();
            assert_eq!((written(&spec).as_str(), spec.anchor()), (text, Anchor::End));
        }
        assert_eq!(rule("never", "start")["offset"], "never");
    }
}
