//! Work keys: the readable business identity of every row, made in this one place.
//!
//! Each kind of work has one format, frozen byte for byte because keys are stored and compared for
//! good. A part that holds the separator is escaped before it is joined, so different parts never give
//! the same key and [`WorkKey::parts`] gives back what went in. The text that surveys hash to find
//! repeated events is in [`dedup`].

pub mod dedup;
mod escape;
#[cfg(test)]
mod tests;

use std::fmt;

use jiff::{Timestamp, civil::Date};
use serde::{Deserialize, Serialize};

use escape::{compact, parse_compact, push_part, unescape};

pub use dedup::{dedup_hash, dedup_text, escape_part};

/// The longest key in bytes: short enough for an index entry in both databases.
pub const MAX_KEY_BYTES: usize = 512;

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
    TooLong { bytes: usize },
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

/// What a key is made of, with its parts as they were before escaping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyParts {
    ReminderDate {
        setting: String,
        source_type: String,
        source: String,
        trigger_key: String,
        target_date: Date,
        offset_days: i64,
    },
    ReminderThreshold {
        setting: String,
        source_type: String,
        source: String,
        trigger_key: String,
        metric_key: String,
        threshold_value: String,
        firing_policy: String,
        scope_key: String,
    },
    ReminderRecurring {
        setting: String,
        source_type: String,
        source: String,
        trigger_key: String,
        occurrence: Date,
    },
    ReportScheduled {
        guid: String,
        period_start: Timestamp,
    },
    ReportManual {
        guid: String,
        manual_run: String,
    },
    SurveySend {
        public_id: String,
        ordinal: i64,
    },
    SurveyExpire {
        public_id: String,
    },
    Operations {
        rule_id: String,
        occurrence: String,
    },
    Message {
        id: String,
    },
    Schedule {
        key: String,
    },
    /// A deliberate second run of another key.
    SupportRetry {
        of: WorkKey,
        n: i64,
    },
    /// A key of no shape known here.
    Other,
}

impl WorkKey {
    /// Takes a key that exists already, from a row or a request.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        Self::checked(text.to_owned())
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

    /// One occurrence of a recurring reminder, by its local date.
    pub fn reminder_recurring(
        setting: &str,
        source_type: &str,
        source: &str,
        trigger_key: &str,
        occurrence_local_date: Date,
    ) -> Result<Self, KeyError> {
        let date = occurrence_local_date.to_string();
        Self::join("reminder", &[setting, source_type, source, trigger_key, "recurring", &date])
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

    pub fn message(id: &str) -> Result<Self, KeyError> {
        Self::join("message", &[id])
    }

    pub fn schedule(key: &str) -> Result<Self, KeyError> {
        Self::join("schedule", &[key])
    }

    /// The deliberate second run of a key that is done. The key is taken as it stands, not escaped again.
    pub fn support_retry(of: &WorkKey, n: i64) -> Result<Self, KeyError> {
        Self::checked(format!("{of}{SUPPORT_RETRY}{n}"))
    }

    /// The parts this key was made from.
    ///
    /// A text that no constructor would write, for instance one with a needless escape, is
    /// [`KeyParts::Other`]: parts that would give another key are not this key's parts.
    pub fn parts(&self) -> KeyParts {
        let parts = self.read().unwrap_or(KeyParts::Other);
        match parts.to_key() {
            Some(Ok(key)) if key == *self => parts,
            _ => KeyParts::Other,
        }
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
            return Err(KeyError::TooLong { bytes: key.len() });
        }
        if let Some((at, character)) = key.char_indices().find(|(_, character)| character.is_control()) {
            let mut escaped = String::new();
            push_part(&mut escaped, character.encode_utf8(&mut [0; 4]));
            return Err(KeyError::Control { character, at, escaped });
        }
        Ok(Self(key))
    }

