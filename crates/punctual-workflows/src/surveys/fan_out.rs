//! Publishes survey events: writes the event and a delivery for each of its subscribers, in the transaction of its cause, so
//! that neither exists without the other.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{
    Engine,
    arrivals::SCHEDULE_ARRIVED,
    subscribers::{Subscriber, SubscriberEvent},
};
use punctual_model::{
    NotificationStatus, Reach,
    survey::{Candidate, Schema},
};
use punctual_store::{
    StoreError, Tx,
    outbox::About,
    survey_instances::{self, InstanceRow},
    surveys,
};
use serde_json::{Map, Value, json};

use super::{Catalogue, Version};

/// The event of an answer.
pub const RESPONSE_COMPLETED: &str = "response-completed";
/// The first message of an instance has arrived.
pub const INSTANCE_SENT: &str = "instance-sent";
/// The page was shown to a person.
pub const INSTANCE_OPENED: &str = "instance-opened";
/// An instance is over without an answer.
pub const INSTANCE_EXPIRED: &str = "instance-expired";

/// Every type of event that there is, besides topics of schedules; those of surveys first.
pub const EVENT_TYPES: [&str; 5] =
    [RESPONSE_COMPLETED, INSTANCE_SENT, INSTANCE_OPENED, INSTANCE_EXPIRED, SCHEDULE_ARRIVED];
/// Those of an instance beside its answer.
const OF_INSTANCES: [&str; 3] = [INSTANCE_SENT, INSTANCE_OPENED, INSTANCE_EXPIRED];

/// An answer that was just kept.
pub struct Answered<'a> {
    pub instance: &'a InstanceRow,
    pub version: &'a Version,
    pub answers: &'a Map<String, Value>,
    pub agent_id: Option<&'a str>,
    pub completed_at: Timestamp,
}

/// Stores the event of an answer and queues a delivery to each subscriber. The event is stored also where nobody subscribes
/// to it.
#[boxed]
pub async fn publish_answer(
    engine: &Engine,
    tx: &mut Tx,
    now: Timestamp,
    answered: &Answered<'_>,
) -> Result<(), StoreError> {
    let instance = answered.instance;
    let survey = surveys::get(&mut tx.conn(), &Reach::Everything, instance.survey_id).await?;
    let integration = survey.and_then(|survey| survey.integration_id);
    let payload = answer_payload(answered, integration.as_deref());
    let known = engine.subscribers(&mut tx.conn()).await?;
    let keys = concerned(&answered.version.schema, instance, answered.answers, &payload, &known);
    let event = subscriber_event(RESPONSE_COMPLETED, instance, payload, keys);
    engine.publish_events(tx, now, &[event]).await
}

/// Something that happened to an instance beside an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    pub(super) event_type: &'static str,
    pub(super) public_id: String,
}

impl Happened {
    pub(super) fn new(event_type: &'static str, instance: &InstanceRow) -> Self {
        Self { event_type, public_id: instance.public_id.clone() }
    }
}

