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
            format!("every {} after {}", part["every"].as_str().unwrap_or("year"), text(part, "field"))
        },
    },
    Trigger {
        kind: "threshold",
        part: "threshold",
        choice: "When a measure reaches a value",
        name: "by threshold",
        fresh: || json!({ "metric": { "field": "" }, "op": ">=", "firingPolicy": "FalseToTrue" }),
        fields: threshold,
        in_words: |part| format!("{} {}, {}", text(part, "op"), part["value"], text(part, "firingPolicy")),
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

fn date_in_words(part: &Value) -> String {
    let days = |days: i64| match days {
        0 => "on the day".to_owned(),
        1.. => format!("{} before", counted(days, "day", "days")),
        _ => format!("{} after", counted(-days, "day", "days")),
    };
    let offsets = part["offsetsDays"].as_array().into_iter().flatten().filter_map(Value::as_i64);
    format!("{} {}", offsets.map(days).collect::<Vec<_>>().join(", "), text(part, "field"))
}

fn date(draft: &Value, pick: &Picker, _: &Offered) -> Part {
    Part::new(
        "When",
        vec![
            pick.field(draft, "/date/field", "Date", "choose…").required(),
            Field::new("/date/sendTime", "At", Kind::Time)
                .hint("Local time of the source's business unit; 09:00 where it is empty."),
            Field::new("/date/offsetsDays", "Days before", Kind::Numbers)
                .required()
                .hint("With commas between: 30, 7, 1. 0 is the day itself, negative ones are after it."),
        ],
    )
}

fn recurring(draft: &Value, pick: &Picker, _: &Offered) -> Part {
    Part::new(
        "When",
        vec![
            pick.field(draft, "/recurring/field", "Date", "choose…").required(),
            Field::new("/recurring/every", "Every", Kind::choice(&[("year", "year"), ("month", "month")])),
            Field::new("/recurring/offsetDays", "Days before each", Kind::Number)
                .placeholder("0")
                .hint("Negative ones are after it."),
            Field::new("/recurring/sendTime", "At", Kind::Time).hint("Local time; 09:00 where it is empty."),
        ],
    )
}

fn threshold(draft: &Value, pick: &Picker, offered: &Offered) -> Part {
    let how = |words: &str| format!("/threshold/metric/how={words}");
    let ops = [(">=", "is at least"), (">", "is more than"), ("<=", "is at most"), ("<", "is less than")];
    let firing = [
        ("FalseToTrue", "whenever it is reached"),
        ("OncePerDay", "once a day"),
        ("OncePerThreshold", "once for this value"),
        ("OncePerSource", "once for a source"),
    ];
    let metrics = [
        ("field", "a field of the source"),
        ("share", "one field divided by another"),
        ("count", "how many other sources name it"),
        ("sum", "a field of those, summed up"),
    ];
    let types = offered.types.clone();
    let other = filter_part(
        draft,
        "/threshold/metric/where",
        "Only those of them for which",
        "Field",
        &Asks::Offer(Vec::new()),
        |_| Vec::new(),
    );
    Part::new(
        "When",
        vec![
            Field::new("/threshold/metric/how", "Measure", Kind::choice(&metrics)).decides(),
            pick.field(draft, "/threshold/metric/field", "Field", "choose…").only(how("field|share|")),
            pick.field(draft, "/threshold/metric/other", "Divided by", "choose…").only(how("share")),
            Field::text("/threshold/metric/sourceType", "Kind of those that are counted")
                .offering(owned(&types))
                .only(how("count|sum")),
            Field::text("/threshold/metric/parentField", "Their field that names it")
                .placeholder("/classId")
                .only(how("count|sum")),
            Field::text("/threshold/metric/sumField", "Their field that is summed up")
                .placeholder("/amount")
                .only(how("sum")),
            Field::new("/threshold/op", "It", Kind::choice(&ops)),
            Field::new("/threshold/value", "Value", Kind::Decimal).required(),
            Field::new("/threshold/firingPolicy", "Sent", Kind::choice(&firing)),
            Field::text("/threshold/scope", "Scope").placeholder("all"),
        ],
    )
    .with_part(other.folded().only(how("count|sum")))
}

#[cfg(test)]
mod tests {
    use punctual_workflows::reminders::providers::Providers;

    use super::*;

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
