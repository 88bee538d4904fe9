//! WhatsApp through its providers: the message format is the same for all of them.
//!
//! A business may write freely only to people who wrote to it within the last 24 hours. Everybody else gets a template
//! that was approved before, filled in with parts of the message: a channel either has a template or sends text.

mod cloud;
mod dialog360;
mod infobip;
mod reports;
mod statuses;

use punctual_model::{Outgoing, ReasonCode, SendOutcome, Setting, adapter_settings::Section};
use serde_json::Value;

pub use cloud::{WhatsAppCloud, WhatsAppCloudAdapter, classify as classify_cloud};
pub use dialog360::{Dialog360, Dialog360Adapter};
pub use infobip::{Infobip, InfobipAdapter, classify as classify_infobip};

use crate::{http::permanent, settings::Reader, short_text::Text};

/// The settings that say what a message of WhatsApp has.
pub(crate) const TEMPLATE: Setting = Setting::text(
    "template",
    "Approved template",
    "the name of an approved template; without one, text is sent",
)
.section(Section::Content);
pub(crate) const LANGUAGE: Setting =
    Setting::text("language", "Language", "that of the approved template, such as `en`, `en_US` or `ar`")
        .usually("en")
        .with("template")
        .section(Section::Content);
pub(crate) const LANGUAGES: Setting =
    Setting::texts("languages", "Other languages", "those that the template is approved in too")
        .with("template")
        .section(Section::Content);
pub(crate) const PARAMETERS: Setting = Setting::texts(
    "parameters",
    "Parameters",
    "`subject`, `body` and JSON pointers into the message's context, in the order of the template",
)
.usually("body")
.with("template")
.section(Section::Content);

#[cfg(test)]
static WORDING_ALONE: punctual_model::AboutAdapter = punctual_model::AboutAdapter {
    title: "",
    purpose: "",
    types: &[],
    example: "{}",
    settings: &[crate::short_text::TEXT, TEMPLATE, LANGUAGE, LANGUAGES, PARAMETERS],
};

/// What a text may have, and what one parameter of a template may.
const MOST_CHARACTERS: usize = 4_096;
const MOST_PARAMETER: usize = 1_024;

/// What one message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Saying {
    Text(String),
    Template { name: String, language: String, parameters: Vec<String> },
}

/// How a channel puts its messages: the settings `text`, `template`, `language` and `parameters`.
#[derive(Clone, Debug)]
pub(crate) struct Wording {
    text: Text,
    template: Option<Template>,
}

#[derive(Clone, Debug)]
struct Template {
    name: String,
    /// The language of messages whose reader has none of the others.
    language: String,
    /// The other languages that the template is approved in.
    languages: Vec<String>,
    /// Which part of the message each parameter is.
    parameters: Vec<Part>,
}

/// What fills in one parameter of a template.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(Text),
    /// A value of the message's context, else of its data, by its JSON pointer.
    Value(String),
}

impl Part {
    fn of(&self, message: &Outgoing) -> Result<String, SendOutcome> {
        let pointer = match self {
            Self::Text(text) => return text.of(message, MOST_CHARACTERS),
            Self::Value(pointer) => pointer,
        };
        let found = [&message.context, &message.type_data]
            .into_iter()
            .find_map(|data| data.as_ref()?.pointer(pointer).filter(|value| !value.is_null()));
        match found {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(value) => Ok(value.to_string()),
            None => {
                let error = format!("the template wants `{pointer}`, which the message does not have");
                Err(permanent(ReasonCode::TemplateUnknownVariable, &error))
            }
        }
    }
}

impl Template {
    /// The language for a reader: theirs, or the nearest that is approved.
    fn language_for(&self, locale: Option<&str>) -> &str {
        let wanted = locale.unwrap_or_default().replace('-', "_").to_lowercase();
        let short = |language: &str| language.split('_').next().unwrap_or_default().to_lowercase();
        let known = || std::iter::once(&self.language).chain(&self.languages);
        let same = known().find(|language| language.to_lowercase() == wanted);
        let near = || known().find(|language| !wanted.is_empty() && short(language) == short(&wanted));
        same.or_else(near).unwrap_or(&self.language)
    }
}

