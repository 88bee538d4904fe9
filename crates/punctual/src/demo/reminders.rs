//! Sample reminders: documents that expire, invoices that fall due, anniversaries, and a class that fills up.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::OwnUnit;
use punctual_engine::{
    Actor, Engine, Event, EventSinks,
    events::{IncomingEvent, SOURCE_CHANGED},
};
use punctual_model::ids::derive_uuid;
use punctual_store::sources::SourceChange;
use punctual_workflows::reminders::{Providers, ReminderSink, commands::Draft};
use serde_json::{Value, json};

pub async fn load(engine: &Engine, providers: &Arc<Providers>) -> Result<()> {
    for (id, definition) in settings() {
        let demo = Actor::named("demo");
        let draft = Draft::read(engine, providers, &demo, id.to_owned(), None, &definition)
            .await
            .map_err(|problem| anyhow!("the sample setting {id}: {problem:?}"))?;
        draft.save(engine, providers, &demo).await?;
    }
    let now = engine.clock.now();
    let incoming: Vec<IncomingEvent> = sources(now)
        .into_iter()
        .map(|(kind, id, unit, state)| incoming_event(kind, &id, unit, &state, now))
        .collect();
    let mut sinks = EventSinks::default();
    sinks.add(Arc::new(ReminderSink::new(providers.clone())));
    engine.take_events(&sinks, &incoming).await?;
    Ok(())
}

fn settings() -> Vec<(&'static str, Value)> {
    let document = |name: &str, key: &str, kind: &str, offsets: Value| {
        json!({ "name": name, "sourceType": "document", "triggerKey": key, "kind": "dateBased",
            "date": { "field": "/expiresOn", "offsetsDays": offsets, "sendTime": "09:00" },
            "filter": { "questionId": "state.kind", "op": "==", "value": kind },
            "recipients": { "lookup": { "sourceType": "person", "idField": "/owner", "field": "/email" } },
            "delivery": { "channel": "email:default", "subject": format!("{name} expires"),
                "quietHours": { "from": "20:00", "to": "07:00" } } })
    };
    vec![
        (
            "demo-first-aid",
            document("First aid certificate", "first-aid-expiry", "first-aid", json!([30, 7, 1])),
        ),
        (
            "demo-police-vetting",
            document("Police vetting", "police-vetting-expiry", "police-vetting", json!([60, 14])),
        ),
        (
            "demo-invoice",
            json!({ "name": "Invoice due", "sourceType": "invoice", "triggerKey": "invoice-due", "kind": "dateBased",
                "date": { "field": "/dueOn", "offsetsDays": [3, -7], "sendTime": "08:30" },
                "filter": { "questionId": "state.status", "op": "!=", "value": "paid" },
                "recipients": { "field": "/email" }, "delivery": { "channel": "email:default" } }),
        ),
        (
            "demo-anniversary",
            json!({ "name": "Work anniversary", "sourceType": "person", "triggerKey": "anniversary", "kind": "recurring",
                "recurring": { "field": "/hiredOn", "every": "year", "sendTime": "09:00" },
                "recipients": { "list": "management" }, "delivery": {} }),
        ),
        (
            "demo-class-full",
            json!({ "name": "Class nearly full", "sourceType": "class", "triggerKey": "nearly-full", "kind": "threshold",
                "threshold": { "metric": { "share": [{ "count": { "sourceType": "booking", "parentField": "/class" } }, "/capacity"] },
                    "op": ">=", "value": 0.8, "firingPolicy": "FalseToTrue" },
                "recipients": { "list": "ops" }, "delivery": {} }),
        ),
    ]
}

type Sample = (&'static str, String, Option<&'static str>, Value);

fn sources(now: Timestamp) -> Vec<Sample> {
    let day = |days: i64| (now + SignedDuration::from_hours(24 * days)).strftime("%Y-%m-%d").to_string();
    let mut all: Vec<Sample> = Vec::new();
    let people = [("aroha", "nz", -700), ("mere", "nz", -1_090), ("jonas", "de", -360)];
    for (name, unit, hired) in people {
        let state = json!({ "name": name, "email": format!("{name}@example.org"), "hiredOn": day(hired) });
        all.push(("person", name.into(), Some(unit), state));
    }
    for (number, (owner, unit, kind, days)) in [
        ("aroha", "nz", "first-aid", 33),
        ("mere", "nz", "police-vetting", 15),
        ("mere", "nz", "first-aid", 8),
        ("jonas", "de", "first-aid", 61),
    ]
    .into_iter()
    .enumerate()
    {
        let state = json!({ "kind": kind, "owner": owner, "expiresOn": day(days) });
        all.push(("document", format!("{}", 100 + number), Some(unit), state));
    }
    for (number, days, status) in [(2_001, 4, "open"), (2_002, -2, "open"), (2_003, 10, "paid")] {
        let state = json!({ "dueOn": day(days), "status": status, "email": "accounts@customer.example" });
        all.push(("invoice", number.to_string(), Some("de"), state));
    }
    all.push(("class", "yoga-monday".into(), Some("nz"), json!({ "capacity": 5 })));
    for number in 1..=4 {
        all.push(("booking", number.to_string(), Some("nz"), json!({ "class": "yoga-monday" })));
    }
    all
}

fn incoming_event(kind: &str, id: &str, unit: Option<&str>, state: &Value, now: Timestamp) -> IncomingEvent {
    let event = Event {
        id: derive_uuid(&["demo", kind, id]).to_string(),
        source: "/demo".into(),
        kind: SOURCE_CHANGED.into(),
        subject: Some(format!("{kind}/{id}")),
        sequence: None,
        time: now,
        data: Value::Null,
        business_units: None,
    };
    let change = SourceChange {
        source_type: kind.into(),
        source_id: id.into(),
        business_unit: None,
        active: true,
        deleted: false,
        state: state.to_string(),
        sequence: None,
        occurred_at: now,
    };
    IncomingEvent::of_source(event, OwnUnit::stored(unit.map(str::to_owned)), change)
}
