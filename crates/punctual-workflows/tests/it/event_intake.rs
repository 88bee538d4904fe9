//! Messages of brokers: each event is taken once, however often it comes, and a bad one harms itself alone.

use std::sync::Arc;

use punctual_engine::{
    Actor,
    consumers::{EventIntake, MessageTaken},
};
use punctual_model::{Reach, Received};
use punctual_store::{retention, sources};
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::{event_intake::BrokerIntake, reminders::Providers};
use serde_json::{Value, json};

on_both! {
    an_event_that_comes_again_is_known_by_source_and_id;
    an_older_event_that_comes_again_does_not_undo_a_newer_one;
    a_bad_event_harms_itself_alone;
    events_of_a_limited_consumer_belong_to_its_unit;
    an_event_that_breaks_the_database_is_refused_alone;
}

fn intake(bed: &TestBed) -> BrokerIntake {
    BrokerIntake::new(bed.engine.clone(), Arc::new(Providers::built_in()), Arc::default())
}

fn message(value: &Value) -> Received {
    Received {
        tag: 0,
        attributes: Ok(Vec::new()),
        content_type: Some("application/cloudevents+json".to_owned()),
        body: value.to_string().into_bytes(),
        sent_at: None,
    }
}

fn changed(id: &str, subject: &str, number: i64) -> Value {
    json!({ "specversion": "1.0", "id": id, "source": "/orders", "type": "source.changed", "subject": subject,
        "data": { "state": { "number": number } } })
}

async fn take(bed: &TestBed, by: &Actor, values: &[Value]) -> Vec<MessageTaken> {
    let messages: Vec<Received> = values.iter().map(message).collect();
    intake(bed).take(by, &messages).await.unwrap()
}

fn counts(taken: &[MessageTaken]) -> Vec<(u64, u64, Vec<&str>)> {
    taken
        .iter()
        .map(|one| {
            (one.accepted, one.duplicates, one.refused.iter().map(|letter| letter.code.as_str()).collect())
        })
        .collect()
}

async fn source(bed: &TestBed, id: &str) -> Option<(i64, Option<String>, Value)> {
    let mut reader = bed.store.read().await.unwrap();
    let found = sources::get(&mut reader.conn(), &Reach::Everything, "order", id).await.unwrap()?;
    Some((found.version, found.business_unit, serde_json::from_str(&found.state).unwrap()))
}

fn orders() -> Actor {
    Actor::consumer("nats:orders", None)
}

async fn an_event_that_comes_again_is_known_by_source_and_id(bed: TestBed) {
    let (one, two) = (changed("1", "order/1", 1), changed("2", "order/2", 2));
    let first = take(&bed, &orders(), &[one.clone(), two.clone(), one.clone()]).await;
    assert_eq!(counts(&first), [(1, 0, vec![]), (1, 0, vec![]), (0, 1, vec![])]);
    // By another node, too.
    let node = bed.node("b").await;
    let again = take(&node, &orders(), &[one.clone(), two, changed("3", "order/1", 3)]).await;
    assert_eq!(counts(&again), [(0, 1, vec![]), (0, 1, vec![]), (1, 0, vec![])]);
    assert_eq!(source(&bed, "1").await.unwrap().0, 2, "twice changed, by two events");
    assert_eq!(source(&bed, "2").await.unwrap().0, 1);
    // Forgotten after a while, as the table must not grow for ever.
    let mut tx = bed.store.begin(punctual_store::Lane::Intake).await.unwrap();
    assert_eq!(retention::forget_events(&mut tx.conn(), bed.after(1), 10).await.unwrap(), 3);
    tx.commit().await.unwrap();
    // Without what is known it would be taken once more: nothing else stops it.
    assert_eq!(counts(&take(&bed, &orders(), &[one]).await), [(1, 0, vec![])]);
    assert_eq!(source(&bed, "1").await.unwrap().0, 3);
}

