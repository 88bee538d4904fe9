//! Subscribers of events. An event is stored with one delivery per subscriber, in the transaction of its cause, so that neither
//! exists without the other.
//!
//! The publisher selects the subscribers: [`arrivals`](crate::arrivals) by topic, surveys by type and route.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{Audience, Filter, NewNotification, NotificationId, ids::derive_uuid};
use punctual_store::{
    Conn, StoreError, Tx,
    outbox::{self, About, NewDelivery, NewEvent},
    subscribers::{self, SubscriberRow},
};
use serde_json::{Value, json};

use crate::{Engine, accept_in, channels::subscriber_channel, delivery::EVENT};

/// A subscriber with its events and its filter read.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscriber {
    pub key: String,
    pub active: bool,
    /// The types of events and the topics that it lists.
    pub events: Vec<String>,
    filter: Option<Filter>,
}

impl Subscriber {
    pub fn read(row: &SubscriberRow) -> Self {
        let filter = row.filter.as_deref().and_then(|text| match serde_json::from_str(text) {
            Ok(filter) => Filter::parse(&filter).map_err(|_| unreadable(row, "filter")).ok(),
            Err(_) => {
                unreadable(row, "filter");
                None
            }
        });
        let events = serde_json::from_str(&row.events).unwrap_or_else(|_| {
            unreadable(row, "events");
            Vec::new()
        });
        Self { key: row.key.clone(), active: row.active, events, filter }
    }

    /// Whether it lists this type of events.
    pub fn lists(&self, event_type: &str) -> bool {
        self.events.iter().any(|event| event == event_type)
    }

    /// Whether its filter is true of an event, or it has none.
    pub fn matches<'v>(&self, lookup: &impl Fn(&str) -> Option<Cow<'v, Value>>) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(lookup))
    }
}

/// What is stored was checked when it was saved.
fn unreadable(row: &SubscriberRow, field: &str) {
    tracing::error!(subscriber.key = row.key, field, "a stored subscriber cannot be read in full");
}

/// The subscribers of this node: each is read once for as long as its row says the same.
#[derive(Default)]
pub(crate) struct KnownSubscribers(Mutex<HashMap<String, (SubscriberRow, Arc<Subscriber>)>>);

impl KnownSubscribers {
    /// These rows, read. What is not among them any more is forgotten.
    pub(crate) fn read(&self, rows: &[SubscriberRow]) -> Vec<Arc<Subscriber>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *known);
        rows.iter()
            .map(|row| {
                let same = before.remove(&row.key).filter(|(read, _)| read == row);
                let (_, subscriber) = known.entry(row.key.clone()).or_insert_with(|| {
                    same.unwrap_or_else(|| (row.clone(), Arc::new(Subscriber::read(row))))
                });
                subscriber.clone()
            })
            .collect()
    }
}

/// An event for subscribers, and those who get it.
#[derive(Clone, Debug, PartialEq)]
pub struct SubscriberEvent {
    pub event_type: &'static str,
    /// An event of one type is published about it once.
    pub about: About,
    pub business_unit: Option<String>,
    /// What subscribers are given.
    pub payload: Value,
    /// What its deliveries are called in lists of messages.
    pub title: String,
    /// The id by which a receiver drops repeats.
    pub message_id: String,
    /// The keys of those who get it.
    pub subscribers: Vec<String>,
}

impl SubscriberEvent {
    /// A delivery is a notification like any other, so that retry, park and what people do are the same.
    fn notification(&self, subscriber: &str) -> NewNotification {
        let id = NotificationId(derive_uuid(&["outbox", self.event_type, self.about.name(), subscriber]));
        let subject = format!("{} for {subscriber}", self.title);
        let mut new = NewNotification::new(id, Audience::Targets(vec![subscriber.to_owned()]), subject, "");
        new.kind = EVENT.to_owned();
        new.channel = subscriber_channel(subscriber).parse().ok();
        new.type_data = Some(self.payload.clone());
        new.context = Some(json!({ "messageId": self.message_id }));
        new.business_unit = self.business_unit.clone();
        new
    }
}

impl Engine {
    /// Every subscriber as it is stored now, in the caller's transaction.
    #[boxed]
    pub async fn subscribers(&self, conn: &mut Conn<'_>) -> Result<Vec<Arc<Subscriber>>, StoreError> {
        Ok(self.channels.subscribers.read(&subscribers::all(conn).await?))
    }

    /// Stores events, also those that nobody gets, and queues their deliveries. What was published before is left out.
    #[boxed]
    pub async fn publish_events(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        events: &[SubscriberEvent],
    ) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let new: Vec<NewEvent> = events
            .iter()
            .map(|event| NewEvent {
                event_type: event.event_type.to_owned(),
                about: event.about.clone(),
                business_unit: event.business_unit.clone(),
                payload: event.payload.to_string(),
            })
            .collect();
        let inserted = outbox::insert(&mut tx.conn(), now, &new).await?;
        let ids: HashMap<(&str, &str), i64> = inserted
            .iter()
            .map(|event| ((event.event_type.as_str(), event.about.as_str()), event.id))
            .collect();
        let (mut deliveries, mut notifications) = (Vec::new(), Vec::new());
        for event in events {
            let Some(event_id) = ids.get(&(event.event_type, event.about.name())).copied() else { continue };
            for subscriber in &event.subscribers {
                let new = event.notification(subscriber);
                let (subscriber, notification_id) = (subscriber.clone(), new.id.to_string());
                deliveries.push(NewDelivery { event_id, subscriber, notification_id });
                notifications.push(new);
            }
        }
        if deliveries.is_empty() {
            return Ok(());
        }
        outbox::insert_deliveries(&mut tx.conn(), &deliveries).await?;
        accept_in(tx, now, notifications).await
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(key: &str, events: &[&str], filter: Option<Value>) -> SubscriberRow {
        SubscriberRow {
            key: key.into(),
            adapter: "memory".into(),
            settings: "{}".into(),
            events: Value::from(events.to_vec()).to_string(),
            filter: filter.map(|filter| filter.to_string()),
            retry: "{}".into(),
            active: true,
            version: 1,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_subscriber_is_read_again_only_where_its_row_has_changed() {
        let known = KnownSubscribers::default();
        let mut rows = [row("memory:a", &["x"], None), row("memory:b", &["y"], None)];
        let first = known.read(&rows);
        rows[1].events = r#"["z"]"#.into();
        let second = known.read(&rows);
        assert!(Arc::ptr_eq(&first[0], &second[0]));
        assert!(second[1].lists("z") && !second[1].lists("y"));
        known.read(&rows[1..]);
        assert!(!Arc::ptr_eq(&first[0], &known.read(&rows)[0]), "it was gone in between");
    }
}
