//! Events and sources: an older state never overwrites a newer one, and each item has its own outcome.

use std::sync::{Arc, Mutex};

use axum::http::Method;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_engine::{EventSink, StoredEvent, events::Touched};
use punctual_store::{StoreError, Tx};
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{document, first_aid, rows, setting, unit},
};

on_both! {
    s0_51_events_with_and_without_a_sequence_have_one_order_singly_and_in_a_batch;
    s0_51_an_older_state_never_overwrites_a_newer_one;
    a_batch_about_one_source_is_taken_in_its_order;
    an_event_without_subscribers_is_no_error;
    an_event_reaches_whoever_listens;
    many_sources_at_once_have_an_outcome_each;
    a_source_that_is_gone_is_gone;
    a_source_that_comes_back_has_its_reminders_again_and_none_twice;
    what_is_said_to_have_happened_tomorrow_and_later_is_refused;
    s0_51_a_source_with_a_time_of_a_broken_clock_can_be_changed_again;
    s0_51_a_state_of_null_is_refused_and_wipes_nothing;
}

fn changed(sequence: Value, time: Value, state: Value) -> Value {
    json!({ "specversion": "1.0", "id": "1", "source": "/crm", "type": "source.changed", "subject": "document/42",
        "sequence": sequence, "time": time, "data": { "businessUnit": "nz", "state": state } })
}

fn outcomes(reply: &Value) -> Vec<&str> {
    reply["items"].as_array().unwrap().iter().map(|item| item["outcome"].as_str().unwrap()).collect()
}

async fn s0_51_an_older_state_never_overwrites_a_newer_one(bed: TestBed) {
    let client = Client::new(&bed).await;
    let put_source = async |sequence: Value, time: Value, state: Value| {
        let reply = client.post("/api/v1/events", changed(sequence, time, state)).await.expect(200);
        reply["items"][0]["outcome"].as_str().unwrap().to_owned()
    };
    let none = Value::Null;
    assert_eq!(put_source(json!("7"), none.clone(), json!({ "n": 7 })).await, "accepted");
    assert_eq!(put_source(json!("6"), none.clone(), json!({ "n": 6 })).await, "stale");
    assert_eq!(put_source(json!(7), none.clone(), json!({ "n": 77 })).await, "stale");
    assert_eq!(put_source(none.clone(), json!("2026-05-14T04:00:00Z"), json!({ "n": 1 })).await, "stale");
    let source = client.get("/api/v1/sources/document/42").await.expect(200);
    assert_eq!(
        (&source["state"], &source["sequence"], &source["businessUnit"]),
        (&json!({ "n": 7 }), &json!(7), &json!("nz"))
    );
    assert_eq!(put_source(none, json!("2026-05-14T05:30:00Z"), json!({ "n": 8 })).await, "accepted");
    assert_eq!(client.get("/api/v1/sources/document/42").await.expect(200)["sequence"], 7);

    let put = json!({ "state": { "n": 9 }, "occurredAt": "2026-05-14T05:00:00Z" });
    let stale = client.put("/api/v1/sources/document/42", put).await.expect(200);
    assert_eq!((&stale["outcome"], &stale["state"]), (&json!("stale"), &json!({ "n": 8 })));
    let put = json!({ "state": { "n": 9 }, "sequence": 8 });
    let taken = client.put("/api/v1/sources/document/42", put).await.expect(200);
    assert_eq!((&taken["outcome"], &taken["state"]), (&json!("accepted"), &json!({ "n": 9 })));
}

