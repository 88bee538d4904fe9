//! Subscribers of events. Each has its own channel (`event.{key}`).

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{
    Actor, CommandError, Engine,
    arrivals::names_topics,
    channels::{as_channel, subscriber_channel},
    commands::Seen,
    settings::NewSettings,
};
use punctual_model::{AuditAction, Fault, Filter};
use punctual_store::{
    Lane, Tx,
    subscribers::{self, SubscriberRow},
};
use serde_json::{Value, json};

use crate::surveys::fan_out::EVENT_TYPES;

/// A subscriber as somebody wants it.
#[derive(Clone, Debug)]
pub struct NewSubscriber {
    pub key: String,
    pub adapter: String,
    pub settings: Value,
    pub events: Vec<String>,
    pub filter: Option<Value>,
    pub retry: Option<Value>,
    pub active: bool,
}

/// Makes a subscriber, or puts another version in its place. A secret that is left out keeps its value.
#[boxed]
pub async fn save(engine: &Engine, by: &Actor, new: NewSubscriber) -> Result<SubscriberRow, CommandError> {
    replace(engine, by, Seen::Anything, new).await
}

/// The same, for somebody who has seen what they replace.
#[boxed]
pub async fn replace(
    engine: &Engine,
    by: &Actor,
    seen: Seen,
    new: NewSubscriber,
) -> Result<SubscriberRow, CommandError> {
    check_events(&new.events)?;
    engine.check_channel(&new.adapter, &new.settings).await?;
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let stored = save_in(&mut tx, engine, by, seen, new).await?;
    tx.commit().await?;
    engine.channels.invalidate();
    Ok(stored)
}

/// The same in a transaction of the caller's, who has looked up where it sends to and lets the channels be read again after the commit.
#[boxed]
pub async fn save_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    seen: Seen,
    new: NewSubscriber,
) -> Result<SubscriberRow, CommandError> {
    check_events(&new.events)?;
    if let Some(Err(faults)) = new.filter.as_ref().map(Filter::parse) {
        return Err(CommandError::Invalid(faults.into_iter().map(within_filter).collect()));
    }
    let adapter = engine.usable_adapter(&new.adapter)?;
    let now = engine.clock.now();
    let before = subscribers::get(&mut tx.conn(), &new.key).await?;
    seen.check(before.as_ref().map(|before| before.version), &new.key)?;
    let before = before.map(as_channel);
    let settings = NewSettings {
        channel: &subscriber_channel(&new.key),
        adapter: adapter.as_ref(),
        settings: new.settings,
        before: before.as_ref(),
    };
    let settings = engine.settings_to_store(&mut tx.conn(), now, settings).await?;
    // A receiver that is away for a while gets what it missed when it is back.
    let retry = new.retry.unwrap_or_else(
        || json!({ "policy": "exponential", "max": 10, "intervalSeconds": 30, "capSeconds": 3600 }),
    );
    let row = SubscriberRow {
        settings,
        events: Value::from(new.events).to_string(),
        filter: new.filter.map(|filter| filter.to_string()),
        retry: retry.to_string(),
        active: new.active,
        adapter: new.adapter,
        key: new.key,
        version: 0,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    subscribers::put(&mut tx.conn(), now, &row).await?;
    by.audit(tx, now, AuditAction::Put, "subscriber", &row.key, None).await?;
    let stored = subscribers::get(&mut tx.conn(), &row.key).await?.unwrap_or(row);
    seen.check_written(stored.version)?;
    Ok(stored)
}

/// Removes a subscriber; what is still queued for it is parked.
#[boxed]
pub async fn remove(engine: &Engine, by: &Actor, key: &str) -> Result<(), CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    remove_in(&mut tx, engine, by, key).await?;
    tx.commit().await?;
    engine.channels.invalidate();
    Ok(())
}

/// The same in a transaction of the caller's, who lets the channels be read again after the commit.
#[boxed]
pub async fn remove_in(tx: &mut Tx, engine: &Engine, by: &Actor, key: &str) -> Result<(), CommandError> {
    if !subscribers::delete(&mut tx.conn(), key).await? {
        return Err(CommandError::not_found("subscriber", key));
    }
    Ok(by.audit(tx, engine.clock.now(), AuditAction::Delete, "subscriber", key, None).await?)
}

fn check_events(events: &[String]) -> Result<(), CommandError> {
    let is_unknown = |event: &String| !EVENT_TYPES.contains(&event.as_str()) && !names_topics(event);
    let Some(index) = events.iter().position(is_unknown) else { return Ok(()) };
    let known = EVENT_TYPES.join("`, `");
    let detail = format!(
        "There is no such event; there are `{known}` and topics, such as `operations.event.start` or `invoices.*`."
    );
    Err(CommandError::invalid(format!("/events/{index}"), "out_of_range", detail))
}

fn within_filter(fault: Fault) -> Fault {
    Fault { pointer: format!("/filter{}", fault.pointer), ..fault }
}
