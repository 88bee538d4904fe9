//! From an answer to everyone who must know: the event, and a delivery for each subscriber that it concerns. Both are
//! written with the answer, so that neither exists without the other.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_engine::{EVENT, accept_in, arrivals::SCHEDULE_ARRIVED, channels::subscriber_channel};
use punctual_model::{
    Audience, Filter, NewNotification, NotificationId,
    ids::derive_uuid,
    survey::{Candidate, Schema},
};
use punctual_store::{
    StoreError, Tx,
    outbox::{self, About, NewDelivery, NewEvent},
    subscribers::{self, SubscriberRow},
    survey_instances::InstanceRow,
    surveys,
};
use serde_json::{Map, Value, json};

use super::Version;

/// The event of an answer.
pub const RESPONSE_COMPLETED: &str = "response-completed";

/// Every type of event that there is, besides topics of schedules.
pub const EVENT_TYPES: [&str; 2] = [RESPONSE_COMPLETED, SCHEDULE_ARRIVED];

/// An answer that was just kept.
pub struct Answered<'a> {
    pub instance: &'a InstanceRow,
    pub version: &'a Version,
    pub answers: &'a Map<String, Value>,
    pub agent_id: Option<&'a str>,
    pub completed_at: Timestamp,
}

/// Keeps the event and queues a delivery to each subscriber; answers the event's id.
pub async fn tell(tx: &mut Tx, now: Timestamp, answered: &Answered<'_>) -> Result<Option<i64>, StoreError> {
    let instance = answered.instance;
    let survey = surveys::get(&mut tx.conn(), instance.survey_id).await?;
    let integration = survey.and_then(|survey| survey.integration_id);
    let payload = payload(answered, integration.as_deref());
    let event = NewEvent {
        event_type: RESPONSE_COMPLETED.to_owned(),
        about: About::Survey {
            instance_public_id: instance.public_id.clone(),
            survey_id: instance.survey_id,
        },
        business_unit: instance.business_unit.clone(),
        payload: payload.to_string(),
    };
    let inserted = outbox::insert(&mut tx.conn(), now, &[event]).await?;
    let Some(id) = inserted.into_values().next() else { return Ok(None) };
    let known = subscribers::all(&mut tx.conn()).await?;
    let keys = concerned(&answered.version.schema, instance, answered.answers, &payload, &known);
    let (mut deliveries, mut notifications) = (Vec::new(), Vec::new());
    for key in keys {
        let new = notification(&key, instance, &payload);
        let notification_id = new.id.to_string();
        deliveries.push(NewDelivery { event_id: id, subscriber: key, notification_id });
        notifications.push(new);
    }
    if !deliveries.is_empty() {
        outbox::insert_deliveries(&mut tx.conn(), &deliveries).await?;
        accept_in(tx, now, notifications).await?;
    }
    Ok(Some(id))
}

/// What subscribers are given: all of it, so that nobody has to ask again.
fn payload(answered: &Answered<'_>, integration_id: Option<&str>) -> Value {
    let instance = answered.instance;
    let candidate: Value = serde_json::from_str(&instance.metadata).unwrap_or_default();
    json!({
        "eventType": RESPONSE_COMPLETED,
        "surveyId": instance.survey_id,
        "surveyVersion": answered.version.number,
        "surveyIntegrationId": integration_id,
        "instancePublicId": instance.public_id,
        "triggerId": instance.trigger_id,
        "customerRef": instance.customer_ref,
        "recipientAddress": instance.recipient_address,
        "recipientLocale": instance.recipient_locale,
        "completedAt": answered.completed_at,
        "agentId": answered.agent_id,
        "answers": answered.answers,
        "candidateMetadataJson": instance.metadata,
        "candidateMetadata": candidate,
    })
}

