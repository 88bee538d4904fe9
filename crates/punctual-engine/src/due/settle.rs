//! Writes decisions: outcome, notifications, effects and audit entries of a row, together.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use punctual_model::{
    Arrival, AuditAction, ChannelKey, Decided, Decision, Effect, NewNotification, NextAttempt,
    NotificationId, Span, WorkEvent, WorkId, WorkStatus,
};
use punctual_store::{
    Lane, Stage, StoreError, Tx, audit,
    notifications::{self, Insertion, NotificationRow},
    work::{self, Asked, QueuedRow, Settlement},
};

use super::{DueReport, trace::Trace};
use crate::{
    Claimed, Engine, EngineError, Registration,
    arrivals::Arrived,
    delivery::{HandOver, Open},
    events::Touched,
    intake::route,
    registration::DecidedBatch,
};

/// One decided row, split into what each statement needs.
struct Outcome {
    settlement: Settlement,
    notifications: Vec<NewNotification>,
    effects: Vec<Effect>,
    arrived: Vec<Arrived>,
    /// On the heap, because most rows have none.
    audited: Option<Box<audit::Entry>>,
    trace: Option<Trace>,
    span: Span,
}

/// What one transaction wrote, and what is left to do once it is committed.
pub(super) struct SettledBatch {
    report: DueReport,
    hand_over: HandOver,
    traces: Vec<Trace>,
    planned: Touched,
    /// End when the batch is on disk.
    spans: Vec<Span>,
}

/// Notifications of decided rows, ready to be inserted.
struct Queue {
    rows: Vec<NotificationRow>,
    /// Permits for those that this node sends itself; what is not used of them is free again with this.
    reserved: Vec<Open>,
    insertion: Insertion,
}

impl Queue {
    fn retain(&mut self, keep: impl FnMut(&NotificationRow) -> bool) {
        self.rows.retain(keep);
        self.insertion = Insertion::of(&self.rows);
    }
}

