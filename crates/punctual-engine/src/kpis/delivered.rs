//! Counts the deliveries of the last interval incrementally: each node counts a past second once, because it no longer changes.
//! At thousands of deliveries a second, the interval has hundreds of thousands of rows.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_store::{
    Conn,
    notifications::{self, DeliveredIn, SiteKpis},
};

use crate::{Engine, EngineError};

/// A second is over for us after so many more: what ended in it is committed by then. What is recorded later, after an outage of the
/// database, is missing in the figure for the rest of the interval, and in nothing else.
const SETTLED: i64 = 3;
const SECOND: i64 = 1_000_000;

/// The seconds that this node has counted, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivered {
    /// The first that was counted, and the first that was not.
    from: i64,
    until: i64,
    counts: BTreeMap<i64, BTreeMap<Option<String>, i64>>,
}

impl Delivered {
    /// Leaves out what is before the interval; begins again where the clock has gone back, or nothing is left.
    fn cut(&mut self, from: i64, settled: i64) {
        if self.from > from || self.until > settled || self.until < from {
            *self = Self { from, until: from, counts: BTreeMap::new() };
        }
        self.counts = self.counts.split_off(&from);
        self.from = from;
    }

    fn add(&mut self, rows: Vec<DeliveredIn>) {
        for row in rows {
            *self.counts.entry(row.second).or_default().entry(row.site).or_default() += row.delivered;
        }
    }
}

/// What was delivered in an interval.
pub(super) struct BySite(BTreeMap<Option<String>, i64>);

impl BySite {
    /// How much it was, of one site or of all.
    pub(super) fn of(&self, site: Option<&str>) -> i64 {
        let is_meant = |one: &Option<String>| site.is_none_or(|site| one.as_deref() == Some(site));
        self.0.iter().filter(|(one, _)| is_meant(one)).map(|(_, count)| count).sum()
    }

    /// The figures of each site with what was delivered; a site may have nothing else.
    pub(super) fn added(self, sites: Vec<SiteKpis>) -> Vec<SiteKpis> {
        let mut by_site: BTreeMap<String, SiteKpis> =
            sites.into_iter().map(|site| (site.site.clone(), site)).collect();
        for (site, delivered) in self.0 {
            let Some(site) = site else { continue };
            let figures = by_site.entry(site.clone()).or_insert_with(|| SiteKpis {
                site,
                queue_depth: 0,
                stuck: 0,
                waiting: 0,
                parked: 0,
                delivered: 0,
                oldest_created_at: None,
            });
            figures.delivered += delivered;
        }
        by_site.into_values().collect()
    }
}

impl Engine {
    /// What was delivered since a moment.
    pub(super) async fn delivered_since(
        &self,
        conn: &mut Conn<'_>,
        since: i64,
        now: Timestamp,
    ) -> Result<BySite, EngineError> {
        // The interval begins within a second, which is read by itself.
        let from = since.div_euclid(SECOND) + 1;
        let settled = (now.as_second() - SETTLED).max(from);
        let mut counted = self.delivered.lock().map_or_else(|_| Delivered::default(), |kept| kept.clone());
        counted.cut(from, settled);
        if counted.until < settled {
            let rows = notifications::delivered_in(conn, counted.until * SECOND, settled * SECOND).await?;
            counted.add(rows);
            counted.until = settled;
            if let Ok(mut kept) = self.delivered.lock() {
                *kept = counted.clone();
            }
        }
        // The second in which the interval begins, and those that are not over.
        counted.add(notifications::delivered_in(conn, since, from * SECOND).await?);
        counted.add(notifications::delivered_in(conn, settled * SECOND, i64::MAX).await?);
        let mut by_site = BTreeMap::new();
        for (site, count) in counted.counts.into_values().flatten() {
            *by_site.entry(site).or_default() += count;
        }
        Ok(BySite(by_site))
    }
}
