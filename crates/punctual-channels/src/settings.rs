//! Reading a channel's settings: every fault is collected, so that a person can mend them all at once.

use std::ops::RangeInclusive;

use punctual_model::{Secret, SecretReference, SettingsFault, nearest::suggestion};
use serde_json::{Map, Value};

use crate::guard::{CheckedUrl, Guard};

/// Collects values and faults of one settings object.
pub struct Reader<'a> {
    fields: Option<&'a Map<String, Value>>,
    faults: Vec<SettingsFault>,
}

impl<'a> Reader<'a> {
    /// Starts with the faults that any settings can have: not an object, or a name nobody reads.
    pub fn new(settings: &'a Value, known: &[&str]) -> Self {
        let mut reader = Self { fields: settings.as_object(), faults: Vec::new() };
        match reader.fields {
            None => reader.fault("", "wrong_type", "the settings must be an object"),
            Some(fields) => {
                for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
                    let detail =
                        format!("`{name}` is no setting of this adapter: {}", suggestion(name, known));
                    reader.fault(name, "unknown_field", detail);
                }
            }
        }
        reader
    }

    pub fn fault(&mut self, name: &str, code: &'static str, detail: impl Into<String>) {
        let pointer = if name.is_empty() {
            String::new()
        } else {
            format!("/{}", name.replace('~', "~0").replace('/', "~1"))
        };
        self.faults.push(SettingsFault { pointer, code, detail: detail.into() });
    }

    /// A field that is there and not null.
    fn value(&self, name: &str) -> Option<&'a Value> {
        self.fields?.get(name).filter(|value| !value.is_null())
    }

    pub fn text(&mut self, name: &str) -> Option<&'a str> {
        let value = self.value(name)?;
        let text = value.as_str();
        if text.is_none() {
            self.fault(name, "wrong_type", format!("`{name}` must be a text"));
        }
        text
    }

    pub fn required_text(&mut self, name: &str, such_as: &str) -> Option<&'a str> {
        if self.value(name).is_none_or(|value| value.as_str() == Some("")) {
            if self.fields.is_some() {
                self.fault(name, "missing_field", format!("`{name}` is missing; it is {such_as}"));
            }
            return None;
        }
        self.text(name)
    }

    /// One of some words; the first is the default.
    pub fn choice<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Option<T> {
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

    pub fn required_secret(&mut self, name: &str, such_as: &str) -> Option<Secret> {
        self.required_text(name, such_as)?;
        self.secret(name)
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
            self.fault(name, "wrong_type", format!("`{name}` must have texts alone"));
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

    pub fn integer(&mut self, name: &str, range: RangeInclusive<u64>) -> Option<u64> {
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
