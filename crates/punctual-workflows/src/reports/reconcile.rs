//! A subscription that is active always has a run ahead: whatever broke the chain (a person who cancelled the next run, a
//! database from a backup), this finds it. A walk over all subscriptions, some with every sweep.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use jiff::Timestamp;
use punctual_engine::Engine;
use punctual_model::{Reach, Trigger};
use punctual_store::{Lane, StoreError, report_subscriptions};

use super::{
    plan,
    subscription::{Subscription, zone_name},
};

/// Subscriptions that one pass checks.
const LOOKED_AT: i64 = 200;

/// The position of the walk.
#[derive(Default)]
pub(super) struct Walk(Mutex<String>);

impl Walk {
    /// Looks at the next few; returns how many had no run ahead and have one now.
    pub(super) async fn pass(&self, engine: &Engine, now: Timestamp) -> Result<usize, StoreError> {
        let after = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut reader = engine.store.read().await?;
        let rows =
            report_subscriptions::page(&mut reader.conn(), &Reach::Everything, &after, LOOKED_AT).await?;
        let is_last = i64::try_from(rows.len()).unwrap_or(i64::MAX) < LOOKED_AT;
        let next =
            if is_last { String::new() } else { rows.last().map_or(String::new(), |row| row.guid.clone()) };
        let active: Vec<String> = rows.iter().filter(|row| !row.paused).map(|row| row.guid.clone()).collect();
        let live = report_subscriptions::live_runs(&mut reader.conn(), active.clone()).await?;
        drop(reader);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
        // One that was planned in another zone than the subscription has now is planned anew.
        let zones: HashMap<&str, String> =
            rows.iter().map(|row| (row.guid.as_str(), zone_name(row))).collect();
        // A run that is held or retried has its successor already, or has lost it.
        let planned: HashSet<String> = live
            .into_iter()
            .filter(|row| {
                let waits = row.status == "pending" && !row.on_hold && row.retry_count == 0;
                let is_in_step = row.status == "processing"
                    || row.time_zone.as_deref() == zones.get(row.setting_id.as_str()).map(String::as_str);
                row.trigger_type == Trigger::ScheduledRun.as_str()
                    && (waits || row.status == "processing")
                    && is_in_step
            })
            .map(|row| row.setting_id)
            .collect();
        let mut repaired = 0;
        for guid in active.into_iter().filter(|guid| !planned.contains(guid)) {
            repaired += usize::from(repair(engine, now, &guid).await?);
        }
        Ok(repaired)
    }
}

pub(super) async fn repair(engine: &Engine, now: Timestamp, guid: &str) -> Result<bool, StoreError> {
    let mut tx = engine.store.begin(Lane::Settle).await?;
    let Some(row) = report_subscriptions::lock(&mut tx.conn(), guid).await? else { return Ok(false) };
    let Ok(subscription) = Subscription::read(&row) else { return Ok(false) };
    let next = plan::plan_next(&mut tx, now, &subscription).await?;
    tx.commit().await?;
    if let Some(next) = &next {
        tracing::info!(work.key = next.key.as_str(), "a subscription without a run ahead has one now");
    }
    Ok(next.is_some())
}
