//! Ensures that every active subscription has a planned run. A run can be missing after a cancel, a hold, a restored backup or
//! new time zone rules.
//!
//! After a start and once a day, a node checks all subscriptions, some with every sweep. In between it reads only changes:
//! written subscriptions and business units, and runs with new audit entries. The sweep of an idle installation reads nothing.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_engine::Engine;
use punctual_model::{Reach, Trigger, WorkStatus};
use punctual_store::{
    Lane, StoreError,
    report_subscriptions::{self, LiveRun, SubscriptionRow},
};

use super::{
    plan,
    subscription::{Subscription, zone_name},
};

/// Subscriptions that one pass checks.
const LOOKED_AT: i64 = 200;
/// Entries of the audit that one pass reads.
const ENTRIES: i64 = 500;
/// How long a transaction may take until what it wrote is seen: what is younger is read again by the next pass. More than
/// the deadline of a statement and than the time for which a server keeps an idle transaction.
const OVERLAP: SignedDuration = SignedDuration::from_secs(120);
/// How often everything is checked all the same.
const WHOLE_EVERY: SignedDuration = SignedDuration::from_hours(24);

/// Where a node has got to.
#[derive(Clone, Debug)]
enum Place {
    /// Over all subscriptions, after this guid. The marks of what changed are those of its start.
    Whole { after: String, marks: Option<Marks> },
    /// Only what changed.
    Changes(Marks),
}

#[derive(Clone, Debug)]
struct Marks {
    /// When the last walk over everything began.
    whole_at: Timestamp,
    /// Subscriptions and units that were written before this have been checked.
    written: Timestamp,
    /// After this one, by guid, what was written since then continues; empty where it begins again.
    after: String,
    /// When it was begun.
    begun: Timestamp,
    /// Entries of the audit up to this one have been checked.
    entry: i64,
}

/// What one pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Subscriptions that were read.
    pub read: usize,
    /// Those that had no run ahead and have one now.
    pub repaired: usize,
}

/// The position of the walk.
#[derive(Debug)]
pub struct Walk(Mutex<Place>);

impl Default for Walk {
    fn default() -> Self {
        Self(Mutex::new(Place::Whole { after: String::new(), marks: None }))
    }
}

impl Walk {
    /// Checks the next few of everything, or what changed.
    #[boxed]
    pub async fn pass(&self, engine: &Engine, now: Timestamp) -> Result<Pass, StoreError> {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut reader = engine.store.read().await?;
        let conn = &mut reader.conn();
        let (rows, next) = match place {
            Place::Whole { after, marks } => {
                let marks = match marks {
                    Some(marks) => marks,
                    None => Marks {
                        whole_at: now,
                        written: earlier(now),
                        after: String::new(),
                        begun: now,
                        entry: report_subscriptions::latest_entry(conn).await?,
                    },
                };
                let rows = report_subscriptions::page(conn, &Reach::Everything, &after, LOOKED_AT).await?;
                let next = match rows.last().filter(|_| is_full(rows.len(), LOOKED_AT)) {
                    Some(last) => Place::Whole { after: last.guid.clone(), marks: Some(marks) },
                    None => Place::Changes(marks),
                };
                (rows, next)
            }
            Place::Changes(marks) if is_past(marks.whole_at, WHOLE_EVERY, now) => {
                (Vec::new(), Place::Whole { after: String::new(), marks: None })
            }
            Place::Changes(marks) => {
                let (guids, marks) = changed(conn, now, marks).await?;
                (
                    report_subscriptions::by_guids(conn, &Reach::Everything, guids).await?,
                    Place::Changes(marks),
                )
            }
        };
        let broken = without_run(conn, &rows).await?;
        drop(reader);
        let mut pass = Pass { read: rows.len(), repaired: 0 };
        for guid in broken {
            pass.repaired += usize::from(repair(engine, now, &guid).await?);
        }
        // Only after the repairs: what failed is found again.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(pass)
    }
}

fn earlier(now: Timestamp) -> Timestamp {
    now.checked_sub(OVERLAP).unwrap_or(Timestamp::MIN)
}

