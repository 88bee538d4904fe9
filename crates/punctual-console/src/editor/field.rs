//! One field of a form: how it is shown, and what it makes of what is typed.

use serde_json::{Map, Value, json};

use crate::{form::Fields, times::Zone};

/// A field, and what is in it.
pub struct Field {
    /// Its place in the request.
    pub pointer: String,
    pub label: String,
    pub hint: String,
    pub kind: Kind,
    pub required: bool,
    pub value: String,
    /// What counts where it stays empty.
    pub placeholder: String,
    /// Values that are offered; others can be written.
    pub offered: Vec<(String, String)>,
    /// The field, and its values, for which this one is shown: `/retry/policy=steps`. What is in it is sent all the same.
    pub when: String,
    /// The same for a field that means nothing otherwise: then it is neither shown nor sent.
    pub only: String,
    /// It does not apply to what is in the form.
    pub off: bool,
    /// Which fields there are depends on it: without script a button shows them.
    pub decides: bool,
    /// What the page shows depends on it: with script the form is shown again when it changes.
    pub again: bool,
    /// It has the focus when the page opens.
    pub focus: bool,
    /// The entry of a list that it is part of.
    pub within: String,
    pub fault: Option<String>,
    pub first_fault: bool,
    /// A text stands on two columns.
    pub wide: bool,
    /// It is read by people: in their language and direction.
    pub prose: bool,
    /// It holds the id of a person: with script, people are searched while one types.
    pub person: bool,
    /// What people read in place of a fixed value.
    pub shown_as: String,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Text,
    /// Shown and sent, and not to be changed.
    Fixed,
    /// Sent and not shown.
    Hidden,
    /// A local date and time in the zone of this name; the request has the instant.
    Moment(String),
    /// A day.
    Date,
    Number,
    /// A number with or without a fraction.
    Decimal,
    Time,
    /// Several lines of text.
    Area,
    /// One of these; value and label.
    Choice(Vec<(String, String)>),
    /// Some of these.
    Checks(Vec<(String, String)>),
    Flag,
    /// Yes, no, or nothing said.
    Perhaps,
    /// On or off without a value: the words for both.
    OrFalse(&'static str, &'static str),
    /// An array of texts, one a line.
    List,
    /// An object of texts, `name = text` a line.
    Pairs,
    /// An array of `{name, title}`, `name = title` a line.
    Titles,
    /// An array of `{max, per}`, `30 per 1m` a line.
    Rates,
    /// An array of numbers with commas between.
    Numbers,
    /// An array of texts with commas between.
    Words,
    Json,
    /// Written and never shown; whether one is set, and whether it has several lines.
    Secret {
        is_set: bool,
        lines: bool,
    },
}

impl Field {
    pub fn new(pointer: impl Into<String>, label: impl Into<String>, kind: Kind) -> Self {
        let wide = matches!(
            kind,
            Kind::Area | Kind::List | Kind::Pairs | Kind::Titles | Kind::Json | Kind::Rates | Kind::Checks(_)
        );
        Self {
            pointer: pointer.into(),
            label: label.into(),
            kind,
            wide,
            prose: false,
            person: false,
            shown_as: String::new(),
            hint: String::new(),
            required: false,
            value: String::new(),
            placeholder: String::new(),
            offered: Vec::new(),
            when: String::new(),
            only: String::new(),
            off: false,
            decides: false,
            again: false,
            focus: false,
            within: String::new(),
            fault: None,
            first_fault: false,
        }
    }

