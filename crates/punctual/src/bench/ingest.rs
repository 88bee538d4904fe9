//! Create schedules, 1,000 per batch, by two callers.

use std::{
    iter,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{Engine, Listeners, OwnUnit};
use punctual_model::{Cause, Clock, NewWork};
use punctual_store::maintenance::{BareRow, make_bare, write_bare};
use punctual_workflows::schedules::NewSchedule;

use super::{Bench, Measured, payload};

/// Rows a call ensures.
pub(super) const BATCH: usize = 1_000;
/// Callers at once: one binds while the other's commit is under way.
const CALLERS: usize = 2;

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Vec<Measured>> {
    let rig = bench.rig("ingest", Listeners::default()).await?;
    let due = bench.clock.now() + SignedDuration::from_hours(24);
    let work = schedules(0..jobs, Keys::Rising, |_| due)?;
    let started = bench.clock.now();
    ensure_all(&rig.engine, work).await?;
    let took = bench.clock.now().duration_since(started);
    rig.remove().await?;
    Ok(vec![bare(bench, jobs).await?, Measured::rate("bulk", jobs, took.unsigned_abs())])
}

/// What bare statements reach with the same texts: the floor.
async fn bare(bench: &Bench, jobs: usize) -> Result<Measured> {
    let rig = bench.rig("bare", Listeners::default()).await?;
    make_bare(&rig.url).await?;
    let due = (bench.clock.now() + SignedDuration::from_hours(24)).as_microsecond();
    let rows: Vec<BareRow> =
        (0..jobs).map(|number| (Keys::Rising.of(number), due, payload(number).to_string())).collect();
    let batches: Vec<Vec<BareRow>> = rows.chunks(BATCH).map(<[BareRow]>::to_vec).collect();
    // SQLite has one writer, so a second caller only waits.
    let callers = if rig.url.starts_with("sqlite:") { 1 } else { CALLERS };
    let shares: Vec<Vec<Vec<BareRow>>> =
        (0..callers).map(|caller| batches.iter().skip(caller).step_by(callers).cloned().collect()).collect();
    let started = bench.clock.now();
    let writing: Vec<_> = shares
        .into_iter()
        .map(|share| {
            let url = rig.url.clone();
            tokio::spawn(async move { write_bare(&url, share).await })
        })
        .collect();
    for one in writing {
        one.await??;
    }
    let took = bench.clock.now().duration_since(started);
    rig.remove().await?;
    Ok(Measured::rate("bulk-bare", jobs, took.unsigned_abs()))
}

/// How the keys of rows that come one after the other lie to each other.
#[derive(Clone, Copy)]
pub(super) enum Keys {
    /// Each after the one before, as the ids that the API gives.
    Rising,
    /// Anywhere among the others, as those of reminders, which begin with what they are about.
    Spread,
}

impl Keys {
    fn of(self, number: usize) -> String {
        match self {
            Self::Rising => format!("bench-{number:09}"),
            // An odd factor: no two numbers below 2^32 meet.
            Self::Spread => format!("bench-{:08x}", (number as u64).wrapping_mul(0x9e37_79b1) & 0xffff_ffff),
        }
    }
}

/// The rows of these schedules, made before the clock starts: a caller of the library brings its own.
pub(super) fn schedules(
    numbers: std::ops::Range<usize>,
    keys: Keys,
    due: impl Fn(usize) -> Timestamp,
) -> Result<Vec<NewWork>> {
    numbers
        .map(|number| {
            let new = NewSchedule {
                key: keys.of(number),
                topic: "bench".into(),
                run_at: due(number),
                time_zone: None,
                payload: payload(number),
                business_unit: OwnUnit::default(),
            };
            Ok(new.into_work()?)
        })
        .collect()
}

pub(super) async fn ensure_all(engine: &Engine, work: Vec<NewWork>) -> Result<()> {
    let mut rest = work.into_iter();
    let take = || Some(rest.by_ref().take(BATCH).collect()).filter(|batch: &Vec<NewWork>| !batch.is_empty());
    let batches: Arc<Vec<Vec<NewWork>>> = Arc::new(iter::from_fn(take).collect());
    let next = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (engine, batches, next) = (engine.clone(), batches.clone(), next.clone());
            tokio::spawn(async move {
                while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    engine.ensure(batch, Cause::Machine).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for caller in callers {
        caller.await??;
    }
    Ok(())
}
