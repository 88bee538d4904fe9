//! Traces of what events lead to: a reminder or a survey is a part of the trace of the request that reported the event, or has a link to
//! it where it is sent much later.

use std::sync::{Arc, Mutex};

use axum::http::Method;
use punctual_engine::{Actor, consumers::EventIntake};
use punctual_model::{FinishedSpan, Received, SpanCounts, SpanSink, TraceParent};
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::{event_intake::BrokerIntake, reminders::Providers};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{document, first_aid, setting, unit},
    surveys::{csi_gr, published, visit},
};

on_both! {
    a_reminder_links_to_the_request_that_reported_its_source;
    a_reminder_that_is_due_at_once_is_a_part_of_its_request;
    a_survey_links_to_the_request_that_reported_its_event;
    what_events_of_a_broker_lead_to_goes_on_with_their_own_trace;
    without_traces_nothing_is_written_for_them;
}

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[derive(Default)]
struct Kept(Mutex<Vec<FinishedSpan>>);

impl SpanSink for Kept {
    fn take(&self, span: FinishedSpan) {
        self.0.lock().unwrap().push(span);
    }
    fn counts(&self) -> SpanCounts {
        SpanCounts::default()
    }
}

impl Kept {
    fn record(bed: &TestBed) -> Arc<Self> {
        let kept = Arc::<Self>::default();
        bed.engine.traces.record(kept.clone(), bed.clock.clone(), bed.random.clone(), 1.0);
        kept
    }

    fn named(&self, name: &str) -> Vec<FinishedSpan> {
        self.0.lock().unwrap().iter().filter(|span| span.name == name).cloned().collect()
    }

    fn one(&self, name: &str) -> FinishedSpan {
        let mut found = self.named(name);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        found.remove(0)
    }
}

async fn traced(client: &Client, method: Method, path: &str, body: &Value) -> Value {
    let headers = [("content-type", "application/json"), ("traceparent", CALLER)];
    client.send(method, path, &headers, body.to_string().into_bytes()).await.expect(200)
}

fn trace(span: &FinishedSpan) -> String {
    span.context.to_string()[3..35].to_owned()
}

/// That the call belongs to the decision, which is where `deliver` and `queued` are.
fn goes_on(kept: &Kept, decision: &FinishedSpan, call: &str) {
    let (queued, attempt, call) = (kept.one("queued"), kept.one("deliver"), kept.one(call));
    assert_eq!(queued.parent, Some(decision.context));
    assert_eq!(attempt.parent, Some(queued.context));
    assert_eq!(call.parent, Some(attempt.context));
    assert_eq!(trace(&call), trace(decision));
}

async fn a_reminder_links_to_the_request_that_reported_its_source(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|body| body["delivery"]["channel"] = json!("memory:default"))).await;
    let kept = Kept::record(&bed);
    traced(&client, Method::PUT, "/api/v1/sources/document/42", &document("2026-06-20")).await;
    let request = kept.one("PUT /api/v1/sources/{type}/{id}");
    assert_eq!(request.parent, TraceParent::parse(CALLER));
    // The first of its reminders, weeks later, with a link and a trace of its own.
    bed.run_to("2026-05-20T21:00:00Z").await;
    let decision = kept.one("decide reminder");
    assert_eq!((decision.parent, &decision.links[..]), (None, &[request.context][..]));
    assert_ne!(trace(&decision), trace(&request));
    goes_on(&kept, &decision, "send memory");
    // A source that is put again and moves the next ones: they follow from that request.
    traced(&client, Method::PUT, "/api/v1/sources/document/42", &document("2026-06-24")).await;
    let moved = kept.named("PUT /api/v1/sources/{type}/{id}").remove(1);
    bed.run_to("2026-06-16T21:00:00Z").await;
    assert_eq!(kept.named("decide reminder").last().unwrap().links, [moved.context]);
    bed.leaves_open("the last reminder is due later");
}