/// Stores the events that have subscribers and queues their deliveries. Most installations subscribe to answers alone, and
/// then this is one read of a small table.
pub(super) async fn publish_all(
    engine: &Engine,
    tx: &mut Tx,
    catalogue: &Catalogue,
    now: Timestamp,
    happened: &[Happened],
) -> Result<(), StoreError> {
    let conn = &mut tx.conn();
    let mut known = engine.subscribers(conn).await?;
    known.retain(|one| one.active && OF_INSTANCES.iter().any(|event_type| one.lists(event_type)));
    if known.is_empty() {
        return Ok(());
    }
    // They are held already; this is their present state.
    let rows =
        survey_instances::lock(conn, happened.iter().map(|one| one.public_id.clone()).collect()).await?;
    let versions = catalogue.versions(conn, rows.iter().map(|row| row.version_id)).await?;
    let numbers: BTreeSet<i64> = rows.iter().map(|row| row.survey_id).collect();
    let mut integrations: HashMap<i64, Option<String>> = HashMap::new();
    for id in numbers {
        let survey = surveys::get(conn, &Reach::Everything, id).await?;
        integrations.insert(id, survey.and_then(|survey| survey.integration_id));
    }
    let rows: HashMap<&str, &InstanceRow> = rows.iter().map(|row| (row.public_id.as_str(), row)).collect();
    let mut events = Vec::new();
    for one in happened {
        let Some(instance) = rows.get(one.public_id.as_str()) else { continue };
        let event_type = one.event_type;
        let mut payload = common_payload(event_type, instance);
        payload["surveyVersion"] = versions.get(&instance.version_id).map(|version| version.number).into();
        payload["surveyIntegrationId"] = integrations.get(&instance.survey_id).cloned().flatten().into();
        payload["occurredAt"] = json!(now);
        payload["status"] = json!(instance.status);
        payload["reasonCode"] = json!(instance.reason_code);
        let none = Map::new();
        let lookup = lookup(instance, &none, &payload);
        let takers = known.iter().filter(|one| takes(one, event_type, &lookup));
        let keys: Vec<String> = takers.map(|one| one.key.clone()).collect();
        drop(lookup);
        if !keys.is_empty() {
            events.push((instance.id, subscriber_event(event_type, instance, payload, keys)));
        }
    }
    events.sort_by_key(|(instance, event)| (*instance, event.event_type));
    let events: Vec<SubscriberEvent> = events.into_iter().map(|(_, event)| event).collect();
    engine.publish_events(tx, now, &events).await
}

/// An event about an instance, for those subscribers.
fn subscriber_event(
    event_type: &'static str,
    instance: &InstanceRow,
    payload: Value,
    subscribers: Vec<String>,
) -> SubscriberEvent {
    SubscriberEvent {
        event_type,
        about: About::Survey {
            instance_public_id: instance.public_id.clone(),
            survey_id: instance.survey_id,
        },
        business_unit: instance.business_unit.clone(),
        payload,
        title: event_type.to_owned(),
        message_id: message_id(event_type, &instance.public_id),
        subscribers,
    }
}

/// What every event says of its instance.
fn common_payload(event_type: &str, instance: &InstanceRow) -> Value {
    let candidate: Value = serde_json::from_str(&instance.metadata).unwrap_or_default();
    json!({
        "eventType": event_type,
        "surveyId": instance.survey_id,
        "instancePublicId": instance.public_id,
        "triggerId": instance.trigger_id,
        "customerRef": instance.customer_ref,
        "recipientAddress": instance.recipient_address,
        "recipientLocale": instance.recipient_locale,
        "candidateMetadataJson": instance.metadata,
        "candidateMetadata": candidate,
    })
}

/// What subscribers are given of an answer: all of it, so that nobody has to ask again.
fn answer_payload(answered: &Answered<'_>, integration_id: Option<&str>) -> Value {
    let mut payload = common_payload(RESPONSE_COMPLETED, answered.instance);
    payload["surveyVersion"] = json!(answered.version.number);
    payload["surveyIntegrationId"] = json!(integration_id);
    payload["completedAt"] = json!(answered.completed_at);
    payload["agentId"] = json!(answered.agent_id);
    payload["answers"] = json!(answered.answers);
    payload
}

/// What filters of subscribers may ask for: answers, fields of the event, and the payload.
fn lookup<'a>(
    instance: &'a InstanceRow,
    answers: &'a Map<String, Value>,
    payload: &'a Value,
) -> impl Fn(&str) -> Option<Cow<'a, Value>> {
    let metadata: Map<String, Value> = serde_json::from_str(&instance.metadata).unwrap_or_default();
    move |path: &str| {
        let answer = answers.get(path.strip_prefix("answers.").unwrap_or(path));
        let candidate = Candidate {
            survey_id: instance.survey_id,
            payload: &metadata,
            address: &instance.recipient_address,
            locale: instance.recipient_locale.as_deref(),
            customer_ref: instance.customer_ref.as_deref(),
        };
        answer
            .map(Cow::Borrowed)
            .or_else(|| candidate.get(path).map(|value| Cow::Owned(value.into_owned())))
            .or_else(|| payload.get(path).map(Cow::Borrowed))
    }
}

