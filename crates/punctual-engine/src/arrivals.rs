//! Arrivals of schedules, published to subscribers: an event, and a delivery for each subscriber of the topic, written in
//! the transaction that completes the row. A topic without subscribers leaves no event.

use std::{borrow::Cow, sync::Arc};

use jiff::Timestamp;
use punctual_model::{Arrival, ids::derive_uuid};
use punctual_store::{StoreError, Tx, outbox::About};
use serde_json::{Value, json};

use crate::{
    Engine,
    subscribers::{Subscriber, SubscriberEvent},
};

/// The type of these events. A subscriber that lists it subscribes to every topic.
pub const SCHEDULE_ARRIVED: &str = "schedule.arrived";

/// Whether an entry of a subscriber's events means topics: it has a dot, as topics do, or ends in a star.
pub fn names_topics(event: &str) -> bool {
    event.contains('.') || event.ends_with('*')
}

/// Whether an active subscriber gets the arrivals of a topic: by its name, its beginning or the type of the event.
fn subscribes_to(subscriber: &Subscriber, topic: &str) -> bool {
    let mut topics = subscriber.events.iter().filter(|event| names_topics(event));
    subscriber.active
        && topics.any(|wanted| match wanted.strip_suffix('*') {
            Some(beginning) => topic.starts_with(beginning),
            None => wanted == topic || wanted == SCHEDULE_ARRIVED,
        })
}

fn takes(subscriber: &Subscriber, topic: &str, payload: &Value) -> bool {
    subscribes_to(subscriber, topic) && subscriber.matches(&|path| looked_up(payload, path))
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

    /// The event for those among the subscribers who take it; `None` where nobody does.
    fn event(&self, subscribers: &[Arc<Subscriber>]) -> Option<SubscriberEvent> {
        let Arrival { id, topic, .. } = &self.arrival;
        if !subscribers.iter().any(|one| subscribes_to(one, topic)) {
            return None;
        }
        let payload = self.payload();
        let takers = subscribers.iter().filter(|one| takes(one, topic, &payload));
        let takers: Vec<String> = takers.map(|one| one.key.clone()).collect();
        (!takers.is_empty()).then(|| SubscriberEvent {
            event_type: SCHEDULE_ARRIVED,
            about: About::Work { key: id.clone() },
            business_unit: self.business_unit.clone(),
            payload,
            title: topic.clone(),
            // A key may have letters that a header may not.
            message_id: derive_uuid(&[SCHEDULE_ARRIVED, id]).to_string(),
            subscribers: takers,
        })
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
        // Subscribers are as fresh as channels are: one read of the table a second, not one for every row.
        if self.channels.is_stale(now) {
            self.channels.refresh(&mut tx.conn(), now).await?;
        }
        let subscribers = self.channels.last_subscribers();
        let events: Vec<SubscriberEvent> = arrived.iter().filter_map(|one| one.event(&subscribers)).collect();
        self.publish_events(tx, now, &events).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscribers::tests::row;

    #[test]
    fn a_topic_matches_by_its_name_by_its_beginning_and_by_the_type_of_the_event() {
        #[track_caller]
        fn check(events: &[&str], topic: &str, expected: bool) {
            let subscriber = Subscriber::read(&row("memory:a", events, None));
            assert_eq!(takes(&subscriber, topic, &json!({})), expected, "{events:?} {topic}");
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
        let one = Subscriber::read(&row("memory:a", &["*"], Some(filter)));
        assert!(takes(&one, "a", &json!({ "payload": { "month": "2030-04" } })));
        assert!(!takes(&one, "a", &json!({ "payload": { "month": "2030-05" } })));
        assert!(!takes(&one, "a", &json!({ "payload": "2030-04" })));
    }
}
