//! Writing the outcomes of notifications, and calling the workflows whose rows have none open any more.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use punctual_model::{AuditAction, NotificationId, NotificationStatus, Reach, ReasonCode, WorkId};
use punctual_store::{
    Stage, StoreError, Tx,
    attempts::{AttemptResult, Intent},
    audit,
    notifications::{self, Delivery, NotificationRow, Window, Written},
    work,
};

use super::{
    DeliveryReport, event_id,
    owed::Reported,
    policy::digested,
    record::{parted, write_uncertain},
};
use crate::{Engine, SettledWork};

/// What became of notifications, to be written together.
#[derive(Clone, Copy, Default)]
pub(super) struct Outcomes<'a> {
    pub(super) rows: &'a [(&'a NotificationRow, &'a Delivery)],
    /// What calls have answered, of these notifications and of others that go on.
    pub(super) attempts: &'a [AttemptResult],
    /// Claims with calls that start next, as number and token, and the intents of these calls.
    pub(super) next: &'a [(i64, i64)],
    pub(super) intents: &'a [Intent],
    /// The same was written before and not confirmed: a row already in its target state was written by us.
    pub(super) again: bool,
}

/// What was written.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) report: DeliveryReport,
    /// Of the claims with calls that start next, those that are still ours: their intents are written.
    pub(super) held: HashSet<i64>,
}

impl Engine {
    /// Writes outcomes, answers, and the intents of the next calls. Notifications come before their attempts, in the order
    /// in which the sweep takes them: the other way round the two could wait for each other.
    pub(super) async fn settle_deliveries_in(
        &self,
        tx: &mut Tx,
        outcomes: &Outcomes<'_>,
        now: Timestamp,
    ) -> Result<Settled, StoreError> {
        let Outcomes { rows, attempts, next, intents, again } = *outcomes;
        let deliveries: Vec<&Delivery> = rows.iter().map(|(_, delivery)| *delivery).collect();
        let (uncertain, certain) = parted(attempts);
        let window = Window { deliveries: &deliveries, results: &certain, next, intents };
        let Written { settled, held } =
            notifications::write_window(tx, now, &self.config.node, &window).await?;
        self.metrics.uncertain(write_uncertain(tx, &uncertain).await?);
        let mut report = DeliveryReport::default();
        if rows.is_empty() {
            return Ok(Settled { report, held });
        }
        let already = if again && settled.len() < rows.len() {
            settled_before(tx, rows).await?
        } else {
            HashSet::new()
        };
        let mut entries = Vec::new();
        for &(row, delivery) in rows {
            if !settled.contains(&delivery.seq) {
                if already.contains(&delivery.seq) {
                    report.count(delivery);
                    continue;
                }
                report.lost += 1;
                entries.push(orphan(row, delivery));
                tracing::warn!(
                    notification.id = %row.id,
                    "another node had taken over the message; the late result is kept as an orphan"
                );
                continue;
            }
            report.count(delivery);
            if let Some(event) = event_id(row) {
                let reached = delivery.status == NotificationStatus::Delivered;
                if reached { &mut report.events } else { &mut report.failed_events }.insert(event);
            }
            if delivery.status.is_live() {
                // Without a new moment it goes back to where it was, which may lie behind the marks.
                tx.raise(Stage::Delivery, delivery.retry_at.unwrap_or(row.ready_at));
            }
            if delivery.status == NotificationStatus::Parked {
                entries.push(park(row, delivery));
            } else if let Some(reason) = delivery.reason {
                self.metrics.held_back(reason.as_str());
                entries.push(held_back(row, delivery));
            }
            tracing::debug!(
                notification.id = %row.id,
                channel.key = row.channel.as_str(),
                status = delivery.status.as_str(),
                attempt = row.attempts,
                error = delivery.last_error.as_deref(),
                "settled"
            );
        }
        audit::append(&mut tx.conn(), now, &entries).await?;
        let settled: Vec<_> =
            rows.iter().copied().filter(|(_, delivery)| settled.contains(&delivery.seq)).collect();
        let back = reported(tx, &settled).await?;
        self.settle_workflows(tx, back, now).await?;
        Ok(Settled { report, held })
    }

    /// Counts settled notifications off their work rows; where none is open any more, the workflow decides what follows.
    /// Where it panics, that is owed, and the record of what was sent stays.
    pub(crate) async fn settle_workflows(
        &self,
        tx: &mut Tx,
        settled: Vec<Reported>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut entries = Vec::new();
        for (work, panic) in self.follow_settled(tx, settled, now).await? {
            entries.push(settled_failed(&work));
            let again: Vec<Reported> =
                work.outcomes.iter().map(|(id, status)| (WorkId(work.id), *id, *status)).collect();
            // The row waits for them again: they are counted off when what is owed is done.
            work::count_up(&mut tx.conn(), vec![work.id; again.len()]).await?;
            self.owe(tx, &again, &format!("the workflow panicked: {panic}"), now).await?;
        }
        audit::append(&mut tx.conn(), now, &entries).await
    }