/// The subscribers an answer goes to: those that the survey names and whose filter is true, or, where it names none, every
/// subscriber of the event. A subscriber's own filter and switch count in both cases; a name that nobody has yet is parked
/// at delivery.
fn concerned(
    schema: &Schema,
    instance: &InstanceRow,
    answers: &Map<String, Value>,
    payload: &Value,
    known: &[SubscriberRow],
) -> Vec<String> {
    let metadata: Map<String, Value> = serde_json::from_str(&instance.metadata).unwrap_or_default();
    let candidate = Candidate {
        survey_id: instance.survey_id,
        payload: &metadata,
        address: &instance.recipient_address,
        locale: instance.recipient_locale.as_deref(),
        customer_ref: instance.customer_ref.as_deref(),
    };
    let lookup = |path: &str| -> Option<Cow<'_, Value>> {
        let answer = answers.get(path.strip_prefix("answers.").unwrap_or(path));
        answer
            .map(Cow::Borrowed)
            .or_else(|| candidate.get(path))
            .or_else(|| payload.get(path).map(Cow::Borrowed))
    };
    let takes = |row: &SubscriberRow| {
        let events: Vec<String> = serde_json::from_str(&row.events).unwrap_or_default();
        let filter = row.filter.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let filter = filter.and_then(|json: Value| Filter::parse(&json).ok());
        row.active
            && events.iter().any(|event| event == RESPONSE_COMPLETED)
            && filter.is_none_or(|filter| filter.matches(&lookup))
    };
    match schema.routes(&instance.trigger_id) {
        None => known.iter().filter(|row| takes(row)).map(|row| row.key.clone()).collect(),
        Some(routes) => routes
            .iter()
            .filter(|route| route.filter.as_ref().is_none_or(|filter| filter.matches(&lookup)))
            .filter(|route| known.iter().find(|row| row.key == route.key).is_none_or(takes))
            .map(|route| route.key.clone())
            .collect(),
    }
}

/// A delivery is a notification like any other, so that retry, park and what people do are the same.
fn notification(key: &str, instance: &InstanceRow, payload: &Value) -> NewNotification {
    let id = NotificationId(derive_uuid(&["outbox", RESPONSE_COMPLETED, &instance.public_id, key]));
    let subject = format!("{RESPONSE_COMPLETED} for {key}");
    let mut new = NewNotification::new(id, Audience::Targets(vec![key.to_owned()]), subject, "");
    new.kind = EVENT.to_owned();
    new.channel = subscriber_channel(key).parse().ok();
    new.type_data = Some(payload.clone());
    new.context = Some(json!({ "messageId": message_id(RESPONSE_COMPLETED, &instance.public_id) }));
    new.business_unit = instance.business_unit.clone();
    new
}

/// The id by which a receiver drops repeats: the instance's for an answer, and for other events with their type.
pub fn message_id(event_type: &str, public_id: &str) -> String {
    if event_type == RESPONSE_COMPLETED { public_id.to_owned() } else { format!("{public_id}:{event_type}") }
}

/// How an event stands, from its deliveries: failed where one was given up, dispatched where all arrived.
pub fn event_status<'d>(deliveries: impl Iterator<Item = Option<&'d str>>) -> &'static str {
    let mut pending = false;
    for status in deliveries {
        match status {
            Some("parked" | "discarded") => return "failed",
            Some("delivered" | "withdrawn") => {}
            _ => pending = true,
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

    const STATES: [&str; 6] = ["pending", "retrying", "delivered", "parked", "discarded", "withdrawn"];

    proptest! {
        /// The state of an event follows from its deliveries alone, in whatever order they stand.
        #[test]
        fn r17_the_state_of_an_event_follows_from_its_deliveries(
            mut states in prop::collection::vec(0_usize..6, 0..=8),
        ) {
            let status = |states: &[usize]| event_status(states.iter().map(|state| Some(STATES[*state])));
            let before = status(&states);
            states.reverse();
            prop_assert_eq!(before, status(&states));
            let has = |wanted: &[&str]| states.iter().any(|state| wanted.contains(&STATES[*state]));
            let expected = if has(&["parked", "discarded"]) {
                "failed"
            } else if has(&["pending", "retrying"]) {
                "pending"
            } else {
                "dispatched"
            };
            prop_assert_eq!(before, expected);
        }
    }
}
