//! Validates the settings of a channel by their description and collects all errors, so that people can fix them at once.
//!
//! Required settings, bounds, choices and dependencies come from the description, so the documentation and the checks agree.

use punctual_model::{
    AboutAdapter, Secret, SecretReference, Setting, SettingKind, SettingsFault, nearest::suggestion,
};
use serde_json::{Map, Value};

use crate::guard::{CheckedUrl, Guard};

/// Collects values and faults of one settings object.
pub struct Reader<'a> {
    about: &'static AboutAdapter,
    fields: Option<&'a Map<String, Value>>,
    faults: Vec<SettingsFault>,
}

impl<'a> Reader<'a> {
    /// Starts with the faults that any settings can have: not an object, a name that is not described, or one that means
    /// nothing without another.
    pub fn new(settings: &'a Value, about: &'static AboutAdapter) -> Self {
        let mut reader = Self { about, fields: settings.as_object(), faults: Vec::new() };
        let Some(fields) = reader.fields else {
            reader.fault("", "wrong_type", "the settings must be an object");
            return reader;
        };
        let known: Vec<&str> = about.settings.iter().map(|setting| setting.name).collect();
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let detail = format!("`{name}` is no setting of this adapter: {}", suggestion(name, &known));
            reader.fault(name, "unknown_field", detail);
        }
        for setting in about.settings {
            let other = setting.with.filter(|other| reader.has(setting.name) && !reader.has(other));
            if let Some(other) = other {
                let name = setting.name;
                let detail = format!("`{name}` belongs to `{other}`, and there is none");
                reader.fault(name, "field_conflict", detail);
            }
        }
        reader
    }

    /// What is said about a setting. One that is not described is refused above, wherever it is given.
    fn described(&self, name: &str) -> Option<&'static Setting> {
        let setting = self.about.setting(name);
        debug_assert!(setting.is_some(), "`{name}` is read and not described");
        setting
    }

    /// A fault; the same one is found once.
    pub fn fault(&mut self, name: &str, code: &'static str, detail: impl Into<String>) {
        let pointer = if name.is_empty() {
            String::new()
        } else {
            format!("/{}", name.replace('~', "~0").replace('/', "~1"))
        };
        if self.faults.iter().all(|fault| (&fault.pointer, fault.code) != (&pointer, code)) {
            self.faults.push(SettingsFault { pointer, code, detail: detail.into() });
        }
    }

    /// A field that is there and not null.
    fn value(&self, name: &str) -> Option<&'a Value> {
        self.fields?.get(name).filter(|value| !value.is_null())
    }

    /// A text; what must be there and is not is a fault.
    pub fn text(&mut self, name: &str) -> Option<&'a str> {
        let is_required = self.described(name).is_some_and(|setting| setting.is_required);
        if is_required && !self.needs(name) {
            return None;
        }
        let value = self.value(name)?;
        let text = value.as_str();
        if text.is_none() {
            self.fault(name, "wrong_type", format!("`{name}` must be a text"));
        }
        text
    }

    /// That a setting is there and not empty, where others make it necessary.
    pub fn needs(&mut self, name: &str) -> bool {
        let is_there = self.value(name).is_some_and(|value| value.as_str() != Some(""));
        if !is_there && self.fields.is_some() {
            let hint = self.described(name).map_or("", |setting| setting.hint);
            self.fault(name, "missing_field", format!("`{name}` is missing; it is {hint}"));
        }
        is_there
    }

    /// A text that others make necessary.
    pub fn needed_text(&mut self, name: &str) -> Option<&'a str> {
        if self.needs(name) { self.text(name) } else { None }
    }

    /// One of some words; the first is the default. They are the words of the description.
    pub fn choice<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Option<T> {
        debug_assert!(
            self.described(name).is_some_and(|setting| matches!(setting.kind, SettingKind::Choice(words)
                if words.iter().map(|(word, _)| word).eq(choices.iter().map(|(word, _)| word)))),
            "`{name}` has other words than its description"
        );
        let Some(text) = self.text(name) else { return choices.first().map(|(_, choice)| *choice) };
        let found = choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
        if found.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            self.fault(name, "out_of_range", format!("`{name}` must be `{}`", words.join("` or `")));
        }
        found
    }

    /// A secret that goes into a header: visible ASCII in one piece. One that only names its place is checked when
    /// it has been looked up.
    pub fn secret(&mut self, name: &str) -> Option<Secret> {
        let text = self.text(name)?;
        if !SecretReference::is_meant(text)
            && (text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic()))
        {
            self.fault(name, "secret_invalid", format!("`{name}` is one word without blanks"));
            return None;
        }
        Some(Secret::new(text))
    }

    /// A secret that others make necessary.
    pub fn needed_secret(&mut self, name: &str) -> Option<Secret> {
        if self.needs(name) { self.secret(name) } else { None }
    }

    /// User name and password, both or none.
    pub fn credentials(&mut self) -> Option<(String, Secret)> {
        match (self.text("username"), self.text("password")) {
            (Some(username), Some(password)) => Some((username.to_owned(), Secret::new(password))),
            (None, None) => None,
            (Some(_), None) => {
                self.fault("password", "missing_field", "a `username` needs a `password`");
                None
            }
            (None, Some(_)) => {
                self.fault("username", "missing_field", "a `password` needs a `username`");
                None
            }
        }
    }

    /// A URL that must be one of the provider's; `None` also where it only names its place and cannot be checked yet.
    pub fn provider_url(
        &mut self,
        name: &str,
        text: &str,
        guard: &Guard,
        hosts: &[&str],
    ) -> Option<CheckedUrl> {
        match guard.check_provider_url(text, hosts) {
            Ok(url) => Some(url),
            Err(fault) => {
                self.fault(name, fault.code, fault.detail);
                None
            }
        }
    }

    /// Texts under names of the user's own choice.
    pub fn texts(&mut self, name: &str) -> Vec<(&'a str, &'a str)> {
        let Some(value) = self.value(name) else { return Vec::new() };
        let Some(fields) = value.as_object() else {
            self.fault(name, "wrong_type", format!("`{name}` must be an object"));
            return Vec::new();
        };
        let texts = fields.iter().filter_map(|(field, value)| Some((field.as_str(), value.as_str()?)));
        let texts: Vec<_> = texts.collect();
        if texts.len() < fields.len() {
            self.fault(name, "wrong_type", format!("`{name}` must have only texts"));
        }
        texts
    }

    /// A list of texts.
    pub fn items(&mut self, name: &str) -> Vec<&'a str> {
        let Some(value) = self.value(name) else { return Vec::new() };
        let items = value.as_array().map(|items| (items.len(), items.iter().filter_map(Value::as_str)));
        match items.map(|(count, texts)| (count, texts.collect::<Vec<_>>())) {
            Some((count, texts)) if texts.len() == count => texts,
            _ => {
                self.fault(name, "wrong_type", format!("`{name}` must be an array of texts"));
                Vec::new()
            }
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    pub fn boolean(&mut self, name: &str) -> Option<bool> {
        let value = self.value(name)?;
        if !value.is_boolean() {
            self.fault(name, "wrong_type", format!("`{name}` must be true or false"));
        }
        value.as_bool()
    }

    /// A whole number within the bounds of its description.
    pub fn integer(&mut self, name: &str) -> Option<u64> {
        let range = match self.described(name)?.kind {
            SettingKind::Number { least, most } => least..=most,
            _ => 0..=0,
        };
        let value = self.value(name)?;
        match value.as_u64() {
            Some(number) if range.contains(&number) => return Some(number),
            None if !value.is_number() => {
                self.fault(name, "wrong_type", format!("`{name}` must be a whole number"));
            }
            _ => {
                let detail =
                    format!("`{name}` must be a whole number from {} to {}", range.start(), range.end());
                self.fault(name, "out_of_range", detail);
            }
        }
        None
    }

    /// What was read, or every fault that was found on the way.
    pub fn finish<T>(self, read: Option<T>) -> Result<T, Vec<SettingsFault>> {
        match read {
            Some(read) if self.faults.is_empty() => Ok(read),
            _ => Err(self.faults),
        }
    }
}

/// The one fault to show where there is room for one.
pub(crate) fn first(faults: Vec<SettingsFault>) -> SettingsFault {
    faults.into_iter().next().unwrap_or_else(|| SettingsFault {
        pointer: String::new(),
        code: "settings_invalid",
        detail: "the settings cannot be read".to_owned(),
    })
}
