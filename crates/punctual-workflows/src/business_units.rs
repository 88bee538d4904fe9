//! Business units: who owns data, and in which time zone they live. What is planned in local time follows the zone.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, CommandError, Engine, commands::Seen};
use punctual_model::AuditAction;
use punctual_store::{
    Lane, StoreError, Tx,
    business_units::{self, BusinessUnitRow},
    facts,
};
use punctual_wire::business_units::{BusinessUnitRequest, Quota};

use crate::{
    reminders::{
        Providers,
        changes::{self, Change, apply_announced},
        zones,
    },
    reports,
};

/// The name under which lanes are numbered.
const LANES: &str = "units.lanes";

/// A business unit as somebody wants it.
#[derive(Clone, Debug)]
pub struct NewUnit {
    pub id: String,
    pub name: String,
    pub time_zone: String,
    /// What it may use. From callers with a limit it is not taken: it stays as it is.
    pub quota: Option<Quota>,
}

impl NewUnit {
    /// The unit of a request.
    pub fn of(id: String, request: BusinessUnitRequest) -> Self {
        let BusinessUnitRequest { name, time_zone, quota } = request;
        Self { id, name, time_zone, quota }
    }
}

/// What is left to do about a business unit once its transaction is committed.
#[derive(Clone, Debug)]
#[must_use]
pub struct UnitSaved {
    unit: String,
    announced: Option<String>,
    moved: bool,
    /// The lane that messages which wait already are to be put into.
    joins: Option<i64>,
}

impl UnitSaved {
    /// Applies the first of what the unit's zone changes, and its share to what waits already.
    #[boxed]
    pub async fn after_commit(self, engine: &Engine, providers: &Providers) {
        engine.store.quotas().invalidate();
        if let Some(lane) = self.joins
            && let Err(error) = engine.join_lane(&self.unit, lane).await
        {
            tracing::warn!(unit.id = self.unit, %error, "messages that wait were not put into the unit's lane");
        }
        apply_announced(engine, providers, self.announced).await;
        if self.moved {
            replan_reports(engine, &self.unit).await;
        }
    }
}

/// Makes a business unit or changes it, and moves what is planned in its zone.
#[boxed]
pub async fn save(
    engine: &Engine,
    providers: &Providers,
    by: &Actor,
    new: NewUnit,
) -> Result<BusinessUnitRow, CommandError> {
    replace(engine, providers, by, Seen::Anything, new).await
}

/// The same, for somebody who has seen what they replace.
#[boxed]
pub async fn replace(
    engine: &Engine,
    providers: &Providers,
    by: &Actor,
    seen: Seen,
    new: NewUnit,
) -> Result<BusinessUnitRow, CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let (row, saved) = save_in(&mut tx, engine, by, seen, new).await?;
    tx.commit().await?;
    saved.after_commit(engine, providers).await;
    Ok(row)
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn save_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    seen: Seen,
    new: NewUnit,
) -> Result<(BusinessUnitRow, UnitSaved), CommandError> {
    let now = engine.clock.now();
    let NewUnit { id, name, time_zone, quota } = new;
    if !by.may_touch(Some(&id)) {
        return Err(missing(&id));
    }
    let before = business_units::lock(&mut tx.conn(), &id).await?;
    seen.check(before.as_ref().map(|before| before.updated_at.as_microsecond()), &id)?;
    let stored = before.as_ref().and_then(|row| Quota::stored(row.rows_per_day, row.channel_share));
    let quota = allowed(by, stored, quota)?.unwrap_or_default();
    let lane = match before.as_ref().and_then(|before| before.lane) {
        None if quota.channel_share.is_some() => Some(facts::count_up(&mut tx.conn(), now, LANES).await?),
        lane => lane,
    };
    let joins = lane.filter(|_| stored.and_then(|quota| quota.channel_share).is_none());
    let joins = joins.filter(|_| quota.channel_share.is_some());
    let row = BusinessUnitRow {
        id,
        name,
        time_zone,
        rows_per_day: quota.rows_per_day,
        channel_share: quota.channel_share,
        lane,
        updated_at: now,
    };
    business_units::put(&mut tx.conn(), now, &row).await?;
    zones::remember(tx, now, &row).await?;
    // Also where there is no source yet: the first may be on its way.
    let moved = before.is_none_or(|before| before.time_zone != row.time_zone);
    let announced = if moved { zone_changed(tx, now, &row.id).await? } else { None };
    by.audit(tx, now, AuditAction::Put, "business-unit", &row.id, Some(&row.id)).await?;
    let saved = UnitSaved { unit: row.id.clone(), announced, moved, joins };
    Ok((row, saved))
}

/// The quota that a unit gets. A limited caller may not raise the quota of its unit: what they do not say stays, and what they
/// do say must be what is stored.
fn allowed(by: &Actor, stored: Option<Quota>, wanted: Option<Quota>) -> Result<Option<Quota>, CommandError> {
    match &by.units {
        None => Ok(wanted),
        Some(_) if wanted.is_none() || wanted == stored => Ok(stored),
        Some(_) => Err(CommandError::Shared),
    }
}

/// Removes a business unit; what was planned in its zone is planned without it.
#[boxed]
pub async fn remove(
    engine: &Engine,
    providers: &Providers,
    by: &Actor,
    id: &str,
) -> Result<(), CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let removed = remove_in(&mut tx, engine, by, id).await?;
    tx.commit().await?;
    removed.after_commit(engine, providers).await;
    Ok(())
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn remove_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    id: &str,
) -> Result<UnitSaved, CommandError> {
    let now = engine.clock.now();
    if !by.may_touch(Some(id)) || !business_units::delete(&mut tx.conn(), id).await? {
        return Err(missing(id));
    }
    let announced = zone_changed(tx, now, id).await?;
    by.audit(tx, now, AuditAction::Delete, "business-unit", id, Some(id)).await?;
    Ok(UnitSaved { unit: id.to_owned(), announced, moved: true, joins: None })
}

/// The unit is written by now: what cannot be planned again here is found by the walk over all subscriptions.
async fn replan_reports(engine: &Engine, unit: &str) {
    if let Err(error) = reports::commands::replan_unit(engine, unit).await {
        tracing::warn!(unit.id = unit, %error, "reports could not be moved to the unit's new time zone yet");
    }
}

async fn zone_changed(tx: &mut Tx, now: Timestamp, id: &str) -> Result<Option<String>, StoreError> {
    changes::announce(tx, now, &Change::Unit { id: id.to_owned(), at: now }).await
}

fn missing(id: &str) -> CommandError {
    CommandError::not_found("business unit", id)
}