/// Every order of four events, one by one and as one batch: the same outcomes, and the same state in the end.
async fn s0_51_events_with_and_without_a_sequence_have_one_order_singly_and_in_a_batch(bed: TestBed) {
    let client = Client::new(&bed).await;
    let at = |minute: u32| json!(format!("2026-05-14T04:{minute:02}:00Z"));
    let about = |subject: &str, (n, sequence, minute): (i64, Option<i64>, u32)| {
        let mut event = changed(json!(sequence.map(|one| one.to_string())), at(minute), json!({ "n": n }));
        event["subject"] = json!(format!("document/{subject}"));
        event
    };
    // Two with a sequence, the later one with the earlier time; two without, between and after them.
    let events = [(1, Some(1), 30), (2, Some(2), 10), (3, None, 20), (4, None, 40)];
    let mut orders: Vec<Vec<usize>> = vec![vec![]];
    for _ in events {
        let longer = orders.into_iter().flat_map(|order| {
            (0..events.len())
                .filter(|n| !order.contains(n))
                .map(|n| [order.clone(), vec![n]].concat())
                .collect::<Vec<_>>()
        });
        orders = longer.collect();
    }
    assert_eq!(orders.len(), 24);
    let headers = [("content-type", "application/cloudevents-batch+json")];
    for (number, order) in orders.iter().enumerate() {
        let (one, many) = (format!("one-{number}"), format!("many-{number}"));
        let mut singly = Vec::new();
        // What the rule says: by sequence where both have one, else by time; a sequence that was known stays.
        let mut known: Option<(i64, Option<i64>, u32)> = None;
        let mut expected: Vec<&str> = Vec::new();
        for event in order.iter().map(|n| events[*n]) {
            let is_newer = known.is_none_or(|(_, sequence, minute)| match (event.1, sequence) {
                (Some(new), Some(old)) => new > old,
                _ => event.2 >= minute,
            });
            if is_newer {
                known = Some((event.0, event.1.or(known.and_then(|known| known.1)), event.2));
            }
            expected.push(if is_newer { "accepted" } else { "stale" });
            let reply = client.post("/api/v1/events", about(&one, event)).await.expect(200);
            singly.push(reply["items"][0]["outcome"].as_str().unwrap().to_owned());
        }
        let batch: Vec<Value> = order.iter().map(|n| about(&many, events[*n])).collect();
        let reply =
            client.send(Method::POST, "/api/v1/events", &headers, Value::from(batch).to_string()).await;
        let reply = reply.expect(200);
        assert_eq!(
            (singly, outcomes(&reply)),
            (expected.iter().map(ToString::to_string).collect(), expected),
            "{order:?}"
        );
        let (state, sequence, _) = known.unwrap();
        for name in [one, many] {
            let source = client.get(&format!("/api/v1/sources/document/{name}")).await.expect(200);
            assert_eq!(
                (&source["state"]["n"], &source["sequence"]),
                (&json!(state), &json!(sequence)),
                "{order:?} {name}"
            );
        }
    }
}

async fn a_batch_about_one_source_is_taken_in_its_order(bed: TestBed) {
    let client = Client::new(&bed).await;
    let none = || Value::Null;
    client.post("/api/v1/events", changed(json!("2"), none(), json!({ "n": 2 }))).await.expect(200);
    let batch: Vec<Value> =
        [1, 3, 5, 4].iter().map(|n| changed(json!(n.to_string()), none(), json!({ "n": n }))).collect();
    let headers = [("content-type", "application/cloudevents-batch+json")];
    let reply = client
        .send(Method::POST, "/api/v1/events", &headers, Value::from(batch).to_string())
        .await
        .expect(200);
    assert_eq!(outcomes(&reply), ["stale", "accepted", "accepted", "stale"]);
    let source = client.get("/api/v1/sources/document/42").await.expect(200);
    assert_eq!((&source["state"], &source["sequence"]), (&json!({ "n": 5 }), &json!(5)));
}

async fn an_event_without_subscribers_is_no_error(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut event = changed(Value::Null, Value::Null, json!({}));
    event["type"] = json!("ticket.closed");
    let headers = [("content-type", "application/cloudevents+json; charset=utf-8")];
    let reply = client.send(Method::POST, "/api/v1/events", &headers, event.to_string()).await.expect(200);
    let item = json!({ "index": 0, "outcome": "accepted", "unmatched": 1,
        "work": { "created": 0, "updated": 0, "deactivated": 0, "unchanged": 0 } });
    assert_eq!(reply, json!({ "items": [item] }));
    let batch = json!([event, { "type": "x" }]);
    let reply = client.post("/api/v1/events", batch).await.expect(200);
    assert_eq!(outcomes(&reply), ["accepted", "rejected"]);
    assert_eq!(reply["items"][1]["error"]["errors"][0]["pointer"], "/1/specversion");
}

/// Is called for tickets and sources, and records them.
#[derive(Default)]
struct RecordingSink(Mutex<Vec<String>>);

impl EventSink for RecordingSink {
    fn subscribes_to(&self, kind: &str) -> bool {
        kind.starts_with("ticket.") || kind.starts_with("source.")
    }

    fn take<'a>(
        &'a self,
        _tx: &'a mut Tx,
        _now: Timestamp,
        events: &'a [StoredEvent<'a>],
    ) -> BoxFuture<'a, Result<Vec<Touched>, StoreError>> {
        let received = events.iter().map(|StoredEvent { event, .. }| {
            format!("{} {}", event.kind, event.subject.clone().unwrap_or_default())
        });
        self.0.lock().unwrap().extend(received);
        Box::pin(async { Ok(events.iter().map(|_| Touched { created: 2, ..Touched::default() }).collect()) })
    }
}

