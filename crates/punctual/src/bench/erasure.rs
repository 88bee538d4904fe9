//! The erasure of one person among many rows: every table that grows is filled, the index of addresses is written, and some people are
//! erased one after the other, each with its plan, its proof and its certificate.

use anyhow::{Result, ensure};
use jiff::SignedDuration;
use punctual_engine::{
    Actor, Listeners,
    personal::{EraseOptions, Person},
};
use punctual_model::Clock;
use serde_json::json;

use super::{Bench, Filled, Measured, server::at};

/// How many people are erased.
const PEOPLE: i64 = 20;
/// Rows of the last minutes are left out of the index; these are not of the last minutes by then.
const LATER: SignedDuration = SignedDuration::from_hours(2);

pub(super) async fn measure(bench: &Bench, rows: usize) -> Result<Vec<Measured>> {
    let Filled { rig, .. } = bench.filled("erasure", Listeners::default(), rows).await?;
    let rows = i64::try_from(rows)?;
    let started = bench.clock.now();
    // The first look sees how far the tables reach, the second writes up to there.
    rig.engine.index_addresses(started).await?;
    let indexed = rig.engine.index_addresses(started + LATER).await?;
    let index =
        Measured::rate("address_index", indexed, bench.clock.now().duration_since(started).unsigned_abs());
    let by = Actor::named("bench");
    let (mut plans, mut erasures, mut found) = (Vec::new(), Vec::new(), 0);
    let apart = (rows / PEOPLE).max(1);
    // Others in each run: tables that are kept have lost those of the last one.
    let first = bench.clock.now().as_millisecond() % apart;
    for one in 0..PEOPLE {
        // Spread over the tables, and of those whose messages name an address.
        let number = (first + apart * one) | 1;
        let person = Person::Address(format!("user-{number}@example.org"));
        let started = bench.clock.now();
        let plan = rig.engine.plan_erasure(&by, &person).await?;
        plans.push(bench.clock.now().duration_since(started).as_secs_f64() * 1_000.0);
        found += plan.found.iter().map(|kind| kind.rows).sum::<i64>();
        let started = bench.clock.now();
        let erased = rig.engine.erase_person(&by, &person, EraseOptions::default()).await?;
        erasures.push(bench.clock.now().duration_since(started).as_secs_f64() * 1_000.0);
        let left = erased.certificate.map_or(0, |certificate| certificate.remaining.len());
        ensure!(left == 0, "{person:?} is not erased");
    }
    rig.remove().await?;
    ensure!(found >= PEOPLE, "nothing was found of {PEOPLE} people");
    let figures = json!({ "p50": at(&mut erasures, 0.5), "p99": at(&mut erasures, 0.99), "max": at(&mut erasures, 1.0),
        "plan_p50": at(&mut plans, 0.5), "plan_max": at(&mut plans, 1.0), "found": found, "people": PEOPLE });
    Ok(vec![index, Measured { test: "erasure", jobs: usize::try_from(rows)?, figures }])
}
