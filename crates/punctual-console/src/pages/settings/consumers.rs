//! Consumers: made and changed with the form that their adapter describes. How they do is shown by the page of consumers.

use axum::{Router, extract::State, routing::get};
use punctual_engine::{
    CommandError,
    commands::{NewConsumer, Seen},
};
use punctual_store::consumers;
use punctual_wire::{FieldError, consumers::ConsumerRequest, names::channel_fault};
use serde_json::{Map, Value, json};

use super::{
    channels::{adapters_page, settings_faults},
    offered_units,
};
use crate::{
    App, Shared,
    answer::{Page, Refusal},
    editor::{
        Done, Field, Form, Kind, Listing, Part, Refused, Resource, Stored, routes, settings_parts, take_text,
        without_named_secrets,
    },
    form::Fields,
    frame::Visit,
};

/// The pages beside the list.
pub fn pages() -> Router<Shared> {
    routes::<Consumers>().route("/consumers/add", get(add))
}

pub struct Consumers;

impl Resource for Consumers {
    const HOME: &'static str = "/consumers";
    const ONE: &'static str = "consumer";
    const MANY: &'static str = "Consumers";
    const NAV: &'static str = "/consumers";
    const KEY: &'static str = "/key";
    const ADD: &'static str = "add";
    const REMOVING: (&'static str, &'static str) =
        ("Remove", "Events that it has not received stay at the broker.");

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_admin()
    }

    async fn fresh(_: &App, _: &Visit, draft: &mut Map<String, Value>) {
        draft.insert("active".to_owned(), true.into());
    }

    /// The page of consumers shows how they do, and is a page of its own.
    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(app: &App, visit: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        Self::may_change(visit)?;
        let mut reader = app.engine.store.read_for_people().await?;
        let row = consumers::get(&mut reader.conn(), key).await?;
        Ok(row.map(|row| {
            let adapter = app.engine.consumers.adapter(&row.adapter);
            let (settings, secrets) =
                without_named_secrets(&row.settings, adapter.map(|adapter| adapter.secret_fields()));
            Stored {
                draft: json!({"key": row.key, "adapter": row.adapter, "settings": settings,
                    "businessUnit": row.business_unit, "active": row.active}),
                version: row.version,
                secrets,
                sentence: if row.active { "It is active." } else { "It is switched off." }.to_owned(),
                key: row.key,
            }
        }))
    }

    async fn form(app: &App, visit: &Visit, draft: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let name = draft["adapter"].as_str().unwrap_or_default();
        let about = app.engine.consumers.adapter(name).map(|adapter| adapter.about());
        let key = match stored {
            Some(_) => Field::new("/key", "Key", Kind::Fixed),
            None => Field::text("/key", "Key").required().hint("Type and name, such as nats:orders."),
        };
        let fields = vec![
            key,
            Field::new("/adapter", "Adapter", Kind::Fixed),
            Field::new("/active", "Active", Kind::Flag).hint("Switched off, events wait at the broker."),
            Field::text("/businessUnit", "Business unit")
                .offering(offered_units(app, visit).await?)
                .hint("Owner of its events; an event that names another unit is refused. If empty, events name their own."),
        ];
        let mut parts = vec![Part::new("Consumer", fields).about(about.map_or("", |about| about.title))];
        if let Some(about) = about {
            parts.extend(settings_parts(about, stored.map_or(&[], |stored| &stored.secrets)));
        }
        Ok(Form::of(parts))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, mut draft: Value) -> Result<Done, Refused> {
        let key = take_text(&mut draft, "key");
        let read = ConsumerRequest::read(&draft, "");
        let mut faults = read.as_ref().err().cloned().unwrap_or_default();
        faults.extend(channel_fault(&key, &|| "/key".to_owned()));
        if !faults.is_empty() && seen == Seen::Nothing {
            // The command looks no further than this; what else is wrong is said at once.
            faults.extend(of_settings(app, &draft));
        }
        let (true, Ok(request)) = (faults.is_empty(), read) else { return Err(Refused::Faults(faults)) };
        let ConsumerRequest { adapter, settings, business_unit, active } = request;
        let new = NewConsumer { key, adapter, settings, business_unit, active };
        let row = app.engine.replace_consumer(&visit.viewer.by, seen, new).await?;
        Ok(Done::Saved { key: row.key, note: "saved" })
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        app.engine.delete_consumer(&visit.viewer.by, key).await
    }
}

/// What the adapter finds wrong with the settings of a new consumer.
fn of_settings(app: &App, draft: &Value) -> Vec<FieldError> {
    let adapter = draft["adapter"].as_str().and_then(|name| app.engine.consumers.adapter(name));
    settings_faults(draft, |settings| adapter.map(|adapter| adapter.check(settings)))
}

async fn add(State(app): State<Shared>, visit: Visit) -> Page {
    let adapters =
        app.engine.consumers.usable_adapters().map(|adapter| (adapter.name(), adapter.about(), ""));
    adapters_page::<Consumers>(&app, &visit, "Choose where the consumer takes events from.", adapters).await
}
