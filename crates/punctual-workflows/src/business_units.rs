//! Business units: who owns data, and in which time zone they live. What is planned in local time follows the zone.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, CommandError, Engine, commands::Seen};
use punctual_model::AuditAction;
use punctual_store::{
    Lane, StoreError, Tx,
    business_units::{self, BusinessUnitRow},
};

use crate::{
    reminders::{
        Providers,
        changes::{self, Change, apply_announced},
        zones,
    },
    reports,
};

/// A business unit as somebody wants it.
#[derive(Clone, Debug)]
pub struct NewUnit {
    pub id: String,
    pub name: String,
    pub time_zone: String,
}

/// What is left to do about a business unit once its transaction is committed.
#[derive(Clone, Debug)]
#[must_use]
pub struct UnitSaved {
    unit: String,
    announced: Option<String>,
    moved: bool,
}

impl UnitSaved {
    /// Applies the first of what the unit's zone changes.
    #[boxed]
    pub async fn after_commit(self, engine: &Engine, providers: &Providers) {
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
    let NewUnit { id, name, time_zone } = new;
    if !by.may_touch(Some(&id)) {
        return Err(missing(&id));
    }
    let row = BusinessUnitRow { id, name, time_zone, updated_at: now.as_microsecond() };
    let before = business_units::lock(&mut tx.conn(), &row.id).await?;
    seen.check(before.as_ref().map(|before| before.updated_at), &row.id)?;
    business_units::put(&mut tx.conn(), now, &row).await?;
    zones::remember(tx, now, &row).await?;
    // Also where there is no source yet: the first may be on its way.
    let moved = before.is_none_or(|before| before.time_zone != row.time_zone);
    let announced = if moved { zone_changed(tx, now, &row.id).await? } else { None };
    by.audit(tx, now, AuditAction::Put, "business-unit", &row.id, Some(&row.id)).await?;
    let saved = UnitSaved { unit: row.id.clone(), announced, moved };
    Ok((row, saved))
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
    Ok(UnitSaved { unit: id.to_owned(), announced, moved: true })
}

/// The unit is written by now: what cannot be planned anew here is found by the walk over all subscriptions.
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
