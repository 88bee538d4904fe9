//! Parses a key into its parts, for pages and messages that describe a row.

use jiff::{Timestamp, civil::Date};

use super::{
    KeyError, SUPPORT_RETRY, WorkKey,
    escape::{parse_compact, unescape},
};

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
    ReminderOccurrence {
        setting: String,
        source_type: String,
        source: String,
        trigger_key: String,
        kind: String,
        occurrence: Date,
    },
    /// The place of a reminder whose key would be too long.
    ReminderTooLong {
        setting: String,
        digest: String,
    },
    ReminderChange {
        of: String,
        id: String,
        mark: String,
    },
    Reconcile {
        provider: String,
        at: Timestamp,
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
    Digest {
        person: String,
        local_date: String,
        business_unit: Option<String>,
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
            // A number of days is no date, so the last part distinguishes the two.
            ["reminder", _, _, _, _, _, last] if last.parse::<Date>().is_ok() => {
                KeyParts::ReminderOccurrence {
                    setting: text(1)?,
                    source_type: text(2)?,
                    source: text(3)?,
                    trigger_key: text(4)?,
                    kind: text(5)?,
                    occurrence: date(6)?,
                }
            }
            ["reminder", _, _, _, _, _, _] => KeyParts::ReminderDate {
                setting: text(1)?,
                source_type: text(2)?,
                source: text(3)?,
                trigger_key: text(4)?,
                target_date: date(5)?,
                offset_days: number(6)?,
            },
            ["reminder", _, "too-long", _] => {
                KeyParts::ReminderTooLong { setting: text(1)?, digest: text(3)? }
            }
            ["reminder-change", _, _, _] => {
                KeyParts::ReminderChange { of: text(1)?, id: text(2)?, mark: text(3)? }
            }
            ["reconcile", _, instant] => {
                KeyParts::Reconcile { provider: text(1)?, at: parse_compact(instant)? }
            }
            ["report-subscription", _, "scheduled", instant] => {
                KeyParts::ReportScheduled { guid: text(1)?, period_start: parse_compact(instant)? }
            }
            ["report-subscription", _, "manual", _] => {
                KeyParts::ReportManual { guid: text(1)?, manual_run: text(3)? }
            }
            ["survey", _, "send", _] => KeyParts::SurveySend { public_id: text(1)?, ordinal: number(3)? },
            ["survey", _, "expire"] => KeyParts::SurveyExpire { public_id: text(1)? },
            ["operations", _, _] => KeyParts::Operations { rule_id: text(1)?, occurrence: text(2)? },
            ["digest", _, _] => {
                KeyParts::Digest { person: text(1)?, local_date: text(2)?, business_unit: None }
            }
            ["digest", _, _, _] => {
                KeyParts::Digest { person: text(1)?, local_date: text(2)?, business_unit: Some(text(3)?) }
            }
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
            Self::ReminderOccurrence { setting, source_type, source, trigger_key, kind, occurrence } => {
                WorkKey::reminder_occurrence(setting, source_type, source, trigger_key, kind, *occurrence)
            }
            Self::ReminderTooLong { setting, digest } => WorkKey::reminder_too_long(setting, digest),
            Self::ReminderChange { of, id, mark } => WorkKey::reminder_change(of, id, mark),
            Self::Reconcile { provider, at } => WorkKey::reconcile(provider, *at),
            Self::ReportScheduled { guid, period_start } => WorkKey::report_scheduled(guid, *period_start),
            Self::ReportManual { guid, manual_run } => WorkKey::report_manual(guid, manual_run),
            Self::SurveySend { public_id, ordinal } => WorkKey::survey_send(public_id, *ordinal),
            Self::SurveyExpire { public_id } => WorkKey::survey_expire(public_id),
            Self::Operations { rule_id, occurrence } => WorkKey::operations(rule_id, occurrence),
            Self::Digest { person, local_date, business_unit } => {
                WorkKey::digest(person, local_date, business_unit.as_deref())
            }
            Self::Message { id } => WorkKey::message(id),
            Self::Schedule { key } => WorkKey::schedule(key),
            Self::SupportRetry { of, n } => WorkKey::support_retry(of, *n),
            Self::Other => return None,
        })
    }
}
