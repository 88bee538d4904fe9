//! `/api/v1/templates`: subjects and bodies with variables, one variant per locale.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    batch::Item,
    fields::Fields,
    limits::{BODY_MAX, CONTEXT_MAX, VARIANTS_MAX},
    names::locale_fault,
    problem::{Code, FieldError},
    strict::join,
};

/// A template to be defined.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateRequest {
    /// The variant for everyone whose locale has none.
    #[schema(example = "en")]
    pub default_locale: String,
    /// By locale, 1 to 100 of them.
    pub variants: BTreeMap<String, Variant>,
}

/// A template in one language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Variant {
    #[schema(example = "Your {{ document }} expires")]
    pub subject: String,
    pub body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
}

impl TemplateRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        fields.require("defaultLocale", || "a locale such as `en`".into());
        let default_locale = fields.optional_locale("defaultLocale").unwrap_or_default();
        let mut variants = BTreeMap::new();
        let at_variants = fields.pointer_to("variants");
        for (locale, variant) in fields.required_entries("variants", 1..=VARIANTS_MAX).into_iter().flatten() {
            let at = join(&at_variants, locale);
            if let Some(fault) = locale_fault(locale, &|| at.clone()) {
                fields.push(fault);
            }
            if let Some(variant) = fields.accept(Variant::read(variant, &at)) {
                variants.insert(locale.clone(), variant);
            }
        }
        let given = fields.get("variants").and_then(Value::as_object);
        if !default_locale.is_empty() && given.is_some_and(|given| !given.contains_key(&default_locale)) {
            let detail = format!("`variants` has none for the default locale `{default_locale}`.");
            fields.push(FieldError::new(join(&at_variants, &default_locale), Code::MissingField, detail));
        }
        fields.finish()?;
        Ok(Self { default_locale, variants })
    }
}

impl Variant {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let variant = Self {
            subject: fields.required_subject("subject"),
            body: fields.required_text("body", 0..=BODY_MAX),
            html: fields.optional_text("html", 0..=BODY_MAX),
        };
        fields.finish().map(|()| variant)
    }
}

/// A template as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    pub name: String,
    pub default_locale: String,
    pub variants: BTreeMap<String, Variant>,
    pub version: i64,
    pub updated_at: Timestamp,
}

/// What to show a template with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct PreviewRequest {
    /// By default the template's own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// What the template sees.
    #[schema(value_type = Object, required = false)]
    pub context: Value,
}

impl PreviewRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            locale: fields.optional_locale("locale"),
            context: fields
                .object("context", CONTEXT_MAX)
                .unwrap_or_else(|| Value::Object(Default::default())),
        };
        fields.finish().map(|()| request)
    }
}

/// A template as a recipient would see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Preview {
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    /// The variant that was used.
    pub locale: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_is_read_and_written_alike() {
        let body = json!({"defaultLocale": "en", "variants": {
            "en": {"subject": "Hello {{ name }}", "body": "B", "html": "<p>B</p>"},
            "ar-IQ": {"subject": "S", "body": ""}
        }});
        assert_eq!(serde_json::to_value(TemplateRequest::read(&body, "").unwrap()).unwrap(), body);
    }

    #[test]
    fn each_fault_names_its_field() {
        #[track_caller]
        fn check(body: Value, expected: &[(&str, &str)]) {
            let faults = TemplateRequest::read(&body, "").unwrap_err();
            let found: Vec<_> =
                faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
            assert_eq!(found, expected, "{body}");
        }
        let good = json!({"subject": "S", "body": "B"});
        check(json!({}), &[("/defaultLocale", "missing_field"), ("/variants", "missing_field")]);
        check(
            json!({"defaultLocale": "en", "variants": {}}),
            &[("/variants", "out_of_range"), ("/variants/en", "missing_field")],
        );
        check(json!({"defaultLocale": "en", "variants": {"de": good}}), &[("/variants/en", "missing_field")]);
        let body = json!({"defaultLocale": "en", "variants": {"en": {"subject": "a\nb", "body": 1, "text": ""}, "a/b": good}});
        check(
            body,
            &[
                ("/variants/a~1b", "key_invalid"),
                ("/variants/en/subject", "subject_invalid"),
                ("/variants/en/body", "wrong_type"),
                ("/variants/en/text", "unknown_field"),
            ],
        );
    }

    #[test]
    fn a_preview_needs_nothing() {
        assert_eq!(PreviewRequest::read(&json!({}), "").unwrap().context, json!({}));
        let faults = PreviewRequest::read(&json!({"context": 1, "local": "en"}), "").unwrap_err();
        let codes: Vec<_> = faults.iter().map(|fault| fault.code.as_str()).collect();
        assert_eq!(codes, ["wrong_type", "unknown_field"]);
    }
}
