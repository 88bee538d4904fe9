//! Recurring: every year or month after a date of the source. One row is planned at a time; when it is decided, the
//! next one is.
//!
//! An anniversary of 29 February falls on 28 February in years without one, and a month that is too short has it on its last
//! day. Every occurrence is computed from the first date, so nothing drifts: 31 January gives 28 February, then 31 March. The
//! first date is not an anniversary; the first occurrence is one period later.

use std::sync::Arc;

use jiff::{
    SignedDuration, Span, Timestamp,
    civil::{Date, Time},
};
use punctual_model::{Fault, KeyParts, ReasonCode, Trigger, WorkKey, local_time};
use serde_json::{Value, json};

use super::{Dated, Keys, bounds, date_at, part, pointer_at, send_time};
use crate::reminders::providers::{Candidate, Case, ScanBounds, TriggerProvider, TriggerRule, Wanted};

/// How far another hour and another zone can move an occurrence.
const NEAR: SignedDuration = SignedDuration::from_hours(24 + 26);

pub struct Recurring;

/// The kind of its settings, the part of their definitions and a part of their keys.
const KIND: &str = "recurring";

/// `"recurring": {"field": "/hiredOn", "every": "year", "offsetDays": 0, "sendTime": "09:00"}`.
#[derive(Clone, Debug)]
struct Anniversary {
    field: String,
    every: Every,
    /// Days before each occurrence; negative ones are after it.
    offset: i64,
    send_time: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Every {
    Year,
    Month,
}

impl TriggerProvider for Recurring {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn trigger(&self) -> Trigger {
        Trigger::Recurring
    }

    fn rule(&self, definition: &Value, _base: Option<&Value>) -> Result<Arc<dyn TriggerRule>, Vec<Fault>> {
        let part = part(definition, KIND)?;
        let mut faults = Vec::new();
        let every = match part.get("every").and_then(Value::as_str) {
            None | Some("year") => Every::Year,
            Some("month") => Every::Month,
            Some(_) => {
                let detail = "`every` takes `year` or `month`.";
                faults.push(Fault::new("/recurring/every", "out_of_range", detail));
                Every::Year
            }
        };
        let rule = Anniversary {
            field: pointer_at(part, "field", "/recurring", &mut faults),
            every,
            offset: part.get("offsetDays").and_then(Value::as_i64).unwrap_or(0),
            send_time: send_time(part, "/recurring", &mut faults),
        };
        if faults.is_empty() { Ok(Arc::new(rule)) } else { Err(faults) }
    }

    fn bounds(&self) -> ScanBounds {
        bounds()
    }
}

impl TriggerRule for Anniversary {
    fn wanted(&self, case: &Case<'_>, at: Timestamp) -> Wanted {
        let found = case.source.state.pointer(&self.field).cloned().unwrap_or(Value::Null);
        let values = vec![("date", json!({ "field": self.field, "value": found }))];
        let first = match date_at(&case.source.state, &self.field, case.zone).date() {
            Ok(date) => date,
            Err(reason) => return Wanted { values, ..Wanted::nothing(reason) },
        };
        let present = self.from(case, first, at);
        // One that is due or near may have been sent already, the latter before its hour or zone was changed; then the
        // next one is planned, and must not be taken back.
        let next = present.as_ref().map(|candidate| candidate.due_at).and_then(|due_at| {
            let is_near = due_at.duration_since(at) <= NEAR;
            is_near.then(|| self.next(case, due_at.max(at))).flatten()
        });
        Wanted {
            candidates: present.into_iter().chain(next).collect(),
            reason: Some(ReasonCode::NoLongerWanted),
            state: None,
            values,
        }
    }

