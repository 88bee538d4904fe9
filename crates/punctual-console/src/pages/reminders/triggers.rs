//! The triggers that ship, as people meet them: what each is called, its part of the form, and what a setting of it does in one line.

use serde_json::{Value, json};

use super::fields::{Offered, Picker, owned};
use crate::{
    editor::{Asks, Field, Kind, Part, filter_part},
    words::counted,
};

/// One kind of trigger on the pages.
pub struct Trigger {
    pub kind: &'static str,
    /// The part of a definition that belongs to it.
    pub part: &'static str,
    /// As the form offers it.
    pub choice: &'static str,
    /// As the list of settings names it.
    pub name: &'static str,
    /// Its part of a new form.
    pub fresh: fn() -> Value,
    pub fields: fn(&Value, &Picker, &Offered) -> Part,
    /// What a setting does, from its part of the definition.
    in_words: fn(&Value) -> String,
}

pub const TRIGGERS: &[Trigger] = &[
    Trigger {
        kind: "dateBased",
        part: "date",
        choice: "Before or after a date",
        name: "by date",
        fresh: || json!({ "offsetsDays": [30, 7, 1], "sendTime": "09:00" }),
        fields: date,
        in_words: date_in_words,
    },
    Trigger {
        kind: "recurring",
        part: "recurring",
        choice: "Every year or month",
        name: "recurring",
        fresh: || json!({ "every": "year", "sendTime": "09:00" }),
        fields: recurring,
        in_words: |part| {
            format!("every {} after {}", part["every"].as_str().unwrap_or("year"), field_name(part, "field"))
        },
    },
    Trigger {
        kind: "threshold",
        part: "threshold",
        choice: "When a measure reaches a value",
        name: "by threshold",
        fresh: || json!({ "metric": { "field": "" }, "op": ">=", "firingPolicy": "FalseToTrue" }),
        fields: threshold,
        in_words: threshold_in_words,
    },
];

/// The trigger of this kind; another program may bring along its own.
pub fn of(kind: &str) -> Option<&'static Trigger> {
    TRIGGERS.iter().find(|one| one.kind == kind)
}

/// What a setting does, in one line.
pub fn in_words(kind: &str, definition: &Value) -> String {
    of(kind).map(|one| (one.in_words)(&definition[one.part])).unwrap_or_default()
}

fn text<'p>(part: &'p Value, name: &str) -> &'p str {
    part[name].as_str().unwrap_or_default()
}

/// The field of a source as people call it: without the sign that its place begins with.
fn field_name<'p>(part: &'p Value, name: &str) -> &'p str {
    let place = text(part, name);
    place.strip_prefix('/').unwrap_or(place)
}

/// `30, 7 and 1 days before expiresOn`, `on and 3 days after dueOn`.
fn date_in_words(part: &Value) -> String {
    let offsets: Vec<i64> =
        part["offsetsDays"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
    let days = |of: &[i64], word: &str| match of {
        [] => None,
        [one] => Some(format!("{} {word}", counted(*one, "day", "days"))),
        many => Some(format!("{} days {word}", listed(many.iter().map(ToString::to_string).collect()))),
    };
    let before: Vec<i64> = offsets.iter().copied().filter(|days| *days > 0).collect();
    let after: Vec<i64> = offsets.iter().filter(|days| **days < 0).map(|days| -days).collect();
    let on = offsets.contains(&0).then(|| "on".to_owned());
    let parts = [days(&before, "before"), on, days(&after, "after")];
    format!("{} {}", listed(parts.into_iter().flatten().collect()), field_name(part, "field"))
}

/// `a`, `a and b`, `a, b and c`.
fn listed(mut words: Vec<String>) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} and {last}", words.join(", ")) }
}

fn date(draft: &Value, pick: &Picker, _: &Offered) -> Part {
    Part::new(
        "When",
        vec![
            pick.field(draft, "/date/field", "Date", "choose…").required(),
            Field::new("/date/sendTime", "Time of day", Kind::Time)
                .hint("Local time of the source's business unit, UTC without one; 09:00 if empty."),
            Field::new("/date/offsetsDays", "Days before", Kind::Numbers)
                .required()
                .hint("Between commas: 30, 7, 1. 0 is the day itself, negative numbers are days after it."),
        ],
    )
}

fn recurring(draft: &Value, pick: &Picker, _: &Offered) -> Part {
    Part::new(
        "When",
        vec![
            pick.field(draft, "/recurring/field", "Date", "choose…").required(),
            Field::new("/recurring/every", "Every", Kind::choice(&[("year", "year"), ("month", "month")])),
            Field::new("/recurring/offsetDays", "Days before each date", Kind::Number)
                .placeholder("0")
                .hint("Negative numbers are days after it."),
            Field::new("/recurring/sendTime", "Time of day", Kind::Time)
                .hint("Local time of the source's business unit, UTC without one; 09:00 if empty."),
        ],
    )
}

