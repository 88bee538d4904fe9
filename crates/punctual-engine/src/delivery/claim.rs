//! Claiming ready notifications of one channel, planning them, and writing the intents of the first window.

use punctual_model::{AuditAction, NotificationEvent, NotificationStatus, ReasonCode};
use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};

use jiff::Timestamp;
use punctual_store::{
    After, Lane, Stage, StoreError, Tx, attempts, audit, lists,
    notifications::{self, Delivery, NotificationHead, NotificationRow},
};

use super::{
    Class, DeliveryReport, Permit, Sending, ToSend, first_window,
    plan::{Ledger, Plan, plan},
    policy::{claim_budget::ClaimBudget, failover, postponed},
    settle::Outcomes,
};
use crate::{
    Engine, EngineError, Opened,
    config::later,
    confine::{Pieces, guarded},
    due::chain,
    intake::UNROUTED,
    marks::Start,
};

/// Messages to more targets than this, and those with files, are not claimed ahead of their calls: what is claimed is held
/// in memory.
const TARGETS_CLAIMED_AHEAD: usize = 100;

/// An open channel, with permits for the calls of a claim.
pub(crate) struct Open {
    pub(crate) channel: Arc<Opened>,
    pub(crate) permits: Permit,
}

impl Engine {
    /// Claims ready notifications of one channel, plans them, and writes the intents of the first window with the claim.
    /// What needs no sending (no channel, no recipients, everyone already has it) is settled at once.
    ///
    /// Where the set fails because of a row, it is split until that row is alone and parked; the others go on.
    pub(crate) async fn claim_deliveries(
        &self,
        key: &str,
        now: Timestamp,
        limit: i64,
        class: Class,
        mut open: Option<Open>,
    ) -> Result<(DeliveryReport, Vec<Sending>), EngineError> {
        self.check_clock()?;
        let limit = limit.min(self.config.batch);
        let whole = Which::Ready { class, limit };
        let claimed = guarded(self.claim_and_plan(key, now, whole, open.as_mut())).await;
        if claimed.is_err() {
            // Its rows are as they were, and another claim may have passed them meanwhile.
            self.forget_marks(key);
        }
        match claimed {
            Ok((report, sending)) => Ok((report, sending.into_iter().collect())),
            Err(error) if error.is_unavailable() => Err(error),
            Err(error) => {
                tracing::warn!(channel.key = key, error = %chain(&error), "a batch failed and is split");
                self.claim_in_pieces(key, now, class, limit, open).await
            }
        }
    }

