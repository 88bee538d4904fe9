//! The form of a survey: questions, languages, events and what becomes of answers, each with fields and pickers.

use serde_json::Value;

use super::shape::{items, locales};
use crate::editor::{Asks, Field, Form, Kind, Part, Rows, filter_part};

/// What the fields offer.
#[derive(Default)]
pub struct Offered {
    pub units: Vec<(String, String)>,
    pub channels: Vec<(String, String)>,
    pub templates: Vec<(String, String)>,
    pub subscribers: Vec<(String, String)>,
    /// Kinds of events that triggers ask for, and paths into events that were received.
    pub kinds: Vec<(String, String)>,
    pub paths: Vec<(String, String)>,
    /// What invitations and reminders see, in one line.
    pub variables: String,
}

const TYPES: [(&str, &str); 8] = [
    ("nps", "0 to 10: would recommend"),
    ("rating", "A scale"),
    ("yesNo", "Yes or no"),
    ("singleChoice", "One choice"),
    ("multiChoice", "Several choices"),
    ("text", "Text"),
    ("number", "A number"),
    ("date", "A date"),
];

/// The form for a survey like this one; `stored` says that it has a number.
pub fn form(draft: &Value, offered: &Offered, stored: bool) -> Form {
    let schema = &draft["schema"];
    let languages = locales(schema);
    let texts = |at: &str, label: &str, kind: Kind| localised(&languages, at, label, kind);
    let mut first =
        vec![Field::text("/name", "Name").required().hint("For this console; respondents see the title.")];
    if stored {
        first.push(Field::new("/id", "Number", Kind::Fixed));
    }
    let mut title = texts("/schema/title", "Title", Kind::Text);
    if let Some(field) = title.first_mut() {
        field.required = true;
    }
    first.extend(title);
    first.extend(texts("/schema/intro", "Introduction", Kind::Area));
    let language = vec![
        Field::text("/schema/defaultLocale", "Main language")
            .placeholder("en")
            .hint("For people whose language the survey does not have."),
        Field::text("/addLocale", "New language")
            .hint("Such as de or ar-IQ. Leave its texts empty to remove it."),
    ];
    let mut end = texts("/schema/thanks", "Thanks on the last page", Kind::Area);
    end.extend(texts("/schema/organisation", "Organisation", Kind::Text));
    end.push(Field::text("/schema/colour", "Colour").placeholder("#1a6f5c"));
    let mut messages = texts("/schema/invitation", "Invitation, before the link", Kind::Area);
    messages.extend(texts("/schema/reminder", "Reminder, before the link", Kind::Area));
    Form::of(vec![
        Part::new("Survey", first),
        Part::new("Questions", Vec::new()).with_rows(questions(draft, &languages)),
        Part::new("Languages", language).act("language", "Add language"),
        Part::new("Triggers", Vec::new())
            .about("A trigger says which events ask people, whom, when and over which channel.")
            .with_rows(triggers(draft, offered)),
        Part::new("Texts of the messages", messages).about(offered.variables.clone()).folded(),
        Part::new("Last page and look", end).folded(),
        routes(draft, "/schema", "Subscribers", "every subscriber", offered).folded(),
        Part::new(
            "For other systems",
            vec![
                Field::text("/integrationId", "Integration id").hint("Sent to subscribers."),
                Field::text("/businessUnit", "Business unit").offering(offered.units.clone()),
            ],
        )
        .folded(),
    ])
}

/// A field for each language; the language is named where there are several.
fn localised(languages: &[String], at: &str, label: &str, kind: Kind) -> Vec<Field> {
    let one = |language: &String| {
        let label = if languages.len() > 1 { format!("{label} ({language})") } else { label.to_owned() };
        Field::new(format!("{at}/{language}"), label, kind.clone()).wide().prose()
    };
    languages.iter().map(one).collect()
}

