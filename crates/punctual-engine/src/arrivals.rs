//! Arrivals of schedules, published to subscribers: an event, and a delivery for each subscriber of the topic, written in
//! the transaction that completes the row. A topic without subscribers leaves no event.

use std::{borrow::Cow, collections::HashMap};

use jiff::Timestamp;
use punctual_model::{Arrival, Audience, Filter, NewNotification, NotificationId, ids::derive_uuid};
use punctual_store::{
    StoreError, Tx,
    outbox::{self, About, NewDelivery, NewEvent},
    subscribers::SubscriberRow,
};
use serde_json::{Value, json};

use crate::{Engine, accept_in, channels::subscriber_channel, delivery::EVENT};

/// The type of these events. A subscriber that lists it subscribes to every topic.
pub const SCHEDULE_ARRIVED: &str = "schedule.arrived";

/// Whether an entry of a subscriber's events means topics: it has a dot, as topics do, or ends in a star.
pub fn names_topics(event: &str) -> bool {
    event.contains('.') || event.ends_with('*')
}

/// A subscriber of arrivals, with its topics.
pub(crate) struct Subscription {
    key: String,
    topics: Vec<String>,
    filter: Option<Filter>,
}

impl Subscription {
    /// Returns the topics of a subscriber; `None` where it is off or has none.
    pub(crate) fn of(row: &SubscriberRow) -> Option<Self> {
        let mut topics: Vec<String> = serde_json::from_str(&row.events).unwrap_or_default();
        topics.retain(|event| names_topics(event));
        let filter = row.filter.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let filter = filter.and_then(|json: Value| Filter::parse(&json).ok());
        (row.active && !topics.is_empty()).then(|| Self { key: row.key.clone(), topics, filter })
    }

    fn takes(&self, topic: &str, payload: &Value) -> bool {
        let is_subscribed = self.topics.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(beginning) => topic.starts_with(beginning),
            None => wanted == topic || wanted == SCHEDULE_ARRIVED,
        });
        is_subscribed
            && self.filter.as_ref().is_none_or(|filter| filter.matches(&|path| looked_up(payload, path)))
    }
}

/// `topic`, or `payload.month`: each dot goes one object deeper.
fn looked_up<'v>(payload: &'v Value, path: &str) -> Option<Cow<'v, Value>> {
    let mut at = payload;
    for part in path.split('.') {
        at = at.get(part)?;
    }
    Some(Cow::Borrowed(at))
}

/// An arrival whose row is being completed.
pub(crate) struct Arrived {
    pub(crate) arrival: Arrival,
    pub(crate) business_unit: Option<String>,
}

impl Arrived {
    fn payload(&self) -> Value {
        let Arrival { id, topic, due_at, payload } = &self.arrival;
        let payload: Value = serde_json::from_str(payload).unwrap_or_default();
        json!({
            "eventType": SCHEDULE_ARRIVED, "topic": topic, "key": id, "dueAt": due_at,
            "businessUnit": self.business_unit, "payload": payload,
        })
    }

    /// A delivery is a notification like any other, so that retry, park and what people do are the same.
    fn notification(&self, subscriber: &str, payload: &Value) -> NewNotification {
        let key = &self.arrival.id;
        let id = NotificationId(derive_uuid(&["outbox", SCHEDULE_ARRIVED, key, subscriber]));
        let subject = format!("{} for {subscriber}", self.arrival.topic);
        let mut new = NewNotification::new(id, Audience::Targets(vec![subscriber.to_owned()]), subject, "");
        new.kind = EVENT.to_owned();
        new.channel = subscriber_channel(subscriber).parse().ok();
        new.type_data = Some(payload.clone());
        // A key may have letters that a header may not.
        let message_id = derive_uuid(&[SCHEDULE_ARRIVED, key]).to_string();
        new.context = Some(json!({ "messageId": message_id }));
        new.business_unit = self.business_unit.clone();
        new
    }
}

