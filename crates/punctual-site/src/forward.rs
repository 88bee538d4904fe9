//! Forwards one batch, in order, and clears the rows that the central server acknowledges.
//!
//! The next batch is sent only after this one was answered, so rows arrive in order; it is prepared meanwhile. After a
//! failure the same rows are sent again, at a fixed interval: central stores what is new and acknowledges the rest.

use jiff::Timestamp;
use punctual_store::{
    Lane, StoreError, facts,
    site_buffer::{
        events::{self, EventRow},
        outgoing,
    },
};
use punctual_wire::{
    Problem,
    limits::SITE_EVENTS_MAX,
    sites::{SiteAck, SiteReport},
};

use crate::{
    Agent, CentralError, SITE_FACT,
    ack::{Settlement, settle},
    age_seconds, chain,
    config::later,
    event_log::{self, Kind},
    failure::{Failure, SMALLEST_AFTER_FAILURE, is_about_the_batch, is_perhaps_too_slow},
    prepare::Prepared,
};

/// The counts of one tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardReport {
    /// Rows in the request.
    pub sent: usize,
    pub stored: usize,
    pub duplicates: usize,
    /// Rows that central will never take.
    pub refused: usize,
    /// Acknowledgements that were not for these rows.
    pub ignored: usize,
    /// Why rows stay where they are.
    pub failure: Option<String>,
    pub next: Next,
}

/// When to tick again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More waits.
    Now,
    /// Nothing waits: when something arrives, or at the time of the next report.
    WhenWoken(Timestamp),
    /// After a failure, whatever arrives meanwhile.
    At(Timestamp),
}

impl Agent {
    /// Hands over one batch, or only a report if nothing waits and one is due.
    pub async fn forward_tick(&self, now: Timestamp) -> ForwardReport {
        let mut prepared = self.prepared.lock().await;
        let report = match self.forward(now, &mut prepared).await {
            Ok(report) => report,
            Err(failure) => {
                // What was prepared may no longer be what comes next.
                *prepared = None;
                self.failed(now, failure).await
            }
        };
        self.metrics.forwarded(&report);
        report
    }

    async fn forward(
        &self,
        now: Timestamp,
        prepared: &mut Option<Prepared>,
    ) -> Result<ForwardReport, Failure> {
        let (limit, report_at) = {
            let link = self.link();
            let last = link.last_contact_at.filter(|_| link.failure.is_none());
            (link.batch, last.map_or(now, |at| later(at, self.config.report_every)))
        };
        let batch = match prepared.take() {
            Some(batch) if !batch.is_empty() => batch,
            _ => self.prepare(0, limit).await?,
        };
        if batch.is_empty() && report_at > now {
            return Ok(ForwardReport { next: Next::WhenWoken(report_at), ..ForwardReport::nothing() });
        }
        let site = self.identity(now).await?;
        let (report, returned) = self.report(now).await?;
        let body = batch.body(&report);
        let answered = async { self.central.hand_over(&site, body).await };
        // While this batch is on its way, the one after it is prepared.
        let ahead = async {
            if batch.rows.len() < limit { None } else { self.prepare(batch.last(), limit).await.ok() }
        };
        let (answered, ahead) = tokio::join!(answered, ahead);
        match answered {
            Ok(acks) => {
                let done = self.settle(now, &batch, acks, &returned).await?;
                let cleared_all = done.stored + done.duplicates + done.refused == batch.rows.len();
                *prepared = ahead.filter(|_| cleared_all);
                Ok(done)
            }
            Err(CentralError::Refused(problem)) if is_about_the_batch(&problem) && !batch.is_empty() => {
                self.narrow(now, &batch, &problem).await
            }
            Err(error) => {
                if is_perhaps_too_slow(&error) {
                    let mut link = self.link();
                    link.batch = (link.batch / 2).max(SMALLEST_AFTER_FAILURE.min(self.config.batch));
                }
                Err(error.into())
            }
        }
    }

    /// Writes down what central acknowledged.
    async fn settle(
        &self,
        now: Timestamp,
        batch: &Prepared,
        acks: Vec<SiteAck>,
        returned: &[EventRow],
    ) -> Result<ForwardReport, Failure> {
        let settlement = settle(&batch.rows, acks);
        if let Err(error) = self.write_settlement(now, &settlement, returned).await {
            // On a full disk not even this can be written: what was held back for it is given up.
            tracing::warn!(
                error = chain(&error),
                "acknowledgements could not be written; the reserved disk space is released"
            );
            self.reserve.release();
            let _ = self.store.checkpoint().await;
            self.write_settlement(now, &settlement, returned).await?;
        }
        self.level
            .give_back(i64::try_from(settlement.handed_over.len()).unwrap_or(0), settlement.freed_bytes);
        if let Some((_, why)) = settlement.refused.first() {
            let detail = format!("Central refused {}: {why}", settlement.refused_ids.join(", "));
            let count = i64::try_from(settlement.refused.len()).unwrap_or(i64::MAX);
            self.level.refused(count);
            self.log.once(now, Kind::Refused, count, &detail).await;
        }
        let cleared = settlement.handed_over.len() + settlement.refused.len();
        if cleared == 0 && !batch.is_empty() {
            let why = "central acknowledged none of the rows that were sent";
            return Err(Failure { why: why.to_owned(), class: why.to_owned(), retry_after: None });
        }
        self.reached(now).await;
        let next =
            if batch.is_empty() { Next::WhenWoken(later(now, self.config.report_every)) } else { Next::Now };
        Ok(ForwardReport {
            sent: batch.rows.len(),
            stored: settlement.stored,
            duplicates: settlement.duplicates,
            refused: settlement.refused.len(),
            ignored: settlement.ignored,
            failure: None,
            next,
        })
    }