fn questions(draft: &Value, languages: &[String]) -> Rows {
    let list = items(&draft["schema"]["questions"]);
    let before: Vec<(String, String)> = list
        .iter()
        .map(|one| {
            let id = one["id"].as_str().unwrap_or_default().to_owned();
            let name = said(one, languages);
            (id.clone(), if name.is_empty() { id } else { name })
        })
        .collect();
    Rows::new("/schema/questions", "", "question").each(draft, |index, at, item| {
        let kind = |types: &str| format!("{at}/type={types}");
        let mut fields = localised(languages, &format!("{at}/text"), "Question", Kind::Text);
        if let Some(first) = fields.first_mut() {
            first.required = true;
        }
        fields.extend([
            Field::new(format!("{at}/type"), "Answer", Kind::choice(&TYPES)).decides(),
            Field::new(format!("{at}/required"), "Required", Kind::Flag),
            Field::text(format!("{at}/min"), "Least")
                .only(kind("rating|number|date"))
                .hint("A number, or a date such as 2026-05-14."),
            Field::text(format!("{at}/max"), "Most").only(kind("rating|number|date")),
            Field::new(format!("{at}/whole"), "Whole numbers only", Kind::Flag).only(kind("number")),
            Field::new(format!("{at}/maxLength"), "Longest answer", Kind::Number)
                .placeholder("2000")
                .only(kind("text")),
            Field::new(format!("{at}/multiline"), "Several lines", Kind::Perhaps).only(kind("text")),
            Field::new(format!("{at}/minChoices"), "Fewest choices", Kind::Number).only(kind("multiChoice")),
            Field::new(format!("{at}/maxChoices"), "Most choices", Kind::Number).only(kind("multiChoice")),
        ]);
        let options = Rows::new(format!("{at}/options"), "Choices", "choice")
            .only(kind("singleChoice|multiChoice"))
            .each(draft, |number, at, _| {
                let mut fields = localised(languages, &format!("{at}/text"), "Text", Kind::Text);
                fields.push(
                    Field::text(format!("{at}/value"), "Value in the results").hint("The text if empty."),
                );
                (format!("Choice {}", number + 1), Part::new("", fields))
            });
        let mut more = localised(languages, &format!("{at}/help"), "Help below the question", Kind::Text);
        more.extend([
            Field::text(format!("{at}/id"), "Id")
                .hint("Identifies the answers; made from the text if empty."),
            Field::text(format!("{at}/group"), "Screen")
                .hint("Adjacent questions with the same group share a screen on a phone."),
        ]);
        let earlier = || {
            let known = before[..index.min(before.len())].iter().filter(|(id, _)| !id.is_empty()).cloned();
            Asks::Choice(known.collect())
        };
        let values =
            |id: &str| list.iter().find(|one| one["id"].as_str() == Some(id)).map_or_else(Vec::new, answers);
        let condition = |name: &str, title: &str| {
            filter_part(draft, &format!("{at}/{name}"), title, "Question", &earlier(), values).folded()
        };
        let mut part = Part::new("", fields).with_rows(options);
        if index > 0 {
            part = part
                .with_part(condition("showIf", "Asked only if"))
                .with_part(condition("skipIf", "Left out if"));
        }
        let title = match said(item, languages) {
            text if text.is_empty() => format!("Question {}", index + 1),
            text => format!("{}. {text}", index + 1),
        };
        (title, part.with_part(Part::new("More", more).folded()))
    })
}

/// A question as its author reads it.
fn said(question: &Value, languages: &[String]) -> String {
    let texts = languages.iter().filter_map(|language| question["text"][language.as_str()].as_str());
    texts.map(str::trim).find(|text| !text.is_empty()).unwrap_or_default().to_owned()
}

/// What a question may be answered with, where that is a choice.
fn answers(question: &Value) -> Vec<(String, String)> {
    let owned = |value: &str, name: &str| (value.to_owned(), name.to_owned());
    match question["type"].as_str().unwrap_or_default() {
        "yesNo" => vec![owned("true", "yes"), owned("false", "no")],
        "singleChoice" | "multiChoice" => items(&question["options"])
            .iter()
            .filter_map(|option| {
                let texts = option["text"].as_object().into_iter().flatten();
                let name = texts.filter_map(|(_, text)| text.as_str()).find(|text| !text.is_empty());
                let value = option["value"].as_str().filter(|value| !value.is_empty()).or(name)?;
                Some(owned(value, name.unwrap_or(value)))
            })
            .collect(),
        "nps" => (0..=10).map(|step| owned(&step.to_string(), "")).collect(),
        _ => Vec::new(),
    }
}

