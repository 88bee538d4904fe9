//! The fields of an event or task.

use punctual_workflows::operations::{Anchor, RuleSpec, preview::usual};
use serde_json::Value;

use super::when;
use crate::{
    editor::{Field, Form, Kind, Part, Rows},
    times::Zone,
};

/// What the fields offer.
pub struct Offered {
    pub people: Vec<(String, String)>,
    pub organisations: Vec<(String, String)>,
    pub units: Vec<(String, String)>,
    /// Words for channels, such as `email`.
    pub channels: Vec<String>,
    /// What texts see, in one line.
    pub variables: String,
}

/// The form for one like this.
pub fn form(draft: &Value, offered: &Offered, zone: &Zone, is_stored: bool) -> Form {
    let is_task = draft["type"] == "task";
    let mut what = Vec::new();
    if is_stored {
        what.push(Field::new("/id", "", Kind::Hidden));
        what.push(Field::new("/type", "", Kind::Hidden));
    } else {
        let types = Kind::choice(&[("event", "event"), ("task", "task")]);
        what.push(Field::new("/type", "Type", types).again());
    }
    what.push(Field::text("/title", "Title").required().prose().wide());
    Form::of(vec![
        Part::new("What", what),
        dates(is_task, zone),
        people(draft, offered, is_task),
        messages(draft, offered, is_stored),
        more(offered, is_stored, draft),
    ])
}

fn dates(is_task: bool, zone: &Zone) -> Part {
    let days = Kind::choice(&[("no", "at a time"), ("yes", "whole days")]);
    let kind = if is_task { Kind::Hidden } else { days };
    let mut fields = vec![Field::new("/days", "Length", kind).wide()];
    for (pointer, label) in [("/startDate", "Starts"), ("/endDate", "Ends")] {
        let at = Kind::Moment(zone.whole.clone());
        fields.push(
            Field::new(format!("{pointer}/at"), format!("{label} ({})", zone.name), at).only("/days=no"),
        );
        fields.push(Field::new(format!("{pointer}/day"), label, Kind::Date).only("/days=yes"));
    }
    Part::new("When", fields)
}

fn people(draft: &Value, offered: &Offered, is_task: bool) -> Part {
    let person = |pointer: String, label: &str| {
        Field::text(pointer, label).offering(offered.people.clone()).placeholder("name or id").person()
    };
    let name = |id: &Value| {
        let found = offered.people.iter().find(|(known, _)| Some(known.as_str()) == id.as_str());
        found.map(|(_, name)| name.clone())
    };
    let title = if is_task { "Related people" } else { "Participants" };
    let rows = Rows::new("/participants", title, "person").unordered().each(draft, |index, at, id| {
        let title = name(id).unwrap_or_else(|| format!("Person {}", index + 1));
        (title, Part::new("", vec![person(at.to_owned(), "Person").wide()]))
    });
    Part::new(
        "People",
        vec![
            person("/creator".to_owned(), "Creator").required().hint("Also gets every message."),
            Field::text("/organisation", "Organisation")
                .offering(offered.organisations.clone())
                .hint("Its zone and its usual messages apply."),
        ],
    )
    .with_rows(rows)
}

fn messages(draft: &Value, offered: &Offered, is_stored: bool) -> Part {
    let choice = Kind::choice(&[
        ("usual", "the usual ones: of the organisation, or at the start and at the end"),
        ("own", "those that are written here"),
    ]);
    let kind = if is_stored { Kind::Hidden } else { choice };
    let rows = Rows::new("/rules", "", "message")
        .unordered()
        .only("/messages=own")
        .each(draft, |index, at, rule| (title(rule, index), message(at, rule, offered)));
    Part::new("Messages", vec![Field::new("/messages", "Messages", kind).wide()])
        .about(offered.variables.clone())
        .with_rows(rows)
}

