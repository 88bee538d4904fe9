//! Receives from sites: notifications in order, and the state of the site.
//!
//! A batch is stored in the order in which the site accepted the rows. A concurrent resend has the same rows in the same order,
//! and can therefore neither deadlock nor overtake.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, NewNotification, ReasonCode};
use punctual_store::{
    Lane, StoreError, audit,
    notifications::NotificationRow,
    site_events::{self, SiteEventRow},
    sites::{self, Contact},
};

use crate::{
    Accepted, Engine, EngineError,
    intake::{Numbered, insert_in, route},
};

/// Rows of one transaction on SQLite: about 5 ms of its writer.
const AT_ONCE_SQLITE: usize = 500;
/// Rows of one transaction on PostgreSQL, where others write meanwhile: few enough for a short statement.
const AT_ONCE_POSTGRES: usize = 2_500;
/// Entries of a site's event log that are kept.
const EVENTS_KEPT: i64 = 1_000;

impl Engine {
    /// Stores what a site forwards, in its order and with the site's business unit; the answer comes after all of it is on disk. Ids that are known with
    /// other content, or from another site, are written down as conflicts and change nothing.
    #[boxed]
    pub async fn take_from_site(
        &self,
        site: &str,
        items: Vec<NewNotification>,
    ) -> Result<Vec<Accepted>, EngineError> {
        let at_once = if self.store.is_single_process() { AT_ONCE_SQLITE } else { AT_ONCE_POSTGRES };
        let mut answers = Vec::with_capacity(items.len());
        let mut rest = items.into_iter();
        loop {
            let chunk: Vec<NewNotification> = rest.by_ref().take(at_once).collect();
            if chunk.is_empty() {
                return Ok(answers);
            }
            answers.extend(self.store_from_site(site, chunk).await?);
        }
    }

    async fn store_from_site(
        &self,
        site: &str,
        mut chunk: Vec<NewNotification>,
    ) -> Result<Vec<Accepted>, EngineError> {
        let now = self.clock.now();
        // Counted and never refused: the site has said yes to its scripts.
        self.refresh_quotas(now).await?;
        let mut tx = self.store.begin(Lane::Intake).await?;
        let unit = sites::get(&mut tx.conn(), site).await?.and_then(|site| site.business_unit);
        chunk.iter_mut().for_each(|new| new.business_unit.clone_from(&unit));
        let channels = route(&mut tx, chunk.iter()).await?;
        let mut queued: Vec<_> = chunk
            .into_iter()
            .zip(channels)
            .map(|(new, channel)| NotificationRow::new(new, channel, now))
            .collect();
        self.store.quotas().place(&mut queued);
        let (answers, _) = insert_in(&mut tx, now, &queued, Numbered::AsGiven).await?;
        let reused = answers.iter().zip(&queued).filter(|(answer, _)| **answer == Accepted::IdReused);
        let conflicts: Vec<audit::Entry> = reused
            .map(|(_, item)| audit::Entry {
                actor: format!("site:{site}"),
                reason: Some(ReasonCode::IdReused.into()),
                ..audit::Entry::new(AuditAction::Conflict, "notification", item.id, unit.as_deref())
            })
            .collect();
        audit::append(&mut tx.conn(), now, &conflicts).await?;
        tx.commit().await?;
        self.metrics.accepted(answers.iter().filter(|answer| **answer == Accepted::Created).count());
        Ok(answers)
    }

    /// Keeps what a site said about itself and its event log; without a report, only that it called.
    #[boxed]
    pub async fn note_contact(
        &self,
        now: Timestamp,
        site: &str,
        report: Option<(Contact, Vec<SiteEventRow>)>,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        match report {
            None => sites::touch(&mut tx.conn(), now, site).await?,
            Some((contact, events)) => {
                sites::set_contact(&mut tx.conn(), now, site, &contact).await?;
                site_events::put(&mut tx.conn(), now, site, &events, EVENTS_KEPT).await?;
            }
        }
        tx.commit().await
    }
}
