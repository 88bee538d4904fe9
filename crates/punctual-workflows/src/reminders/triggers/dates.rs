//! Date-based: a number of days before or after a date of the source, at a local time of day.

use std::sync::Arc;

use jiff::{Span, Timestamp, civil::Time};
use punctual_model::{Fault, ReasonCode, Trigger, WorkKey, local_time};
use serde_json::{Value, json};

use super::{Dated, Keys, bounds, date_at, part, pointer_at, send_time};
use crate::reminders::providers::{Candidate, Case, ScanBounds, TriggerProvider, TriggerRule, Wanted};

pub struct DateBased;

/// `"date": {"field": "/expiresOn", "offsetsDays": [30, 7, 1], "sendTime": "09:00"}`.
#[derive(Clone, Debug)]
struct Dates {
    field: String,
    /// Days before the date; negative ones are after it.
    offsets: Vec<i64>,
    send_time: Time,
}

impl TriggerProvider for DateBased {
    fn kind(&self) -> &'static str {
        "dateBased"
    }

    fn trigger(&self) -> Trigger {
        Trigger::DateBased
    }

    fn rule(&self, definition: &Value, _base: Option<&Value>) -> Result<Arc<dyn TriggerRule>, Vec<Fault>> {
        let part = part(definition, "date")?;
        let mut faults = Vec::new();
        let offsets = part.get("offsetsDays").and_then(Value::as_array);
        let offsets: Vec<i64> = offsets.into_iter().flatten().filter_map(Value::as_i64).collect();
        let rule = Dates {
            field: pointer_at(part, "field", "/date", &mut faults),
            send_time: send_time(part, "/date", &mut faults),
            offsets,
        };
        if faults.is_empty() { Ok(Arc::new(rule)) } else { Err(faults) }
    }

    fn bounds(&self) -> ScanBounds {
        bounds()
    }
}

impl TriggerRule for Dates {
    fn wanted(&self, case: &Case<'_>, _at: Timestamp) -> Wanted {
        let found = case.source.state.pointer(&self.field).cloned().unwrap_or(Value::Null);
        let values = vec![("date", json!({ "field": self.field, "value": found }))];
        let target = match date_at(&case.source.state, &self.field, case.zone).date() {
            Ok(date) => date,
            Err(reason) => return Wanted { values, ..Wanted::nothing(reason) },
        };
        let candidates = self.offsets.iter().filter_map(|offset| self.candidate(case, target, *offset));
        Wanted {
            candidates: candidates.collect(),
            reason: Some(ReasonCode::NoLongerWanted),
            state: None,
            values,
        }
    }

    fn identity(&self) -> String {
        let Self { field, offsets, send_time } = self;
        let offsets = offsets.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        format!("Dates {{ field: {field:?}, offsets: [{offsets}], send_time: {send_time} }}")
    }
}

impl Dates {
    fn candidate(&self, case: &Case<'_>, target: Dated, offset: i64) -> Option<Candidate> {
        let local_date = target.local.checked_sub(Span::new().try_days(offset).ok()?).ok()?;
        let resolved = local_time::resolve(local_date, self.send_time, &case.zone.zone);
        let (setting, source) = (case.setting, &case.source.row);
        let keys = target.keys(setting, |date| {
            WorkKey::reminder_date(
                &setting.id,
                &source.source_type,
                &source.source_id,
                &setting.trigger_key,
                date,
                offset,
            )
        });
        let Keys { key, formerly, fault } = keys?;
        Some(Candidate {
            key,
            formerly,
            due_at: resolved.at,
            local_date,
            about: Some(target.local),
            at_once: false,
            trigger: None,
            adjusted: resolved.adjusted,
            fault,
        })
    }
}