/// When a message is sent, in words, or its number while that cannot be said.
fn title(rule: &Value, index: usize) -> String {
    let text = |name: &str| rule["rule"][name].as_str().unwrap_or_default();
    let days = rule["rule"]["dayOffset"].as_i64().or_else(|| text("dayOffset").parse().ok());
    let anchor = when::anchor(text("anchor"));
    let spec = match text("type") {
        "at_subject_date" => Some(RuleSpec::AtSubjectDate { anchor }),
        "relative" if !text("offset").is_empty() => {
            Some(RuleSpec::Relative { anchor, offset: text("offset").to_owned() })
        }
        "on_day" if !text("at").is_empty() => Some(RuleSpec::OnDay {
            anchor,
            at: text("at").to_owned(),
            time_zone: Some(text("timeZone").to_owned()).filter(|zone| !zone.is_empty()),
            day_offset: days.unwrap_or_default(),
        }),
        _ => None,
    };
    spec.map_or_else(|| format!("Message {}", index + 1), |spec| when::in_words(&spec))
}

fn message(at: &str, rule: &Value, offered: &Offered) -> Part {
    let kinds = Kind::choice(&[
        ("relative", "before or after"),
        ("at_subject_date", "at the moment itself"),
        ("on_day", "at a time on the day"),
    ]);
    let only = |kind: &str| format!("{at}/rule/type={kind}");
    let suggested = when::SUGGESTED
        .iter()
        .filter(|(text, _)| text.starts_with(['-', '+']))
        .map(|(text, name)| ((*text).to_owned(), (*name).to_owned()))
        .collect();
    let words = offered.channels.iter().map(|word| (word.clone(), word.clone())).collect();
    let (subject, body) = usual(when::anchor(rule["rule"]["anchor"].as_str().unwrap_or_default()));
    let anchors = Kind::choice(&[(Anchor::Start.as_str(), "the start"), (Anchor::End.as_str(), "the end")]);
    let more = vec![
        Field::new(format!("{at}/message/html"), "Text as HTML", Kind::Area),
        Field::new(format!("{at}/active"), "State", Kind::OrFalse("sent", "paused")),
        Field::new(format!("{at}/priority"), "Priority", Kind::priority()),
        Field::text(format!("{at}/topic"), "Topic").hint("People can unsubscribe from a topic."),
        Field::new(format!("{at}/failover"), "Fallback channels", Kind::Words)
            .hint("Tried in this order if the first one fails, such as sms:default, email:default."),
    ];
    Part::new(
        "",
        vec![
            Field::new(format!("{at}/id"), "", Kind::Hidden),
            Field::new(format!("{at}/rule/type"), "When", kinds).decides(),
            Field::new(format!("{at}/rule/anchor"), "Of", anchors),
            Field::text(format!("{at}/rule/offset"), "Interval")
                .offering(suggested)
                .hint("-24h is a day before, +15m a quarter of an hour after.")
                .only(only("relative")),
            Field::new(format!("{at}/rule/at"), "Time", Kind::Time).only(only("on_day")),
            Field::new(format!("{at}/rule/dayOffset"), "Days before or after", Kind::Number)
                .placeholder("0")
                .hint("-1 is the day before.")
                .only(only("on_day")),
            Field::text(format!("{at}/rule/timeZone"), "Time zone")
                .placeholder("of the event")
                .only(only("on_day")),
            Field::new(format!("{at}/channels"), "Channels", Kind::Checks(words)),
            Field::text(format!("{at}/message/subject"), "Subject").placeholder(subject).prose().wide(),
            Field::new(format!("{at}/message/body"), "Text", Kind::Area).placeholder(body).prose(),
        ],
    )
    .with_part(Part::new("More", more).folded())
}

fn more(offered: &Offered, is_stored: bool, draft: &Value) -> Part {
    let mut fields = vec![
        Field::text("/location", "Place").prose(),
        Field::text("/timeZone", "Time zone")
            .placeholder("of the organisation")
            .hint("For whole days and for dates in messages."),
        Field::new("/description", "Description", Kind::Area).prose(),
    ];
    if !is_stored {
        fields.push(Field::text("/businessUnit", "Business unit").offering(offered.units.clone()));
    } else if draft["businessUnit"].is_string() {
        fields.push(Field::new("/businessUnit", "Business unit", Kind::Fixed));
    }
    Part::new("More", fields).folded()
}
