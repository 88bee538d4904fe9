//! Parses a schema. Errors carry a JSON pointer; every part has a bound.

mod questions;
mod triggers;

use serde_json::Value;

use super::{Localised, Schema};
use crate::{Fault, object::Object};

/// Bytes of a text that people read.
const TEXT_MAX: usize = 4_000;
const QUESTIONS_MAX: usize = 200;
const TRIGGERS_MAX: usize = 50;
const SUBSCRIBERS_MAX: usize = 50;
/// How many faults are reported at once.
const FAULTS_MAX: usize = 100;

const FIELDS: [&str; 11] = [
    "title",
    "intro",
    "thanks",
    "invitation",
    "reminder",
    "organisation",
    "colour",
    "defaultLocale",
    "questions",
    "triggers",
    "subscribers",
];

impl Schema {
    /// Reads a schema and finds every fault in it, each with its pointer from the schema.
    pub fn read(value: &Value) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let schema = read(value, &mut faults);
        match schema {
            Some(schema) if faults.is_empty() => Ok(schema),
            _ => {
                faults.truncate(FAULTS_MAX);
                Err(faults)
            }
        }
    }

    /// Reads a schema that was stored.
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(&serde_json::from_str(text).ok()?).ok()
    }
}

fn read(value: &Value, faults: &mut Vec<Fault>) -> Option<Schema> {
    let mut object = Object::new(value, String::new(), faults)?;
    object.only(&FIELDS);
    let given = object.text("defaultLocale", 35).map(str::to_owned);
    // A text without a language, is in the survey's own.
    let default =
        given.clone().unwrap_or_else(|| first_locale(object.get("title")).unwrap_or("en").to_owned());
    let title = object.required_localised("title", &default);
    let intro = object.localised("intro", &default);
    let thanks = object.localised("thanks", &default);
    let invitation = object.localised("invitation", &default);
    let reminder = object.localised("reminder", &default);
    let organisation = object.localised("organisation", &default);
    let colour = object.text("colour", 7).map(str::to_owned);
    if colour.as_deref().is_some_and(|colour| !is_colour(colour)) {
        object.refuse("colour", "out_of_range", "`colour` is written as `#1a6f5c`.");
    }
    if let (Some(given), Some(title)) = (&given, &title)
        && !title.0.contains_key(given)
    {
        object.refuse("defaultLocale", "out_of_range", "The title has no text in this language.");
    }
    let questions = object.array("questions", 1..=QUESTIONS_MAX, true);
    let triggers = object.array("triggers", 0..=TRIGGERS_MAX, false);
    let subscribers = object.get("subscribers").is_some();
    let routes = object.array("subscribers", 0..=SUBSCRIBERS_MAX, false);
    let questions = questions::read(&questions, &default, faults);
    let triggers = triggers::read(&triggers, &questions, faults);
    let routes = triggers::routes(&routes, &questions, faults);
    Some(Schema {
        title: title?,
        intro,
        thanks,
        invitation,
        reminder,
        organisation,
        colour,
        default_locale: default,
        questions,
        triggers,
        subscribers: subscribers.then_some(routes),
    })
}

/// The language of a schema that names none: `en` where the title has it, else its first.
fn first_locale(title: Option<&Value>) -> Option<&str> {
    let locales = title?.as_object()?;
    if locales.contains_key("en") { Some("en") } else { locales.keys().next().map(String::as_str) }
}

/// Whether a text is a colour as styles and definitions have it: `#1a6f5c`.
pub fn is_colour(text: &str) -> bool {
    text.len() == 7 && text.starts_with('#') && text[1..].bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_locale(text: &str) -> bool {
    let mut parts = text.split('-');
    let language = parts.next().unwrap_or_default();
    (2..=8).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric()))
        && text.len() <= 35
}

/// A handle inside a survey: it appears in addresses, forms and conditions.
fn is_handle(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// A text in one or several languages.
pub(crate) fn localised(
    value: &Value,
    default: &str,
    pointer: &str,
    faults: &mut Vec<Fault>,
) -> Option<Localised> {
    let fault = |pointer: String, code, detail: &str| Fault::new(pointer, code, detail);
    let fits = |text: &str| (1..=TEXT_MAX).contains(&text.len()) && !text.contains('\0');
    match value {
        Value::String(text) if fits(text) => Some(Localised::one(default, text.clone())),
        Value::Object(texts) if !texts.is_empty() && texts.len() <= 100 => {
            let mut found = std::collections::BTreeMap::new();
            for (locale, text) in texts {
                let here = || format!("{pointer}/{}", crate::fault::pointer_step(locale));
                if !is_locale(locale) {
                    faults.push(fault(here(), "key_invalid", "A language is written as `en` or `ar-IQ`."));
                }
                match text.as_str().filter(|text| fits(text)) {
                    Some(text) => drop(found.insert(locale.clone(), text.to_owned())),
                    None => faults.push(fault(here(), "out_of_range", "A text has 1 to 4,000 bytes.")),
                }
            }
            (!found.is_empty()).then_some(Localised(found))
        }
        Value::String(_) => {
            faults.push(fault(pointer.to_owned(), "out_of_range", "A text has 1 to 4,000 bytes."));
            None
        }
        _ => {
            let detail = r#"A text must be {"en": "…", "ar": "…"}, or a plain string."#;
            faults.push(fault(pointer.to_owned(), "wrong_type", detail));
            None
        }
    }
}
