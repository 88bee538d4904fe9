//! People, and organisations with the common settings of their events.

use punctual_boxed::boxed;
use punctual_engine::{Actor, CommandError, Engine, commands::Units};
use punctual_model::AuditAction;
use punctual_store::{
    Lane, Tx,
    operations::{
        organisations::{self, OrganisationRow},
        people::{self, PersonRow},
        rules,
    },
};

/// Keeps a person; returns them as they are stored.
#[boxed]
pub async fn put_person(engine: &Engine, by: &Actor, row: &PersonRow) -> Result<PersonRow, CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row = put_person_in(&mut tx, engine, by, row).await?;
    tx.commit().await?;
    Ok(row)
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn put_person_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    row: &PersonRow,
) -> Result<PersonRow, CommandError> {
    let named = row.business_unit.as_deref().into_iter().collect();
    let units = Units::read(&mut tx.conn(), by, named).await?;
    let before = people::get(&mut tx.conn(), &by.reach(), &row.id).await?;
    if let Some(before) = &before {
        by.may_change(before.business_unit.as_deref(), || CommandError::not_found("person", &row.id))?;
    }
    let own = before.as_ref().map(|before| &before.business_unit);
    let unit = units.unit_after(own, row.business_unit.clone(), "")?;
    let row = PersonRow { business_unit: unit.into_name(), ..row.clone() };
    let written = people::put(&mut tx.conn(), engine.clock.now(), &by.reach(), &row).await?;
    CommandError::taken_unless(written, &row.id)?;
    by.audit(tx, engine.clock.now(), AuditAction::Put, "person", &row.id, row.business_unit.as_deref())
        .await?;
    Ok(row)
}

/// Removes a person. Events and tasks keep the id; the person gets no further messages.
#[boxed]
pub async fn remove_person(engine: &Engine, by: &Actor, id: &str) -> Result<(), CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    remove_person_in(&mut tx, engine, by, id).await?;
    Ok(tx.commit().await?)
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn remove_person_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    id: &str,
) -> Result<(), CommandError> {
    let missing = || CommandError::not_found("person", id);
    let row = people::get(&mut tx.conn(), &by.reach(), id).await?.ok_or_else(missing)?;
    by.may_change(row.business_unit.as_deref(), missing)?;
    people::delete(&mut tx.conn(), id).await?;
    let unit = row.business_unit.as_deref();
    Ok(by.audit(tx, engine.clock.now(), AuditAction::Delete, "person", id, unit).await?)
}

/// Keeps an organisation; returns it as it is stored. Where its zone or hour has changed, the reconciler moves what hangs on them.
#[boxed]
pub async fn put_organisation(
    engine: &Engine,
    by: &Actor,
    row: &OrganisationRow,
) -> Result<OrganisationRow, CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row = put_organisation_in(&mut tx, engine, by, row).await?;
    tx.commit().await?;
    Ok(row)
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn put_organisation_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    row: &OrganisationRow,
) -> Result<OrganisationRow, CommandError> {
    let now = engine.clock.now();
    let named = row.business_unit.as_deref().into_iter().collect();
    let units = Units::read(&mut tx.conn(), by, named).await?;
    let before = organisations::get(&mut tx.conn(), &by.reach(), &row.id).await?;
    if let Some(before) = &before {
        by.may_change(before.business_unit.as_deref(), || CommandError::not_found("organisation", &row.id))?;
    }
    let own = before.as_ref().map(|before| &before.business_unit);
    let unit = units.unit_after(own, row.business_unit.clone(), "")?;
    let row = OrganisationRow { business_unit: unit.into_name(), ..row.clone() };
    let written = organisations::put(&mut tx.conn(), now, &by.reach(), &row).await?;
    CommandError::taken_unless(written, &row.id)?;
    let hour = |row: &OrganisationRow| (row.time_zone.clone(), row.all_day_at.clone());
    if before.as_ref().map(hour).unwrap_or_default() != hour(&row) {
        rules::mark_pending_of(&mut tx.conn(), now, &row.id).await?;
    }
    by.audit(tx, now, AuditAction::Put, "organisation", &row.id, row.business_unit.as_deref()).await?;
    Ok(row)
}

/// Removes an organisation; what hung on its zone or hour is planned without it.
#[boxed]
pub async fn remove_organisation(engine: &Engine, by: &Actor, id: &str) -> Result<(), CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    remove_organisation_in(&mut tx, engine, by, id).await?;
    Ok(tx.commit().await?)
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn remove_organisation_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    id: &str,
) -> Result<(), CommandError> {
    let now = engine.clock.now();
    let missing = || CommandError::not_found("organisation", id);
    let row = organisations::get(&mut tx.conn(), &by.reach(), id).await?.ok_or_else(missing)?;
    by.may_change(row.business_unit.as_deref(), missing)?;
    organisations::delete(&mut tx.conn(), id).await?;
    rules::mark_pending_of(&mut tx.conn(), now, id).await?;
    Ok(by.audit(tx, now, AuditAction::Delete, "organisation", id, row.business_unit.as_deref()).await?)
}
