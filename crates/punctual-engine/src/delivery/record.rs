//! Writing what calls have answered, what became of notifications, and which calls start next: one commit for all of it.
//!
//! A known answer is never forgotten. Writing is repeated over an outage of the database; a set that fails because of a
//! row is split until that row is alone, and its answers are then written without anything else.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use punctual_model::{AttemptOutcome, AuditAction, ReasonCode, SendOutcome};
use punctual_store::{
    Lane, StoreError, Tx,
    attempts::{self, AttemptResult, Intent},
    audit,
    notifications::{self, Delivery, NotificationRow},
    receipts::{self, Expected},
};

use super::{
    DeliveryReport, Reservation, ToSend, Until, intent, parked,
    policy::circuit::ProbeResults,
    send::Answer,
    settle::{Outcomes, Settled, reported},
    suppressed,
};
use crate::{
    Engine, EngineError, Opened,
    config::later,
    confine::{Pieces, guarded},
    due::chain,
};

/// How many attempts to write results a tick makes before it fails.
const ATTEMPTS: u32 = 3;
/// The longest pause between two attempts to write results.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What one commit writes of one notification.
pub(super) struct Part {
    pub(super) item: Arc<ToSend>,
    pub(super) answers: Vec<Answer>,
    /// Set where the notification has ended, for now or for good.
    pub(super) delivery: Option<Delivery>,
    /// Targets that are called next.
    pub(super) intend: Vec<String>,
    /// Targets whose intents are on disk and whose calls were not started.
    pub(super) withdraw: Vec<String>,
    /// Whether the answers are the channel's own.
    pub(super) speaks_of_channel: bool,
}

impl Part {
    pub(super) fn new(item: Arc<ToSend>) -> Self {
        Self {
            item,
            answers: Vec::new(),
            delivery: None,
            intend: Vec::new(),
            withdraw: Vec::new(),
            speaks_of_channel: true,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
            && self.delivery.is_none()
            && self.intend.is_empty()
            && self.withdraw.is_empty()
    }

    fn answered(&self) -> impl Iterator<Item = (&NotificationRow, &Answer)> {
        self.answers.iter().map(|answer| (&self.item.row, answer))
    }

    fn results(&self) -> impl Iterator<Item = AttemptResult> {
        self.answers.iter().map(|answer| recorded(&self.item.row, answer))
    }
}

/// What one commit writes.
pub(super) struct Window {
    pub(super) parts: Vec<Part>,
    /// What the answers mean for the circuits of the channel and of its hosts.
    pub(super) probe_results: ProbeResults,
    /// When each call ended.
    pub(super) ended: Vec<Timestamp>,
    /// No intent of it is older, however often it takes to write them.
    pub(super) made_at: Timestamp,
}

/// What was written.
pub(super) struct Written {
    pub(super) report: DeliveryReport,
    /// The intents are of this time or later.
    pub(super) intended_at: Timestamp,
    /// Notifications with new intents, and how many.
    pub(super) intended: Vec<(i64, usize)>,
    /// Of these, the ones whose claim is still ours: their calls may start.
    pub(super) held: HashSet<i64>,
    /// Notifications that could not be written with the others, and are parked.
    pub(super) failed: Vec<i64>,
}

impl Written {
    fn nothing(intended_at: Timestamp) -> Self {
        let report = DeliveryReport::default();
        Self { report, intended_at, intended: Vec::new(), held: HashSet::new(), failed: Vec::new() }
    }
}

impl Engine {
    /// Writes a window, again and again over an outage, and then calls the workflows: once for each answer, however often
    /// it took to write it.
    pub(super) async fn record(
        &self,
        channel: Arc<Opened>,
        reservation: Reservation,
        window: Window,
        until: Until,
    ) -> Result<Written, EngineError> {
        let mut attempts = 0;
        let written = loop {
            let error = match self.write_in_pieces(&channel, &reservation, &window, attempts > 0).await {
                Ok(written) => break Ok(written),
                Err(error) => error,
            };
            attempts += 1;
            tracing::warn!(
                channel.key = channel.key.as_str(),
                error = %chain(&error),
                "results of calls could not be recorded; retrying"
            );
            match until {
                Until::Limited if attempts >= ATTEMPTS => break Err(error),
                Until::Written(_) if attempts >= ATTEMPTS => {
                    let pause = LONGEST_PAUSE.min(Duration::from_millis(250).saturating_mul(attempts));
                    self.clock.sleep_until(later(self.clock.now(), pause)).await;
                }
                Until::Limited | Until::Written(_) => {}
            }
        };
        for part in &window.parts {
            self.report_attempt(&part.item.row, &part.answers, part.delivery.as_ref());
        }
        written
    }