/// Whether a subscriber gets an event: it is switched on, lists the type, and its own filter is true.
fn takes<'v>(
    subscriber: &Subscriber,
    event_type: &str,
    lookup: &impl Fn(&str) -> Option<Cow<'v, Value>>,
) -> bool {
    subscriber.active && subscriber.lists(event_type) && subscriber.matches(lookup)
}

/// The subscribers an answer goes to: those that the survey names and whose filter is true, or, where it names none, every
/// subscriber of the event. A subscriber's own filter and switch count in both cases; a name that nobody has yet is parked
/// at delivery.
fn concerned(
    schema: &Schema,
    instance: &InstanceRow,
    answers: &Map<String, Value>,
    payload: &Value,
    known: &[Arc<Subscriber>],
) -> Vec<String> {
    let lookup = lookup(instance, answers, payload);
    let takes = |one: &Arc<Subscriber>| takes(one, RESPONSE_COMPLETED, &lookup);
    match schema.routes(&instance.trigger_id) {
        None => known.iter().filter(|one| takes(one)).map(|one| one.key.clone()).collect(),
        Some(routes) => routes
            .iter()
            .filter(|route| route.filter.as_ref().is_none_or(|filter| filter.matches(&lookup)))
            .filter(|route| known.iter().find(|one| one.key == route.key).is_none_or(takes))
            .map(|route| route.key.clone())
            .collect(),
    }
}

/// The id by which a receiver drops repeats: the instance's for an answer, and for other events with their type.
pub fn message_id(event_type: &str, public_id: &str) -> String {
    if event_type == RESPONSE_COMPLETED { public_id.to_owned() } else { format!("{public_id}:{event_type}") }
}

/// The state of an event, from its deliveries: failed where one was given up, dispatched where all arrived.
pub fn event_status(deliveries: impl Iterator<Item = Option<NotificationStatus>>) -> &'static str {
    let mut pending = false;
    for status in deliveries {
        match status {
            Some(NotificationStatus::Parked | NotificationStatus::Discarded) => return "failed",
            Some(NotificationStatus::Delivered | NotificationStatus::Withdrawn) => {}
            Some(NotificationStatus::Pending | NotificationStatus::Retrying) | None => pending = true,
        }
    }
    if pending { "pending" } else { "dispatched" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_id_is_the_instance_and_for_other_events_with_their_type() {
        assert_eq!(message_id(RESPONSE_COMPLETED, "8f3a"), "8f3a");
        assert_eq!(message_id("instance-expired", "8f3a"), "8f3a:instance-expired");
    }

    const STATES: [NotificationStatus; 6] = NotificationStatus::ALL;

    proptest! {
        /// The state of an event follows from its deliveries alone, in any order.
        #[test]
        fn r17_the_state_of_an_event_follows_from_its_deliveries(
            mut states in prop::collection::vec(0_usize..6, 0..=8),
        ) {
            let status = |states: &[usize]| event_status(states.iter().map(|state| Some(STATES[*state])));
            let before = status(&states);
            states.reverse();
            prop_assert_eq!(before, status(&states));
            let has = |wanted: &[NotificationStatus]| states.iter().any(|state| wanted.contains(&STATES[*state]));
            let expected = if has(&[NotificationStatus::Parked, NotificationStatus::Discarded]) {
                "failed"
            } else if has(&[NotificationStatus::Pending, NotificationStatus::Retrying]) {
                "pending"
            } else {
                "dispatched"
            };
            prop_assert_eq!(before, expected);
        }
    }
}