/// A reminder that is due when it is planned.
fn full_class() -> Value {
    json!({ "name": "Full", "sourceType": "class", "triggerKey": "full", "kind": "threshold",
        "threshold": { "metric": { "field": "/booked" }, "op": ">=", "value": 9, "firingPolicy": "OncePerSource" },
        "recipients": { "addresses": ["ann"] }, "delivery": { "channel": "memory:default" } })
}

async fn a_reminder_that_is_due_at_once_is_a_part_of_its_request(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, full_class()).await;
    let kept = Kept::record(&bed);
    let event = json!({ "specversion": "1.0", "id": "e-1", "source": "/gym", "type": "source.changed",
        "subject": "class/7", "data": { "businessUnit": "nz", "state": { "booked": 9 } } });
    traced(&client, Method::POST, "/api/v1/events", &event).await;
    let request = kept.one("POST /api/v1/events");
    bed.tick().await;
    let decision = kept.one("decide reminder");
    assert_eq!((decision.parent, decision.links.len()), (Some(request.context), 0));
    assert_eq!(trace(&decision), CALLER[3..35]);
    goes_on(&kept, &decision, "send memory");
}

async fn what_events_of_a_broker_lead_to_goes_on_with_their_own_trace(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, full_class()).await;
    let kept = Kept::record(&bed);
    let intake = BrokerIntake::new(bed.engine.clone(), Arc::new(Providers::built_in()), Arc::default());
    let message = |id: u64, traceparent: Option<&str>| {
        let mut event = json!({ "specversion": "1.0", "id": id.to_string(), "source": "/gym", "type": "source.changed",
            "subject": format!("class/{id}"), "data": { "businessUnit": "nz", "state": { "booked": 9 } } });
        if let Some(traceparent) = traceparent {
            event["traceparent"] = traceparent.into();
        }
        let body = event.to_string().into_bytes();
        Received { tag: id, attributes: Ok(Vec::new()), content_type: None, body, sent_at: None }
    };
    let by = Actor::consumer("nats:gym", None);
    let messages = [message(1, None), message(2, Some(CALLER))];
    let taken = intake.take(&by, &messages).await.unwrap();
    assert_eq!(taken.iter().map(|one| one.accepted).sum::<u64>(), 2);
    let spans = kept.named("take events");
    let caller = TraceParent::parse(CALLER);
    assert_eq!(spans.iter().map(|span| span.parent).collect::<Vec<_>>(), [None, caller]);
    bed.tick().await;
    let mut parents: Vec<_> =
        kept.named("decide reminder").iter().map(|one| one.parent.unwrap().to_string()).collect();
    let mut expected: Vec<_> = spans.iter().map(|span| span.context.to_string()).collect();
    parents.sort();
    expected.sort();
    assert_eq!(parents, expected, "each belongs to its own message");
}

async fn a_survey_links_to_the_request_that_reported_its_event(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["schedule"] = json!({ "initialDelay": "1d", "reminders": ["2d"] });
    published(&client, schema).await;
    let kept = Kept::record(&bed);
    let body = json!({ "eventKind": "service-visit-closed", "items": [visit("1")] });
    traced(&client, Method::POST, "/api/v1/surveys/triggers/ingest", &body).await;
    let request = kept.one("POST /api/v1/surveys/triggers/ingest");
    client.advance("4d").await;
    let decisions = kept.named("decide survey");
    assert_eq!(decisions.len(), 2, "the invitation and a reminder: {decisions:?}");
    for decision in &decisions {
        assert_eq!(decision.links, [request.context], "{decision:?}");
    }
    bed.leaves_open("nobody answers, and the survey ends later");
}

async fn without_traces_nothing_is_written_for_them(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|_| {})).await;
    traced(&client, Method::PUT, "/api/v1/sources/document/42", &document("2026-06-20")).await;
    let page = client.get("/api/v1/work?kind=reminder").await.expect(200);
    let ids: Vec<i64> =
        page["items"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
    assert_eq!(ids.len(), 3);
    let found = punctual_store::work::traces(&mut bed.read().await.conn(), ids).await.unwrap();
    assert!(found.is_empty(), "{found:?}");
    bed.leaves_open("only what is planned is checked");
}