    /// The same; returns the rows for which the workflow panicked, with what it said.
    pub(super) async fn follow_settled(
        &self,
        tx: &mut Tx,
        settled: Vec<Reported>,
        now: Timestamp,
    ) -> Result<Vec<(SettledWork, String)>, StoreError> {
        let mut panicked = Vec::new();
        if settled.is_empty() {
            return Ok(panicked);
        }
        let ids: Vec<i64> = settled.iter().map(|(work, _, _)| work.0).collect();
        let mut outcomes: HashMap<i64, Vec<(NotificationId, NotificationStatus)>> = HashMap::new();
        for (work, id, status) in settled {
            outcomes.entry(work.0).or_default().push((id, status));
        }
        let mut by_kind: BTreeMap<String, Vec<SettledWork>> = BTreeMap::new();
        for count in work::count_down(&mut tx.conn(), ids).await? {
            if count.open_notifications <= 0 {
                let outcomes = outcomes.remove(&count.id).unwrap_or_default();
                by_kind.entry(count.kind.clone()).or_default().push(SettledWork {
                    id: count.id,
                    key: count.key,
                    kind: count.kind,
                    business_unit: count.business_unit,
                    outcomes,
                });
            }
        }
        self.trace_followers(tx, &by_kind).await?;
        for (kind, works) in by_kind {
            let Some(workflow) = self.workflows.get(&kind) else { continue };
            let Some(follows) = &workflow.follows else { continue };
            let followed = follows.follow(&mut tx.conn(), &works, now).await?;
            panicked.extend(followed.panicked);
            self.write_beside(tx, now, followed.own, followed.effects).await?;
        }
        Ok(panicked)
    }
}

/// What rows of work are called with: each message that has ended, and for a digest the messages in it.
pub(super) async fn reported(
    tx: &mut Tx,
    settled: &[(&NotificationRow, &Delivery)],
) -> Result<Vec<Reported>, StoreError> {
    let mut back = Vec::new();
    for (row, delivery) in settled {
        // What is held for a digest is still open: it is reported with the digest.
        let is_held = delivery.reason == Some(ReasonCode::DailyCap);
        if row.reports_back && delivery.status.is_final() && !is_held {
            back.extend(row.work_id.map(|work| (work, row.id, delivery.status)));
        }
    }
    back.extend(digested(tx, settled).await?);
    Ok(back)
}

/// The rows that are at exactly the version and status that this settling writes.
async fn settled_before(
    tx: &mut Tx,
    rows: &[(&NotificationRow, &Delivery)],
) -> Result<HashSet<i64>, StoreError> {
    let ids = rows.iter().map(|(row, _)| row.id.to_string()).collect();
    let now = notifications::by_ids(&mut tx.conn(), &Reach::Everything, ids).await?;
    let now: HashMap<i64, (i64, NotificationStatus)> =
        now.into_iter().map(|row| (row.seq, (row.version, row.status))).collect();
    let is_settled = |wanted: &Delivery| now.get(&wanted.seq) == Some(&(wanted.token + 1, wanted.status));
    Ok(rows.iter().filter(|(_, wanted)| is_settled(wanted)).map(|(_, wanted)| wanted.seq).collect())
}

/// What follows for this row was not decided; it is owed.
fn settled_failed(work: &SettledWork) -> audit::Entry {
    tracing::error!(
        work.id = work.id,
        work.key = work.key,
        "a workflow panicked in the follow-up of a settled row"
    );
    audit::Entry {
        reason: Some(ReasonCode::Panic.into()),
        ..audit::Entry::new(AuditAction::SettledFailed, "work", work.id, work.business_unit.as_deref())
    }
}

/// What waits, goes on elsewhere or is not wanted: its timeline says why.
fn held_back(row: &NotificationRow, delivery: &Delivery) -> audit::Entry {
    let action = match (delivery.status, &delivery.channel) {
        (NotificationStatus::Withdrawn, _) => AuditAction::Withdraw,
        (_, Some(_)) => AuditAction::FailOver,
        (_, None) => AuditAction::Defer,
    };
    let data = serde_json::json!({
        "until": delivery.retry_at.map(|at| at.to_string()),
        "from": delivery.channel.as_ref().map(|_| &row.channel),
        "to": delivery.channel,
        "error": delivery.last_error,
    });
    audit::Entry {
        to: Some(delivery.status.as_str().into()),
        version: Some(delivery.token + 1),
        reason: delivery.reason.map(Into::into),
        data: Some(data.to_string()),
        ..audit::Entry::new(action, "notification", row.id, row.business_unit.as_deref())
    }
}

fn park(row: &NotificationRow, delivery: &Delivery) -> audit::Entry {
    audit::Entry {
        to: Some(NotificationStatus::Parked.as_str().into()),
        version: Some(delivery.token + 1),
        reason: delivery.reason.map(Into::into),
        ..audit::Entry::new(AuditAction::Park, "notification", row.id, row.business_unit.as_deref())
    }
}

/// A result that came after the claim had moved on: it may mean that a message was sent twice, so it is shown.
fn orphan(row: &NotificationRow, delivery: &Delivery) -> audit::Entry {
    audit::Entry {
        version: Some(delivery.token),
        data: Some(serde_json::json!({ "status": delivery.status }).to_string()),
        ..audit::Entry::new(AuditAction::LateResult, "notification", row.id, row.business_unit.as_deref())
    }
}

impl DeliveryReport {
    pub(super) fn count(&mut self, delivery: &Delivery) {
        match delivery.status {
            NotificationStatus::Delivered => self.delivered += 1,
            NotificationStatus::Parked => self.parked += 1,
            NotificationStatus::Withdrawn | NotificationStatus::Discarded => self.withdrawn += 1,
            NotificationStatus::Pending | NotificationStatus::Retrying => match delivery.channel {
                Some(_) => self.rerouted += 1,
                None if delivery.reason.is_some() => self.deferred += 1,
                None => self.retrying += 1,
            },
        }
    }
}