    async fn claim_in_pieces(
        &self,
        key: &str,
        now: Timestamp,
        class: Class,
        limit: i64,
        mut open: Option<Open>,
    ) -> Result<(DeliveryReport, Vec<Sending>), EngineError> {
        let heads = {
            let mut reader = self.store.read().await?;
            notifications::ready_heads(&mut reader.conn(), key, class.levels(i64::MAX), now, limit).await?
        };
        let mut pieces = Pieces::of(&heads);
        let mut fault = None;
        while let Some(piece) = pieces.next() {
            // Each takes permits of what is left.
            let work = self.claim_and_plan(key, now, Which::These(piece), open.as_mut());
            if let Err(outage) = pieces.worked(piece, guarded(work).await) {
                fault = Some(outage);
                break;
            }
        }
        let (mut report, mut sendings) = (DeliveryReport::default(), Vec::new());
        for (claimed, sending) in pieces.done {
            report.add(&claimed);
            sendings.extend(sending);
        }
        for (head, error) in pieces.failed {
            match self.park_unworkable(head, now, &error).await {
                Ok(parked) => report.add(&parked),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        // What was claimed is sent, whatever came after it.
        if let (Some(error), true) = (fault, sendings.is_empty()) {
            return Err(error);
        }
        Ok((report, sendings))
    }

    async fn claim_and_plan(
        &self,
        key: &str,
        now: Timestamp,
        which: Which<'_>,
        open: Option<&mut Open>,
    ) -> Result<(DeliveryReport, Option<Sending>), EngineError> {
        let opened = open.as_ref().map(|open| open.channel.clone());
        let lease_until = later(now, self.lease_for(opened.as_deref()));
        let mut tx = self.store.begin(Lane::Claim).await?;
        let limit = which.limit();
        let Some(mut budget) = self.claim_budget(&mut tx, opened.as_deref(), key, now, limit).await? else {
            return Ok(Default::default());
        };
        let (rows, starts) = match which {
            Which::Ready { class, .. } => {
                if budget.limit < limit {
                    // Of the slots of a limit a unit gets its share, as of the permits.
                    let free = usize::try_from(budget.limit).unwrap_or(0);
                    budget.limit = i64::try_from(self.channels.shares.of(class, free)).unwrap_or(1);
                }
                let levels = class.levels(budget.up_to);
                self.claim_behind_marks(&mut tx, key, levels, now, lease_until, budget.limit).await?
            }
            Which::These(heads) => {
                let allowed = usize::try_from(budget.limit).unwrap_or(0).min(heads.len());
                let rows = notifications::claim_these(&mut tx, &heads[..allowed], now, lease_until).await?;
                (rows, Vec::new())
            }
        };
        if rows.is_empty() {
            return Ok(Default::default());
        }
        self.metrics.claimed(rows.len());
        let mut report = DeliveryReport { claimed: rows.len(), ..Default::default() };
        let places: Vec<(i64, After)> = rows.iter().map(|row| (row.priority, row.place())).collect();
        let planned = self.plan_in(&mut tx, opened.as_deref(), key, rows, now).await?;
        let (mut sending, settled) = self.first_intents(&mut tx, open, budget, planned, now).await?;
        let settled: Vec<_> = settled.iter().map(|(row, delivery)| (row, delivery)).collect();
        let unsent = Outcomes { rows: &settled, ..Outcomes::default() };
        report.add(&self.settle_deliveries_in(&mut tx, &unsent, now).await?.report);
        tx.commit().await?;
        self.advance_marks(key, which.first_level(), &starts, &places, now);
        for (row, delivery) in settled {
            self.report_attempt(row, &[], Some(delivery));
        }
        if let Some(sending) = &mut sending {
            self.trace_claim(sending, report.claimed, now);
        }
        Ok((report, sending))
    }

    /// Claims what is ready behind the marks, or from the beginning where nothing is.
    async fn claim_behind_marks(
        &self,
        tx: &mut Tx,
        key: &str,
        levels: RangeInclusive<i64>,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> Result<(Vec<NotificationRow>, Vec<Start>), StoreError> {
        let written = self.store.wake().take_written(Stage::Delivery);
        let starts = |written: Option<i64>| -> Vec<Start> {
            let start = |level| self.delivery_marks.start(&(key.to_owned(), level), written);
            levels.clone().map(start).collect()
        };
        let first = *levels.start();
        let mut starts_at = starts(written);
        let mut after: Vec<After> = starts_at.iter().map(|start| start.after).collect();
        let mut rows = notifications::claim_behind(tx, key, first, &after, now, lease_until, limit).await?;
        if rows.is_empty() && after.iter().any(|after| *after != After::BEGINNING) {
            self.forget_marks(key);
            starts_at = starts(None);
            after.fill(After::BEGINNING);
            rows = notifications::claim_behind(tx, key, first, &after, now, lease_until, limit).await?;
        }
        Ok((rows, starts_at))
    }

    /// The next claims of this channel start behind what was claimed. One process alone needs no marks: SQLite removes the
    /// entries of claimed rows at once.
    fn advance_marks(
        &self,
        key: &str,
        first: i64,
        starts: &[Start],
        places: &[(i64, After)],
        now: Timestamp,
    ) {
        if self.store.is_single_process() {
            return;
        }
        for (level, start) in (first..).zip(starts) {
            let last =
                places.iter().filter(|(priority, _)| *priority == level).map(|(_, place)| *place).max();
            if let Some(last) = last {
                self.delivery_marks.advance(&(key.to_owned(), level), *start, last, now);
            }
        }
    }

    fn forget_marks(&self, key: &str) {
        self.delivery_marks.forget(|(channel, _)| channel == key);
    }

    /// Writes the intents of the first window; returns what is to be sent and what is settled without sending.
    async fn first_intents(
        &self,
        tx: &mut Tx,
        open: Option<&mut Open>,
        budget: ClaimBudget,
        planned: Vec<Plan>,
        now: Timestamp,
    ) -> Result<(Option<Sending>, Vec<(NotificationRow, Delivery)>), StoreError> {
        let (mut items, mut settled) = (Vec::new(), Vec::new());
        for one in planned {
            match one {
                Plan::Send(to_send) => items.push(to_send),
                Plan::Settle(row, delivery) => {
                    let delivery = failover::go_on(&row, &failover::order_of(&row), delivery, now);
                    settled.push((row, delivery));
                }
            }
        }
        // Without an open channel nothing is planned to be sent.
        let Some(open) = open else { return Ok((None, settled)) };
        let (reservation, given_back) = self.take_slots(tx, budget, &open.channel, &mut items, now).await?;
        settled.extend(given_back);
        settled.extend(give_back_large(&mut items, open.permits.count(), now));
        if items.is_empty() {
            return Ok((None, settled));
        }
        let intents = first_window(&mut items, open.permits.count());
        if !intents.is_empty() {
            attempts::intend(&mut tx.conn(), now, &self.config.node, &intents).await?;
        }
        let (channel, permits) = (open.channel.clone(), open.permits.split(intents.len()));
        let sending =
            Sending { channel, items, reservation, permits, claimed_at: now, batch: None, backlog: None };
        Ok((Some(sending), settled))
    }

    async fn plan_in(
        &self,
        tx: &mut Tx,
        opened: Option<&Opened>,
        key: &str,
        rows: Vec<NotificationRow>,
        now: Timestamp,
    ) -> Result<Vec<Plan>, StoreError> {
        let names = rows.iter().filter_map(|row| row.list_name.clone()).collect();
        let lists = lists::named(&mut tx.conn(), names).await?;
        let again: Vec<i64> = rows.iter().filter(|row| row.attempts > 1).map(|row| row.seq).collect();
        let earlier = if again.is_empty() { Vec::new() } else { attempts::of(&mut tx.conn(), again).await? };
        let ledger = Ledger::new(earlier);
        let broken = if opened.is_none() && key != UNROUTED { self.channels.broken(key) } else { None };
        let plans = rows
            .into_iter()
            .map(|row| plan(row, opened.is_some(), broken.as_ref(), &lists, &ledger, now))
            .collect();
        // The list last: an order of channels may have led to another address.
        let plans = self.apply_policy(tx, opened, plans, &ledger, now).await?;
        let plans = self.leave_out_suppressed(tx, plans, &ledger, now).await?;
        self.leave_open_hosts(tx, opened, plans, now).await
    }

    /// Parks a row that fails whatever is beside it, so that a person can check it and the others go on.
    async fn park_unworkable(
        &self,
        head: &NotificationHead,
        now: Timestamp,
        error: &EngineError,
    ) -> Result<DeliveryReport, EngineError> {
        let error = chain(error);
        tracing::error!(
            notification.id = %head.id,
            channel.key = head.channel.as_str(),
            error,
            "a message is parked: its row cannot be processed"
        );
        self.metrics.row_isolated();
        let delivery = Delivery {
            last_error: Some(format!("the message could not be prepared for delivery: {error}")),
            reason: Some(ReasonCode::DeliveryFailed),
            ..head.after(NotificationEvent::Park)
        };
        self.park_alone(head, &delivery, &error, now).await
    }

    /// Parks one row in a transaction of its own. Its workflow is called if that can be done, else that is owed; the row is
    /// parked in any case.
    pub(crate) async fn park_alone(
        &self,
        head: &NotificationHead,
        delivery: &Delivery,
        error: &str,
        now: Timestamp,
    ) -> Result<DeliveryReport, EngineError> {
        match guarded(self.park_one(head, delivery, error, None, now)).await {
            Err(fault) if !fault.is_unavailable() => {
                let fault = chain(&fault);
                tracing::error!(notification.id = %head.id, error = fault, "the workflow of a parked message could not be called");
                self.park_one(head, delivery, error, Some(&fault), now).await
            }
            done => done,
        }
    }

    async fn park_one(
        &self,
        head: &NotificationHead,
        delivery: &Delivery,
        error: &str,
        owed_because: Option<&str>,
        now: Timestamp,
    ) -> Result<DeliveryReport, EngineError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        let parked = notifications::settle(&mut tx.conn(), now, &[delivery]).await?;
        if parked.is_empty() {
            return Ok(DeliveryReport { lost: 1, ..Default::default() });
        }
        let data = BTreeMap::from([("error", error), ("channel", head.channel.as_str())]);
        let unit = head.business_unit.as_deref();
        let entry = audit::Entry {
            to: Some(NotificationStatus::Parked.as_str().into()),
            version: Some(delivery.token + 1),
            reason: delivery.reason.map(Into::into),
            data: serde_json::to_string(&data).ok(),
            ..audit::Entry::new(AuditAction::Park, "notification", head.id, unit)
        };
        audit::append(&mut tx.conn(), now, &[entry]).await?;
        let work = head.work_id.filter(|_| head.reports_back);
        let back: Vec<_> = work.map(|work| (work, head.id, NotificationStatus::Parked)).into_iter().collect();
        match owed_because {
            None => self.settle_workflows(&mut tx, back, now).await?,
            Some(fault) => self.owe(&mut tx, &back, fault, now).await?,
        }
        tx.commit().await?;
        Ok(DeliveryReport { parked: 1, ..Default::default() })
    }
}

/// Gives back what is large to hold and has no permit yet.
fn give_back_large(
    items: &mut Vec<ToSend>,
    permits: usize,
    now: Timestamp,
) -> Vec<(NotificationRow, Delivery)> {
    let mut without_permit = items.split_off(permits.min(items.len()));
    let is_large =
        |item: &mut ToSend| item.row.attachments.is_some() || item.targets.len() > TARGETS_CLAIMED_AHEAD;
    let large: Vec<ToSend> = without_permit.extract_if(.., is_large).collect();
    items.append(&mut without_permit);
    let given_back = large.into_iter().map(|item| {
        let delivery = postponed(&item.row, now);
        (item.row, delivery)
    });
    given_back.collect()
}

/// Which rows a claim takes.
#[derive(Clone, Copy)]
enum Which<'h> {
    /// The next that are ready.
    Ready { class: Class, limit: i64 },
    /// These, where they are still ready.
    These(&'h [NotificationHead]),
}

impl Which<'_> {
    fn first_level(self) -> i64 {
        match self {
            Self::Ready { class, .. } => *class.levels(0).start(),
            Self::These(_) => 0,
        }
    }

    fn limit(self) -> i64 {
        match self {
            Self::Ready { limit, .. } => limit,
            Self::These(heads) => i64::try_from(heads.len()).unwrap_or(i64::MAX),
        }
    }
}
