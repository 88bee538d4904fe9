//! What an adapter says about its settings is what its reader does, and what the reference page has.

use std::{fmt::Write as _, sync::Arc};

use punctual_channels::{
    AllowList, Captured, Guard, Trust, adapters, consumer_adapters, described, described_consumers,
};
use punctual_model::{AboutAdapter, Adapter, Setting, SettingKind, SettingsFault, adapter_settings::Section};
use serde_json::{Value, json};

fn all() -> Vec<Arc<dyn Adapter>> {
    adapters(&Guard::new(AllowList::default()), &Trust::platform(), &Captured::new())
}

/// Settings that are right, to change one at a time.
fn good(about: &AboutAdapter) -> Value {
    serde_json::from_str(about.example).unwrap_or_else(|error| panic!("{}: {error}", about.title))
}

#[test]
fn every_described_setting_is_read_as_it_is_described() {
    for adapter in all() {
        let name = adapter.name();
        read_as_described(name, adapter.about(), &good(adapter.about()), &|settings| adapter.check(settings));
    }
    let guard = Guard::new(AllowList::default());
    for adapter in consumer_adapters(&guard, &Trust::platform()) {
        let name = adapter.name();
        read_as_described(name, adapter.about(), &good(adapter.about()), &|settings| adapter.check(settings));
    }
}

fn read_as_described(
    name: &str,
    about: &AboutAdapter,
    good: &Value,
    check: &dyn Fn(&Value) -> Vec<SettingsFault>,
) {
    // The faults of the right settings with one of them another.
    let faults = |setting: &Setting, value: Value| -> Vec<(String, &'static str)> {
        let mut settings = good.clone();
        if let Some(other) = setting.with {
            settings[other] = "due_soon".into();
        }
        settings[setting.name] = value;
        check(&settings).into_iter().map(|fault| (fault.pointer, fault.code)).collect()
    };
    let right = check(good);
    assert!(right.is_empty(), "{name}: {right:?}");
    for setting in about.settings {
        let field = format!("{name}/{}", setting.name);
        let found = |value: Value, code: &'static str| {
            faults(setting, value).contains(&(format!("/{}", setting.name), code))
        };
        // Neither a text nor a number, a list or an object of texts.
        let wrong = if setting.kind == SettingKind::Pairs { json!([1]) } else { json!({"a": 1}) };
        assert!(found(wrong, "wrong_type"), "{field} is not read, or not by its kind");
        if setting.is_required {
            assert!(found(Value::Null, "missing_field"), "{field} is required");
        }
        match setting.kind {
            SettingKind::Number { least, most } => {
                assert!(found(json!(most + 1), "out_of_range"), "{field}");
                assert!(
                    !found(json!(least), "out_of_range") && !found(json!(most), "out_of_range"),
                    "{field}"
                );
            }
            SettingKind::Choice(words) => {
                assert!(found(json!("another"), "out_of_range"), "{field}");
                assert!(words.iter().all(|(word, _)| !found(json!(word), "out_of_range")), "{field}");
                assert_eq!(setting.default, words[0].0, "{field}: the first is the default");
            }
            _ => {}
        }
        if let Some(other) = setting.with {
            let mut alone = good.clone();
            alone[setting.name] = if setting.kind == SettingKind::Texts { json!(["a"]) } else { json!("a") };
            let codes: Vec<_> = check(&alone).into_iter().map(|fault| fault.code).collect();
            assert!(codes.contains(&"field_conflict"), "{field} without {other}");
        }
        let starts = setting.hint.chars().next().unwrap();
        assert!(!starts.is_uppercase() && !setting.hint.ends_with('.'), "{field}: {}", setting.hint);
    }
    let mut unknown = good.clone();
    unknown["notDescribed"] = 1.into();
    assert_eq!(check(&unknown)[0].code, "unknown_field", "{name}");
}

#[test]
fn t12_every_address_among_the_settings_asks_for_the_secrets_again() {
    let (guard, trust) = (Guard::new(AllowList::default()), Trust::platform());
    let sends = all().into_iter().map(|one| (one.name(), one.about().settings, one.destination_fields()));
    let consumers = consumer_adapters(&guard, &trust);
    let takes = consumers.iter().map(|one| (one.name(), one.about().settings, one.destination_fields()));
    for (name, settings, destinations) in sends.chain(takes) {
        for setting in settings.iter().filter(|setting| setting.kind == SettingKind::Url) {
            assert!(
                destinations.contains(&setting.name),
                "{name}: `{}` is an address; name it among the destinations",
                setting.name
            );
        }
    }
}

