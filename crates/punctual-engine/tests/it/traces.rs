//! Traces: from what was asked for to each call, over retries, over days, in batches.

use std::sync::{Arc, Mutex};

use punctual_model::{
    Audience, Decision, FinishedSpan, NewNotification, NotificationId, SendOutcome, SpanCounts, SpanKind,
    SpanSink, TraceParent,
    trace::{Attribute, ONE_TRACE_FOR},
};
use punctual_testkit::{Scripted, TestBed, TestWorkflow, new_work, on_both};
use serde_json::json;

on_both! {
    a_message_is_one_trace_from_its_request_to_the_call_and_over_a_retry;
    what_is_sent_late_has_a_trace_of_its_own_with_a_link;
    a_batch_is_one_span_with_links_and_untraced_rows_have_none;
    work_begins_a_trace_and_what_it_sends_goes_on_with_it;
}

const REQUEST: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

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
    fn record(bed: &TestBed, ratio: f64) -> Arc<Self> {
        let kept = Arc::<Self>::default();
        bed.engine.traces.record(kept.clone(), bed.clock.clone(), bed.random.clone(), ratio);
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

fn request() -> TraceParent {
    TraceParent::parse(REQUEST).unwrap()
}

/// As a request leaves it that is recorded.
fn traced(bed: &TestBed, mut new: NewNotification) -> NewNotification {
    new.envelope.traceparent = Some(REQUEST.into());
    new.envelope.traced_at = Some(bed.now());
    new
}

fn attribute<'s>(span: &'s FinishedSpan, name: &str) -> &'s Attribute {
    let found = span.attributes.iter().find(|(key, _)| *key == name);
    &found.unwrap_or_else(|| panic!("{} has no {name}", span.name)).1
}

/// A channel that takes a message at this attempt, and the traces that it was given.
async fn stubborn(bed: &TestBed, takes_at: i64) -> (TestBed, Arc<Mutex<Vec<Option<String>>>>) {
    let reported = Arc::<Mutex<Vec<Option<String>>>>::default();
    let telling = reported.clone();
    let bed = bed.with(|bed| {
        bed.adapter(Scripted::new("stubborn", move |message| {
            telling.lock().unwrap().push(message.envelope.traceparent.clone());
            if message.attempt < takes_at {
                SendOutcome::Transient { error: "secret@example.org is busy".into(), retry_after: None }
            } else {
                SendOutcome::Delivered { provider_id: "1".into() }
            }
        }))
    });
    let retry = json!({ "max": 3, "intervalSeconds": 60 });
    bed.channel_with("sms:default", "stubborn", retry, false).await;
    (bed, reported)
}

async fn a_message_is_one_trace_from_its_request_to_the_call_and_over_a_retry(bed: TestBed) {
    let (bed, reported) = stubborn(&bed, 2).await;
    let kept = Kept::record(&bed, 0.0);
    let id = bed.accept_one(traced(&bed, bed.message_over("sms:default", &["x"]))).await;
    assert_eq!(kept.one("store notifications").parent, Some(request()));
    bed.tick().await;
    bed.run_for(600).await;
    let (queued, attempts, calls) = (kept.named("queued"), kept.named("deliver"), kept.named("send sms"));
    assert_eq!((queued.len(), attempts.len(), calls.len()), (2, 2, 2));
    for n in 0..2 {
        assert_eq!(queued[n].parent, Some(request()));
        assert_eq!(attempts[n].parent, Some(queued[n].context));
        assert_eq!((calls[n].parent, calls[n].kind), (Some(attempts[n].context), SpanKind::Client));
        assert_eq!(calls[n].context.trace_id(), request().trace_id());
        for span in [&queued[n], &attempts[n], &calls[n]] {
            assert_eq!(attribute(span, "notification.id"), &Attribute::Text(id.clone().into()));
            assert_eq!(attribute(span, "notification.attempt"), &Attribute::Number(n as i64 + 1));
        }
        assert!(queued[n].ended_at <= attempts[n].started_at);
        let reported = reported.lock().unwrap()[n].clone();
        assert_eq!(reported, Some(calls[n].context.to_string()), "the provider gets the call's context");
    }
    assert_eq!(calls[0].error.as_deref(), Some("transient"), "what a provider says may name people");
    assert_eq!((&calls[1].error, &attempts[1].error), (&None, &None));
    assert_eq!(attribute(&attempts[1], "notification.status"), &Attribute::Text("delivered".into()));
    let all = format!("{:?}", kept.0.lock().unwrap());
    assert!(!all.contains("example.org"), "{all}");
}

async fn what_is_sent_late_has_a_trace_of_its_own_with_a_link(bed: TestBed) {
    let kept = Kept::record(&bed, 0.0);
    let mut new = traced(&bed, bed.message("x"));
    new.not_before = Some(bed.after(ONE_TRACE_FOR.as_secs() + 60));
    bed.accept_one(new).await;
    bed.run_for(ONE_TRACE_FOR.as_secs() + 120).await;
    let (queued, call) = (kept.one("queued"), kept.one("send memory"));
    assert_eq!((queued.parent, queued.links), (None, vec![request()]));
    assert_ne!(queued.context.trace_id(), request().trace_id());
    assert_eq!(call.context.trace_id(), queued.context.trace_id());
}

async fn a_batch_is_one_span_with_links_and_untraced_rows_have_none(bed: TestBed) {
    let kept = Kept::record(&bed, 0.0);
    bed.accept((0..40).map(|n| bed.message(&format!("p{n}"))).collect()).await;
    bed.accept(vec![traced(&bed, bed.message("a")), traced(&bed, bed.message("b"))]).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 42);
    let claims = kept.named("claim deliveries");
    assert!(claims.iter().all(|claim| claim.parent.is_none()));
    let links: Vec<TraceParent> = claims.iter().flat_map(|claim| claim.links.clone()).collect();
    assert_eq!(links, [request(), request()]);
    let attempts = kept.named("deliver");
    assert_eq!(attempts.len(), 2, "rows that are not traced have no spans");
    for attempt in attempts {
        assert!(claims.iter().any(|claim| attempt.links == [claim.context]), "{attempt:?}");
    }
}

async fn work_begins_a_trace_and_what_it_sends_goes_on_with_it(bed: TestBed) {
    let bed = bed.with(|bed| {
        bed.workflow(TestWorkflow::new("test", |row, _| {
            let nobody_yet = NotificationId(Default::default());
            let audience = Audience::Targets(vec![row.key.clone()]);
            let mut new = NewNotification::new(nobody_yet, audience, "s", "b");
            new.channel = "memory:default".parse().ok();
            Decision::Deliver(vec![new])
        }))
    });
    let kept = Kept::record(&bed, 1.0);
    let due = bed.after(10);
    bed.ensure(&[new_work("test", "k:1", due), new_work("test", "k:2", due)]).await;
    bed.run_for(60).await;
    let (decisions, calls) = (kept.named("decide test"), kept.named("send memory"));
    assert_eq!((decisions.len(), calls.len()), (2, 2));
    assert_ne!(decisions[0].context.trace_id(), decisions[1].context.trace_id());
    for decision in &decisions {
        let own = |call: &&FinishedSpan| call.context.trace_id() == decision.context.trace_id();
        assert_eq!(calls.iter().filter(own).count(), 1);
    }
    let batches = kept.named("settle work");
    let links: usize = batches.iter().map(|batch| batch.links.len()).sum();
    assert_eq!(links, 2);
}
