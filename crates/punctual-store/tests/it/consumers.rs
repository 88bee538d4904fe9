//! Consumers, what nodes report of them, and the events that were taken.

use jiff::Timestamp;
use punctual_model::ConsumerLink;
use punctual_store::{
    consumers::{self, ConsumerRow, HealthRow},
    known_events::{self, EventName},
    retention,
};
use punctual_testkit::{TestBed, on_both};

on_both! {
    consumers_are_put_with_a_rising_version;
    reports_add_up_and_keep_what_the_last_one_does_not_say;
    an_event_is_new_once_in_its_scope;
}

fn orders(bed: &TestBed) -> ConsumerRow {
    ConsumerRow {
        key: "nats:orders".into(),
        adapter: "nats".into(),
        settings: "{}".into(),
        business_unit: Some("nz".into()),
        active: true,
        version: 1,
        updated_at: bed.now(),
    }
}

async fn consumers_are_put_with_a_rising_version(bed: TestBed) {
    let mut row = orders(&bed);
    let mut tx = bed.begin().await;
    consumers::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    row.active = false;
    row.business_unit = None;
    consumers::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    row.version = 2;
    assert_eq!(consumers::get(&mut tx.conn(), "nats:orders").await.unwrap(), Some(row.clone()));
    assert!(!consumers::reseal(&mut tx.conn(), "nats:orders", 1, "{}").await.unwrap(), "an old version");
    assert!(consumers::reseal(&mut tx.conn(), "nats:orders", 2, "{\"a\":1}").await.unwrap());
    row.settings = "{\"a\":1}".into();
    assert_eq!(consumers::all(&mut tx.conn()).await.unwrap(), [row]);
    assert!(consumers::delete(&mut tx.conn(), "nats:orders").await.unwrap());
    assert!(!consumers::delete(&mut tx.conn(), "nats:orders").await.unwrap());
}

async fn reports_add_up_and_keep_what_the_last_one_does_not_say(bed: TestBed) {
    let mut tx = bed.begin().await;
    let report = |consumer: &str, error: Option<&str>, reported_at: Timestamp| HealthRow {
        consumer: consumer.into(),
        node: "a".into(),
        state: if error.is_some() { ConsumerLink::Disconnected } else { ConsumerLink::Connected },
        since: reported_at,
        last_message_at: error.map(|_| reported_at),
        lag: None,
        last_error: error.map(str::to_owned),
        last_error_at: error.map(|_| reported_at),
        accepted: 2,
        duplicates: 1,
        refused: 3,
        reported_at,
    };
    consumers::put(&mut tx.conn(), bed.now(), &orders(&bed)).await.unwrap();
    let at = |micros| Timestamp::from_microsecond(micros).unwrap();
    for (error, at) in [(Some("no answer"), at(1)), (None, at(2))] {
        let reports = [report("nats:gone", error, at), report("nats:orders", error, at)];
        consumers::report(&mut tx.conn(), &reports).await.unwrap();
    }
    let expected = HealthRow {
        last_message_at: Some(Timestamp::from_microsecond(1).unwrap()),
        last_error: Some("no answer".into()),
        last_error_at: Some(Timestamp::from_microsecond(1).unwrap()),
        accepted: 4,
        duplicates: 2,
        refused: 6,
        ..report("nats:orders", None, Timestamp::from_microsecond(2).unwrap())
    };
    assert_eq!(consumers::health(&mut tx.conn()).await.unwrap(), [expected], "and none of one that is gone");
    assert_eq!(consumers::forget_health(&mut tx.conn(), bed.now()).await.unwrap(), 1);
    consumers::report(
        &mut tx.conn(),
        &[report("nats:orders", None, Timestamp::from_microsecond(3).unwrap())],
    )
    .await
    .unwrap();
    consumers::delete(&mut tx.conn(), "nats:orders").await.unwrap();
    assert_eq!(consumers::health(&mut tx.conn()).await.unwrap(), []);
}

async fn an_event_is_new_once_in_its_scope(bed: TestBed) {
    let name = |id: &str| EventName { source: "/orders".into(), event_id: id.into() };
    let mut tx = bed.begin().await;
    let mut remember = async |scope: &str, ids: &[&str]| {
        let names: Vec<EventName> = ids.iter().map(|id| name(id)).collect();
        let mut new = known_events::remember(&mut tx.conn(), bed.now(), scope, &names).await.unwrap();
        new.sort();
        new
    };
    assert_eq!(remember("", &["1", "2"]).await, [name("1"), name("2")]);
    assert_eq!(remember("", &["1", "2", "3"]).await, [name("3")]);
    assert_eq!(remember("nz", &["1"]).await, [name("1")], "what others send hides nothing");
    assert_eq!(known_events::undo(&mut tx.conn(), "", &[name("1"), name("9")]).await.unwrap(), 1);
    let again = known_events::remember(&mut tx.conn(), bed.now(), "", &[name("1"), name("2")]).await.unwrap();
    assert_eq!(again, [name("1")]);
    assert_eq!(retention::forget_events(&mut tx.conn(), bed.now(), 10).await.unwrap(), 0);
    assert_eq!(retention::forget_events(&mut tx.conn(), bed.after(1), 10).await.unwrap(), 4);
}
