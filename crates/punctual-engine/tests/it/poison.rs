//! R10: a poison row harms only itself.

use punctual_engine::{Claimed, Decide, Loads, Registration, Titles, Workflow};
use punctual_model::{Audience, Decided, Decision, NewNotification, NotificationId, ReasonCode};
use punctual_store::{Conn, StoreError};
use punctual_testkit::{
    Scripted, TestBed, TestWorkflow, channel::delivered, new_work, new_work_with, on_both, scale,
};
use serde_json::json;

on_both! {
    r10_one_poison_row_in_a_hundred_of_each_kind_harms_only_itself;
    r10_a_preparation_that_panics_is_held_and_harms_no_other;
    r10_a_load_that_panics_ends_in_hold;
    r10_a_load_that_fails_for_one_row_is_retried_for_that_row;
}

/// Each kind of poison, by the number of the row in its hundred.
const POISON: [&str; 6] = ["decide", "listener", "input", "template", "channel", "missing"];

fn poisoned(bed: &TestBed) -> TestBed {
    let workflow = TestWorkflow::new("test", |row, _| {
        let what = row.key.split(':').nth(1).unwrap_or_default();
        assert!(what != "decide", "a decision that panics");
        let audience = Audience::Targets(vec![format!("{what}@example.org")]);
        let mut new =
            NewNotification::new(NotificationId(Default::default()), audience, "Due", row.key.clone());
        new.channel = "picky:default".parse().ok();
        if what == "template" {
            new.template = Some("endless".into());
        }
        Decision::Deliver(vec![new])
    });
    let picky = Scripted::new("picky", |message| {
        assert!(message.address != "channel@example.org", "a channel that panics");
        delivered()
    });
    bed.with(|bed| {
        bed.workflow(workflow)
            .adapter(picky)
            .listener("poison", |_: &punctual_model::Arrival| -> Result<(), String> { panic!("a listener") })
    })
}

async fn r10_one_poison_row_in_a_hundred_of_each_kind_harms_only_itself(bed: TestBed) {
    let bed = poisoned(&bed);
    bed.channel("picky:default", "picky").await;
    let endless = "{% for a in range(1000) %}{% for b in range(1000) %}{{ a }}{% endfor %}{% endfor %}";
    bed.template("endless", "en", json!({ "en": { "subject": "x", "body": endless } })).await;

    let hundreds = scale(10, 1000);
    let (mut rows, mut good) = (Vec::new(), 0);
    for n in 0..hundreds * 100 {
        rows.push(match POISON.get(n % 100).copied() {
            Some("listener") => {
                let input = json!({ "topic": "poison", "payload": {} });
                new_work_with("schedule", &format!("schedule:{n}"), bed.now(), &input)
            }
            Some("input") => {
                new_work_with("schedule", &format!("schedule:{n}"), bed.now(), &json!([1, "no topic"]))
            }
            Some("missing") => {
                new_work_with("message", &format!("message:{n}"), bed.now(), &json!({ "messageId": "no" }))
            }
            Some(what) => new_work("test", &format!("k:{what}:{n}"), bed.now()),
            None => {
                good += 1;
                new_work("test", &format!("k:good:{n}"), bed.now())
            }
        });
    }
    for chunk in rows.chunks(1000) {
        bed.ensure(chunk).await;
    }
    let report = bed.tick().await;
    assert_eq!(report.due.held, hundreds * 4, "panic, panic, unreadable, missing");
    assert_eq!(report.deliveries.parked, hundreds * 2, "template limit, panic");
    assert_eq!(report.deliveries.delivered, good);
    assert_eq!(report.due.retried + report.due.failed + report.deliveries.retrying, 0);
    for n in 0..hundreds {
        let reason = async |key: String| bed.work(&key).await.reason_code;
        assert_eq!(reason(format!("k:decide:{}", n * 100)).await.as_deref(), Some("panic"));
        assert_eq!(reason(format!("schedule:{}", n * 100 + 1)).await.as_deref(), Some("panic"));
        assert_eq!(reason(format!("schedule:{}", n * 100 + 2)).await.as_deref(), Some("input-unreadable"));
        assert_eq!(reason(format!("message:{}", n * 100 + 5)).await.as_deref(), Some("message-missing"));
    }
    let reasons: std::collections::BTreeSet<String> =
        bed.notifications().await.into_iter().filter_map(|row| row.reason_code).collect();
    assert!(reasons.iter().all(|reason| reason == "panic" || reason == "template-limit"), "{reasons:?}");
}

