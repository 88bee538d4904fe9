//! `/api/v1/operations`: events and tasks that announce their own start and end.

pub mod feeds;
pub mod organisations;
pub mod people;
pub mod rules;
pub mod subjects;
pub mod texts;

use crate::{fields::Fields, names::channel_fault, problem::FieldError};

/// Channels that a person or a rule may name; nobody is notified over more.
pub const CHANNELS_MAX: usize = 10;

/// The longest id of an event, task or rule, which are GUIDs.
pub const ID_MAX: usize = 36;

/// An array of channels, each a type such as `email` or a key such as `sms:twilio`.
pub(crate) fn channels(fields: &mut Fields<'_>, name: &'static str) -> Option<Vec<String>> {
    fields.text_items(name, 1..=CHANNELS_MAX, |text, pointer| {
        let key = if text.contains(':') { text.to_owned() } else { format!("{text}:default") };
        match channel_fault(&key, pointer) {
            None => Ok(text.to_owned()),
            Some(_) => Err(FieldError::key_invalid(
                pointer(),
                "a channel is a type such as `email` or a key such as `sms:twilio`",
            )),
        }
    })
}
