//! The sweep: queues rows with expired leases again and marks attempts without a result as `uncertain`.

use std::{collections::HashSet, time::Duration};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{
    AuditAction, NextAttempt, NotificationEvent, NotificationStatus, ReasonCode, RetryPolicy, WorkEvent,
    WorkStatus,
};
use punctual_store::{
    Lane, Stage, attempts, audit,
    notifications::{self, Delivery, NotificationHead},
    work::{self, Settlement},
};

use crate::{
    Engine, EngineError, audit_chain,
    config::later,
    confine::{Pieces, guarded},
    due::chain,
    troubles::Chore,
};

/// Rows one pass takes of each table.
const SWEPT_AT_ONCE: i64 = 500;
/// How long a work row that cannot be swept is left alone.
const PUT_OFF_FOR: Duration = Duration::from_secs(60 * 60);

/// What one pass of the sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    pub work: usize,
    pub held: usize,
    pub notifications: usize,
    pub uncertain: usize,
    pub parked: usize,
    /// What was owed to workflows and is done now.
    pub owed: usize,
    /// Repaired by workflows.
    pub repaired: usize,
}

impl Engine {
    /// One bounded pass over expired leases of both tables.
    #[boxed]
    pub async fn sweep_tick(&self, now: Timestamp) -> Result<SweepReport, EngineError> {
        self.check_clock()?;
        self.work_marks.forget_all();
        self.delivery_marks.forget_all();
        let mut report = SweepReport::default();
        let leases = self.sweep_leases(now, &mut report).await;
        if let Err(error) = self.recover_abandoned(now).await {
            tracing::warn!(error = %chain(&error), "the batches of a lost node could not be recovered");
        }
        match self.work_owed(now).await {
            Ok(done) => report.owed = done,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "follow-ups owed to workflows could not be run");
            }
        }
        for (kind, workflow) in self.workflows.iter() {
            let Some(maintains) = &workflow.maintains else { continue };
            let repaired = guarded(maintains.reconcile(self, now)).await;
            self.note_chore(Chore::Reconcile, kind, &repaired, now).await;
            match repaired {
                Ok(repaired) => report.repaired += repaired,
                // A workflow that fails to repair must not keep the claims of others from being swept.
                Err(error) => {
                    tracing::warn!(work.kind = kind, error = %chain(&error), "a workflow could not be reconciled")
                }
            }
        }
        if let Err(error) = self.fold_quotas(now).await {
            tracing::warn!(error = %chain(&error), "the counted rows of business units could not be added up");
        }
        let sealed = if self.config.seals_audit { self.seal_audit().await } else { Ok(0) };
        self.note_chore(Chore::Audit, audit_chain::SEAL, &sealed, now).await;
        if let Err(error) = sealed {
            tracing::warn!(error = %chain(&error), "the audit could not be sealed");
        }
        leases?;
        Ok(report)
    }

    /// Neither of the tables keeps the other, or what workflows repair, from its turn.
    pub(crate) async fn sweep_leases(
        &self,
        now: Timestamp,
        report: &mut SweepReport,
    ) -> Result<(), EngineError> {
        let work = self.sweep_work(now, report).await;
        let notifications = self.sweep_notifications(now, report).await;
        work.and(notifications)
    }

    /// At start-up, where no other process can hold a lease, none has to run out first.
    #[boxed]
    pub async fn release_leases(&self, now: Timestamp) -> Result<(), EngineError> {
        if !self.store.is_single_process() {
            return Ok(());
        }
        let mut tx = self.store.begin(Lane::Settle).await?;
        work::release_leases(&mut tx.conn(), now).await?;
        notifications::release_leases(&mut tx.conn(), now).await?;
        tx.commit().await?;
        loop {
            match self.sweep_tick(now).await {
                Ok(report) if report == SweepReport::default() => return Ok(()),
                Ok(_) => {}
                // A row that nobody can touch keeps no node from starting; the sweep continues trying.
                Err(error) if !error.is_unavailable() => {
                    tracing::error!(error = %chain(&error), "not every lease of the last run could be released");
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn sweep_work(&self, now: Timestamp, report: &mut SweepReport) -> Result<(), EngineError> {
        let expired = {
            let mut reader = self.store.read().await?;
            work::expired(&mut reader.conn(), now, SWEPT_AT_ONCE).await?
        };
        let mut pieces = Pieces::of(&expired);
        while let Some(rows) = pieces.next() {
            pieces.worked(rows, guarded(self.sweep_work_rows(rows, now)).await)?;
        }
        for (swept, held) in pieces.done {
            report.work += swept;
            report.held += held;
        }
        let mut fault = None;
        for (row, error) in pieces.failed {
            fault = fault.or(self.put_off_work(row, now, &error).await.err());
        }
        fault.map_or(Ok(()), Err)
    }

    /// Returns how many rows were swept, and how many of them are on hold now.
    async fn sweep_work_rows(
        &self,
        expired: &[work::Expired],
        now: Timestamp,
    ) -> Result<(usize, usize), EngineError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        let rows: Vec<Settlement> = expired
            .iter()
            .map(|row| {
                let workflow = self.workflows.get(&row.kind);
                let policy = workflow.map_or(RetryPolicy::Ladder, |workflow| workflow.retry_policy());
                after_expiry(row, policy, now, self.random.unit())
            })
            .collect();
        // Those that another node has swept in the meantime have another version.
        let swept: HashSet<i64> = work::settle(&mut tx.conn(), now, &rows).await?.into_iter().collect();
        let mut entries = Vec::new();
        for (row, settlement) in expired.iter().zip(&rows).filter(|(row, _)| swept.contains(&row.id)) {
            if !settlement.on_hold {
                tx.raise(Stage::Work, settlement.retry_at.unwrap_or(now));
                continue;
            }
            entries.push(audit::Entry {
                from: Some(WorkStatus::Processing.as_str().into()),
                to: Some(settlement.status.as_str().into()),
                version: Some(row.version + 1),
                reason: settlement.reason.map(Into::into),
                ..audit::Entry::new(AuditAction::Hold, "work", row.id, row.business_unit.as_deref())
            });
        }
        audit::append(&mut tx.conn(), now, &entries).await?;
        tx.commit().await?;
        Ok((swept.len(), entries.len()))
    }

    /// A row that cannot be swept is checked again later, so that it does not block the others.
    async fn put_off_work(
        &self,
        row: &work::Expired,
        now: Timestamp,
        error: &EngineError,
    ) -> Result<(), EngineError> {
        tracing::error!(work.id = row.id, work.kind = row.kind, error = %chain(error), "a work row cannot be swept");
        self.metrics.row_isolated();
        let mut tx = self.store.begin(Lane::Settle).await?;
        work::renew(&mut tx.conn(), later(now, PUT_OFF_FOR), &[(row.id, row.version)]).await?;
        Ok(tx.commit().await?)
    }

    async fn sweep_notifications(&self, now: Timestamp, report: &mut SweepReport) -> Result<(), EngineError> {
        self.refresh_channels(now).await?;
        let expired = {
            let mut reader = self.store.read().await?;
            notifications::expired(&mut reader.conn(), now, SWEPT_AT_ONCE).await?
        };
        let mut pieces = Pieces::of(&expired);
        while let Some(rows) = pieces.next() {
            pieces.worked(rows, guarded(self.sweep_notification_rows(rows, now)).await)?;
        }
        for swept in pieces.done {
            report.notifications += swept.notifications;
            report.uncertain += swept.uncertain;
            report.parked += swept.parked;
        }
        let mut fault = None;
        for (head, error) in pieces.failed {
            match self.park_unswept(head, now, &error).await {
                Ok(()) => report.parked += 1,
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        fault.map_or(Ok(()), Err)
    }

    async fn sweep_notification_rows(
        &self,
        expired: &[NotificationHead],
        now: Timestamp,
    ) -> Result<SweepReport, EngineError> {
        let mut report = SweepReport::default();
        let mut tx = self.store.begin(Lane::Settle).await?;
        // Locks the rows, and leaves out what another node has swept or settled in the meantime.
        let tokens: Vec<(i64, i64)> = expired.iter().map(|row| (row.seq, row.version)).collect();
        let held: HashSet<i64> =
            notifications::renew(&mut tx.conn(), now, &tokens).await?.into_iter().collect();
        let uncertain = attempts::mark_uncertain(&mut tx.conn(), now, held.iter().copied().collect()).await?;
        let (mut rows, mut entries, mut back) = (Vec::new(), Vec::new(), Vec::new());
        for row in expired.iter().filter(|row| held.contains(&row.seq)) {
            let channel = self.channels.get(row.channel.as_str());
            let doubt = uncertain.contains_key(&row.seq);
            let next = self.after_doubt(channel.as_deref(), row.retry_count, doubt, now);
            let parks = next.is_none();
            if doubt {
                let unit = row.business_unit.as_deref();
                entries.push(audit::Entry {
                    version: Some(row.version + 1),
                    to: parks.then(|| NotificationStatus::Parked.as_str().to_owned()),
                    reason: Some(ReasonCode::OutcomeUnknown.into()),
                    ..audit::Entry::new(AuditAction::Uncertain, "notification", row.id, unit)
                });
            }
            if parks {
                report.parked += 1;
                if let (Some(work), true) = (row.work_id, row.reports_back) {
                    back.push((work, row.id, NotificationStatus::Parked));
                }
            } else {
                // One that goes back to where it was may lie behind the marks.
                tx.raise(Stage::Delivery, next.unwrap_or(row.ready_at));
            }
            let event = if parks { NotificationEvent::Park } else { NotificationEvent::FailTransient };
            rows.push(Delivery {
                // The attempt under way counts: it may have been sent.
                retry_count: row.retry_count + i64::from(doubt),
                last_error: doubt
                    .then(|| "the node stopped while sending; it may or may not have been sent".into()),
                reason: doubt.then_some(ReasonCode::Uncertain),
                retry_at: next,
                ..row.after(event)
            });
        }
        report.uncertain = uncertain.values().map(|count| usize::try_from(*count).unwrap_or(0)).sum();
        report.notifications =
            notifications::settle(&mut tx.conn(), now, &rows.iter().collect::<Vec<_>>()).await?.len();
        audit::append(&mut tx.conn(), now, &entries).await?;
        self.settle_workflows(&mut tx, back, now).await?;
        tx.commit().await?;
        self.metrics.uncertain(report.uncertain);
        Ok(report)
    }

    /// A row that cannot be swept is parked, so that a person can check it and it does not block the others.
    async fn park_unswept(
        &self,
        head: &NotificationHead,
        now: Timestamp,
        error: &EngineError,
    ) -> Result<(), EngineError> {
        let error = chain(error);
        tracing::error!(notification.id = %head.id, error, "a message is parked: its lease cannot be swept");
        self.metrics.row_isolated();
        let delivery = Delivery {
            last_error: Some(format!("its node is gone, and it could not be taken over: {error}")),
            reason: Some(ReasonCode::SweepFailed),
            ..head.after(NotificationEvent::Park)
        };
        self.park_alone(head, &delivery, &error, now).await?;
        Ok(())
    }
}

impl Engine {
    /// When a notification whose node is gone is retried; never, where a person must check: the channel sends at
    /// most once, or one message has now taken down its sender as often as the policy allows attempts.
    fn after_doubt(
        &self,
        channel: Option<&crate::Opened>,
        retry_count: i64,
        doubt: bool,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let Some(channel) = channel.filter(|_| doubt) else { return Some(now) };
        if channel.at_most_once {
            return None;
        }
        let failures = u32::try_from(retry_count + 1).unwrap_or(u32::MAX);
        match channel.retry.next(failures, now, self.random.unit(), None) {
            NextAttempt::At(_) if failures <= 1 => Some(now),
            NextAttempt::At(at) => Some(at),
            NextAttempt::GiveUp => None,
        }
    }
}

/// The first expired lease is ready again at once; from the second on the workflow's policy applies.
fn after_expiry(row: &work::Expired, policy: RetryPolicy, now: Timestamp, unit_random: f64) -> Settlement {
    let expiries = row.retry_count + 1;
    let next = match u32::try_from(expiries).unwrap_or(u32::MAX) {
        0 | 1 => NextAttempt::At(now),
        later => policy.next(later - 1, now, unit_random, None),
    };
    let (retry_at, on_hold) = match next {
        NextAttempt::At(at) => (Some(at), false),
        NextAttempt::GiveUp => (None, true),
    };
    Settlement {
        reason: Some(ReasonCode::LeaseExpired),
        on_hold,
        retry_at,
        ..Settlement::after(WorkEvent::Requeue, row.id, row.version, expiries)
    }
}
