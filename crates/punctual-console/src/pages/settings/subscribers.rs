//! Subscribers: programs that get events, each over an adapter of its own.

use axum::{Router, extract::State, routing::get};
use punctual_engine::{CommandError, commands::Seen};
use punctual_store::subscribers;
use punctual_wire::{names::channel_fault, subscribers::SubscriberRequest};
use punctual_workflows::subscribers::{self as commands, NewSubscriber};
use serde_json::{Map, Value, json};

use super::channels::choose_adapter;
use crate::{
    App, Shared,
    answer::{Page, Refusal},
    editor::{
        Asks, Done, Field, Form, Kind, Listed, Listing, Part, Refused, Resource, Stored, filter_of_form,
        filter_part, filter_place, filter_to_form, retry_part, settings_parts, take_text, without_secrets,
    },
    form::Fields,
    frame::Visit,
    words::{Pill, counted},
};

pub struct Subscribers;

impl Resource for Subscribers {
    const HOME: &'static str = "/settings/subscribers";
    const ONE: &'static str = "subscriber";
    const MANY: &'static str = "Subscribers";
    const KEY: &'static str = "/key";
    const ADD: &'static str = "add";
    const REMOVING: (&'static str, &'static str) = ("Remove", "Its queued events are parked.");

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_admin()
    }

    async fn fresh(_: &App, _: &Visit, draft: &mut Map<String, Value>) {
        draft.insert("adapter".to_owned(), "webhook".into());
        draft.insert("active".to_owned(), true.into());
        draft.insert("events".to_owned(), json!(["response-completed"]));
    }

    async fn list(app: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let rows = subscribers::all(&mut reader.conn()).await?;
        let rows: Vec<Listed> = rows
            .into_iter()
            .map(|row| {
                let events: Vec<String> = serde_json::from_str(&row.events).unwrap_or_default();
                Listed {
                    title: row.key.clone(),
                    note: String::new(),
                    pill: (!row.active).then_some(Pill { word: "switched off", class: "muted" }),
                    cells: vec![row.adapter, events.join(", ")],
                    key: row.key,
                    removable: true,
                }
            })
            .collect();
        let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        Ok(Listing {
            sentence: format!("{}.", counted(count, "subscriber", "subscribers")),
            columns: &["Subscriber", "Adapter", "Events"],
            rows,
            empty: "A subscriber is a program that gets an event when something happens, such as an answered survey.",
            next: None,
        })
    }

    async fn stored(app: &App, _: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let row = subscribers::get(&mut reader.conn(), key).await?;
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        Ok(row.map(|row| {
            let adapter = app.engine.channels.adapter(&row.adapter).map(AsRef::as_ref);
            let (settings, secrets) = without_secrets(&row.settings, adapter);
            Stored {
                draft: json!({"key": row.key, "adapter": row.adapter, "settings": settings, "active": row.active,
                    "events": json(&row.events), "filter": row.filter.as_deref().map(json), "retry": json(&row.retry)}),
                version: row.version,
                secrets,
                sentence: if row.active { "It is active." } else { "It is switched off." }.to_owned(),
                key: row.key,
            }
        }))
    }

    async fn form(app: &App, _: &Visit, draft: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let name = draft["adapter"].as_str().unwrap_or_default();
        let about = app.engine.channels.adapter(name).map(|adapter| adapter.about());
        let key = match stored {
            Some(_) => Field::new("/key", "Key", Kind::Fixed),
            None => Field::text("/key", "Key").required().hint("Type and name, such as webhook:bi-ingest."),
        };
        let mut parts = vec![Part::new(
            "Subscriber",
            vec![
                key,
                Field::new("/adapter", "Adapter", Kind::Fixed),
                Field::new("/active", "Active", Kind::Flag),
                Field::new("/events", "Events", Kind::List).hint(
                    "One a line: response-completed, instance-sent, instance-opened, instance-expired, schedule.arrived, or a topic such as invoices.*",
                ),
            ],
        )];
        let asks = Asks::Offer(Vec::new());
        parts.push(
            filter_part(draft, "/filter", "Conditions", "Field of the event", &asks, |_| Vec::new())
                .about("It gets the events for which these are true; all of them without a condition."),
        );
        if let Some(about) = about {
            parts.extend(settings_parts(about, stored.map_or(&[], |stored| &stored.secrets)));
        }
        parts.push(retry_part("as usual: ten times within hours").folded());
        Ok(Form::of(parts))
    }

    fn to_form(request: &Value) -> Value {
        let mut form = request.clone();
        if let Some(filter) = request.get("filter").filter(|filter| !filter.is_null()) {
            form["filter"] = filter_to_form(filter);
        }
        form
    }

    fn of_form(mut draft: Value) -> Value {
        let Some(fields) = draft.as_object_mut() else { return draft };
        if let Some(filter) = fields.remove("filter").and_then(|filter| filter_of_form(&filter)) {
            fields.insert("filter".to_owned(), filter);
        }
        draft
    }

    fn place(pointer: &str) -> String {
        filter_place("/filter", pointer).unwrap_or_else(|| pointer.to_owned())
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, mut draft: Value) -> Result<Done, Refused> {
        let key = take_text(&mut draft, "key");
        let read = SubscriberRequest::read(&draft, "");
        let mut faults = read.as_ref().err().cloned().unwrap_or_default();
        faults.extend(channel_fault(&key, &|| "/key".to_owned()));
        let (true, Ok(request)) = (faults.is_empty(), read) else { return Err(Refused::Faults(faults)) };
        let SubscriberRequest { adapter, settings, events, filter, retry, active } = request;
        let retry = retry.and_then(|retry| serde_json::to_value(retry).ok());
        let new = NewSubscriber { key, adapter, settings, events, filter, retry, active };
        let row = commands::replace(&app.engine, &visit.viewer.by, seen, new).await?;
        Ok(Done::Saved { key: row.key, note: "saved" })
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        commands::remove(&app.engine, &visit.viewer.by, key).await
    }
}

/// Which adapter it is to be.
pub fn chooser() -> Router<Shared> {
    Router::new().route("/settings/subscribers/add", get(add))
}

async fn add(State(app): State<Shared>, visit: Visit) -> Page {
    choose_adapter::<Subscribers>(&app, &visit, &["webhook", "nats", "amqp", "amqp1", "in-process", "memory"])
        .await
}
