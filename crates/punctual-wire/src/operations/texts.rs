//! What the messages of a rule say, where the rule says it itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{fields::Fields, limits::BODY_MAX};

/// The texts of a rule's messages, each a template with `title`, `whenLabel`, `timeZone`, `subjectType`, `subjectId`, `kind`,
/// `isAllDay`, `startsAt` and `endsAt`. What is left out is said in the usual words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RuleTexts {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Tomorrow: {{ title }}")]
    pub subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "{{ title }} starts {{ whenLabel }}.")]
    pub body: Option<String>,
    /// The body once more, for those who read HTML. Values are escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
}

impl RuleTexts {
    /// Reads the field `message`.
    pub fn read(fields: &mut Fields<'_>) -> Self {
        let texts = fields.nested("message", |inner| Self {
            subject: inner.optional_subject("subject"),
            body: inner.optional_text("body", 0..=BODY_MAX),
            html: inner.optional_text("html", 0..=BODY_MAX),
        });
        texts.unwrap_or_default()
    }

    /// Reads a change of them: what is left out stays, and `null` takes them away.
    pub fn read_change(fields: &mut Fields<'_>, body: &Value) -> Option<Self> {
        let texts = Self::read(fields);
        body.get("message").map(|_| texts)
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As it is stored: nothing where it says nothing.
    pub fn written(&self) -> Option<String> {
        (!self.is_empty()).then(|| serde_json::json!(self).to_string())
    }

    /// What is stored; nothing that could not be read.
    pub fn stored(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Each text with its place in the object that has the field `message`.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("subject", &self.subject), ("body", &self.body), ("html", &self.html)];
        all.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_read_stored_and_changed_alike() {
        let body = json!({ "message": { "subject": "S", "html": "<p>" } });
        let mut fields = Fields::new(&body, "");
        let texts = RuleTexts::read(&mut fields);
        fields.finish().unwrap();
        assert_eq!(serde_json::to_value(&texts).unwrap(), body["message"]);
        assert_eq!(RuleTexts::stored(texts.written().as_deref()), texts);
        assert_eq!(RuleTexts::default().written(), None);
        let change = |body: Value| {
            let mut fields = Fields::new(&body, "");
            let change = RuleTexts::read_change(&mut fields, &body);
            fields.finish().map(|()| change)
        };
        assert_eq!(change(json!({})).unwrap(), None);
        assert_eq!(change(json!({ "message": null })).unwrap(), Some(RuleTexts::default()));
        assert_eq!(change(body).unwrap(), Some(texts));
        let faults = change(json!({ "message": { "subject": "a\nb", "text": "x" } })).unwrap_err();
        let places: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(places, ["/message/subject", "/message/text"]);
    }
}
