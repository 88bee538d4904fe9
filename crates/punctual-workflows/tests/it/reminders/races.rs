//! Reminders under concurrency: events, changed settings and workers at once, and in the end they agree.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_engine::OwnUnit;
use punctual_engine::{
    Event, EventSink, EventSinks, StoredEvent,
    events::{IncomingEvent, SOURCE_CHANGED, Touched},
};
use punctual_model::WorkStatus;
use punctual_store::{StoreError, Tx, sources::SourceChange};
use punctual_testkit::{Seeded, TestBed, on_both};
use punctual_workflows::reminders::{Providers, ReminderSink};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::author::{Author, Which, first_aid};

on_both! {
    r02_events_and_changed_settings_agree_in_the_end;
    r13_what_is_taken_back_in_time_is_not_sent_and_what_is_too_late_is_recorded;
    a_new_setting_and_a_new_source_cannot_miss_each_other;
    a_new_zone_and_a_new_source_cannot_miss_each_other;
}

/// Takes an event after the reminders did, and keeps its transaction open until it is released.
#[derive(Default)]
struct Gate {
    reached: Notify,
    go_on: Notify,
}

impl EventSink for Gate {
    fn subscribes_to(&self, _kind: &str) -> bool {
        true
    }

    fn take<'a>(
        &'a self,
        _tx: &'a mut Tx,
        _now: Timestamp,
        events: &'a [StoredEvent<'a>],
    ) -> BoxFuture<'a, Result<Vec<Touched>, StoreError>> {
        Box::pin(async move {
            self.reached.notify_one();
            self.go_on.notified().await;
            Ok(vec![Touched::default(); events.len()])
        })
    }
}

/// Puts a new document, and does `meanwhile` while that is decided and not yet committed.
async fn while_it_is_put<T: Send + 'static>(
    bed: &TestBed,
    meanwhile: impl Future<Output = T> + Send + 'static,
) -> T {
    let gate = Arc::new(Gate::default());
    let mut sinks = EventSinks::default();
    sinks.add(Arc::new(ReminderSink::new(Arc::new(Providers::built_in()))));
    sinks.add(gate.clone());
    let body = document(40);
    let event = Event {
        id: "1".into(),
        source: "/test".into(),
        kind: SOURCE_CHANGED.into(),
        subject: Some("document/42".into()),
        sequence: None,
        time: bed.now(),
        data: Value::Null,
        business_units: None,
    };
    let change = SourceChange {
        source_type: "document".into(),
        source_id: "42".into(),
        business_unit: None,
        active: true,
        deleted: false,
        state: body["state"].to_string(),
        sequence: None,
        occurred_at: bed.now(),
    };
    let engine = bed.engine.clone();
    let telling = tokio::spawn(async move {
        engine
            .take_events(
                &sinks,
                &[IncomingEvent::of_source(event, OwnUnit::stored(Some("nz".into())), change)],
            )
            .await
            .unwrap()
    });
    gate.reached.notified().await;
    let meanwhile = tokio::spawn(meanwhile);
    // Whoever changes what is planned waits for those who are still telling.
    bed.until_blocked().await;
    gate.go_on.notify_one();
    telling.await.unwrap();
    meanwhile.await.unwrap()
}

async fn a_new_setting_and_a_new_source_cannot_miss_each_other(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let other = author.clone();
    while_it_is_put(&bed, async move { other.setting(first_aid(|_| {})).await }).await;
    assert_eq!(author.rows(Which::Status(WorkStatus::Pending)).await.len(), 3);
    bed.leaves_open("what is planned");
}

async fn a_new_zone_and_a_new_source_cannot_miss_each_other(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|_| {})).await;
    let (author, worker) = (author.clone(), bed.clone());
    let moves = async move {
        author.unit("nz", "Pacific/Chatham").await;
        worker.tick().await
    };
    while_it_is_put(&bed, moves).await;
    let row = bed.work(&format!("reminder:{id}:document:42:first-aid-expiry:2026-06-19:7")).await;
    assert_eq!(row.time_zone.as_deref(), Some("Pacific/Chatham"));
    bed.leaves_open("what is planned");
}

fn document(days: u64) -> Value {
    let day = jiff::civil::Date::constant(2026, 5, 10)
        .checked_add(jiff::Span::new().days(days.cast_signed()))
        .unwrap();
    json!({ "businessUnit": "nz", "state": { "kind": "first-aid", "expiresOn": day.to_string() } })
}

async fn r02_events_and_changed_settings_agree_in_the_end(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|_| {})).await;
    for n in 0..20 {
        author.report(&format!("document/{n}"), document(n)).await;
    }
    let mut tasks = Vec::new();
    for writer in 0..4 {
        let author = author.clone();
        tasks.push(tokio::spawn(async move {
            let random = Seeded::new(writer);
            for _ in 0..25 {
                let place = format!("document/{}", random.below(20));
                let body = document(random.below(120));
                author.report(&place, body).await;
            }
        }));
    }
    let (other, setting) = (author.clone(), id.clone());
    tasks.push(tokio::spawn(async move {
        for round in 0..12 {
            let offsets = [json!([30, 7, 1]), json!([14, 2]), json!([5, 0, -3])][round % 3].clone();
            let date = json!({ "field": "/expiresOn", "offsetsDays": offsets, "sendTime": format!("{:02}:00", 8 + round) });
            while other.try_to_change(&setting, json!({ "date": date, "active": round % 4 != 2 })).await.is_err() {}
        }
    }));
    let worker = bed.clone();
    tasks.push(tokio::spawn(async move {
        for _ in 0..15 {
            worker.tick().await;
        }
    }));
    for task in tasks {
        task.await.unwrap();
    }
    bed.tick().await;
    let plan = author.plan(&id, json!({})).await;
    assert_eq!((plan.create, plan.deactivate, plan.moved), (0, 0, 0), "nothing was missed: {plan:?}");
    bed.leaves_open("what is planned");
}

async fn r13_what_is_taken_back_in_time_is_not_sent_and_what_is_too_late_is_recorded(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|body| body["date"]["offsetsDays"] = json!([0]))).await;
    let (mut sent, mut taken_back) = (0, 0);
    for n in 0..30 {
        // Due at nine in Auckland, four hours ago and on the same day: ready as soon as it is planned.
        let place = format!("document/{n}");
        author.report(&place, document(4)).await;
        let mut inactive = document(4);
        inactive["active"] = json!(false);
        let (teller, worker, to) = (author.clone(), bed.clone(), place.clone());
        let reported = tokio::spawn(async move { teller.report(&to, inactive).await });
        let worked = tokio::spawn(async move { worker.tick().await });
        reported.await.unwrap();
        worked.await.unwrap();
        bed.tick().await;
        let row = bed.work(&format!("reminder:{id}:document:{n}:first-aid-expiry:2026-05-14:0")).await;
        match row.status.as_str() {
            "completed" => sent += 1,
            "deactivated" => {
                assert_eq!(row.reason_code.as_deref(), Some("SourceNoLongerValid"));
                taken_back += 1;
            }
            other => panic!("{other}"),
        }
        assert_eq!(bed.sent().len(), sent, "what is taken back is never sent");
    }
    assert_eq!(sent + taken_back, 30);
}