async fn an_event_reaches_whoever_listens(bed: TestBed) {
    let sink = Arc::new(RecordingSink::default());
    let client = Client::with(&bed, |state| state.sinks.add(sink.clone())).await;
    let mut event = changed(json!("1"), Value::Null, json!({}));
    let stale = event.clone();
    event["type"] = json!("ticket.closed");
    let batch = json!([stale, stale, event]);
    let reply = client.post("/api/v1/events", batch).await.expect(200);
    assert_eq!(outcomes(&reply), ["accepted", "stale", "accepted"]);
    assert_eq!(
        (&reply["items"][2]["work"]["created"], &reply["items"][2]["unmatched"]),
        (&json!(2), &json!(0))
    );
    let put = client.put("/api/v1/sources/document/1", json!({})).await.expect(200);
    assert_eq!(put["work"]["created"], 2);
    let received = sink.0.lock().unwrap().clone();
    assert_eq!(
        received,
        ["source.changed document/42", "ticket.closed document/42", "source.changed document/1"]
    );
}

async fn many_sources_at_once_have_an_outcome_each(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut items: Vec<Value> =
        (0..1_200).map(|n| json!({ "type": "document", "id": n.to_string(), "state": { "n": n } })).collect();
    items.push(json!({ "type": "document", "id": "" }));
    items.push(json!({ "type": "document", "id": "7", "state": { "n": "newer" }, "occurredAt": "2026-05-14T05:00:01Z" }));
    items.push(json!({ "type": "document", "id": "8", "occurredAt": "2026-05-14T04:00:00Z" }));
    let reply = client.post("/api/v1/sources", json!({ "items": items })).await.expect(200);
    let reported = outcomes(&reply);
    assert_eq!(reported[1_199..], ["accepted", "rejected", "accepted", "stale"]);
    assert_eq!(reply["items"][1_200]["error"]["errors"][0]["pointer"], "/items/1200/id");
    assert_eq!(client.get("/api/v1/sources/document/7").await.expect(200)["state"], json!({ "n": "newer" }));
    assert_eq!(client.get("/api/v1/sources/document/1199").await.expect(200)["state"], json!({ "n": 1199 }));
}

async fn a_source_that_is_gone_is_gone(bed: TestBed) {
    let client = Client::new(&bed).await;
    client
        .put("/api/v1/sources/document/42", json!({ "state": { "secret": 1 }, "sequence": 3 }))
        .await
        .expect(200);
    client.delete("/api/v1/sources/document/42").await.expect(204);
    client.get("/api/v1/sources/document/42").await.refused(404, "not_found");
    client.delete("/api/v1/sources/document/42").await.refused(404, "not_found");
    assert_eq!(client.get("/api/v1/sources/document").await.expect(200)["items"], json!([]));
    client.put("/api/v1/sources/document/42", json!({ "sequence": 4 })).await.expect(200);
    let mut event = changed(json!("5"), Value::Null, json!({}));
    event["type"] = json!("source.deleted");
    event.as_object_mut().unwrap().remove("data");
    let reply = client.post("/api/v1/events", event).await.expect(200);
    assert_eq!(outcomes(&reply), ["accepted"]);
    client.get("/api/v1/sources/document/42").await.refused(404, "not_found");
}

async fn a_source_that_comes_back_has_its_reminders_again_and_none_twice(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|_| {})).await;
    let path = "/api/v1/sources/document/42";
    let at = |sequence: i64, active: bool| {
        let mut body = document("2026-06-20");
        (body["sequence"], body["active"]) = (json!(sequence), json!(active));
        body
    };
    let statuses = async || -> Vec<(String, String)> {
        rows(&client, "").await.into_iter().map(|(_, status, reason)| (status, reason)).collect()
    };
    let pair = |status: &str, reason: &str| (status.to_owned(), reason.to_owned());
    client.put(path, at(3, true)).await.expect(200);
    client.advance("10d").await;
    assert_eq!(bed.sent().len(), 1, "30 days before");
    client.delete(path).await.expect(204);
    let gone = [
        pair("deactivated", "SourceNoLongerValid"),
        pair("completed", ""),
        pair("deactivated", "SourceNoLongerValid"),
    ];
    assert_eq!(statuses().await, gone);
    // What happened before it was removed does not bring it back.
    let late = client.put(path, at(2, true)).await.expect(200);
    assert_eq!((&late["outcome"], statuses().await), (&json!("stale"), gone.to_vec()));
    client.get(path).await.refused(404, "not_found");
    let back = client.put(path, at(4, true)).await.expect(200);
    assert_eq!((&back["outcome"], &back["active"]), (&json!("accepted"), &json!(true)));
    // They wait like any other; why they were dropped before can still be read.
    assert_eq!(statuses().await, [pair("pending", ""), pair("completed", ""), pair("pending", "")]);
    let back = client.get("/api/v1/work?status=pending").await.expect(200);
    let earlier: Vec<&Value> =
        back["items"].as_array().unwrap().iter().map(|row| &row["earlierReasonCode"]).collect();
    assert_eq!(earlier, ["SourceNoLongerValid", "SourceNoLongerValid"]);
    // Once more, and inactive in between.
    client.delete(path).await.expect(204);
    client.put(path, at(6, false)).await.expect(200);
    assert_eq!(statuses().await, gone);
    client.put(path, at(7, true)).await.expect(200);
    client.advance("40d").await;
    assert_eq!(bed.sent().len(), 3, "each once");
    assert!(statuses().await.iter().all(|row| *row == pair("completed", "")));
}