fn is_past(from: Timestamp, time: SignedDuration, now: Timestamp) -> bool {
    from.checked_add(time).is_ok_and(|end| end <= now)
}

fn is_full(found: usize, limit: i64) -> bool {
    i64::try_from(found).is_ok_and(|found| found >= limit)
}

/// What changed since the marks, and the marks after it.
async fn changed(
    conn: &mut punctual_store::Conn<'_>,
    now: Timestamp,
    mut marks: Marks,
) -> Result<(Vec<String>, Marks), StoreError> {
    if marks.after.is_empty() {
        marks.begun = now;
    }
    let written = report_subscriptions::changed(conn, marks.written, &marks.after, LOOKED_AT).await?;
    match written.last().filter(|_| is_full(written.len(), LOOKED_AT)) {
        Some(last) => marks.after.clone_from(last),
        None => (marks.after, marks.written) = (String::new(), marks.written.max(earlier(marks.begun))),
    }
    let entries = report_subscriptions::touched(conn, marks.entry, ENTRIES).await?;
    // An entry with a lower number may be committed after one with a higher: those of the last minutes are read again. Where
    // there are more than one pass reads, going on is worth more than that.
    let settled = entries.iter().take_while(|one| one.at < earlier(now)).last();
    let next = if is_full(entries.len(), ENTRIES) { entries.last() } else { settled };
    marks.entry = next.map_or(marks.entry, |one| one.entry);
    let works = entries.iter().filter(|one| one.subject_kind == "work");
    let works = works.filter_map(|one| one.subject_id.parse().ok()).collect();
    let touched = report_subscriptions::of_runs(conn, works).await?;
    let guids: BTreeSet<String> = written.into_iter().chain(touched).collect();
    Ok((guids.into_iter().collect(), marks))
}

/// Those that are active and have no run ahead.
async fn without_run(
    conn: &mut punctual_store::Conn<'_>,
    rows: &[SubscriptionRow],
) -> Result<Vec<String>, StoreError> {
    let active: Vec<String> =
        rows.iter().filter(|row| !row.paused && !row.deleted).map(|row| row.guid.clone()).collect();
    let live = report_subscriptions::live_runs(conn, active.clone()).await?;
    // One that was planned in another zone than the subscription has now, or by other rules of it, is planned again.
    let zones: HashMap<&str, String> = rows.iter().map(|row| (row.guid.as_str(), zone_name(row))).collect();
    let cadences: HashMap<&str, Subscription> =
        rows.iter().filter_map(|row| Some((row.guid.as_str(), Subscription::read(row).ok()?))).collect();
    let is_at_its_moment =
        |run: &LiveRun| cadences.get(run.setting_id.as_str()).is_none_or(|own| own.cadence.names(run.due_at));
    // A run that is held or retried has its successor already, or has lost it.
    let planned: HashSet<String> = live
        .into_iter()
        .filter(|row| {
            let waits = row.status == WorkStatus::Pending && !row.on_hold && row.retry_count == 0;
            let is_in_step = row.status == WorkStatus::Processing
                || row.time_zone.as_deref() == zones.get(row.setting_id.as_str()).map(String::as_str)
                    && is_at_its_moment(row);
            row.trigger_type == Trigger::ScheduledRun.as_str()
                && (waits || row.status == WorkStatus::Processing)
                && is_in_step
        })
        .map(|row| row.setting_id)
        .collect();
    Ok(active.into_iter().filter(|guid| !planned.contains(guid)).collect())
}

pub(super) async fn repair(engine: &Engine, now: Timestamp, guid: &str) -> Result<bool, StoreError> {
    let mut tx = engine.store.begin(Lane::Settle).await?;
    let Some(row) = report_subscriptions::lock(&mut tx.conn(), &Reach::Everything, guid).await? else {
        return Ok(false);
    };
    let Ok(subscription) = Subscription::read(&row) else { return Ok(false) };
    let next = plan::plan_next(&mut tx, now, &subscription).await?;
    tx.commit().await?;
    if let Some(next) = &next {
        tracing::info!(work.key = next.key.as_str(), "a subscription had no planned run; one is planned now");
    }
    Ok(next.is_some())
}