#[test]
fn every_adapter_is_among_those_that_the_document_describes() {
    let mut names: Vec<(&str, &str)> = all().iter().map(|one| (one.name(), one.about().title)).collect();
    names.sort_unstable();
    let listed: Vec<(&str, &str)> = described().iter().map(|(name, about)| (*name, about.title)).collect();
    assert_eq!(listed, names);
    let guard = Guard::new(AllowList::default());
    let consumers = consumer_adapters(&guard, &Trust::platform());
    let mut names: Vec<(&str, &str)> = consumers.iter().map(|one| (one.name(), one.about().title)).collect();
    names.sort_unstable();
    let listed: Vec<(&str, &str)> =
        described_consumers().iter().map(|(name, about)| (*name, about.title)).collect();
    assert_eq!(listed, names);
}

#[test]
fn the_reference_page_is_what_the_adapters_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/adapters.md");
    let page = reference();
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        std::fs::write(path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(stored == page, "docs/adapters.md is old: run this test with INSTA_UPDATE=always");
}

/// The reference page, in the order of the adapters' names.
fn reference() -> String {
    let mut adapters = all();
    adapters.sort_by_key(|adapter| adapter.name());
    let mut page = "# Adapters and their settings\n\nWhat each adapter says about itself; the check of the API, the OpenAPI document and the forms of the console are \
         made from the same\ndescription. A test makes this page anew and compares. How channels work is in [channels.md](channels.md), how\nconsumers do in [consumers.md](consumers.md); theirs are at the end.\n\
         A secret is written and never shown; it may be given as `env:NAME` or `file:NAME`. The inbox of the console (`inbox`) has no settings.\n"
        .to_owned();
    for adapter in adapters {
        let about = adapter.about();
        let types = about.types.iter().map(|word| format!("`{word}:…`")).collect::<Vec<_>>().join(", ");
        write!(page, "\n## {}\n\n`{}` {}. Channels: {types}.\n", about.title, adapter.name(), about.purpose)
            .unwrap();
        settings(&mut page, about);
    }
    for (name, about) in described_consumers() {
        write!(page, "\n## Events from {}\n\n`{name}` {}.\n", about.title, about.purpose).unwrap();
        settings(&mut page, about);
    }
    page
}

/// The table of an adapter's settings.
fn settings(page: &mut String, about: &AboutAdapter) {
    if about.settings.is_empty() {
        page.push_str("It has no settings.\n");
        return;
    }
    page.push_str("\n| setting | | what it is |\n|---|---|---|\n");
    for section in Section::ALL {
        for setting in about.settings.iter().filter(|setting| setting.section == section) {
            writeln!(page, "| `{}` | {} | {} |", setting.name, facts(setting), words(setting)).unwrap();
        }
    }
}

/// Kind, and whether it is required or secret.
fn facts(setting: &Setting) -> String {
    let kind = match setting.kind {
        SettingKind::Text => "text".to_owned(),
        SettingKind::Lines => "text of several lines".to_owned(),
        SettingKind::Url => "URL".to_owned(),
        SettingKind::Number { least, most } => format!("number, {least} to {most}"),
        SettingKind::Choice(words) => {
            words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        SettingKind::Flag => "true or false".to_owned(),
        SettingKind::Texts => "list of texts".to_owned(),
        SettingKind::Pairs => "object of texts".to_owned(),
    };
    let more = [(setting.is_required, ", required"), (setting.is_secret, ", secret")];
    more.iter().filter(|(is, _)| *is).fold(kind, |text, (_, word)| text + word)
}

fn words(setting: &Setting) -> String {
    let mut words = setting.hint.to_owned();
    if !setting.default.is_empty() {
        write!(words, "; `{}` by default", setting.default).unwrap();
    }
    if let Some(other) = setting.with {
        write!(words, "; only with `{other}`").unwrap();
    }
    words
}