/// How a measure is compared with its value.
const OPS: [(&str, &str); 4] =
    [(">=", "is at least"), (">", "is more than"), ("<=", "is at most"), ("<", "is less than")];
/// How often one that stays reached is sent.
const FIRING: [(&str, &str); 4] = [
    ("FalseToTrue", "whenever it is reached"),
    ("OncePerDay", "once a day"),
    ("OncePerThreshold", "once for this value"),
    ("OncePerSource", "once for a source"),
];

/// `when the number of booking divided by capacity is at least 0.8, whenever it is reached`.
fn threshold_in_words(part: &Value) -> String {
    let said = |words: &[(&'static str, &'static str)], name: &str| {
        words.iter().find(|(word, _)| *word == text(part, name)).map_or("", |(_, said)| *said)
    };
    let (op, firing) = (said(&OPS, "op"), said(&FIRING, "firingPolicy"));
    format!("when {} {op} {}, {firing}", measure(&part["metric"]), part["value"])
}

/// A measure as people call it.
fn measure(metric: &Value) -> String {
    let plain = |place: &str| place.trim_start_matches('/').replace('/', " › ");
    if let Some(place) = metric.as_str().or_else(|| metric["field"].as_str()) {
        return plain(place);
    }
    if let Some([one, other]) = metric["share"].as_array().map(Vec::as_slice) {
        return format!("{} divided by {}", measure(one), measure(other));
    }
    if let Some(of) = metric["count"]["sourceType"].as_str() {
        return format!("the number of {of}");
    }
    match metric["sum"]["sourceType"].as_str() {
        Some(of) => format!("the sum of {} of {of}", plain(text(&metric["sum"], "field"))),
        None => "the measure".to_owned(),
    }
}

fn threshold(draft: &Value, pick: &Picker, offered: &Offered) -> Part {
    let how = |words: &str| format!("/threshold/metric/how={words}");
    let metrics = [
        ("field", "a field of the source"),
        ("share", "one field divided by another"),
        ("count", "a count of other sources"),
        ("sum", "a sum over other sources"),
        ("countShare", "a count, divided by a field"),
        ("sumShare", "a sum, divided by a field"),
    ];
    let types = offered.types.clone();
    let other = filter_part(
        draft,
        "/threshold/metric/where",
        "Conditions of the counted sources",
        "Field",
        &Asks::Offer(Vec::new()),
        |_| Vec::new(),
    );
    Part::new(
        "When",
        vec![
            Field::new("/threshold/metric/how", "Measure", Kind::choice(&metrics)).decides(),
            pick.field(draft, "/threshold/metric/field", "Field", "choose…").only(how("field|share|")),
            pick.field(draft, "/threshold/metric/other", "Divisor", "choose…")
                .only(how("share|countShare|sumShare")),
            Field::text("/threshold/metric/sourceType", "Kind of counted sources")
                .offering(owned(&types))
                .only(how("count|sum|countShare|sumShare")),
            Field::text("/threshold/metric/parentField", "Field that names the source")
                .placeholder("/classId")
                .only(how("count|sum|countShare|sumShare")),
            Field::text("/threshold/metric/sumField", "Field to add up")
                .placeholder("/amount")
                .only(how("sum|sumShare")),
            Field::new("/threshold/op", "Comparison", Kind::choice(&OPS)),
            Field::new("/threshold/value", "Value", Kind::Decimal).required(),
            Field::new("/threshold/firingPolicy", "Repetition", Kind::choice(&FIRING)),
            Field::text("/threshold/scope", "Scope").placeholder("all"),
        ],
    )
    .with_part(other.folded().only(how("count|sum|countShare|sumShare")))
}

#[cfg(test)]
mod tests {
    use punctual_workflows::reminders::providers::Providers;

    use super::*;

    #[test]
    fn days_are_said_in_one_phrase() {
        let said =
            |days: &[i64]| date_in_words(&serde_json::json!({ "field": "/dueOn", "offsetsDays": days }));
        assert_eq!(said(&[30, 7, 1]), "30, 7 and 1 days before dueOn");
        assert_eq!(said(&[1]), "1 day before dueOn");
        assert_eq!(said(&[0]), "on dueOn");
        assert_eq!(said(&[3, 0, -7]), "3 days before, on and 7 days after dueOn");
    }

    /// A trigger that ships without its form, or whose settings the API cannot read, is found here.
    #[test]
    fn every_trigger_that_ships_has_its_form_and_its_part_of_a_request() {
        let ships: Vec<String> = Providers::built_in().triggers.keys().map(str::to_owned).collect();
        let mut shown: Vec<&str> = TRIGGERS.iter().map(|one| one.kind).collect();
        shown.sort_unstable();
        assert_eq!(shown, ships);
        let parts: Vec<(&str, &str)> = TRIGGERS.iter().map(|one| (one.kind, one.part)).collect();
        assert_eq!(parts, punctual_wire::reminders::PARTS);
    }
}