impl Wording {
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let text = Text::read(reader);
        let Some(name) = reader.text("template") else { return Self { text, template: None } };
        let plain = |text: &str| {
            (1..=512).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        if !plain(name) {
            let detail = "`template` is the name of an approved template: lower-case letters, digits and `_`";
            reader.fault("template", "out_of_range", detail);
        }
        let is_language = |text: &str| {
            (2..=10).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        let language = reader.text("language").unwrap_or("en");
        if !is_language(language) {
            let detail = "`language` is that of the approved template, such as `en`, `en_US` or `ar`";
            reader.fault("language", "out_of_range", detail);
        }
        let languages: Vec<String> = if reader.has("languages") {
            reader.items("languages").into_iter().map(str::to_owned).collect()
        } else {
            Vec::new()
        };
        if !languages.iter().all(|language| is_language(language)) {
            let detail =
                "`languages` has those that the template is approved in too, such as `en_US` or `ar`";
            reader.fault("languages", "out_of_range", detail);
        }
        let mut parameters = Vec::new();
        let named = if reader.has("parameters") { reader.items("parameters") } else { vec!["body"] };
        for part in named {
            match part {
                "body" => parameters.push(Part::Text(Text::Body)),
                "subject" => parameters.push(Part::Text(Text::Subject)),
                pointer if pointer.starts_with('/') && pointer.len() <= 512 => {
                    parameters.push(Part::Value(pointer.to_owned()));
                }
                _ => {
                    let detail = "`parameters` has `subject`, `body` and JSON pointers into the message's context, in the order of the template";
                    reader.fault("parameters", "out_of_range", detail);
                }
            }
        }
        let template =
            Template { name: name.to_owned(), language: language.to_owned(), languages, parameters };
        Self { text, template: Some(template) }
    }

    pub fn of(&self, message: &Outgoing) -> Result<Saying, SendOutcome> {
        let Some(template) = &self.template else {
            return self.text.of(message, MOST_CHARACTERS).map(Saying::Text);
        };
        let filled = template.parameters.iter().map(|part| parameter(part.of(message)?));
        Ok(Saying::Template {
            name: template.name.clone(),
            language: template.language_for(message.locale.as_deref()).to_owned(),
            parameters: filled.collect::<Result<_, _>>()?,
        })
    }
}

/// A parameter is one line: WhatsApp refuses line breaks, tabs and long blanks in it.
fn parameter(text: String) -> Result<String, SendOutcome> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > MOST_PARAMETER {
        let error = format!("a part of the template has more than {MOST_PARAMETER} characters");
        return Err(permanent(ReasonCode::MessageTooLarge, &error));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(settings: &Value) -> Result<Wording, Vec<(String, &'static str)>> {
        let mut reader = Reader::new(settings, &WORDING_ALONE);
        let wording = Wording::read(&mut reader);
        let faults = reader.finish(Some(wording));
        faults.map_err(|faults| faults.into_iter().map(|fault| (fault.pointer, fault.code)).collect())
    }

    #[test]
    fn a_channel_sends_text_or_a_template() {
        let mut message = crate::test_message();
        message.body = "Two\n lines\t and   blanks".to_owned();
        let said = |settings: Value| read(&settings).unwrap().of(&message).unwrap();
        assert_eq!(said(json!({"text": "subject"})), Saying::Text("Subject".to_owned()));
        let template = |parameters: &[&str]| Saying::Template {
            name: "due_soon".to_owned(),
            language: "en_US".to_owned(),
            parameters: parameters.iter().map(|text| (*text).to_owned()).collect(),
        };
        let settings = |parameters: &[&str]| json!({"template": "due_soon", "language": "en_US", "parameters": parameters});
        assert_eq!(said(settings(&["subject", "body"])), template(&["Subject", "Two lines and blanks"]));
        assert_eq!(said(settings(&[])), template(&[]));
        message.body = "x".repeat(1_025);
        assert!(read(&settings(&["body"])).unwrap().of(&message).is_err());
    }

    #[test]
    fn s1_119_a_template_gets_the_locale_and_the_placeholders_of_its_message() {
        let settings = json!({"template": "due_soon", "language": "en", "languages": ["en_US", "ar"],
            "parameters": ["/candidate/CustomerName", "/surveyUrl", "subject"]});
        let wording = read(&settings).unwrap();
        let mut message = crate::test_message();
        message.context = Some(json!({ "candidate": { "CustomerName": "Kadhem" } }));
        message.type_data = Some(json!({ "surveyUrl": "https://x.example/s/1" }));
        let language = |locale: Option<&str>| {
            let message = Outgoing { locale: locale.map(str::to_owned), ..message.clone() };
            match wording.of(&message) {
                Ok(Saying::Template { language, parameters, .. }) => {
                    assert_eq!(parameters, ["Kadhem", "https://x.example/s/1", "Subject"]);
                    language
                }
                other => panic!("{other:?} is no template"),
            }
        };
        let cases = [
            (None, "en"),
            (Some("ar"), "ar"),
            (Some("ar-IQ"), "ar"),
            (Some("en-us"), "en_US"),
            (Some("de"), "en"),
        ];
        for (locale, expected) in cases {
            assert_eq!(language(locale), expected, "{locale:?}");
        }
        message.context = None;
        assert!(
            wording.of(&message).is_err(),
            "a value that is missing is said, and nothing half-filled is sent"
        );
    }

    #[test]
    fn each_fault_names_its_field() {
        let faults = |settings: Value| read(&settings).err().unwrap_or_default();
        assert_eq!(faults(json!({"language": "en"})), [("/language".to_owned(), "field_conflict")]);
        assert_eq!(faults(json!({"template": "Due Soon"})), [("/template".to_owned(), "out_of_range")]);
        assert_eq!(
            faults(json!({"template": "a", "language": "English!", "parameters": ["name"]})),
            [("/language".to_owned(), "out_of_range"), ("/parameters".to_owned(), "out_of_range")]
        );
    }
}