    pub fn text(pointer: impl Into<String>, label: impl Into<String>) -> Self {
        Self::new(pointer, label, Kind::Text)
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    /// What people read in place of a fixed value.
    #[must_use]
    pub fn shown_as(self, words: &str) -> Self {
        Self { shown_as: words.to_owned(), ..self }
    }

    #[must_use]
    pub fn required(self) -> Self {
        Self { required: true, ..self }
    }

    #[must_use]
    pub fn placeholder(self, text: impl Into<String>) -> Self {
        Self { placeholder: text.into(), ..self }
    }

    #[must_use]
    pub fn offering(self, offered: Vec<(String, String)>) -> Self {
        Self { offered, ..self }
    }

    #[must_use]
    pub fn when(self, when: impl Into<String>) -> Self {
        Self { when: when.into(), ..self }
    }

    /// Applies for these values of another field alone.
    #[must_use]
    pub fn only(self, only: impl Into<String>) -> Self {
        Self { only: only.into(), ..self }
    }

    /// Other fields depend on it.
    #[must_use]
    pub fn decides(self) -> Self {
        Self { decides: true, ..self }
    }

    /// What else is shown depends on it.
    #[must_use]
    pub fn again(self) -> Self {
        Self { again: true, ..self }
    }

    /// For people to read.
    #[must_use]
    pub fn prose(self) -> Self {
        Self { prose: true, ..self }
    }

    /// The id of a person.
    #[must_use]
    pub fn person(self) -> Self {
        Self { person: true, ..self }
    }

    /// On two columns.
    #[must_use]
    pub fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    /// The name of its control in the form.
    pub fn name(&self) -> &str {
        if self.pointer.is_empty() { WHOLE } else { &self.pointer }
    }

    /// Lines of a text that are shown.
    pub fn rows(&self) -> usize {
        let most = match self.kind {
            Kind::Rates | Kind::Pairs => 3,
            _ if self.prose => 3,
            // The whole definition.
            Kind::Json if self.pointer.is_empty() => return self.value.lines().count().clamp(20, 40),
            _ => 6,
        };
        self.value.lines().count().clamp(most, 20)
    }

    /// The name of its control, as links and labels know it.
    pub fn id(&self) -> String {
        id_of(self.name())
    }

    /// What describes the control: its hint and its fault.
    pub fn described_by(&self) -> String {
        let id = self.id();
        let parts = [(!self.hint.is_empty(), "hint"), (self.fault.is_some(), "fault")];
        let parts = parts.iter().filter(|(is, _)| *is).map(|(_, part)| format!("{id}-{part}"));
        parts.collect::<Vec<_>>().join(" ")
    }

    /// Whether a local time says more than hours and minutes.
    pub fn has_seconds(&self) -> bool {
        self.value.matches(':').count() > 1
    }

    pub fn is_secret(&self) -> bool {
        matches!(self.kind, Kind::Secret { .. })
    }

    /// Whether there is something in it that differs from an empty form.
    pub fn is_filled(&self) -> bool {
        !self.value.is_empty() || matches!(self.kind, Kind::Secret { is_set: true, .. })
    }

    /// Whether a choice or check has this value.
    pub fn has(&self, value: &str) -> bool {
        match self.kind {
            Kind::Checks(_) => self.value.lines().any(|line| line == value),
            _ => self.value == value,
        }
    }

    /// What is in it, in the words that people choose from.
    pub fn said(&self) -> String {
        match &self.kind {
            Kind::Choice(choices) => {
                let chosen = choices.iter().find(|(value, _)| *value == self.value);
                chosen.map_or_else(|| self.value.clone(), |(_, name)| name.clone())
            }
            _ => self.value.clone(),
        }
    }

    /// Its label with where it stands: `Question 2: Text`.
    pub fn label_in_full(&self) -> String {
        match self.within.as_str() {
            "" => self.label.clone(),
            within => format!("{within}: {}", self.label),
        }
    }

    /// What is wrong with it, after its label: ` is missing.` or `: 70,000 is too many.`
    pub fn fault_after_label(&self) -> String {
        let fault = self.fault.as_deref().unwrap_or_default();
        match fault.strip_prefix(self.label.as_str()).filter(|rest| rest.starts_with(' ')) {
            Some(rest) if !self.label.is_empty() => rest.to_owned(),
            _ => format!(": {fault}"),
        }
    }

    pub(super) fn refuse(&mut self, detail: &str) {
        match &mut self.fault {
            Some(fault) => {
                fault.push_str(if fault.ends_with('.') { " " } else { "; " });
                fault.push_str(detail);
            }
            None => self.fault = Some(detail.to_owned()),
        }
    }

    /// Shows a text as it was typed.
    pub(super) fn show_typed(&mut self, value: Option<&Value>) {
        self.value = match value {
            _ if self.is_secret() => String::new(),
            Some(Value::Array(items)) => items.iter().map(text).collect::<Vec<_>>().join("\n"),
            Some(value) if !value.is_null() => text(value),
            _ => String::new(),
        };
    }

    pub(super) fn show(&mut self, value: Option<&Value>) {
        if !self.is_secret() {
            self.value = self.kind.write(value);
        }
    }

    pub(super) fn keep(&mut self, fields: &Fields) {
        self.value = match self.kind {
            // A secret is typed again; it never goes back to a page.
            Kind::Secret { .. } => String::new(),
            Kind::Checks(_) => fields.all(self.name()).collect::<Vec<_>>().join("\n"),
            _ => fields.text(self.name()).replace("\r\n", "\n"),
        };
    }

    /// What is shown, as it would be sent and read.
    pub(super) fn shown(&self) -> Option<Value> {
        match self.kind {
            Kind::Flag => Some(Value::Bool(self.value == "yes")),
            Kind::Checks(_) => {
                let chosen: Vec<&str> = self.value.lines().collect();
                (!chosen.is_empty()).then(|| chosen.into())
            }
            Kind::Secret { .. } => None,
            _ => self.kind.read(&self.value),
        }
    }

    /// What was typed, as it goes into the request; nothing where it is left out.
    pub(super) fn read(&self, fields: &Fields) -> Option<Value> {
        match self.kind {
            Kind::Flag => Some(Value::Bool(fields.text(&self.pointer) == "yes")),
            Kind::Checks(_) => {
                let chosen: Vec<&str> = fields.all(&self.pointer).collect();
                (!chosen.is_empty()).then(|| chosen.into())
            }
            // Taking it away is said by itself; an empty field keeps what is there.
            Kind::Secret { .. } if fields.text(&format!("{}?remove", self.pointer)) == "yes" => {
                Some(Value::Null)
            }
            _ => self.kind.read(fields.text(self.name())),
        }
    }
}

/// What the control is called that holds a whole request.
pub const WHOLE: &str = "definition";

/// The name of a control or a row, as links and labels know it.
pub fn id_of(pointer: &str) -> String {
    format!("f{}", pointer.replace(['/', ':', '.', '~'], "-"))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn number(text: &str) -> Value {
    text.trim().parse::<i64>().map_or_else(|_| text.trim().into(), Value::from)
}

impl Kind {
    /// One of these words.
    pub fn choice(words: &[(&str, &str)]) -> Self {
        Self::Choice(words.iter().map(|(value, name)| ((*value).to_owned(), (*name).to_owned())).collect())
    }

    /// How urgent a message is.
    pub fn priority() -> Self {
        Self::choice(&[
            ("", "as usual"),
            ("alarm", "alarm"),
            ("high", "high"),
            ("normal", "normal"),
            ("campaign", "campaign"),
        ])
    }

    fn read(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        if text.is_empty() {
            // A list that is emptied is an empty list.
            return (*self == Self::List).then(|| json!([]));
        }
        Some(match self {
            Self::Number => number(text),
            Self::Decimal => match serde_json::from_str::<Value>(text) {
                Ok(value @ Value::Number(_)) => value,
                _ => text.into(),
            },
            Self::Perhaps => Value::Bool(text == "true"),
            // What cannot be read goes on as it is, and is refused with its field.
            Self::Moment(zone) => {
                Zone::named(Some(zone)).read(text).map_or_else(|| text.into(), |at| at.to_string().into())
            }
            Self::OrFalse(..) => return (text == "false").then_some(Value::Bool(false)),
            Self::List => lines(text).collect::<Vec<_>>().into(),
            Self::Pairs => {
                let pairs = lines(text).map(|line| line.split_once('=').unwrap_or((line, "")));
                let pairs = pairs.map(|(name, value)| (name.trim().to_owned(), Value::from(value.trim())));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            Self::Titles => lines(text)
                .map(|line| match line.split_once('=') {
                    Some((name, title)) => json!({"name": name.trim(), "title": title.trim()}),
                    None => json!({ "name": line }),
                })
                .collect(),
            Self::Rates => lines(text)
                .map(|line| match line.split_once(" per ") {
                    Some((max, per)) => json!({"max": number(max), "per": per.trim()}),
                    None => json!({ "max": number(line) }),
                })
                .collect(),
            Self::Numbers => {
                text.split([',', ' ']).filter(|part| !part.trim().is_empty()).map(number).collect()
            }
            Self::Words => text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect(),
            Self::Json => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
            _ => text.into(),
        })
    }

    /// A value of a request as the field shows it.
    pub fn write(&self, value: Option<&Value>) -> String {
        let Some(value) = value.filter(|value| !value.is_null()) else { return String::new() };
        let joined = |between: &str, each: &dyn Fn(&Value) -> String| match value.as_array() {
            Some(items) => items.iter().map(each).collect::<Vec<_>>().join(between),
            None => text(value),
        };
        match self {
            Self::Moment(zone) => match text(value).parse() {
                Ok(at) => Zone::named(Some(zone)).field(at),
                Err(_) => text(value),
            },
            Self::Flag => if value == &Value::Bool(true) { "yes" } else { "" }.to_owned(),
            Self::OrFalse(..) => if value == &Value::Bool(false) { "false" } else { "" }.to_owned(),
            Self::List | Self::Checks(_) => joined("\n", &text),
            Self::Numbers | Self::Words => joined(", ", &text),
            Self::Titles => joined("\n", &|one| format!("{} = {}", text(&one["name"]), text(&one["title"]))),
            Self::Rates => joined("\n", &|one| format!("{} per {}", text(&one["max"]), text(&one["per"]))),
            Self::Pairs => match value.as_object() {
                Some(fields) => {
                    let lines = fields.iter().map(|(name, value)| format!("{name} = {}", text(value)));
                    lines.collect::<Vec<_>>().join("\n")
                }
                None => text(value),
            },
            Self::Json => serde_json::to_string_pretty(value).unwrap_or_default(),
            _ => text(value),
        }
    }
}
