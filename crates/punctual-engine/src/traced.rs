//! The spans of the pipeline: intake, decisions, waiting time, attempts and calls. The trace of a row is continued only if it
//! was recorded from its start; a batch is one span with links.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use punctual_model::{Envelope, NewNotification, SendOutcome, Span, SpanKind, TraceParent};
use punctual_store::{
    StoreError, Tx,
    notifications::{Delivery, NotificationRow},
    work::{self, Asked, AskedFor},
};

use crate::{
    Claimed, Engine, Handed, Opened, SettledWork,
    delivery::{Sending, ToSend},
};

/// Calls of one attempt that have their own span; a message to thousands would be thousands of spans.
pub(crate) const CALLS_TRACED: usize = 32;

impl Engine {
    /// Around the commit that stores what one request brought.
    pub(crate) fn trace_intake(&self, items: &[Handed]) -> Span {
        let trace = items.iter().filter(|_| self.traces.is_on()).find_map(|item| item.envelope.trace());
        let Some((parent, _)) = trace else { return Span::none() };
        let mut span = self.traces.child("store notifications", SpanKind::Internal, parent);
        span.set("notification.count", items.len());
        span
    }

    /// In which traces the rows of a batch were asked for. Read only where traces are recorded.
    pub(crate) async fn asked_traces(
        &self,
        tx: &mut Tx,
        rows: &[Claimed],
    ) -> Result<HashMap<i64, Asked>, StoreError> {
        if !self.traces.is_on() {
            return Ok(HashMap::new());
        }
        work::traces(&mut tx.conn(), rows.iter().map(|row| row.id).collect()).await
    }

    /// Follow-ups of rows whose messages have settled belong to the trace of those rows.
    pub(crate) async fn trace_followers(
        &self,
        tx: &mut Tx,
        rows: &BTreeMap<String, Vec<SettledWork>>,
    ) -> Result<(), StoreError> {
        if !self.traces.is_on() {
            return Ok(());
        }
        let rows = || rows.values().flatten();
        let asked = work::traces(&mut tx.conn(), rows().map(|row| row.id).collect()).await?;
        let mut asked_for = AskedFor::default();
        for row in rows() {
            if let Some(asked) = asked.get(&row.id) {
                asked_for.after(&row.key, *asked);
            }
        }
        tx.asked_for(asked_for);
        Ok(())
    }

    /// The decision of one row: it continues the trace of its cause, or starts a new one. What it sends belongs to it.
    pub(crate) fn trace_decision(
        &self,
        row: &Claimed,
        asked: Option<&Asked>,
        sends: &mut [NewNotification],
        now: Timestamp,
    ) -> Span {
        if sends.is_empty() || !self.traces.is_on() {
            return Span::none();
        }
        let name = format!("decide {}", row.kind);
        let earlier = sends.iter().find_map(|new| new.envelope.trace());
        let mut span = match earlier.or(asked.map(|asked| (asked.by, asked.at))) {
            Some((earlier, at)) => self.traces.follow(name, SpanKind::Consumer, earlier, at),
            None => self.traces.root(name, SpanKind::Consumer),
        };
        span.set("work.id", row.id);
        span.set("work.kind", row.kind.clone());
        span.set("work.attempt", row.retry_count + 1);
        span.set("notification.count", sends.len());
        for new in sends.iter_mut().take(CALLS_TRACED) {
            new.envelope.belongs_to(&span, now);
        }
        span
    }

    /// One span for a batch of decisions, linked to those that are recorded.
    pub(crate) fn trace_batch(&self, kind: &str, rows: usize, spans: &[Span]) -> Span {
        let mut batch = self.traces.batch("settle work", spans.iter().filter_map(Span::context));
        batch.set("work.kind", kind.to_owned());
        batch.set("work.count", rows);
        batch
    }

    /// One span for a claim, linked to the messages that are recorded. Ends at once: `began` is when it was asked for.
    pub(crate) fn trace_claim(&self, sending: &mut Sending, rows: usize, began: Timestamp) {
        if !self.traces.is_on() {
            return;
        }
        let parts = sending.items.iter().filter_map(|item| stored_trace(&item.row)).map(|(trace, _)| trace);
        let mut batch = self.traces.batch("claim deliveries", parts);
        batch.began(began);
        batch.set("channel.key", sending.channel.key.to_string());
        batch.set("notification.count", rows);
        sending.batch = batch.context();
    }

    /// Begins the attempts of a batch: how long each message has waited, and the attempt itself as a part of that.
    pub(crate) fn trace_attempts(
        &self,
        items: &mut [ToSend],
        channel: &Opened,
        claimed_at: Timestamp,
        batch: Option<TraceParent>,
    ) {
        if !self.traces.is_on() {
            return;
        }
        for item in items {
            let row = &item.row;
            let Some((earlier, at)) = stored_trace(row) else { continue };
            let mut waited = self.traces.follow("queued", SpanKind::Consumer, earlier, at);
            waited.began(row.ready_at.min(claimed_at));
            identify(&mut waited, row);
            let Some(queued) = waited.context() else { continue };
            let mut span = self.traces.child("deliver", SpanKind::Consumer, queued);
            identify(&mut span, row);
            span.set("channel.key", channel.key.to_string());
            span.set("notification.targets", item.targets.len());
            if let Some(batch) = batch {
                span.link(batch);
            }
            item.trace = span;
        }
    }

    /// One call to a provider. The message carries the context, for channels that pass it on.
    pub(crate) fn trace_call(
        &self,
        parent: Option<TraceParent>,
        channel: &Opened,
        row: &NotificationRow,
        envelope: &mut Envelope,
    ) -> Span {
        let Some(parent) = parent else { return Span::none() };
        let mut span = self.traces.child(format!("send {}", channel.key.kind()), SpanKind::Client, parent);
        identify(&mut span, row);
        span.set("channel.key", channel.key.to_string());
        envelope.belongs_to(&span, self.clock.now());
        span
    }
}

/// The trace that a row belongs to and since when, where it was recorded here.
fn stored_trace(row: &NotificationRow) -> Option<(TraceParent, Timestamp)> {
    row.envelope.as_ref().and_then(|envelope| envelope.read().ok()).and_then(|envelope| envelope.trace())
}

fn identify(span: &mut Span, row: &NotificationRow) {
    span.set("notification.id", row.id.to_string());
    span.set("notification.attempt", row.attempts);
}

/// What a provider said. Its own words may have an address in them, so only the kind of answer is recorded.
pub(crate) fn call_ended(mut span: Span, outcome: &SendOutcome) {
    let (word, fault) = match outcome {
        SendOutcome::Delivered { .. } => ("delivered", None),
        SendOutcome::Transient { .. } => ("transient", Some("transient")),
        SendOutcome::Permanent { reason, .. } => ("permanent", Some(reason.as_str())),
        SendOutcome::Uncertain { .. } => ("uncertain", Some("uncertain")),
    };
    span.set("send.outcome", word);
    if let Some(fault) = fault {
        span.failed(fault);
    }
}

/// The outcome of a message in this attempt.
pub(crate) fn attempt_ended(mut span: Span, delivery: &Delivery) {
    span.set("notification.status", delivery.status.as_str());
    if let Some(reason) = delivery.reason {
        span.set("notification.reason", reason.as_str());
    }
    if delivery.last_error.is_some() {
        span.failed(delivery.reason.map_or("not delivered", |reason| reason.as_str()));
    }
}
