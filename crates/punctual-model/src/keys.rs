//! Work keys: the readable business identity of every row. Only this module creates them.
//!
//! Each kind of work has one format, frozen byte for byte because keys are stored and compared permanently. Parts that contain
//! the separator are escaped, so different parts never give the same key, and [`WorkKey::parts`] returns the original parts.
//! The text that surveys hash to find repeated events is in [`dedup`].

pub mod dedup;
mod escape;
mod parts;
#[cfg(test)]
mod tests;

use std::fmt;

use jiff::{Timestamp, civil::Date};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use escape::{compact, push_part};

pub use dedup::{dedup_hash, dedup_text, escape_part};
pub use parts::KeyParts;

/// The longest key in bytes: short enough for an index entry in both databases.
pub const MAX_KEY_BYTES: usize = 512;

/// The bytes that a part has in a key, with its escapes.
pub fn part_bytes(part: &str) -> usize {
    let mut text = String::new();
    push_part(&mut text, part);
    text.len()
}

/// The word before the number of a support retry.
const SUPPORT_RETRY: &str = ":support-retry:";

/// The business identity of one work row, unique in the whole installation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct WorkKey(String);

/// Why a text is no work key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("a key has 1 to {MAX_KEY_BYTES} bytes; this one is empty")]
    Empty,
    #[error("a key has at most {MAX_KEY_BYTES} bytes; this one has {bytes}, counted with its escapes")]
    TooLong { bytes: usize, digest: String },
    #[error(
        "a key has no control characters; there is {character:?} at byte {at}, to be written as `{escaped}`"
    )]
    Control { character: char, at: usize, escaped: String },
}

impl KeyError {
    /// The stable code of every such error.
    pub fn code(&self) -> &'static str {
        "key_invalid"
    }
}

impl WorkKey {
    /// Takes a key that exists already, from a row or a request.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        Self::checked(text.to_owned())
    }

    /// A key that was checked when it was stored.
    pub fn stored(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A reminder so many days before (or, if negative, after) a date of its source.
    pub fn reminder_date(
        setting: &str,
        source_type: &str,
        source: &str,
        trigger_key: &str,
        target_date: Date,
        offset_days: i64,
    ) -> Result<Self, KeyError> {
        let (date, offset) = (target_date.to_string(), offset_days.to_string());
        Self::join("reminder", &[setting, source_type, source, trigger_key, &date, &offset])
    }

    /// A reminder because a measure of its source crossed a value. The value is text: whoever makes
    /// the key writes equal numbers alike.
    #[expect(clippy::too_many_arguments, reason = "the key has eight parts, and they are all texts")]
    pub fn reminder_threshold(
        setting: &str,
        source_type: &str,
        source: &str,
        trigger_key: &str,
        metric_key: &str,
        threshold_value: &str,
        firing_policy: &str,
        scope_key: &str,
    ) -> Result<Self, KeyError> {
        Self::join(
            "reminder",
            &[
                setting,
                source_type,
                source,
                trigger_key,
                "threshold",
                metric_key,
                threshold_value,
                firing_policy,
                scope_key,
            ],
        )
    }

    /// One occurrence of a reminder, by the kind of its trigger (`recurring`) and its local date. A trigger with dates of its own
    /// has keys by this form.
    pub fn reminder_occurrence(
        setting: &str,
        source_type: &str,
        source: &str,
        trigger_key: &str,
        kind: &str,
        occurrence_local_date: Date,
    ) -> Result<Self, KeyError> {
        let date = occurrence_local_date.to_string();
        Self::join("reminder", &[setting, source_type, source, trigger_key, kind, &date])
    }

    /// The place of a reminder whose key would be too long, by the digest of that key. It says that there is one; it is
    /// never the key of a reminder that is sent.
    pub fn reminder_too_long(setting: &str, digest: &str) -> Result<Self, KeyError> {
        Self::join("reminder", &[setting, "too-long", digest])
    }

    /// A change that is applied to many sources: of a setting, by its version, or of a business unit, by when it was.
    pub fn reminder_change(of: &str, id: &str, mark: &str) -> Result<Self, KeyError> {
        Self::join("reminder-change", &[of, id, mark])
    }

    /// One look of a provider at what changed, by the instant at which it is due.
    pub fn reconcile(provider: &str, at: Timestamp) -> Result<Self, KeyError> {
        Self::join("reconcile", &[provider, &compact(at)])
    }

    /// The planned run of a report subscription for the period that starts then.
    pub fn report_scheduled(guid: &str, period_start: Timestamp) -> Result<Self, KeyError> {
        Self::join("report-subscription", &[guid, "scheduled", &compact(period_start)])
    }

    /// A run that a person asked for, under the id made beforehand.
    pub fn report_manual(guid: &str, manual_run_guid: &str) -> Result<Self, KeyError> {
        Self::join("report-subscription", &[guid, "manual", manual_run_guid])
    }

    /// The message of that number in a survey's schedule.
    pub fn survey_send(public_id: &str, ordinal: i64) -> Result<Self, KeyError> {
        Self::join("survey", &[public_id, "send", &ordinal.to_string()])
    }

    /// The end of a survey that nobody answered.
    pub fn survey_expire(public_id: &str) -> Result<Self, KeyError> {
        Self::join("survey", &[public_id, "expire"])
    }

    /// One occurrence of an operations rule.
    pub fn operations(rule_id: &str, occurrence: &str) -> Result<Self, KeyError> {
        Self::join("operations", &[rule_id, occurrence])
    }

    /// What one person did not get on one local day from a business unit, or from none, sent at once.
    pub fn digest(person: &str, local_date: &str, unit: Option<&str>) -> Result<Self, KeyError> {
        match unit {
            Some(unit) => Self::join("digest", &[person, local_date, unit]),
            None => Self::join("digest", &[person, local_date]),
        }
    }

    pub fn message(id: &str) -> Result<Self, KeyError> {
        Self::join("message", &[id])
    }

    pub fn schedule(key: &str) -> Result<Self, KeyError> {
        Self::join("schedule", &[key])
    }

    /// The deliberate second run of a key that is done. The key is taken as it is stored, not escaped again.
    pub fn support_retry(of: &WorkKey, n: i64) -> Result<Self, KeyError> {
        Self::checked(format!("{of}{SUPPORT_RETRY}{n}"))
    }

    /// The short hash that groups what is made for a run of this key, the same on every node and after every restart.
    pub fn storage_hash(&self) -> String {
        let digest = Sha256::digest(self.0.as_bytes());
        digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect()
    }

    fn join(kind: &str, parts: &[&str]) -> Result<Self, KeyError> {
        let bytes = parts.iter().map(|part| part.len() + 1).sum::<usize>();
        let mut key = String::with_capacity(kind.len() + bytes);
        key.push_str(kind);
        for part in parts {
            key.push(':');
            push_part(&mut key, part);
        }
        Self::checked(key)
    }

    fn checked(key: String) -> Result<Self, KeyError> {
        if key.is_empty() {
            return Err(KeyError::Empty);
        }
        if key.len() > MAX_KEY_BYTES {
            let bytes = key.len();
            return Err(KeyError::TooLong { bytes, digest: Self(key).storage_hash() });
        }
        if let Some((at, character)) = key.char_indices().find(|(_, character)| character.is_control()) {
            let mut escaped = String::new();
            push_part(&mut escaped, character.encode_utf8(&mut [0; 4]));
            return Err(KeyError::Control { character, at, escaped });
        }
        Ok(Self(key))
    }
}

impl fmt::Display for WorkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for WorkKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::checked(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
