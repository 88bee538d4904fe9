//! Immediate messages: with `"immediate": true`, a setting also sends a message when the first state of a source matches. The
//! key consists of the setting and the source, so it is sent once.

use jiff::Timestamp;
use punctual_model::{KeyParts, Trigger, WorkKey};
use serde_json::Value;

use super::providers::{Candidate, Case, ImmediateProvider, placed};

/// The type of such a message's notifications, apart from those of reminders.
pub const NOTIFICATION_KIND: &str = "immediate";

/// The replacement for a metric in its key.
pub(super) const METRIC: &str = "immediate";

/// Sends a message when the first state of a source arrives.
pub struct FirstState;

impl ImmediateProvider for FirstState {
    fn immediate(&self, case: &Case<'_>, now: Timestamp) -> Option<Candidate> {
        let wanted = case.setting.definition.get("immediate").and_then(Value::as_bool) == Some(true);
        if !wanted || !case.from_event || case.source.row.version != 1 {
            return None;
        }
        let (setting, source) = (case.setting, &case.source.row);
        let key = WorkKey::reminder_threshold(
            &setting.id,
            &source.source_type,
            &source.source_id,
            &setting.trigger_key,
            METRIC,
            "true",
            "OncePerSource",
            "all",
        );
        let (key, fault) = placed(setting, key)?;
        Some(Candidate {
            key,
            formerly: None,
            due_at: now,
            local_date: case.zone.date(now),
            at_once: true,
            trigger: Some(Trigger::At),
            about: None,
            adjusted: None,
            fault,
        })
    }

    fn is_own(&self, key: &WorkKey) -> bool {
        matches!(key.parts(), KeyParts::ReminderThreshold { metric_key, .. } if metric_key == METRIC)
    }
}