    /// Reads the shapes generously; `parts` compares what comes out with the key.
    fn read(&self) -> Option<KeyParts> {
        let raw: Vec<&str> = self.0.split(':').collect();
        let text = |at: usize| raw.get(at).and_then(|part| unescape(part));
        let date = |at: usize| raw.get(at).and_then(|part| part.parse::<Date>().ok());
        let number = |at: usize| raw.get(at).and_then(|part| part.parse::<i64>().ok());
        Some(match raw.as_slice() {
            ["reminder", _, _, _, _, "threshold", _, _, _, _] => KeyParts::ReminderThreshold {
                setting: text(1)?,
                source_type: text(2)?,
                source: text(3)?,
                trigger_key: text(4)?,
                metric_key: text(6)?,
                threshold_value: text(7)?,
                firing_policy: text(8)?,
                scope_key: text(9)?,
            },
            ["reminder", _, _, _, _, "recurring", _] => KeyParts::ReminderRecurring {
                setting: text(1)?,
                source_type: text(2)?,
                source: text(3)?,
                trigger_key: text(4)?,
                occurrence: date(6)?,
            },
            ["reminder", _, _, _, _, _, _] => KeyParts::ReminderDate {
                setting: text(1)?,
                source_type: text(2)?,
                source: text(3)?,
                trigger_key: text(4)?,
                target_date: date(5)?,
                offset_days: number(6)?,
            },
            ["report-subscription", _, "scheduled", instant] => {
                KeyParts::ReportScheduled { guid: text(1)?, period_start: parse_compact(instant)? }
            }
            ["report-subscription", _, "manual", _] => {
                KeyParts::ReportManual { guid: text(1)?, manual_run: text(3)? }
            }
            ["survey", _, "send", _] => KeyParts::SurveySend { public_id: text(1)?, ordinal: number(3)? },
            ["survey", _, "expire"] => KeyParts::SurveyExpire { public_id: text(1)? },
            ["operations", _, _] => KeyParts::Operations { rule_id: text(1)?, occurrence: text(2)? },
            ["message", _] => KeyParts::Message { id: text(1)? },
            ["schedule", _] => KeyParts::Schedule { key: text(1)? },
            _ => {
                // After the shapes of fixed length, so that a part that reads `support-retry` stays a part.
                let (of, n) = self.0.rsplit_once(SUPPORT_RETRY)?;
                KeyParts::SupportRetry { of: Self::parse(of).ok()?, n: n.parse().ok()? }
            }
        })
    }
}

impl KeyParts {
    /// The key these parts make; none for a shape not known here.
    pub fn to_key(&self) -> Option<Result<WorkKey, KeyError>> {
        Some(match self {
            Self::ReminderDate { setting, source_type, source, trigger_key, target_date, offset_days } => {
                WorkKey::reminder_date(setting, source_type, source, trigger_key, *target_date, *offset_days)
            }
            Self::ReminderThreshold {
                setting,
                source_type,
                source,
                trigger_key,
                metric_key,
                threshold_value,
                firing_policy,
                scope_key,
            } => WorkKey::reminder_threshold(
                setting,
                source_type,
                source,
                trigger_key,
                metric_key,
                threshold_value,
                firing_policy,
                scope_key,
            ),
            Self::ReminderRecurring { setting, source_type, source, trigger_key, occurrence } => {
                WorkKey::reminder_recurring(setting, source_type, source, trigger_key, *occurrence)
            }
            Self::ReportScheduled { guid, period_start } => WorkKey::report_scheduled(guid, *period_start),
            Self::ReportManual { guid, manual_run } => WorkKey::report_manual(guid, manual_run),
            Self::SurveySend { public_id, ordinal } => WorkKey::survey_send(public_id, *ordinal),
            Self::SurveyExpire { public_id } => WorkKey::survey_expire(public_id),
            Self::Operations { rule_id, occurrence } => WorkKey::operations(rule_id, occurrence),
            Self::Message { id } => WorkKey::message(id),
            Self::Schedule { key } => WorkKey::schedule(key),
            Self::SupportRetry { of, n } => WorkKey::support_retry(of, *n),
            Self::Other => return None,
        })
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
