//! Reading a channel's settings: every fault is collected, so that a person can mend them all at once.

use std::ops::RangeInclusive;

use punctual_model::{SettingsFault, nearest::suggestion};
use serde_json::{Map, Value};

/// Collects values and faults of one settings object.
pub(crate) struct Reader<'a> {
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

/// Whether a secret names the place it comes from, such as `env:SMTP_PASSWORD`; it is read later.
pub(crate) fn is_reference(secret: &str) -> bool {
    secret.starts_with("env:") || secret.starts_with("file:")
}

/// The one fault to show where there is room for one.
pub(crate) fn first(faults: Vec<SettingsFault>) -> SettingsFault {
    faults.into_iter().next().unwrap_or_else(|| SettingsFault {
        pointer: String::new(),
        code: "settings_invalid",
        detail: "the settings cannot be read".to_owned(),
    })
}