fn triggers(draft: &Value, offered: &Offered) -> Rows {
    Rows::new("/schema/triggers", "", "trigger").each(draft, |index, at, item| {
        let event = vec![
            Field::text(format!("{at}/eventKind"), "Kind of event")
                .required()
                .offering(offered.kinds.clone()),
            Field::text(format!("{at}/channel"), "Channel").required().offering(offered.channels.clone()),
            Field::text(format!("{at}/schedule/initialDelay"), "First message after")
                .required()
                .hint("Such as 0d, 15m, 4h or 2d."),
            Field::new(format!("{at}/schedule/reminders"), "Reminders after", Kind::Words)
                .hint("Each counts from the message before it, between commas: 1d, 3d."),
            Field::new(format!("{at}/enabled"), "Active", Kind::Flag),
        ];
        let recipe = Rows::new(format!("{at}/dedupRecipe"), "Duplicate rules", "field")
            .about("Events that are equal in these fields are duplicates. After a change, a repeated event can ask people again.")
            .each(draft, |number, at, _| {
                let field = Field::text(at, format!("Field {}", number + 1)).offering(offered.paths.clone());
                (format!("Field {}", number + 1), Part::new("", vec![field]))
            });
        let filter = filter_part(
            draft,
            &format!("{at}/filter"),
            "Conditions",
            "Field of the event",
            &Asks::Offer(offered.paths.clone()),
            |_| Vec::new(),
        );
        let more = vec![
            Field::text(format!("{at}/template"), "Template")
                .offering(offered.templates.clone())
                .hint("Replaces the texts below."),
            Field::text(format!("{at}/expiryGracePeriod"), "Lifetime of the link")
                .placeholder("30d")
                .hint("Counted from the last message."),
            Field::text(format!("{at}/maxLateness"), "Longest delay").placeholder("7d"),
            Field::text(format!("{at}/topic"), "Topic"),
            Field::new(format!("{at}/priority"), "Priority", Kind::priority()),
            Field::new(format!("{at}/failover"), "Fallback channels", Kind::Words)
                .hint("Tried in this order if the first one fails, between commas."),
            Field::text(format!("{at}/id"), "Id").hint("Made from the kind of event if empty."),
        ];
        let own = routes(draft, at, "Subscribers", "as the survey says", offered);
        let title = match item["eventKind"].as_str().map(str::trim) {
            None | Some("") => format!("Trigger {}", index + 1),
            Some(kind) => format!("After {kind}"),
        };
        let part = Part::new("", event).with_rows(recipe).with_part(filter.folded());
        (title, part.with_part(Part::new("More", more).folded()).with_part(own.folded()))
    })
}

/// Who gets answers: as usual, or only those who are named, each with conditions on the answers.
fn routes(draft: &Value, at: &str, title: &str, usual: &str, offered: &Offered) -> Part {
    let asked: Vec<(String, String)> = items(&draft["schema"]["questions"])
        .iter()
        .filter_map(|one| {
            let id = one["id"].as_str().filter(|id| !id.is_empty())?;
            Some((id.to_owned(), id.to_owned()))
        })
        .collect();
    let routing = Field::new(
        format!("{at}/routing"),
        "Subscriber",
        Kind::choice(&[("", usual), ("only", "only these")]),
    )
    .decides();
    let rows = Rows::new(format!("{at}/subscribers"), "", "subscriber")
        .unordered()
        .only(format!("{at}/routing=only"))
        .each(draft, |number, at, _| {
            let key = Field::text(format!("{at}/key"), "Subscriber")
                .required()
                .offering(offered.subscribers.clone());
            let asks = Asks::Offer(asked.clone());
            let filter =
                filter_part(draft, &format!("{at}/filter"), "Conditions", "Question", &asks, |_| Vec::new());
            (format!("Subscriber {}", number + 1), Part::new("", vec![key]).with_part(filter.folded()))
        });
    Part::new(title, vec![routing]).with_rows(rows)
}