    async fn write_in_pieces(
        &self,
        channel: &Opened,
        reservation: &Reservation,
        window: &Window,
        again: bool,
    ) -> Result<Written, EngineError> {
        // What concerns the channel and no row goes with the first piece that is committed.
        let mut concerns_channel = true;
        let mut pieces = Pieces::of(&window.parts);
        while let Some(parts) = pieces.next() {
            let written =
                guarded(self.write(channel, reservation, window, parts, concerns_channel, again)).await;
            concerns_channel &= written.is_err();
            pieces.worked(parts, written)?;
        }
        let mut all = Written::nothing(window.made_at);
        for written in pieces.done {
            all.report.add(&written.report);
            all.held.extend(written.held);
            all.intended.extend(written.intended);
        }
        for (part, error) in pieces.failed {
            all.report.add(&self.write_alone(channel, part, &error).await?);
            if !part.intend.is_empty() {
                all.intended.push((part.item.row.seq, part.intend.len()));
            }
            all.failed.push(part.item.row.seq);
        }
        Ok(all)
    }

    async fn write(
        &self,
        channel: &Opened,
        reservation: &Reservation,
        window: &Window,
        parts: &[Part],
        concerns_channel: bool,
        again: bool,
    ) -> Result<Written, EngineError> {
        let (key, now) = (channel.key.as_str(), self.clock.now());
        // All that needs no transaction comes before it: others wait for the one that is open.
        let answers: Vec<_> = parts.iter().flat_map(Part::answered).collect();
        let next = claims_with_calls(parts);
        let results: Vec<AttemptResult> = parts.iter().flat_map(Part::results).collect();
        let rows: Vec<_> =
            parts.iter().filter_map(|part| Some((&part.item.row, part.delivery.as_ref()?))).collect();
        let mut tx = self.store.begin(Lane::Settle).await?;
        let mut circuits = Vec::new();
        if concerns_channel {
            circuits = self.write_circuits(&mut tx, channel, &window.probe_results, now).await?;
            // What may have been written before is not written twice: those slots expire by themselves.
            if !again {
                self.free_slots(&mut tx, reservation, &window.ended, now).await?;
            }
        }
        self.follow_answers(&mut tx, channel, &answers, now).await?;
        let intents = self.next_intents(&mut tx, parts, &next, again).await?;
        let outcomes = Outcomes { rows: &rows, attempts: &results, next: &next, intents: &intents, again };
        let Settled { report, held } = self.settle_deliveries_in(&mut tx, &outcomes, now).await?;
        withdraw_intents(&mut tx, parts).await?;
        tx.commit().await?;
        if concerns_channel {
            self.remember_circuits(&window.probe_results, circuits);
            self.policy.ask_again(key);
        }
        let next = parts.iter().filter(|part| !part.intend.is_empty());
        let intended = next.map(|part| (part.item.row.seq, part.intend.len())).collect();
        Ok(Written { report, intended, held, ..Written::nothing(window.made_at) })
    }

    /// Keeps what receipts will ask for, and suppresses addresses that are of no use any more.
    async fn follow_answers(
        &self,
        tx: &mut Tx,
        channel: &Opened,
        answers: &[(&NotificationRow, &Answer)],
        now: Timestamp,
    ) -> Result<(), EngineError> {
        if channel.channel.takes_receipts() {
            let expected: Vec<Expected> =
                answers.iter().filter_map(|(row, answer)| expected(row, answer)).collect();
            if !expected.is_empty() {
                let arrived = receipts::expect(&mut tx.conn(), channel.adapter(), &expected).await?;
                self.follow_receipts(tx, now, &arrived).await?;
            }
        }
        let suppressed: Vec<_> =
            answers.iter().filter_map(|(row, answer)| suppressed::refused(row, answer)).collect();
        self.suppress_in(tx, now, &suppressed).await?;
        Ok(())
    }

