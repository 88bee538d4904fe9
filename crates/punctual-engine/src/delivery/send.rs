//! Sending claimed notifications: calls in windows of at most the permits at hand, each answer recorded when it comes.
//!
//! One commit writes the answers that have come in and the intents of the calls that start next, so that after a crash
//! only calls that were under way can be repeated, whatever the number of targets. Calls go on while a commit is under
//! way. No call starts after a stop was asked for, after the trusted end of the lease, or while its renewal has failed.

mod call;
mod calls;
mod trust;
mod underway;
mod window;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::future::{BoxFuture, pending};
use jiff::Timestamp;
use punctual_model::{ReasonCode, SendOutcome, delivery_policy::Breaker};
use punctual_store::{Lane, delivery_policy::circuits::CircuitKey, notifications};
use tokio_util::sync::CancellationToken;

use super::{
    Backlog, DeliveryReport, Permit, Reservation, Sending, ToSend,
    files::{Files, Unread},
    parked,
    record::Written,
    render::{Templates, Unrenderable},
};
use crate::{
    Engine, EngineError, Opened, config::later, confine::panic_message, due::chain, traced::CALLS_TRACED,
};
use call::Called;
use calls::Calls;
use trust::Trust;
use underway::{Content, Queue, Underway};

/// Answers that are gathered before they are written: about 5 ms of SQLite's writer.
const WRITTEN_AT_ONCE: usize = 500;

/// How soon a renewal that failed is retried.
const RENEW_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long writing the results of calls is retried.
#[derive(Clone)]
pub(crate) enum Until {
    /// A few times; then the caller of the tick gets the error.
    Limited,
    /// Until they are written: forgetting them would repeat the calls. No call starts once a stop was asked for.
    Written(CancellationToken),
}

impl Until {
    fn is_stopped(&self) -> bool {
        matches!(self, Self::Written(stop) if stop.is_cancelled())
    }

    async fn stopped(&self) {
        match self {
            Self::Limited => pending().await,
            Self::Written(stop) => stop.cancelled().await,
        }
    }
}

/// The answer for one target.
pub(super) struct Answer {
    pub(super) target: String,
    pub(super) outcome: SendOutcome,
    pub(super) at: Timestamp,
}

/// The rows that a renewal still found, and when it was asked for.
struct Renewed {
    asked_at: Timestamp,
    held: HashSet<i64>,
}

struct Sender<'e> {
    engine: &'e Engine,
    channel: Arc<Opened>,
    reservation: Reservation,
    until: Until,
    items: HashMap<i64, Underway>,
    queue: Queue,
    /// Notifications with something to write.
    touched: BTreeSet<i64>,
    calls: Calls,
    permits: Permit,
    backlog: Option<Backlog>,
    trust: Arc<Trust>,
    /// No call starts any more.
    halted: bool,
    report: DeliveryReport,
}

impl Engine {
    /// Sends a batch to the end and settles it; what is answered early is written early.
    pub(crate) async fn send_all(
        &self,
        sending: Sending,
        until: Until,
    ) -> Result<DeliveryReport, EngineError> {
        let Sending { channel, mut items, reservation, permits, claimed_at, batch, backlog } = sending;
        self.trace_attempts(&mut items, &channel, claimed_at, batch);
        let mut sender = Sender {
            engine: self,
            trust: Arc::new(Trust::until(later(claimed_at, self.lease_for(Some(&channel))))),
            channel,
            reservation,
            until,
            items: HashMap::with_capacity(items.len()),
            queue: Queue::default(),
            touched: BTreeSet::new(),
            calls: Calls::default(),
            permits,
            backlog,
            halted: false,
            report: DeliveryReport::default(),
        };
        match self.templates_of(&items).await {
            Ok(templates) => {
                sender.prepare(items, templates, claimed_at).await;
                sender.run().await
            }
            // Nothing was called: any node may go on at once.
            Err(error) => {
                sender.hand_back(items);
                sender.run().await?;
                Err(error.into())
            }
        }
    }

    async fn renew_sending(&self, channel: &Opened, held: Vec<(i64, i64)>) -> Result<Renewed, EngineError> {
        let asked_at = self.clock.now();
        let until = later(asked_at, self.lease_for(Some(channel)));
        let mut tx = self.store.begin(Lane::Settle).await?;
        let held = notifications::renew(&mut tx.conn(), until, &held).await?.into_iter().collect();
        tx.commit().await?;
        Ok(Renewed { asked_at, held })
    }
}

