//! Generic schedules: a topic, a time and a payload. When a schedule is due, an arrival is published on the topic.

use jiff::{Timestamp, tz::TimeZone};
use punctual_boxed::boxed;
use punctual_engine::{
    Actor, Claimed, Decide, Engine, EngineError, EnsureOutcome, Ensured, OwnUnit, Titles, Workflow,
    ensure_in, titles::line,
};
use punctual_model::{
    Arrival, AuditAction, Cause, Decided, Decision, InputHash, KeyError, KeyParts, NewWork, Reach,
    ReasonCode, Trigger, WorkKey, WorkStatus,
};
use punctual_store::{Conn, Lane, StoreError, work::WorkRow};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The kind of a schedule's work row.
pub const KIND: &str = "schedule";

/// A schedule that is wanted.
#[derive(Clone, Debug)]
pub struct NewSchedule {
    pub key: String,
    pub topic: String,
    pub run_at: Timestamp,
    /// The zone in which it was planned.
    pub time_zone: Option<String>,
    pub payload: serde_json::Value,
    pub business_unit: OwnUnit,
}

/// What the row carries: small, and nothing that is not needed at its moment.
#[derive(Serialize, Deserialize)]
struct Input<'a> {
    #[serde(borrow)]
    topic: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

impl NewSchedule {
    /// The work row. Topic and payload are its identity; its moment is not, so that it can be moved.
    pub fn into_work(self) -> Result<NewWork, KeyError> {
        let input_hash =
            InputHash::of_fields(&[("topic", self.topic.as_str().into()), ("payload", self.payload.clone())]);
        let input = serde_json::json!({ "topic": self.topic, "payload": self.payload }).to_string();
        Ok(NewWork {
            key: WorkKey::schedule(&self.key)?,
            kind: KIND,
            trigger: Trigger::At,
            business_unit: self.business_unit.into_name(),
            source: None,
            setting_id: None,
            due_at: self.run_at,
            local: self.time_zone.and_then(|zone| planned_in(zone, self.run_at)),
            input_hash,
            input,
        })
    }
}

/// The local date of a moment in a zone, as a row keeps it.
fn planned_in(zone: String, at: Timestamp) -> Option<(String, String)> {
    let date = TimeZone::get(&zone).ok()?.to_datetime(at).date();
    Some((date.to_string(), zone))
}

/// The topic and the payload of a stored schedule.
pub fn read_input(row: &WorkRow) -> Option<(String, serde_json::Value)> {
    let input: Input<'_> = serde_json::from_str(&row.input).ok()?;
    Some((input.topic.into_owned(), serde_json::from_str(input.payload.get()).ok()?))
}

/// Moves a schedule to another time; `None` if no schedule within reach has that id.
#[boxed]
pub async fn reschedule(
    engine: &Engine,
    by: &Actor,
    id: i64,
    run_at: Timestamp,
) -> Result<Option<Ensured>, EngineError> {
    let row = match engine.work_row(&by.reach(), id).await {
        Ok(row) if row.kind == KIND => row,
        Ok(_) | Err(EngineError::NotFound) => return Ok(None),
        Err(error) => return Err(error),
    };
    let moved = NewWork {
        key: row.key()?,
        kind: KIND,
        trigger: Trigger::At,
        business_unit: row.business_unit.clone(),
        source: None,
        setting_id: None,
        due_at: run_at,
        local: row.time_zone.clone().and_then(|zone| planned_in(zone, run_at)),
        input_hash: row.input_hash()?,
        input: row.input.clone(),
    };
    let refused = |state: String| EngineError::StateNotAllowed {
        subject: "the schedule",
        state,
        allowed: "only a schedule that is pending can be moved",
    };
    if row.on_hold || !row.is(&[WorkStatus::Pending]) {
        return Err(refused(if row.on_hold { "on hold".to_owned() } else { row.status.as_str().to_owned() }));
    }
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let ensured = ensure_in(&mut tx, now, &[moved], Cause::Request { revive: false }).await?;
    match ensured.first().map(|one| &one.outcome) {
        Some(EnsureOutcome::Updated) => {
            let (id, unit) = (row.id.to_string(), row.business_unit.as_deref());
            by.audit(&mut tx, now, AuditAction::Change, "work", &id, unit).await?;
        }
        Some(EnsureOutcome::Unchanged) | None => {}
        // What ended since it was read is left as it is.
        Some(other) => return Err(refused(other.as_str().to_owned())),
    }
    tx.commit().await?;
    Ok(ensured.into_iter().next())
}

/// The workflow of schedules. It needs nothing but the row.
pub struct Schedules;

impl Workflow for Schedules {
    fn kind(&self) -> &'static str {
        KIND
    }
}

impl Titles for Schedules {
    async fn titles(
        &self,
        _conn: &mut Conn<'_>,
        _reach: &Reach,
        _now: Timestamp,
        keys: &[KeyParts],
    ) -> Result<Vec<Option<String>>, StoreError> {
        let title = |key: &KeyParts| match key {
            KeyParts::Schedule { key } => Some(format!("Schedule {}", line(key))),
            _ => None,
        };
        Ok(keys.iter().map(title).collect())
    }
}

impl Decide for Schedules {
    fn decide(&self, row: &Claimed, _now: Timestamp) -> Decided {
        let Ok(input) = serde_json::from_str::<Input<'_>>(&row.input) else {
            return Decision::Hold(ReasonCode::InputUnreadable).into();
        };
        Decision::Publish(Arrival {
            id: row.key.clone(),
            topic: input.topic.into_owned(),
            due_at: row.due_at,
            payload: input.payload.get().to_owned(),
        })
        .into()
    }
}