    /// The same for each answer by itself: where the database refuses one, the others keep their receipts and suppressions.
    async fn follow_answers_alone(&self, channel: &Opened, part: &Part) -> Result<(), EngineError> {
        for (row, answer) in part.answered() {
            let followed = async {
                let mut tx = self.store.begin(Lane::Settle).await?;
                self.follow_answers(&mut tx, channel, &[(row, answer)], self.clock.now()).await?;
                Ok(tx.commit().await?)
            };
            match guarded(followed).await {
                Err(fault) if !fault.is_unavailable() => tracing::error!(
                    notification.id = %row.id,
                    error = %chain(&fault),
                    "the follow-up of one target's result cannot be written"
                ),
                done => done?,
            }
        }
        Ok(())
    }

    /// The intents of the calls that start next, without those that an unconfirmed commit may have written.
    async fn next_intents(
        &self,
        tx: &mut Tx,
        parts: &[Part],
        next: &[(i64, i64)],
        again: bool,
    ) -> Result<Vec<Intent>, StoreError> {
        let of_part = |part: &Part| part.intend.iter().map(|target| intent(&part.item.row, target)).collect();
        let mut intents: Vec<Intent> =
            parts.iter().flat_map(|part| -> Vec<Intent> { of_part(part) }).collect();
        if again && !intents.is_empty() {
            // Behind the commit before this one, if the database still works on it.
            notifications::hold(tx, next).await?;
            let seqs = intents.iter().map(|intent| intent.seq).collect();
            let known = attempts::of(&mut tx.conn(), seqs).await?;
            let known: HashSet<(i64, String, i64)> =
                known.into_iter().map(|row| (row.notification_seq, row.target, row.n)).collect();
            intents.retain(|one| !known.contains(&(one.seq, one.target.clone(), one.n)));
        }
        Ok(intents)
    }

    /// Writes the answers of a notification that fails whatever is beside it. What its workflow wants done about them is
    /// recorded as owed. Where that fails too, each answer is written by itself. A notification that has not ended is
    /// parked, so that a person can look.
    async fn write_alone(
        &self,
        channel: &Opened,
        part: &Part,
        error: &EngineError,
    ) -> Result<DeliveryReport, EngineError> {
        let row = &part.item.row;
        let error = chain(error);
        tracing::error!(
            notification.id = %row.id,
            channel.key = row.channel.as_str(),
            error,
            "the results of a message could not be recorded with its batch; they are recorded separately"
        );
        self.metrics.row_isolated();
        let delivery = part.delivery.clone().unwrap_or_else(|| {
            parked(
                row,
                ReasonCode::RecordFailed,
                format!("the results of its calls could not be recorded: {error}"),
            )
        });
        // Before the message settles, so that an outage in between repeats it: writing it twice changes nothing.
        self.follow_answers_alone(channel, part).await?;
        let results: Vec<AttemptResult> = part.results().collect();
        match guarded(self.write_plainly(row, &delivery, &results, &error)).await {
            Err(fault) if !fault.is_unavailable() => {}
            done => return done,
        }
        for result in &results {
            match guarded(self.write_answer(result)).await {
                Err(fault) if !fault.is_unavailable() => {
                    tracing::error!(notification.id = %row.id, error = %chain(&fault), "the result of one target cannot be recorded");
                }
                done => done?,
            }
        }
        match guarded(self.write_plainly(row, &delivery, &[], &error)).await {
            Err(fault) if !fault.is_unavailable() => {
                // Its lease runs out, and the sweep takes it.
                tracing::error!(notification.id = %row.id, error = %chain(&fault), "a message cannot be settled");
                Ok(DeliveryReport::default())
            }
            done => done,
        }
    }