async fn what_is_said_to_have_happened_tomorrow_and_later_is_refused(bed: TestBed) {
    let client = Client::new(&bed).await;
    let at = |time: &str| json!({ "state": { "a": 1 }, "occurredAt": time });
    let path = "/api/v1/sources/document/42";
    let problem = client.put(path, at("2026-05-15T05:00:01Z")).await.refused(422, "time_in_future");
    assert_eq!(problem["errors"][0]["pointer"], "/occurredAt");
    client.get(path).await.refused(404, "not_found");
    client.put(path, at("2026-05-15T05:00:00Z")).await.expect(200);
    // Only the item that is wrong is refused.
    let items = json!({ "items": [{ "type": "a", "id": "1" }, { "type": "a", "id": "2", "occurredAt": "9999-01-01T00:00:00Z" }] });
    let reported = client.post("/api/v1/sources", items).await.expect(200);
    assert_eq!(
        (&reported["items"][0]["outcome"], &reported["items"][1]["error"]["code"]),
        (&json!("accepted"), &json!("time_in_future"))
    );
    let event = json!({ "specversion": "1.0", "id": "1", "source": "/t", "type": "source.changed", "subject": "a/1",
        "time": "2030-01-01T00:00:00Z", "data": {} });
    client.post("/api/v1/events", event).await.refused(422, "time_in_future");
}

async fn s0_51_a_source_with_a_time_of_a_broken_clock_can_be_changed_again(bed: TestBed) {
    let client = Client::new(&bed).await;
    let path = "/api/v1/sources/document/42";
    // As an earlier version stored it.
    let change = punctual_store::sources::SourceChange {
        source_type: "document".into(),
        source_id: "42".into(),
        business_unit: None,
        active: true,
        deleted: false,
        state: "{}".into(),
        sequence: None,
        occurred_at: "2199-01-01T00:00:00Z".parse().unwrap(),
    };
    let mut tx = bed.begin().await;
    punctual_store::sources::put(&mut tx.conn(), bed.now(), &punctual_model::Reach::Everything, &[change])
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let reported = client.put(path, json!({ "state": { "a": 1 } })).await.expect(200);
    assert_eq!((&reported["outcome"], &reported["state"]), (&json!("accepted"), &json!({ "a": 1 })));
    // A little ahead is believed: what comes after a DELETE and is older says so, and is not called unknown.
    client.put(path, json!({ "state": { "a": 2 }, "occurredAt": "2026-05-14T08:00:00Z" })).await.expect(200);
    client.delete(path).await.expect(204);
    let late = client.put(path, json!({ "state": { "a": 3 } })).await.expect(200);
    assert_eq!((&late["outcome"], &late["active"]), (&json!("stale"), &json!(false)));
    client.advance("4h").await;
    let back = client.put(path, json!({ "state": { "a": 3 } })).await.expect(200);
    assert_eq!((&back["outcome"], &back["active"]), (&json!("accepted"), &json!(true)));
}

async fn s0_51_a_state_of_null_is_refused_and_wipes_nothing(bed: TestBed) {
    let client = Client::new(&bed).await;
    let path = "/api/v1/sources/document/42";
    client.put(path, json!({ "state": { "a": 1 } })).await.expect(200);
    let problem = client.put(path, json!({ "state": null })).await.refused(422, "wrong_type");
    assert_eq!(problem["errors"][0]["pointer"], "/state");
    let event = json!({ "specversion": "1.0", "id": "1", "source": "/t", "type": "source.changed", "subject": "document/42",
        "data": { "state": null } });
    client.post("/api/v1/events", event).await.refused(422, "wrong_type");
    assert_eq!(client.get(path).await.expect(200)["state"], json!({ "a": 1 }));
}
