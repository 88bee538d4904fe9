//! A schedule that somebody makes by hand: a topic that is published at a moment, with a small payload.

use punctual_engine::{CommandError, EnsureOutcome, Ensured, Requested, commands::Seen};
use punctual_wire::{FieldError, Problem, schedules::ScheduleRequest};
use punctual_workflows::{
    due_window::{self, OutsideWindow},
    schedules::NewSchedule,
};
use serde_json::{Map, Value};

use crate::{
    App,
    answer::{Refusal, over_quota},
    editor::{Done, Field, Form, Kind, Listing, Part, Refused, Resource, Stored},
    form::Fields,
    frame::Visit,
    pages::settings::offered_units,
};

pub struct Schedules;

impl Resource for Schedules {
    const HOME: &'static str = "/work";
    const ONE: &'static str = "schedule";
    const MANY: &'static str = "Due work";
    const NAV: &'static str = "/work";
    const KEY: &'static str = "/key";
    const EDITED: bool = false;

    fn after(key: &str, _: &str, _: &str) -> String {
        format!("/work/{key}")
    }

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_author()
    }

    async fn fresh(_: &App, visit: &Visit, draft: &mut Map<String, Value>) {
        draft.insert("timeZone".to_owned(), visit.zone.whole.as_str().into());
    }

    /// The page of due work is a page of its own.
    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(_: &App, _: &Visit, _: &str) -> Result<Option<Stored>, Refusal> {
        Ok(None)
    }

    async fn form(app: &App, visit: &Visit, _: &Value, _: Option<&Stored>) -> Result<Form, Refusal> {
        let zone = &visit.zone;
        let fields = vec![
            Field::text("/topic", "Topic").required().hint("Its subscribers get the payload."),
            Field::new("/runAt", format!("Time ({})", zone.name), Kind::Moment(zone.whole.clone()))
                .required(),
            Field::new("/payload", "Payload", Kind::Json).hint("A JSON object of at most 8 KiB, or nothing."),
            Field::text("/key", "Key")
                .hint("Saving the same key again moves the schedule; made automatically if empty."),
            Field::text("/timeZone", "Time zone").hint("The zone in which it is planned, for information."),
            Field::text("/businessUnit", "Business unit").offering(offered_units(app, visit).await?),
        ];
        Ok(Form::of(vec![Part::new("Schedule", fields)]))
    }

    async fn save(app: &App, visit: &Visit, _: Seen, draft: Value) -> Result<Done, Refused> {
        let ScheduleRequest { topic, run_at, time_zone, payload, key, business_unit, revive } =
            ScheduleRequest::read(&draft, "")?;
        let (now, by) = (app.engine.clock.now(), &visit.viewer.by);
        due_window::check(now, run_at).map_err(|outside| vec![out_of_window("/runAt", outside)])?;
        let unit = visit.viewer.unit_or_first(business_unit.as_deref().unwrap_or_default());
        let business_unit = app.engine.unit_for(by, unit, "/businessUnit").await?;
        let key = key.unwrap_or_else(|| app.engine.random.ordered_uuid(now).to_string());
        let new = NewSchedule { key: key.clone(), topic, run_at, time_zone, payload, business_unit };
        let work = new.into_work().map_err(|why| vec![FieldError::key_invalid("/key", why)])?;
        let ensured = app.engine.ensure_requested(by, vec![Requested { work, revive }]).await?;
        match ensured.into_iter().next() {
            None | Some(Ensured { outcome: EnsureOutcome::Reused, .. }) => {
                Err(Refused::Other(Problem::id_reused(&key).into()))
            }
            Some(Ensured { outcome: EnsureOutcome::OverQuota(reached), .. }) => {
                Err(Refused::Other(over_quota(&reached).into()))
            }
            Some(ensured) => Ok(Done::Saved { key: ensured.id.to_string(), note: "created" }),
        }
    }

    async fn remove(_: &App, _: &Visit, key: &str) -> Result<(), CommandError> {
        Err(CommandError::not_found("schedule", key))
    }
}

/// What is wrong with a moment that is too long ago or too far ahead.
pub fn out_of_window(pointer: &str, outside: OutsideWindow) -> FieldError {
    match outside {
        OutsideWindow::TooOld { earliest } => FieldError::due_too_old(pointer, earliest),
        OutsideWindow::TooFar { latest } => FieldError::due_out_of_range(pointer, latest),
    }
}