    fn still_wants(
        &self,
        case: &Case<'_>,
        key: &WorkKey,
        _due_at: Timestamp,
    ) -> Result<Candidate, ReasonCode> {
        let first = date_at(&case.source.state, &self.field, case.zone).date()?;
        // An occurrence is wanted wherever it is in the chain, whatever comes first when seen from its moment.
        let KeyParts::ReminderOccurrence { occurrence, .. } = key.parts() else {
            return Err(ReasonCode::NoLongerWanted);
        };
        let mut around = self.periods_to(first.local, occurrence);
        let own = around.find_map(|n| self.candidate(case, first, n)?.named(key));
        own.ok_or(ReasonCode::NoLongerWanted)
    }

    fn next(&self, case: &Case<'_>, now: Timestamp) -> Option<Candidate> {
        let first = date_at(&case.source.state, &self.field, case.zone).date().ok()?;
        let mut n = self.periods_until(first.local, case, now);
        // The next one is due later than now, whatever lateness would allow for the present one.
        loop {
            let candidate = self.candidate(case, first, n)?;
            if candidate.due_at > now {
                return Some(candidate);
            }
            n += 1;
        }
    }

    fn identity(&self) -> String {
        let Self { field, every, offset, send_time } = self;
        let every = match every {
            Every::Year => "Year",
            Every::Month => "Month",
        };
        format!(
            "Anniversary {{ field: {field:?}, every: {every}, offset: {offset}, send_time: {send_time} }}"
        )
    }
}

impl Anniversary {
    /// The first occurrence that is not over at `at`.
    fn from(&self, case: &Case<'_>, first: Dated, at: Timestamp) -> Option<Candidate> {
        let mut n = self.periods_until(first.local, case, at);
        loop {
            let candidate = self.candidate(case, first, n)?;
            if !case.setting.lateness.is_over(candidate.due_at, at, case.zone) {
                return Some(candidate);
            }
            n += 1;
        }
    }

    /// A number of periods that lies safely before `at`, at least one.
    fn periods_until(&self, first: Date, case: &Case<'_>, at: Timestamp) -> i64 {
        let today = case.zone.date(at);
        let years = i64::from(today.year()) - i64::from(first.year());
        let offset = self.offset.abs() / 28 + 2;
        match self.every {
            Every::Year => (years - offset / 12 - 2).max(1),
            Every::Month => {
                (years * 12 + i64::from(today.month()) - i64::from(first.month()) - offset - 1).max(1)
            }
        }
    }

    /// The numbers of periods that may lead to a date.
    fn periods_to(&self, first: Date, occurrence: Date) -> impl Iterator<Item = i64> + use<> {
        let years = i64::from(occurrence.year()) - i64::from(first.year());
        let n = match self.every {
            Every::Year => years,
            Every::Month => years * 12 + i64::from(occurrence.month()) - i64::from(first.month()),
        };
        // The date of a key and the local one may lie on both sides of the end of a month or year.
        (n - 1..=n + 1).filter(|n| *n >= 1)
    }

    fn candidate(&self, case: &Case<'_>, first: Dated, n: i64) -> Option<Candidate> {
        // The calendar's own addition keeps to the last day of a month that is too short.
        let period = match self.every {
            Every::Year => Span::new().try_years(n).ok()?,
            Every::Month => Span::new().try_months(n).ok()?,
        };
        let occurrence = first.map(|date| date.checked_add(period).ok())?;
        let local_date = occurrence.local.checked_sub(Span::new().try_days(self.offset).ok()?).ok()?;
        let resolved = local_time::resolve(local_date, self.send_time, &case.zone.zone);
        let (setting, source) = (case.setting, &case.source.row);
        let keys = occurrence.keys(setting, |date| {
            WorkKey::reminder_occurrence(
                &setting.id,
                &source.source_type,
                &source.source_id,
                &setting.trigger_key,
                KIND,
                date,
            )
        });
        let Keys { key, formerly, fault } = keys?;
        Some(Candidate {
            key,
            formerly,
            due_at: resolved.at,
            local_date,
            about: Some(occurrence.local),
            at_once: false,
            trigger: None,
            adjusted: resolved.adjusted,
            fault,
        })
    }
}
