//! The part of a form that an adapter describes: its settings, and the retry policy of whoever sends over it.

use punctual_model::{AboutAdapter, Adapter, Setting, SettingKind, adapter_settings::Section};
use serde_json::{Map, Value};

use super::{Field, Kind, Part};

/// The settings of an adapter as fields below `/settings`; `secrets` are those that are set.
pub fn settings_parts(about: &AboutAdapter, secrets: &[String]) -> Vec<Part> {
    let parts = Section::ALL.into_iter().map(|section| {
        let settings = about.settings.iter().filter(|setting| setting.section == section);
        let part = Part::new(section.title(), settings.map(|setting| field(setting, secrets)).collect());
        if matches!(section, Section::Receipts | Section::Advanced) { part.folded() } else { part }
    });
    parts.filter(|part| !part.fields.is_empty()).collect()
}

fn field(setting: &Setting, secrets: &[String]) -> Field {
    let owned = |(word, label): &(&str, &str)| ((*word).to_owned(), (*label).to_owned());
    let kind = match setting.kind {
        kind if setting.is_secret => Kind::Secret {
            is_set: secrets.iter().any(|name| name == setting.name),
            lines: kind == SettingKind::Lines,
        },
        SettingKind::Text | SettingKind::Url => Kind::Text,
        SettingKind::Lines => Kind::Area,
        SettingKind::Number { .. } => Kind::Number,
        SettingKind::Choice(words) => Kind::Choice(words.iter().map(owned).collect()),
        // Three answers, because nothing said is not the same as no.
        SettingKind::Flag => Kind::Perhaps,
        SettingKind::Texts => Kind::List,
        SettingKind::Pairs => Kind::Pairs,
    };
    let bounds = match setting.kind {
        SettingKind::Number { least, most } => format!(", {least} to {most}"),
        _ => String::new(),
    };
    let how = match setting.kind {
        SettingKind::Texts => "; one a line",
        SettingKind::Pairs => "; name = text, one a line",
        _ => "",
    };
    let mut made = Field::new(format!("/settings/{}", setting.name), setting.label, kind)
        .hint(format!("{}{bounds}{how}.", capitalised(setting.hint)))
        .placeholder(setting.default);
    made.required = setting.is_required;
    made.when = setting.with.map(|other| format!("/settings/{other}")).unwrap_or_default();
    made
}

fn capitalised(text: &str) -> String {
    // The marks of code are for texts that are read as such; a word of code keeps its letters.
    if text.starts_with('`') {
        return text.replace('`', "");
    }
    let mut letters = text.chars().filter(|letter| *letter != '`');
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// How failed deliveries are retried.
pub fn retry_part(usual: &str) -> Part {
    let policies = [
        ("", usual),
        ("fixed", "after the same wait each time"),
        ("exponential", "after waits that grow"),
        ("steps", "after these waits"),
    ];
    let policies = policies.iter().map(|(value, name)| ((*value).to_owned(), (*name).to_owned())).collect();
    let number = |name: &str, label: &str, when: &str| {
        Field::new(format!("/retry/{name}"), label, Kind::Number).when(format!("/retry/policy={when}"))
    };
    Part::new(
        "Retry",
        vec![
            Field::new("/retry/policy", "Retry", Kind::Choice(policies)),
            number("max", "Attempts after the first", "fixed|exponential").placeholder("3"),
            number("intervalSeconds", "First wait in seconds", "fixed|exponential").placeholder("60"),
            number("factor", "Each wait is longer by a factor of", "exponential"),
            number("capSeconds", "Longest wait in seconds", "exponential"),
            number("jitterPercent", "Percent taken off at random", "exponential"),
            Field::new("/retry/afterSeconds", "Waits in seconds", Kind::Numbers)
                .hint("With commas between, such as 60, 300, 900.")
                .when("/retry/policy=steps"),
        ],
    )
}

/// The settings as they may be shown, and the names of the secrets that are set. Without its adapter nobody knows which
/// settings are secret, so that none is shown.
pub fn without_secrets(stored: &str, adapter: Option<&dyn Adapter>) -> (Value, Vec<String>) {
    without_named_secrets(stored, adapter.map(Adapter::secret_fields))
}

/// The same for an adapter whose secrets have these names.
pub fn without_named_secrets(stored: &str, secrets: Option<Vec<&str>>) -> (Value, Vec<String>) {
    let mut settings: Map<String, Value> = serde_json::from_str(stored).unwrap_or_default();
    let secrets: Vec<String> = match secrets {
        Some(secrets) => secrets.into_iter().map(str::to_owned).collect(),
        None => settings.keys().cloned().collect(),
    };
    let set = secrets.into_iter().filter(|name| settings.remove(name).is_some()).collect();
    (Value::Object(settings), set)
}
