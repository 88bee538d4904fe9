//! WhatsApp, through whoever gives access to it: what is said is the same for all of them.
//!
//! A business may write freely only to people who wrote to it within the last 24 hours. Everybody else gets a template
//! that was approved before, filled in with parts of the message: a channel either has a template or sends text.

mod cloud;
mod dialog360;
mod infobip;
mod reports;
mod statuses;

use punctual_model::{Outgoing, ReasonCode, SendOutcome};

pub use cloud::{WhatsAppCloud, WhatsAppCloudAdapter, classify as classify_cloud};
pub use dialog360::{Dialog360, Dialog360Adapter};
pub use infobip::{Infobip, InfobipAdapter, classify as classify_infobip};

use crate::{http::permanent, settings::Reader, short_text::Text};

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
    language: String,
    /// Which part of the message each parameter is.
    parameters: Vec<Text>,
}

impl Wording {
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let text = Text::read(reader);
        let Some(name) = reader.text("template") else {
            for name in ["language", "parameters"] {
                if reader.has(name) {
                    let detail = format!("`{name}` belongs to a `template`, and there is none");
                    reader.fault(name, "field_conflict", detail);
                }
            }
            return Self { text, template: None };
        };
        let plain = |text: &str| {
            (1..=512).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        if !plain(name) {
            let detail = "`template` is the name of an approved template: lower-case letters, digits and `_`";
            reader.fault("template", "out_of_range", detail);
        }
        let language = reader.text("language").unwrap_or("en");
        if !(2..=10).contains(&language.len())
            || !language.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            let detail = "`language` is that of the approved template, such as `en`, `en_US` or `ar`";
            reader.fault("language", "out_of_range", detail);
        }
        let mut parameters = Vec::new();
        let named = if reader.has("parameters") { reader.items("parameters") } else { vec!["body"] };
        for part in named {
            match part {
                "body" => parameters.push(Text::Body),
                "subject" => parameters.push(Text::Subject),
                _ => {
                    let detail = "`parameters` has `subject` and `body`, in the order of the template";
                    reader.fault("parameters", "out_of_range", detail);
                }
            }
        }
        let template = Template { name: name.to_owned(), language: language.to_owned(), parameters };
        Self { text, template: Some(template) }
    }

    pub fn of(&self, message: &Outgoing) -> Result<Saying, SendOutcome> {
        let Some(Template { name, language, parameters }) = &self.template else {
            return self.text.of(message, MOST_CHARACTERS).map(Saying::Text);
        };
        let filled = parameters.iter().map(|part| parameter(part.of(message, MOST_CHARACTERS)?));
        Ok(Saying::Template {
            name: name.clone(),
            language: language.clone(),
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
    use serde_json::{Value, json};

    use super::*;

    fn read(settings: &Value) -> Result<Wording, Vec<(String, &'static str)>> {
        let mut reader = Reader::new(settings, &["text", "template", "language", "parameters"]);
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