    async fn write_plainly(
        &self,
        row: &NotificationRow,
        delivery: &Delivery,
        results: &[AttemptResult],
        error: &str,
    ) -> Result<DeliveryReport, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Settle).await?;
        let held = notifications::settle(&mut tx.conn(), now, &[delivery]).await?;
        write_results(&mut tx, results).await?;
        let data = BTreeMap::from([("error", error)]);
        let unit = row.business_unit.as_deref();
        let entry = audit::Entry {
            to: Some(delivery.status.as_str().into()),
            reason: Some(ReasonCode::RecordFailed.into()),
            data: serde_json::to_string(&data).ok(),
            ..audit::Entry::new(AuditAction::SettledFailed, "notification", row.id, unit)
        };
        audit::append(&mut tx.conn(), now, &[entry]).await?;
        if !held.is_empty() {
            let back = reported(&mut tx, &[(row, delivery)]).await?;
            self.owe(&mut tx, &back, error, now).await?;
        }
        tx.commit().await?;
        let mut report = DeliveryReport { lost: usize::from(held.is_empty()), ..Default::default() };
        if !held.is_empty() {
            report.count(delivery);
        }
        Ok(report)
    }

    async fn write_answer(&self, result: &AttemptResult) -> Result<(), EngineError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        write_results(&mut tx, std::slice::from_ref(result)).await?;
        Ok(tx.commit().await?)
    }
}

/// The claims that have calls to start. Whoever sweeps such a row comes before they are locked, or finds the intents that
/// follow.
fn claims_with_calls(parts: &[Part]) -> Vec<(i64, i64)> {
    let next = parts.iter().filter(|part| !part.intend.is_empty());
    next.map(|part| (part.item.row.seq, part.item.row.version)).collect()
}

/// Takes back the intents of calls that were not started.
async fn withdraw_intents(tx: &mut Tx, parts: &[Part]) -> Result<(), StoreError> {
    let withdrawn: Vec<_> = parts
        .iter()
        .flat_map(|part| part.withdraw.iter().map(|target| intent(&part.item.row, target)))
        .collect();
    if !withdrawn.is_empty() {
        attempts::withdraw(&mut tx.conn(), &withdrawn).await?;
    }
    Ok(())
}

/// Writes what calls have answered.
async fn write_results(tx: &mut Tx, results: &[AttemptResult]) -> Result<(), StoreError> {
    let (uncertain, certain) = parted(results);
    if !certain.is_empty() {
        attempts::record(&mut tx.conn(), &certain).await?;
    }
    write_uncertain(tx, &uncertain).await?;
    Ok(())
}

/// What nobody knows the outcome of, and the rest.
pub(super) fn parted(results: &[AttemptResult]) -> (Vec<AttemptResult>, Cow<'_, [AttemptResult]>) {
    let is_uncertain = |result: &AttemptResult| result.outcome == AttemptOutcome::Uncertain;
    if !results.iter().any(is_uncertain) {
        return (Vec::new(), Cow::Borrowed(results));
    }
    let (uncertain, certain) = results.iter().cloned().partition(is_uncertain);
    (uncertain, Cow::Owned(certain))
}

/// Marks the targets whose outcome is uncertain; returns how many, each counted once.
pub(super) async fn write_uncertain(tx: &mut Tx, results: &[AttemptResult]) -> Result<usize, StoreError> {
    if results.is_empty() {
        return Ok(0);
    }
    let counts = attempts::record_uncertain(&mut tx.conn(), results).await?;
    Ok(counts.values().map(|count| usize::try_from(*count).unwrap_or(0)).sum())
}

/// What a receipt will find this message by.
fn expected(row: &NotificationRow, answer: &Answer) -> Option<Expected> {
    match &answer.outcome {
        SendOutcome::Delivered { provider_id } if !provider_id.is_empty() => Some(Expected {
            provider_id: provider_id.clone(),
            channel: row.channel.to_string(),
            seq: row.seq,
            target: answer.target.clone(),
            attempt: row.attempts,
        }),
        _ => None,
    }
}

fn recorded(row: &NotificationRow, answer: &Answer) -> AttemptResult {
    let (provider_id, text) = match &answer.outcome {
        SendOutcome::Delivered { provider_id } => (Some(provider_id.clone()), None),
        SendOutcome::Transient { error, .. }
        | SendOutcome::Permanent { error, .. }
        | SendOutcome::Uncertain { error } => (None, Some(error.clone())),
    };
    AttemptResult {
        seq: row.seq,
        target: answer.target.clone(),
        n: row.attempts,
        finished_at: answer.at,
        outcome: AttemptOutcome::from(&answer.outcome),
        provider_id,
        answer: text,
    }
}