impl Sender<'_> {
    /// Makes the texts and reads the files; what cannot be made is ended at once.
    async fn prepare(&mut self, items: Vec<ToSend>, mut templates: Templates, claimed_at: Timestamp) {
        let now = self.engine.clock.now();
        let mut ready = Vec::with_capacity(items.len());
        for item in items {
            let seq = item.row.seq;
            let text = catch_unwind(AssertUnwindSafe(|| templates.render(&item.row)));
            let text = text.unwrap_or_else(|panic| {
                Err(Unrenderable { reason: ReasonCode::Panic, error: panic_message(&*panic) })
            });
            let text = match text {
                Ok(text) => text,
                Err(fault) => {
                    self.end_unsendable(item, fault.reason, fault.error, now);
                    continue;
                }
            };
            match self.engine.files_of(&self.channel, &item.row).await {
                Ok(files) => {
                    let one = Underway::new(item, Content { text, files });
                    ready.push((seq, one.intended));
                    self.queue.push(&one);
                    self.items.insert(seq, one);
                }
                Err(Unread::Gone(error)) => {
                    self.end_unsendable(item, ReasonCode::AttachmentMissing, error, now)
                }
                Err(Unread::NotCarried(error)) => {
                    self.end_unsendable(item, ReasonCode::AttachmentsNotSupported, error, now)
                }
                // Retried as one that a channel did not take.
                Err(Unread::Unreachable(error)) => {
                    let mut one = Underway::new(item, Content { text, files: Files::default() });
                    one.end_uncalled(&SendOutcome::Transient { error, retry_after: None }, now);
                    self.touched.insert(seq);
                    self.items.insert(seq, one);
                }
            }
        }
        for (seq, intended) in ready {
            self.start(seq, 0, intended, claimed_at);
        }
    }

    /// Takes back the intents of messages whose texts cannot be read now.
    fn hand_back(&mut self, items: Vec<ToSend>) {
        self.halted = true;
        for item in items {
            let mut one = Underway::new(item, Content::empty());
            one.unstarted = one.item.targets[..one.intended].to_vec();
            self.touched.insert(one.item.row.seq);
            self.items.insert(one.item.row.seq, one);
        }
    }

    /// A message whose text cannot be made is parked without a call; its intents are closed.
    fn end_unsendable(&mut self, item: ToSend, reason: ReasonCode, error: String, now: Timestamp) {
        let delivery = parked(&item.row, reason, error.clone());
        let seq = item.row.seq;
        let mut one = Underway::new(item, Content::empty());
        one.end_uncalled(&SendOutcome::Permanent { reason, error }, now);
        one.given = Some(delivery);
        self.touched.insert(seq);
        self.items.insert(seq, one);
    }

    async fn run(mut self) -> Result<DeliveryReport, EngineError> {
        let engine = self.engine;
        let until = self.until.clone();
        let mut writing: Option<BoxFuture<'_, Result<Written, EngineError>>> = None;
        let mut renewing: Option<BoxFuture<'_, Result<Renewed, EngineError>>> = None;
        let mut waiting: Option<BoxFuture<'static, Permit>> = None;
        let mut renew_at = engine.clock.sleep_until(later(engine.clock.now(), engine.config.renew_every));
        loop {
            self.gather();
            if !self.halted && self.must_halt() {
                self.halt();
            }
            if writing.is_none() {
                self.adjust_permits();
                if let Some(window) = self.next_window() {
                    let (channel, reservation) = (self.channel.clone(), self.reservation.clone());
                    writing = Some(Box::pin(engine.record(channel, reservation, window, until.clone())));
                } else if self.items.is_empty() {
                    return Ok(self.report);
                }
            }
            if self.backlog.is_some() && (self.halted || self.items.values().all(Underway::is_begun)) {
                self.backlog = None;
            }
            match self.queue.class().filter(|_| self.permits.count() == 0 && self.may_start()) {
                Some(class) if waiting.is_none() => {
                    waiting = Some(Box::pin(self.channel.permits.clone().wait(class)));
                }
                Some(_) => {}
                None => waiting = None,
            }
            tokio::select! {
                biased;
                Some((seq, called)) = self.calls.next(), if !self.calls.is_empty() => self.ended(seq, called),
                written = ready(&mut writing) => {
                    writing = None;
                    self.written(written?);
                }
                permit = ready(&mut waiting) => {
                    waiting = None;
                    self.permits.append(permit);
                }
                () = &mut renew_at, if renewing.is_none() => {
                    let held = self.items.values().map(|one| (one.item.row.seq, one.item.row.version)).collect();
                    let channel = self.channel.clone();
                    renewing = Some(Box::pin(async move { engine.renew_sending(&channel, held).await }));
                }
                renewed = ready(&mut renewing) => {
                    renewing = None;
                    let again = self.renewed(renewed);
                    renew_at = engine.clock.sleep_until(later(engine.clock.now(), again));
                }
                () = until.stopped(), if !self.halted => {}
            }
        }
    }

    /// Takes the answers that are there already, so that many are written together.
    fn gather(&mut self) {
        for _ in 0..WRITTEN_AT_ONCE {
            match self.calls.take_ended() {
                Some((seq, called)) => self.ended(seq, called),
                None => return,
            }
        }
    }

    fn ended(&mut self, seq: i64, called: Called) {
        let Some(one) = self.items.get_mut(&seq) else { return };
        match called {
            Called::Answered(answer) => one.answer(answer),
            Called::NotStarted { target } => {
                one.not_started(target);
                self.queue.remove(seq);
            }
        }
        self.touched.insert(seq);
    }

    /// Whether the calls that are left are not to be made, or not like this: after a stop, after the end of their slots, where
    /// the channel was replaced, or where its circuit has opened.
    fn must_halt(&self) -> bool {
        if self.until.is_stopped() || self.is_past_its_reservation() {
            return true;
        }
        self.queue.class().is_some()
            && (!self.engine.channels.is_current(self.channel.key.as_str(), &self.channel)
                || self.has_open_circuit())
    }

    fn has_open_circuit(&self) -> bool {
        let circuit = self.engine.policy.circuit(&CircuitKey::of_channel(self.channel.key.as_str()));
        circuit.is_some_and(|circuit| circuit.open_until > self.engine.clock.now())
            && self.channel.breaker(self.engine.config.breaker) != Breaker::OFF
    }

    fn may_start(&self) -> bool {
        !self.halted
            && !self.until.is_stopped()
            && self.trust.holds(self.engine.clock.now())
            && !self.is_past_its_reservation()
    }

    fn is_past_its_reservation(&self) -> bool {
        self.reservation.until().is_some_and(|until| self.engine.clock.now() >= until)
    }

    /// Starts the calls of targets whose intents are on disk, or leaves their intents to be taken back. An intent is good
    /// for one lease, whether or not the claim was renewed since: it says that a call is about to start.
    fn start(&mut self, seq: i64, from: usize, count: usize, intended_at: Timestamp) {
        let may_start = self.may_start();
        let not_after = later(intended_at, self.engine.lease_for(Some(&self.channel)));
        let Some(one) = self.items.get_mut(&seq) else { return };
        let may_start = may_start && !one.is_over;
        let waits = self.channel.channel.waits();
        let to = (from + count).min(one.item.targets.len());
        for target in &one.item.targets[from.min(to)..to] {
            if !may_start {
                one.unstarted.push(target.clone());
                continue;
            }
            let permit = self.permits.split(1);
            let (engine, channel) = (self.engine.clone(), self.channel.clone());
            let (item, content) = (one.item.clone(), one.content.clone());
            let trace = one.trace.context().filter(|_| one.started < CALLS_TRACED);
            let call =
                call::Call { channel, item, content, target: target.clone(), permit, not_after, trace };
            self.calls.start(waits, engine.call(call, self.trust.clone()));
            one.started += 1;
        }
        if !may_start {
            one.is_over = true;
            self.queue.remove(seq);
            self.touched.insert(seq);
        }
    }

    /// No call starts any more; what was not called is handed back once the calls under way have ended.
    fn halt(&mut self) {
        self.halted = true;
        self.trust.end();
        self.queue = Queue::default();
        self.touched.extend(self.items.keys().copied());
    }

    /// Takes permits that are free where calls are left to start, and gives back those that are of no use.
    fn adjust_permits(&mut self) {
        match self.queue.class() {
            Some(class) if self.may_start() => {
                let left: usize = self.items.values().map(|one| one.item.targets.len() - one.intended).sum();
                let wanted = left.saturating_sub(self.permits.count());
                self.permits.append(self.channel.permits.take_free(class, wanted));
            }
            Some(_) | None => drop(self.permits.split(usize::MAX)),
        }
    }

    fn written(&mut self, written: Written) {
        self.report.add(&written.report);
        for (seq, count) in written.intended {
            let Some(one) = self.items.get_mut(&seq) else { continue };
            one.being_intended = 0;
            if written.held.contains(&seq) {
                let from = one.intended - count;
                self.start(seq, from, count, written.intended_at);
            } else {
                // Their intents were not written.
                one.intended -= count;
                self.lose(seq);
            }
        }
        for seq in written.failed {
            self.lose(seq);
            // What is under way is recorded when it ends.
            if self.items.get(&seq).is_some_and(|one| one.answered == one.started && one.fresh.is_empty()) {
                self.items.remove(&seq);
            }
        }
    }

    /// The claim has moved on, or the row cannot be written: no further call starts for it.
    fn lose(&mut self, seq: i64) {
        if let Some(one) = self.items.get_mut(&seq) {
            one.is_over = true;
            self.queue.remove(seq);
            self.touched.insert(seq);
        }
    }

    /// Takes the result of a renewal; returns when to renew next.
    fn renewed(&mut self, renewed: Result<Renewed, EngineError>) -> Duration {
        match renewed {
            Ok(Renewed { asked_at, held }) => {
                if !self.halted {
                    self.trust.extend(later(asked_at, self.engine.lease_for(Some(&self.channel))));
                }
                let lost: Vec<i64> = self.items.keys().copied().filter(|seq| !held.contains(seq)).collect();
                lost.into_iter().for_each(|seq| self.lose(seq));
                self.engine.config.renew_every
            }
            Err(error) => {
                tracing::warn!(
                    channel.key = self.channel.key.as_str(),
                    error = %chain(&error),
                    "leases could not be renewed; no call starts until they are"
                );
                self.trust.end();
                self.engine.config.renew_every.min(RENEW_AGAIN_AFTER)
            }
        }
    }
}

/// The result of a future that may not be there.
async fn ready<T>(future: &mut Option<BoxFuture<'_, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => pending().await,
    }
}
