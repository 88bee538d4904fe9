//! The metrics of the outbox, computed from the table on request; deliveries of past seconds are counted only once.

mod delivered;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_store::{
    notifications::{self, AsOf, Kpis, SiteKpis},
    receipts::{self, ReceiptFigures},
};

pub(crate) use self::delivered::Delivered;
use crate::{Engine, EngineError, PurgeReport, config::earlier};

/// The figures at one moment: of everything (or one site), and of each site.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxKpis {
    pub at: Timestamp,
    pub total: Kpis,
    /// What providers reported in the last interval.
    pub receipts: ReceiptFigures,
    pub by_site: Vec<SiteKpis>,
    pub last_purge: Option<PurgeReport>,
}

/// How far back "delivered in the last interval" looks.
pub const INTERVAL: std::time::Duration = std::time::Duration::from_secs(60);

impl Engine {
    #[boxed]
    pub async fn outbox_kpis(&self, site: Option<&str>) -> Result<OutboxKpis, EngineError> {
        let now = self.clock.now();
        let stuck_before = earlier(now, self.config.stuck_after).as_microsecond();
        let since = earlier(now, INTERVAL).as_microsecond();
        let blocked = self.blocked_channels().await?.to_json();
        let mut reader = self.store.read().await?;
        let delivered = self.delivered_since(&mut reader.conn(), since, now).await?;
        // What was delivered is counted, once for all of the figures: the statements would each read it again.
        let as_of =
            AsOf { now: now.as_microsecond(), stuck_before, since: i64::MAX, held_back: blocked.as_deref() };
        let mut total = notifications::kpis(&mut reader.conn(), as_of, site).await?;
        total.delivered += delivered.of(site);
        let by_site = match site {
            Some(site) => vec![SiteKpis {
                site: site.to_owned(),
                queue_depth: total.queue_depth,
                stuck: total.stuck,
                waiting: total.waiting,
                parked: total.parked,
                delivered: total.delivered,
                oldest_created_at: total.oldest_created_at,
            }],
            None => delivered.added(notifications::site_kpis(&mut reader.conn(), as_of).await?),
        };
        let receipts = receipts::figures(&mut reader.conn(), since).await?;
        drop(reader);
        Ok(OutboxKpis { at: now, total, receipts, by_site, last_purge: self.last_purge().await? })
    }
}
