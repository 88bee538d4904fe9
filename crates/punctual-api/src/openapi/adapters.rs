//! The settings of channels, subscribers and consumers in the document: a schema for each adapter, generated from its
//! description.

use punctual_channels::{described, described_consumers};
use punctual_model::{AboutAdapter, Setting, SettingKind};
use serde_json::{Map, Value, json};

use super::finish::SCHEMAS;

/// The schemas whose `settings` are those of an adapter.
const SENDING: [&str; 2] = ["ChannelRequest", "SubscriberRequest"];
const TAKING: [&str; 1] = ["ConsumerRequest"];
/// What an export has in place of a secret that was given itself.
const STORED_SECRET: &str = "StoredSecret";

/// Says which settings each adapter takes. What is none of them belongs to an adapter that somebody added.
pub fn describe_settings(document: &mut Value) {
    document["components"]["schemas"][STORED_SECRET] = json!({
        "type": "object",
        "description": "A stored secret, kept unchanged. Reading and exporting return this in its place.",
        "properties": {"set": {"type": "boolean"}},
        "required": ["set"],
    });
    describe(document, &SENDING, &described(), "Settings");
    describe(document, &TAKING, &described_consumers(), "ConsumerSettings");
}

fn describe(
    document: &mut Value,
    holders: &[&str],
    adapters: &[(&'static str, &'static AboutAdapter)],
    suffix: &str,
) {
    let schemas = &mut document["components"]["schemas"];
    let mut choices = Vec::new();
    for (name, about) in adapters {
        let schema = schema_name(name, suffix);
        choices.push(json!({ "$ref": format!("{SCHEMAS}{schema}") }));
        schemas[schema] = settings(name, about);
    }
    choices.push(
        json!({"type": ["object", "null"], "description": "The settings of a custom adapter, or none."}),
    );
    for holder in holders {
        let field = &mut schemas[holder]["properties"]["settings"];
        let description = field["description"].clone();
        *field = json!({"description": description, "anyOf": choices});
    }
}

/// `sms-gateway` is `SmsGatewaySettings`.
fn schema_name(adapter: &str, suffix: &str) -> String {
    let words = adapter.split('-').map(|word| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    });
    words.collect::<String>() + suffix
}

fn settings(name: &str, about: &AboutAdapter) -> Value {
    let properties: Map<String, Value> =
        about.settings.iter().map(|one| (one.name.to_owned(), property(one))).collect();
    // A secret that is left out keeps its value.
    let required = about.settings.iter().filter(|one| one.is_required && !one.is_secret);
    let required: Vec<&str> = required.map(|one| one.name).collect();
    let mut schema = json!({
        "type": "object",
        "description": format!("`{name}`: {} {}.", about.title, about.purpose),
        "properties": properties,
        // Schemas for editors choose by it.
        "x-adapter": name,
        "example": example(about),
    });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// What the adapter itself says; a test saves each.
fn example(about: &AboutAdapter) -> Value {
    serde_json::from_str(about.example).unwrap_or_default()
}

fn property(setting: &Setting) -> Value {
    let mut schema = match setting.kind {
        SettingKind::Text | SettingKind::Lines | SettingKind::Url => json!({"type": "string"}),
        SettingKind::Number { least, most } => json!({"type": "integer", "minimum": least, "maximum": most}),
        SettingKind::Choice(words) => {
            json!({"type": "string", "enum": words.iter().map(|(word, _)| word).collect::<Vec<_>>()})
        }
        SettingKind::Flag => json!({"type": "boolean"}),
        SettingKind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        SettingKind::Pairs => json!({"type": "object", "additionalProperties": {"type": "string"}}),
    };
    let mut words = format!("{}: {}", setting.label, setting.hint);
    if !setting.default.is_empty() {
        words.push_str(&format!("; `{}` by default", setting.default));
    }
    if let Some(other) = setting.with {
        words.push_str(&format!("; only with `{other}`"));
    }
    schema["description"] = format!("{words}.").into();
    if setting.is_secret {
        let stored = json!({ "$ref": format!("{SCHEMAS}{STORED_SECRET}") });
        let words = schema["description"].take();
        let choices = json!([{"type": "string"}, stored, {"type": "null"}]);
        schema = json!({"anyOf": choices, "description": words, "writeOnly": true});
    }
    schema
}
