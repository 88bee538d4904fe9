//! Reading texts, and arrays of them.

use std::ops::RangeInclusive;

use jiff::tz;

use super::{Fields, kind_of, span, text_of};
use crate::{
    address,
    limits::{KEY_MAX, NAME_MAX, SUBJECT_MAX},
    names::{channel_fault, guid, is_one_line, locale_fault, name_fault, site_fault, zone_unknown},
    problem::{Code, FieldError, excerpt},
};

impl<'v> Fields<'v> {
    pub fn required_text(&mut self, name: &'static str, bytes: RangeInclusive<usize>) -> String {
        self.require(name, || text_of(&bytes));
        self.optional_text(name, bytes).unwrap_or_default()
    }

    pub fn optional_text(&mut self, name: &'static str, bytes: RangeInclusive<usize>) -> Option<String> {
        let text = self.text(name)?;
        self.length(name, text, bytes).then(|| text.to_owned())
    }

    /// A line that is valid in a mail header: [`SUBJECT_MAX`] bytes, no line breaks, no control characters.
    pub fn required_subject(&mut self, name: &'static str) -> String {
        self.require(name, || text_of(&(1..=SUBJECT_MAX)));
        self.optional_subject(name).unwrap_or_default()
    }

    pub fn optional_subject(&mut self, name: &'static str) -> Option<String> {
        let text = self.text(name)?;
        if !is_one_line(text) {
            self.push(FieldError::subject_invalid(self.pointer_to(name)));
            return None;
        }
        self.length(name, text, 1..=SUBJECT_MAX).then(|| text.to_owned())
    }

    /// A name that people give: at most [`NAME_MAX`] bytes, no control characters.
    pub fn required_name(&mut self, name: &'static str) -> String {
        self.require(name, || text_of(&(1..=NAME_MAX)));
        self.optional_name(name).unwrap_or_default()
    }

    pub fn optional_name(&mut self, name: &'static str) -> Option<String> {
        self.checked(name, |text, pointer| name_fault(text, NAME_MAX, pointer))
    }

    /// A business key: at most [`KEY_MAX`] bytes, no control characters.
    pub fn optional_key(&mut self, name: &'static str) -> Option<String> {
        self.checked(name, |text, pointer| name_fault(text, KEY_MAX, pointer))
    }

    /// The id of a site.
    pub fn required_site(&mut self, name: &'static str) -> String {
        self.require(name, || "the id of a site such as `plant-7`".into());
        self.checked(name, site_fault).unwrap_or_default()
    }

    /// A GUID, in lower case with hyphens however it was written.
    pub fn optional_guid(&mut self, name: &'static str) -> Option<String> {
        let text = self.text(name)?;
        let guid = guid(text);
        if guid.is_none() {
            let why = "an id is a GUID such as `0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071`";
            self.push(FieldError::key_invalid(self.pointer_to(name), why));
        }
        guid
    }

    pub fn required_guid(&mut self, name: &'static str) -> String {
        self.require(name, || "a GUID such as `0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071`".into());
        self.optional_guid(name).unwrap_or_default()
    }

    /// A channel's key, `type:name`.
    pub fn optional_channel(&mut self, name: &'static str) -> Option<String> {
        self.checked(name, channel_fault)
    }

    /// A language tag such as `ar-IQ`.
    pub fn optional_locale(&mut self, name: &'static str) -> Option<String> {
        self.checked(name, locale_fault)
    }

    /// A zone of the IANA database, spelled as the database spells it.
    pub fn required_zone(&mut self, name: &'static str) -> String {
        self.require(name, || "a time zone such as `Europe/Berlin`".into());
        self.optional_zone(name).unwrap_or_default()
    }

    pub fn optional_zone(&mut self, name: &'static str) -> Option<String> {
        let text = self.text(name)?;
        let zone = tz::TimeZone::get(text).ok().and_then(|zone| zone.iana_name().map(str::to_owned));
        if zone.is_none() {
            self.push(zone_unknown(self.pointer_to(name), text));
        }
        zone
    }

    /// One of a closed list of words.
    pub fn optional_choice<T: Clone>(&mut self, name: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let choice = choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| choice.clone());
        if choice.is_none() {
            let detail = format!("`{}` is not possible; `{name}` takes {}.", excerpt(text), words(choices));
            self.refuse(name, Code::OutOfRange, detail);
        }
        choice
    }

    /// Like [`Fields::optional_choice`]; the first choice stands in for a missing one until `finish`.
    pub fn required_choice<T: Clone>(&mut self, name: &'static str, choices: &[(&str, T)]) -> T {
        self.require(name, || words(choices));
        self.optional_choice(name, choices).unwrap_or_else(|| choices[0].1.clone())
    }

    /// An array of texts, `count` of them, each of `bytes`.
    pub fn optional_texts(
        &mut self,
        name: &'static str,
        count: RangeInclusive<usize>,
        bytes: RangeInclusive<usize>,
    ) -> Option<Vec<String>> {
        self.text_items(name, count, |text, pointer| {
            if bytes.contains(&text.len()) {
                return Ok(text.to_owned());
            }
            let detail = format!("Expected {}; it has {}.", text_of(&bytes), text.len());
            Err(FieldError::new(pointer(), Code::OutOfRange, detail))
        })
    }

    /// An address for a channel or list of type `kind`.
    pub fn required_address(&mut self, name: &'static str, kind: Option<&str>) -> String {
        self.require(name, || "an address".into());
        let found = self.checked(name, |text, pointer| address::fault(kind, text, pointer));
        found.map(|text| address::normal(kind, &text)).unwrap_or_default()
    }

    /// An array of addresses for a channel or list of type `kind`.
    pub fn optional_addresses(
        &mut self,
        name: &'static str,
        count: RangeInclusive<usize>,
        kind: Option<&str>,
    ) -> Option<Vec<String>> {
        self.text_items(name, count, |text, pointer| match address::fault(kind, text, pointer) {
            Some(fault) => Err(fault),
            None => Ok(address::normal(kind, text)),
        })
    }

    /// An array of texts, each read by `read`, which gets the pointer to its text for what is wrong with it.
    pub fn text_items<T>(
        &mut self,
        name: &'static str,
        count: RangeInclusive<usize>,
        read: impl Fn(&str, &dyn Fn() -> String) -> Result<T, FieldError>,
    ) -> Option<Vec<T>> {
        let items = self.array(name, count)?;
        let mut parts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let pointer = || format!("{}/{index}", self.pointer_to(name));
            let part = item.as_str().map(|text| read(text, &pointer)).unwrap_or_else(|| {
                let detail = format!("Expected text, found {}.", kind_of(item));
                Err(FieldError::new(pointer(), Code::WrongType, detail))
            });
            match part {
                Ok(part) => parts.push(part),
                Err(fault) => self.push(fault),
            }
        }
        Some(parts)
    }

    pub fn required_texts(
        &mut self,
        name: &'static str,
        count: RangeInclusive<usize>,
        bytes: RangeInclusive<usize>,
    ) -> Vec<String> {
        self.require(name, || format!("an array of {} texts", span(&count)));
        self.optional_texts(name, count, bytes).unwrap_or_default()
    }
}

fn words<T>(choices: &[(&str, T)]) -> String {
    let words: Vec<String> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
    words.join(", ")
}
