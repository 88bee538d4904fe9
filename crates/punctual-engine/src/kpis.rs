//! The figures of the outbox, computed from the table when somebody asks.

use jiff::Timestamp;
use punctual_store::notifications::{self, Kpis, SiteKpis};

use crate::{Engine, EngineError, config::earlier};

/// The figures at one moment: of everything (or one site), and of each site.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxKpis {
    pub at: Timestamp,
    pub total: Kpis,
    pub by_site: Vec<SiteKpis>,
}

/// How far back "delivered in the last interval" looks.
pub const INTERVAL: std::time::Duration = std::time::Duration::from_secs(60);

impl Engine {
    pub async fn outbox_kpis(&self, site: Option<&str>) -> Result<OutboxKpis, EngineError> {
        let now = self.clock.now();
        let stuck_before = earlier(now, self.config.stuck_after).as_microsecond();
        let since = earlier(now, INTERVAL).as_microsecond();
        let mut reader = self.store.read().await?;
        let total = notifications::kpis(&mut reader.conn(), stuck_before, since, site).await?;
        let by_site = match site {
            Some(_) => Vec::new(),
            None => notifications::site_kpis(&mut reader.conn(), stuck_before, since).await?,
        };
        Ok(OutboxKpis { at: now, total, by_site })
    }
}