async fn r10_a_preparation_that_panics_is_held_and_harms_no_other(bed: TestBed) {
    let workflow =
        TestWorkflow::new("long", |_, _| Decision::Skip(ReasonCode::NoLongerWanted)).prepared_by(|row| {
            let bad = row.key.starts_with("bad");
            async move {
                assert!(!bad, "a preparation that panics");
                Ok(())
            }
        });
    let bed = bed.with(|bed| bed.workflow(workflow));
    bed.ensure(&[new_work("long", "bad:1", bed.now()), new_work("long", "good:1", bed.now())]).await;
    let report = bed.tick().await.due;
    assert_eq!((report.held, report.deactivated), (1, 1));
    let row = bed.work("bad:1").await;
    assert_eq!((row.on_hold, row.reason_code.as_deref()), (true, Some("panic")));
}

/// A workflow whose reading fails for one row of the batch: the row of the key `bad:1` panics, that of `bad:2` returns an error.
struct BadLoad;

impl Titles for BadLoad {}

impl Workflow for BadLoad {
    fn kind(&self) -> &'static str {
        "bad-load"
    }
}

impl Loads for BadLoad {
    type Loaded = AllDone;

    async fn load(&self, _conn: &mut Conn<'_>, batch: &[Claimed]) -> Result<AllDone, StoreError> {
        assert!(batch.iter().all(|row| row.key != "bad:1"), "a load that panics");
        match batch.iter().any(|row| row.key == "bad:2") {
            true => Err(StoreError::Stored("something that cannot be read")),
            false => Ok(AllDone),
        }
    }
}

struct AllDone;

impl Decide for AllDone {
    fn decide(&self, _row: &Claimed, _now: jiff::Timestamp) -> Decided {
        Decision::Deliver(Vec::new()).into()
    }
}

async fn r10_a_load_that_panics_ends_in_hold(bed: TestBed) {
    let bed = bed.with(|bed| bed.workflow(Registration::of(BadLoad).loads()));
    let rows: Vec<_> = ["bad:1", "good:1", "good:2"].map(|key| new_work("bad-load", key, bed.now())).into();
    bed.ensure(&rows).await;
    let report = bed.tick().await.due;
    assert_eq!((report.completed, report.held), (2, 1), "the batch is split and the others go on");
    let row = bed.work("bad:1").await;
    assert_eq!(row.reason_code.as_deref(), Some("panic"));
    let trace = bed.engine.blobs.get(row.trace_blob.as_deref().unwrap()).await.unwrap().unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap();
    assert_eq!(
        (&trace["key"], &trace["path"]),
        (&json!("bad:1"), &json!({ "error": "the workflow panicked: a load that panics" }))
    );
}

async fn r10_a_load_that_fails_for_one_row_is_retried_for_that_row(bed: TestBed) {
    let bed = bed.with(|bed| bed.workflow(Registration::of(BadLoad).loads()));
    let rows: Vec<_> = ["bad:2", "good:1", "good:2"].map(|key| new_work("bad-load", key, bed.now())).into();
    bed.ensure(&rows).await;
    let report = bed.tick().await.due;
    assert_eq!((report.completed, report.retried), (2, 1));
    assert_eq!(bed.work("bad:2").await.reason_code.as_deref(), Some("decision-failed"));
    bed.run_for(7 * 86_400).await;
    let row = bed.work("bad:2").await;
    assert_eq!((row.on_hold, row.reason_code.as_deref()), (true, Some("decision-failed")), "given up");
}