impl Engine {
    pub(super) async fn settle_work(
        &self,
        workflow: &Registration,
        rows: &[Claimed],
        decided: DecidedBatch,
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), EngineError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        let settled = self.settle_work_in(&mut tx, workflow, rows, decided, now, sends_itself).await;
        self.end(tx, workflow, settled).await
    }

    /// Writes decisions with the version check; rows that another worker has taken over are left alone.
    pub(super) async fn settle_work_in(
        &self,
        tx: &mut Tx,
        workflow: &Registration,
        rows: &[Claimed],
        decided: DecidedBatch,
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<SettledBatch, EngineError> {
        let follows = workflow.follows.is_some();
        let DecidedBatch { decided, mut own } = decided;
        let asked = self.asked_traces(tx, rows).await?;
        let mut outcomes: Vec<Outcome> = rows
            .iter()
            .zip(decided)
            .map(|(row, decided)| self.outcome(workflow, row, asked.get(&row.id), decided, now))
            .collect();
        let mut spans: Vec<Span> = Vec::new();
        if self.traces.is_on() {
            spans.extend(outcomes.iter_mut().map(|outcome| std::mem::take(&mut outcome.span)));
            spans.push(self.trace_batch(workflow.kind(), rows.len(), &spans));
        }
        let wanted: Vec<(i64, NewNotification)> = outcomes
            .iter_mut()
            .flat_map(|outcome| {
                let id = outcome.settlement.id;
                std::mem::take(&mut outcome.notifications).into_iter().map(move |new| (id, new))
            })
            .collect();
        let channels = route(tx, wanted.iter().map(|(_, new)| new));
        let channels = channels.await?;
        let settlements: Vec<Settlement> =
            outcomes.iter().map(|outcome| outcome.settlement.clone()).collect();
        // The database works on the rows while their messages are prepared.
        let mut conn = tx.conn();
        let (held, mut queue) = tokio::join!(work::settle(&mut conn, now, &settlements), async {
            self.prepare_queue(queued(wanted, channels, follows, now), now, sends_itself)
        });
        let held = held?;
        let everything_held = held.len() == outcomes.len();
        let held: HashSet<i64> = if everything_held { HashSet::new() } else { held.into_iter().collect() };

        let mut report = DueReport { claimed: outcomes.len(), ..Default::default() };
        let (mut effects, mut entries) = (Vec::new(), Vec::new());
        let (mut traces, mut arrived) = (Vec::new(), Vec::new());
        for outcome in outcomes {
            let settlement = outcome.settlement;
            if !everything_held && !held.contains(&settlement.id) {
                report.lost += 1;
                tracing::warn!(
                    work.id = settlement.id,
                    "another node had taken over the row; the late result is dropped"
                );
                continue;
            }
            report.count(&settlement);
            entries.extend(outcome.audited.map(|entry| *entry));
            for effect in &outcome.effects {
                if let Effect::Noted(word) = effect {
                    *report.noted.entry(word).or_default() += 1;
                }
            }
            effects.extend(outcome.effects);
            arrived.extend(outcome.arrived);
            traces.extend(outcome.trace);
            if let Some(at) = settlement.retry_at {
                tx.raise(Stage::Work, at);
            }
        }
        if !everything_held {
            queue.retain(|item| item.work_id.is_some_and(|id| held.contains(&id.0)));
            if let Some(own) = &mut own {
                own.retain(&|work| held.contains(&work));
            }
        }
        report.notifications = queue.rows.len();
        if queue.rows.len() > work::NAMED {
            work::keep_queued(&mut tx.conn(), &not_named(&queue.rows)).await?;
        }
        let hand_over = self.queue_in(tx, queue, now).await?;
        self.publish_arrivals(tx, now, &arrived).await?;
        let planned = self.write_beside(tx, now, own, effects).await?;
        audit::append(&mut tx.conn(), now, &entries).await?;
        Ok(SettledBatch { report, hand_over, traces, planned, spans })
    }

    /// Counts, logs and traces a batch whose decisions are on disk.
    pub(super) async fn settled(
        &self,
        workflow: &Registration,
        settled: SettledBatch,
    ) -> (DueReport, HandOver) {
        let SettledBatch { report, hand_over, traces, planned, spans } = settled;
        drop(spans);
        self.keep_traces(traces).await;
        self.metrics.worked(workflow.kind(), &report);
        self.metrics.planned(workflow.kind(), &planned);
        tracing::debug!(
            work.kind = workflow.kind(),
            work.claimed = report.claimed,
            work.completed = report.completed,
            work.deactivated = report.deactivated,
            work.held = report.held,
            "settled"
        );
        (report, hand_over)
    }

    fn prepare_queue(&self, mut rows: Vec<NotificationRow>, now: Timestamp, sends_itself: bool) -> Queue {
        self.store.quotas().place(&mut rows);
        let reserved = if sends_itself { self.reserve(&mut rows, now) } else { Vec::new() };
        Queue { insertion: Insertion::of(&rows), rows, reserved }
    }

    /// Inserts the notifications of decided rows, already claimed where this node may send them itself.
    async fn queue_in(&self, tx: &mut Tx, queue: Queue, now: Timestamp) -> Result<HandOver, StoreError> {
        let Queue { rows, reserved, insertion } = queue;
        if rows.is_empty() {
            return Ok(HandOver::default());
        }
        let refs: Vec<&NotificationRow> = rows.iter().collect();
        let inserted = notifications::insert_prepared(&mut tx.conn(), &refs, insertion).await?;
        for item in rows.iter().filter(|item| item.lease_expires_at.is_none()) {
            tx.raise(Stage::Delivery, item.ready_at);
        }
        self.intend_own(tx, rows, inserted, reserved, now).await
    }

    fn outcome(
        &self,
        workflow: &Registration,
        row: &Claimed,
        asked: Option<&Asked>,
        decided: Decided,
        now: Timestamp,
    ) -> Outcome {
        let mut settlement = row.after(match &decided.decision {
            Decision::Deliver(_) | Decision::Publish(_) => WorkEvent::Complete,
            Decision::Skip(_) => WorkEvent::Deactivate,
            Decision::Fail(_) => WorkEvent::Fail,
            Decision::Hold(_) | Decision::Defer(..) | Decision::Retry(_) => WorkEvent::Requeue,
        });
        let (mut queue, mut audited, mut span) = (Vec::new(), None, Span::none());
        let arrived = |arrival: Arrival| Arrived { arrival, business_unit: row.business_unit.clone() };
        let beside = decided.effects.iter().filter_map(|effect| match effect {
            Effect::Publish(arrival) => Some(arrived(arrival.clone())),
            _ => None,
        });
        let mut arrivals: Vec<Arrived> = beside.collect();
        let mut hold = |settlement: &mut Settlement| {
            settlement.on_hold = true;
            audited = Some(AuditAction::Hold);
        };
        match decided.decision {
            Decision::Deliver(mut new) => {
                identify(row, &mut new);
                span = self.trace_decision(row, asked, &mut new, now);
                settlement.result = Some(coordinates(&new));
                if workflow.follows.is_some() {
                    settlement.open_notifications = i64::try_from(new.len()).unwrap_or(i64::MAX);
                }
                queue = new;
            }
            Decision::Publish(arrival) => {
                arrivals.push(arrived(arrival));
            }
            Decision::Skip(reason) => {
                settlement.reason = Some(reason);
                audited = Some(AuditAction::Deactivate);
            }
            Decision::Fail(reason) => {
                settlement.reason = Some(reason);
                audited = Some(AuditAction::Fail);
            }
            Decision::Hold(reason) => {
                settlement.reason = Some(reason);
                hold(&mut settlement);
            }
            Decision::Defer(until, reason) => {
                settlement.reason = Some(reason);
                settlement.retry_at = Some(until);
            }
            Decision::Retry(reason) => {
                settlement.reason = Some(reason);
                settlement.retry_count += 1;
                let failures = u32::try_from(settlement.retry_count).unwrap_or(u32::MAX);
                match workflow.retry_policy().next(failures, now, self.random.unit(), None) {
                    NextAttempt::At(at) => settlement.retry_at = Some(at),
                    NextAttempt::GiveUp => hold(&mut settlement),
                }
            }
        }
        // The rows say what went as usual; a trace is kept of what did not, or where the workflow adds something.
        let kept = settlement.on_hold || settlement.status == WorkStatus::Failed || decided.trace.is_some();
        let trace = kept.then(|| {
            let word = if settlement.on_hold { "onHold" } else { settlement.status.as_str() };
            let outcome = serde_json::json!({ "status": word, "reasonCode": settlement.reason });
            Trace::new(row, outcome, decided.trace, &self.config.node, now)
        });
        let effects = decided.effects;
        let audited = audited.map(|action| Box::new(audit_entry(action, row, &settlement)));
        Outcome { settlement, notifications: queue, effects, arrived: arrivals, audited, trace, span }
    }
}