    async fn write_settlement(
        &self,
        now: Timestamp,
        settlement: &Settlement,
        returned: &[EventRow],
    ) -> Result<(), StoreError> {
        if settlement.handed_over.is_empty() && settlement.refused.is_empty() && returned.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.begin(Lane::Settle).await?;
        if !settlement.handed_over.is_empty() {
            outgoing::hand_over(&mut tx.conn(), now, settlement.handed_over.clone()).await?;
        }
        if !settlement.refused.is_empty() {
            outgoing::refuse(&mut tx.conn(), now, settlement.refused.clone()).await?;
        }
        if !returned.is_empty() {
            events::reported(&mut tx.conn(), returned).await?;
        }
        tx.commit().await
    }

    /// Central cannot take the batch as it is: smaller ones are sent, down to the one row that it is about.
    async fn narrow(
        &self,
        now: Timestamp,
        batch: &Prepared,
        problem: &Problem,
    ) -> Result<ForwardReport, Failure> {
        let [row] = batch.rows.as_slice() else {
            let half = (batch.rows.len() / 2).max(1);
            self.link().batch = half;
            tracing::warn!(code = %problem.code, detail = problem.detail, half, "central refused the batch; a smaller one is sent");
            return Ok(ForwardReport { next: Next::Now, ..ForwardReport::nothing() });
        };
        let ack = SiteAck {
            id: Some(row.id.clone()),
            outcome: "rejected".into(),
            digest: None,
            code: Some(problem.code),
            detail: Some(problem.detail.clone()),
        };
        self.settle(now, batch, vec![ack], &[]).await
    }

    /// Whose token this is, asked once; a buffer that belongs to another site is not forwarded in its name.
    async fn identity(&self, now: Timestamp) -> Result<String, Failure> {
        let (known, had_contact) = {
            let link = self.link();
            (link.site.clone(), link.last_contact_at.is_some())
        };
        if let Some(known) = known.clone().filter(|_| had_contact) {
            return Ok(known);
        }
        let returned = self.central.identity().await?;
        match known {
            Some(known) if known != returned => {
                let why = format!(
                    "the token is that of site `{returned}`, and the buffer in {} belongs to `{known}`; give the token of \
                     `{known}` or another folder",
                    self.config.data_dir.display()
                );
                return Err(Failure { class: "other-site".to_owned(), why, retry_after: None });
            }
            Some(_) => {}
            None => {
                // On a full disk what waits is to be forwarded all the same; the next start writes it down.
                if let Err(error) = self.remember_site(now, &returned).await {
                    tracing::warn!(error = chain(&error), "the owner of the buffer could not be recorded");
                }
            }
        }
        self.link().site = Some(returned.clone());
        Ok(returned)
    }

    async fn remember_site(&self, now: Timestamp, site: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        facts::put(&mut tx.conn(), now, SITE_FACT, site).await?;
        tx.commit().await
    }

    /// How the site is doing, and the entries of the event log that are sent to central with it.
    async fn report(&self, now: Timestamp) -> Result<(SiteReport, Vec<EventRow>), StoreError> {
        let mut reader = self.store.read().await?;
        let oldest_at = outgoing::oldest(&mut reader.conn()).await?;
        let limit = i64::try_from(SITE_EVENTS_MAX).unwrap_or(i64::MAX);
        let returned = events::unreported(&mut reader.conn(), limit).await?;
        let report = SiteReport {
            agent: self.config.agent.clone(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            sent_at: Some(self.clock.now()),
            backlog: self.level.waiting_rows(),
            oldest_buffered_age_seconds: oldest_at.map(|at| age_seconds(now, at)),
            refused: self.level.refused_rows(),
            events: returned.iter().cloned().map(event_log::shape).collect(),
        };
        Ok((report, returned))
    }

    async fn reached(&self, now: Timestamp) {
        let was_failing = {
            let mut link = self.link();
            link.last_contact_at = Some(now);
            link.batch = (link.batch * 2).min(self.config.batch);
            link.failure.take().is_some()
        };
        if was_failing {
            tracing::info!("central is reachable again");
            self.log.is_over(Kind::ForwardFailed).await;
        }
    }

    async fn failed(&self, now: Timestamp, failure: Failure) -> ForwardReport {
        let Failure { why, class, retry_after } = failure;
        tracing::warn!(reason = why, "forwarding failed; rows stay until the next attempt");
        self.log.again(now, Kind::ForwardFailed, &class, &why).await;
        self.link().failure = Some(why.clone());
        let wait = retry_after.map_or(self.config.retry_every, |asked| asked.max(self.config.retry_every));
        ForwardReport { failure: Some(why), next: Next::At(later(now, wait)), ..ForwardReport::nothing() }
    }
}

impl ForwardReport {
    fn nothing() -> Self {
        let next = Next::Now;
        Self { sent: 0, stored: 0, duplicates: 0, refused: 0, ignored: 0, failure: None, next }
    }
}
