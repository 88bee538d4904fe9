//! Sending claimed notifications: calls in windows of at most the permits at hand, each answer recorded when it comes.
//!
//! One commit writes the answers that have come in and the intents of the calls that start next, so that after a crash
//! only calls that were under way can be repeated, whatever the number of targets. Calls go on while a commit is under
//! way. No call starts after a stop was asked for, after the trusted end of the lease, or while its renewal has failed.

mod call;
mod trust;
mod underway;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, pending},
    stream::FuturesUnordered,
};
use jiff::Timestamp;
use punctual_model::{ReasonCode, SendOutcome};
use punctual_store::{
    Lane,
    notifications::{self, Delivery},
};
use tokio_util::sync::CancellationToken;

use super::{
    DeliveryReport, Permit, Reservation, Sending, ToSend,
    conclude::{conclude, handed_back},
    files::{Files, Unread},
    parked,
    policy::failover,
    record::{Part, Window, Written},
    render::{Templates, Unrenderable},
};
use crate::{
    Engine, EngineError, Opened,
    config::later,
    confine::panic_message,
    due::chain,
    traced::{CALLS_TRACED, attempt_ended},
};
use call::Called;
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
    calls: FuturesUnordered<BoxFuture<'static, (i64, Called)>>,
    permits: Permit,
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
        let Sending { channel, mut items, reservation, permits, claimed_at, batch } = sending;
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
            calls: FuturesUnordered::new(),
            permits,
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
            if !self.halted && (until.is_stopped() || self.is_past_its_reservation()) {
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
            match self.calls.next().now_or_never() {
                Some(Some((seq, called))) => self.ended(seq, called),
                _ => return,
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
            self.calls.push(Box::pin(engine.call(call, self.trust.clone())));
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

    /// What is to be written now: answers, ends, and the intents of the next calls.
    fn next_window(&mut self) -> Option<Window> {
        let now = self.engine.clock.now();
        let mut parts: BTreeMap<i64, Part> = BTreeMap::new();
        if self.may_start() {
            self.choose_next_calls(&mut parts);
        }
        let mut ended = Vec::new();
        let touched = std::mem::take(&mut self.touched);
        for seq in touched {
            let Some(one) = self.items.get_mut(&seq) else { continue };
            let part = parts.entry(seq).or_insert_with(|| Part::new(one.item.clone()));
            part.speaks_of_channel = one.given.is_none();
            part.answers = std::mem::take(&mut one.fresh);
            part.withdraw = std::mem::take(&mut one.unstarted);
            ended.extend(part.answers.iter().map(|answer| answer.at));
            if one.has_ended(self.halted) {
                if let Some(one) = self.items.remove(&seq) {
                    part.delivery = Some(self.conclude(one, now));
                }
                self.queue.remove(seq);
            }
        }
        parts.retain(|_, part| !part.is_empty());
        if parts.is_empty() {
            return None;
        }
        let answers = parts.values().filter(|part| part.speaks_of_channel).flat_map(|part| &part.answers);
        let probe_results = self.engine.probe_results(&self.channel, answers, now);
        Some(Window { parts: parts.into_values().collect(), probe_results, ended, made_at: now })
    }

    /// One target of each notification in turn, for as many calls as there are permits.
    fn choose_next_calls(&mut self, parts: &mut BTreeMap<i64, Part>) {
        for _ in 0..self.permits.count() {
            let Some(seq) = self.queue.pop() else { return };
            let Some(one) = self.items.get_mut(&seq) else { continue };
            let Some(target) = one.item.targets.get(one.intended) else { continue };
            let part = parts.entry(seq).or_insert_with(|| Part::new(one.item.clone()));
            part.intend.push(target.clone());
            one.intended += 1;
            one.being_intended += 1;
            self.queue.push(one);
        }
    }

    fn conclude(&self, one: Underway, now: Timestamp) -> Delivery {
        let (engine, channel) = (self.engine, &self.channel);
        let Underway { item, tally, given, started, answered, trace, .. } = one;
        let unfinished = started < item.targets.len();
        let mut delivery = match given {
            Some(delivery) => delivery,
            None if answered == 0 && unfinished && tally.is_empty() => handed_back(&item.row, now),
            None => conclude(&item, tally, unfinished, &channel.retry, channel.at_most_once, now, || {
                engine.random.unit()
            }),
        };
        if self.reservation.probe {
            delivery = engine.not_counted(&item.row, delivery, now);
        }
        let delivery = failover::for_left_out(&item, delivery);
        let delivery = failover::go_on(&item.row, &item.failover, delivery, now);
        attempt_ended(trace, &delivery);
        delivery
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