/// What rows have decided to send, as it goes into the table, in the order of the ids.
fn queued(
    wanted: Vec<(i64, NewNotification)>,
    channels: Vec<ChannelKey>,
    reports_back: bool,
    now: Timestamp,
) -> Vec<NotificationRow> {
    let mut queued: Vec<NotificationRow> = wanted
        .into_iter()
        .zip(channels)
        .map(|((work_id, new), channel)| NotificationRow {
            work_id: Some(WorkId(work_id)),
            reports_back,
            ..NotificationRow::new(new, channel, now)
        })
        .collect();
    queued.sort_unstable_by_key(|item| item.id);
    queued
}

/// Gives notifications that have none the id that follows from their row, so that deciding twice queues once. One that
/// is wanted twice counts once.
fn identify(row: &Claimed, new: &mut Vec<NewNotification>) {
    for item in new.iter_mut().filter(|item| item.id.0.is_nil()) {
        let channel = item.channel.as_ref().map_or("", |channel| channel.as_str());
        item.id = NotificationId::derived(WorkId(row.id), &row.key, channel, &item.audience.identity());
    }
    if new.len() > 1 {
        let mut seen = HashSet::with_capacity(new.len());
        new.retain(|item| seen.insert(item.id));
    }
}

fn coordinates(new: &[NewNotification]) -> String {
    work::coordinates(&new.iter().map(|item| item.id).collect::<Vec<_>>())
}

/// What the rows do not name themselves, because they queued too much.
fn not_named(queued: &[NotificationRow]) -> Vec<QueuedRow> {
    let mut counts: HashMap<i64, usize> = HashMap::new();
    for item in queued {
        *counts.entry(item.work_id.map_or(0, |id| id.0)).or_default() += 1;
    }
    let many = queued.iter().filter_map(|item| {
        let work_id = item.work_id?.0;
        let is_many = counts.get(&work_id).is_some_and(|count| *count > work::NAMED);
        is_many.then(|| QueuedRow { work_id, notification_id: item.id.to_string() })
    });
    many.collect()
}

fn audit_entry(action: AuditAction, row: &Claimed, settlement: &Settlement) -> audit::Entry {
    audit::Entry {
        from: Some(WorkStatus::Processing.as_str().into()),
        to: Some(settlement.status.as_str().into()),
        version: Some(settlement.token + 1),
        reason: settlement.reason.map(Into::into),
        ..audit::Entry::new(action, "work", settlement.id, row.business_unit.as_deref())
    }
}

impl DueReport {
    fn count(&mut self, settlement: &Settlement) {
        if settlement.on_hold {
            self.held += 1;
            return;
        }
        match settlement.status {
            WorkStatus::Completed => self.completed += 1,
            WorkStatus::Deactivated => self.deactivated += 1,
            WorkStatus::Failed => self.failed += 1,
            _ if settlement.retry_count > 0 => self.retried += 1,
            _ => self.deferred += 1,
        }
    }
}