async fn an_older_event_that_comes_again_does_not_undo_a_newer_one(bed: TestBed) {
    let old = changed("1", "order/1", 1);
    take(&bed, &orders(), std::slice::from_ref(&old)).await;
    bed.wait(1);
    take(&bed, &orders(), &[changed("2", "order/1", 2)]).await;
    bed.wait(1);
    assert_eq!(counts(&take(&bed, &orders(), &[old]).await), [(0, 1, vec![])]);
    assert_eq!(source(&bed, "1").await.unwrap().2, json!({ "number": 2 }));
}

async fn a_bad_event_harms_itself_alone(bed: TestBed) {
    let batch = json!([changed("1", "order/1", 1), changed("2", "nonsense", 2), { "id": "3" }, changed("4", "order/4", 4)]);
    let mut broken = message(&json!({}));
    broken.body = b"{".to_vec();
    let mut unreadable = message(&changed("5", "order/5", 5));
    unreadable.attributes = Err("The header `ce-id` is there twice.".to_owned());
    let messages = [message(&batch), broken, unreadable, message(&changed("6", "order/6", 6))];
    let taken = intake(&bed).take(&orders(), &messages).await.unwrap();
    let found = counts(&taken);
    assert_eq!(found[0], (2, 0, vec!["key_invalid", "missing_field"]));
    assert_eq!((&found[1], &found[2]), (&(0, 0, vec!["json_syntax"]), &(0, 0, vec!["text_invalid"])));
    assert_eq!(found[3], (1, 0, vec![]));
    let letters = &taken[0].refused;
    let event: Value = serde_json::from_str(letters[0].event.as_deref().unwrap()).unwrap();
    assert_eq!(
        (&event["id"], letters[0].detail.starts_with("/1/subject: ")),
        (&json!("2"), true),
        "{letters:?}"
    );
    assert_eq!(taken[1].refused[0].event, None, "the whole message");
    for id in ["1", "4", "6"] {
        assert!(source(&bed, id).await.is_some(), "{id}");
    }
}

async fn events_of_a_limited_consumer_belong_to_its_unit(bed: TestBed) {
    bed.has_unit("nz").await;
    bed.has_unit("de").await;
    let [nz, de] = ["nz", "de"].map(|unit| Actor::consumer("nats:orders", Some(unit.into())));
    let mut named = changed("2", "order/2", 2);
    named["data"]["businessUnit"] = json!("de");
    let taken = take(&bed, &nz, &[changed("1", "order/1", 1), named]).await;
    assert_eq!(counts(&taken), [(1, 0, vec![]), (0, 0, vec!["unit_unknown"])]);
    assert_eq!(source(&bed, "1").await.unwrap().1.as_deref(), Some("nz"));
    // The ids of one unit hide nothing of another, and what is refused is refused again.
    for _ in 0..2 {
        let taken = take(&bed, &de, &[changed("1", "order/1", 9), changed("3", "order/3", 3)]).await;
        assert_eq!(taken[0].refused[0].code, "id_reused", "another unit's source");
    }
    assert_eq!(source(&bed, "3").await.unwrap().1.as_deref(), Some("de"));
    assert_eq!(source(&bed, "1").await.unwrap().2, json!({ "number": 1 }));
}

/// The database refuses a row that the checks before it let pass: here it is made to, whatever it is.
async fn an_event_that_breaks_the_database_is_refused_alone(bed: TestBed) {
    bed.refuse("sources", "INSERT", "NEW.source_id = '13'").await;
    let events: Vec<Value> =
        (10..20).map(|id| changed(&id.to_string(), &format!("order/{id}"), id)).collect();
    let taken = take(&bed, &orders(), &events).await;
    let refused: Vec<usize> = (0..10).filter(|at| !taken[*at].refused.is_empty()).collect();
    assert_eq!(refused, [3], "{taken:?}");
    assert_eq!(taken[3].refused[0].code, "internal");
    assert_eq!(taken.iter().map(|one| one.accepted).sum::<u64>(), 9);
    assert!(source(&bed, "19").await.is_some() && source(&bed, "13").await.is_none());
}