impl Engine {
    /// Stores an event for each arrival that has subscribers, and queues its deliveries.
    pub(crate) async fn publish_arrivals(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        arrived: &[Arrived],
    ) -> Result<(), StoreError> {
        if arrived.is_empty() {
            return Ok(());
        }
        // Subscriptions are as fresh as channels are: one read of the table a second, not one for every row.
        if self.channels.is_stale(now) {
            self.channels.refresh(&mut tx.conn(), now).await?;
        }
        let subscriptions = self.channels.subscriptions();
        let wanted: Vec<(&Arrived, Value, Vec<&Subscription>)> = arrived
            .iter()
            .filter(|_| !subscriptions.is_empty())
            .map(|one| {
                let payload = one.payload();
                let takers =
                    subscriptions.iter().filter(|it| it.takes(&one.arrival.topic, &payload)).collect();
                (one, payload, takers)
            })
            .filter(|(_, _, takers): &(_, _, Vec<&Subscription>)| !takers.is_empty())
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let events: Vec<NewEvent> = wanted
            .iter()
            .map(|(one, payload, _)| NewEvent {
                event_type: SCHEDULE_ARRIVED.to_owned(),
                about: About::Work { key: one.arrival.id.clone() },
                business_unit: one.business_unit.clone(),
                payload: payload.to_string(),
            })
            .collect();
        let inserted = outbox::insert(&mut tx.conn(), now, &events).await?;
        let ids: HashMap<&str, i64> = inserted.iter().map(|event| (event.about.as_str(), event.id)).collect();
        let (mut deliveries, mut notifications) = (Vec::new(), Vec::new());
        for (one, payload, takers) in wanted {
            let Some(event_id) = ids.get(one.arrival.id.as_str()).copied() else { continue };
            for taker in takers {
                let new = one.notification(&taker.key, &payload);
                let (subscriber, notification_id) = (taker.key.clone(), new.id.to_string());
                deliveries.push(NewDelivery { event_id, subscriber, notification_id });
                notifications.push(new);
            }
        }
        outbox::insert_deliveries(&mut tx.conn(), &deliveries).await?;
        accept_in(tx, now, notifications).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(events: &[&str], filter: Option<Value>) -> Option<Subscription> {
        Subscription::of(&SubscriberRow {
            key: "memory:a".into(),
            adapter: "memory".into(),
            settings: "{}".into(),
            events: Value::from(events.to_vec()).to_string(),
            filter: filter.map(|filter| filter.to_string()),
            retry: "{}".into(),
            active: true,
            version: 1,
            updated_at: 0,
        })
    }

    #[test]
    fn a_topic_is_heard_by_its_name_by_its_beginning_and_by_the_type_of_the_event() {
        #[track_caller]
        fn check(events: &[&str], topic: &str, expected: bool) {
            let takes = subscription(events, None).is_some_and(|one| one.takes(topic, &json!({})));
            assert_eq!(takes, expected, "{events:?} {topic}");
        }
        check(&["operations.event.start"], "operations.event.start", true);
        check(&["operations.event.start"], "operations.event.end", false);
        check(&["operations.*"], "operations.event.end", true);
        check(&["operations.*"], "billing.close", false);
        check(&["schedule.arrived"], "backup", true);
        check(&["*"], "backup", true);
        check(&["response-completed"], "response-completed", false);
    }

    #[test]
    fn a_filter_looks_into_the_payload() {
        let filter = json!({ "questionId": "payload.month", "op": "==", "value": "2030-04" });
        let one = subscription(&["*"], Some(filter)).unwrap();
        assert!(one.takes("a", &json!({ "payload": { "month": "2030-04" } })));
        assert!(!one.takes("a", &json!({ "payload": { "month": "2030-05" } })));
        assert!(!one.takes("a", &json!({ "payload": "2030-04" })));
    }
}
