//! Business units: who owns data, and in which time zone they live.

use punctual_engine::{CommandError, commands::Seen};
use punctual_model::local_time;
use punctual_store::{business_units, quotas};
use punctual_wire::{
    business_units::{BusinessUnitRequest, Quota},
    limits::NAME_MAX,
    names::name_fault,
};
use punctual_workflows::business_units::{self as commands, NewUnit};
use serde_json::{Value, json};

use super::{SHOWN, cut};
use crate::{
    App,
    answer::Refusal,
    editor::{Done, Field, Form, Kind, Listed, Listing, Part, Refused, Resource, Stored, take_text},
    form::Fields,
    frame::Visit,
};

pub struct Units;

impl Resource for Units {
    const HOME: &'static str = "/settings/units";
    const ONE: &'static str = "business unit";
    const MANY: &'static str = "Business units";
    const KEY: &'static str = "/id";
    const REMOVING: (&'static str, &'static str) =
        ("Remove", "Messages planned in its zone are planned without it. Its data stays.");

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_author()
    }

    async fn list(app: &App, visit: &Visit, fields: &Fields) -> Result<Listing, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let reach = visit.viewer.by.reach();
        let rows = business_units::page(&mut reader.conn(), &reach, fields.text("after"), SHOWN + 1).await?;
        let (rows, next) = cut(rows, |row| row.id.clone());
        let rows = rows.into_iter().map(|row| Listed {
            title: row.name,
            note: row.id.clone(),
            pill: None,
            cells: vec![row.time_zone, quota_words(row.rows_per_day, row.channel_share)],
            key: row.id,
            removable: true,
        });
        Ok(Listing {
            sentence: "Owners of data, each with its time zone.".to_owned(),
            columns: &["Business unit", "Time zone", "Quota"],
            rows: rows.collect(),
            empty: "A business unit owns data: people and keys that are limited to it see nothing of others.",
            next,
        })
    }

    async fn stored(app: &App, visit: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let row = business_units::get(&mut reader.conn(), &visit.viewer.by.reach(), key).await?;
        let Some(row) = row else { return Ok(None) };
        let (date, _) = quotas::day_of(&row, app.engine.clock.now());
        let sentence = match row.rows_per_day {
            Some(most) => {
                let used = quotas::accepted(&mut reader.conn(), &row.id, &date).await?;
                format!("{}: {used} of {most} rows of {date} are used.", row.name)
            }
            None => row.name.clone(),
        };
        drop(reader);
        let sentence = match row.lane.filter(|_| row.channel_share.is_some()) {
            Some(lane) => {
                let waiting = app.engine.waiting_in_lane(lane).await?;
                format!(
                    "{} Messages that are due and wait for its share of a channel: {waiting}.",
                    ended(sentence)
                )
            }
            None => sentence,
        };
        let mut draft = json!({"id": row.id, "name": row.name, "timeZone": row.time_zone});
        if let Some(quota) = Quota::stored(row.rows_per_day, row.channel_share) {
            draft["quota"] = json!(quota);
        }
        let (version, secrets) = (row.updated_at.as_microsecond(), Vec::new());
        Ok(Some(Stored { draft, version, secrets, sentence, key: row.id }))
    }

    async fn form(_: &App, visit: &Visit, _: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let id = match stored {
            Some(_) => Field::new("/id", "Id", Kind::Fixed),
            None => Field::text("/id", "Id").required().hint("Data refers to it, such as nz."),
        };
        let zones = local_time::names().into_iter().map(|name| (name, String::new())).collect();
        let mut parts = vec![Part::new(
            "Business unit",
            vec![
                id,
                Field::text("/name", "Name").required().hint("Such as New Zealand."),
                Field::text("/timeZone", "Time zone")
                    .required()
                    .offering(zones)
                    .hint("Used for local times, such as Pacific/Auckland."),
            ],
        )];
        // Whoever is limited to a unit does not widen its quota.
        if visit.viewer.by.units.is_none() {
            parts.push(Part::new(
                "Quota",
                vec![
                    Field::new("/quota/rowsPerDay", "Rows a day", Kind::Number)
                        .placeholder("no limit")
                        .hint("The most messages and work rows accepted on one day of its time zone."),
                    Field::new("/quota/channelShare", "Share of each channel (%)", Kind::Number)
                        .placeholder("no limit")
                        .hint("The largest share of concurrent calls for messages that are not urgent."),
                ],
            ));
        }
        Ok(Form::of(parts))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, mut draft: Value) -> Result<Done, Refused> {
        let id = take_text(&mut draft, "id");
        let read = BusinessUnitRequest::read(&draft, "");
        let mut faults = read.as_ref().err().cloned().unwrap_or_default();
        faults.extend(name_fault(&id, NAME_MAX, &|| "/id".to_owned()));
        let (true, Ok(request)) = (faults.is_empty(), read) else { return Err(Refused::Faults(faults)) };
        let new = NewUnit::of(id, request);
        let row = commands::replace(&app.engine, &app.reminders, &visit.viewer.by, seen, new).await?;
        Ok(Done::Saved { key: row.id, note: "saved" })
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        commands::remove(&app.engine, &app.reminders, &visit.viewer.by, key).await
    }
}

/// With a full stop.
fn ended(sentence: String) -> String {
    if sentence.ends_with('.') { sentence } else { sentence + "." }
}

/// What a unit may use, in a few words.
fn quota_words(rows_per_day: Option<i64>, channel_share: Option<i64>) -> String {
    let rows = rows_per_day.map(|rows| format!("{rows} rows a day"));
    let share = channel_share.map(|share| format!("{share} % of a channel"));
    rows.into_iter().chain(share).collect::<Vec<_>>().join(", ")
}
