//! New time zone data: if this program has other rules for a zone than the previous one, it moves the planned rows.

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, Time},
};
use punctual_boxed::boxed;
use punctual_engine::{Engine, EngineError};
use punctual_model::{InputHash, local_time};
use punctual_store::{
    Lane, StoreError, Tx,
    business_units::{self, BusinessUnitRow},
    facts,
};
use serde_json::Value;

use super::changes::{self, Change};

/// Units read at once.
const AT_ONCE: i64 = 200;
/// How far ahead rules are compared: further away than most of what is planned.
const YEARS: i16 = 5;

/// Compares the rules of every business unit's zone with those that its rows were planned by, and announces a change
/// where they differ. Returns the units whose rows move.
#[boxed]
pub async fn check(engine: &Engine) -> Result<Vec<String>, EngineError> {
    let (mut moved, mut after) = (Vec::new(), String::new());
    loop {
        let mut reader = engine.store.read().await?;
        let units =
            business_units::page(&mut reader.conn(), &punctual_model::Reach::Everything, &after, AT_ONCE)
                .await?;
        drop(reader);
        let Some(last) = units.last() else { return Ok(moved) };
        after.clone_from(&last.id);
        for unit in &units {
            if check_unit(engine, unit).await? {
                moved.push(unit.id.clone());
            }
        }
    }
}

/// Writes down by which rules the rows of a unit are planned from now on: a unit that was made, or got another zone, since the last
/// start is compared with them too.
pub(crate) async fn remember(tx: &mut Tx, now: Timestamp, unit: &BusinessUnitRow) -> Result<(), StoreError> {
    facts::put(&mut tx.conn(), now, &fact(&unit.id), &rules(&unit.time_zone, now)).await
}

fn fact(unit: &str) -> String {
    format!("reminders.zone.{unit}")
}

async fn check_unit(engine: &Engine, unit: &BusinessUnitRow) -> Result<bool, StoreError> {
    let now = engine.clock.now();
    let (fact, rules) = (fact(&unit.id), rules(&unit.time_zone, now));
    let mut reader = engine.store.read().await?;
    let known = facts::get(&mut reader.conn(), &fact).await?;
    drop(reader);
    if known.as_deref() == Some(&rules) {
        return Ok(false);
    }
    let mut tx = engine.store.begin(Lane::Intake).await?;
    facts::put(&mut tx.conn(), now, &fact, &rules).await?;
    // The first time there is nothing to compare with: what is planned was planned by this program.
    if known.is_some() {
        changes::announce(&mut tx, now, &Change::Unit { id: unit.id.clone(), at: now }).await?;
    }
    tx.commit().await?;
    Ok(known.is_some())
}

/// A digest of a zone's rules for the years ahead: its offset on every day of them.
fn rules(name: &str, now: Timestamp) -> String {
    let Ok(zone) = local_time::zone(name) else { return "unknown".to_owned() };
    let year = zone.to_datetime(now).year();
    let first = Date::new(year, 1, 1).unwrap_or(Date::MIN).to_datetime(Time::midnight());
    let Ok(mut at) = jiff::tz::Offset::UTC.to_timestamp(first) else { return "unknown".to_owned() };
    let mut offsets: Vec<Value> = Vec::new();
    while zone.to_datetime(at).year() < year.saturating_add(YEARS) {
        offsets.push(Value::from(zone.to_offset(at).seconds()));
        let Ok(next) = at.checked_add(SignedDuration::from_hours(24)) else { break };
        at = next;
    }
    InputHash::of(&Value::from(offsets)).to_string()
}
