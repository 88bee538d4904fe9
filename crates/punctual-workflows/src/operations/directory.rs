//! Whom events and tasks are about: people, and what the events of one organisation have in common.

use punctual_engine::{Engine, EngineError};
use punctual_store::{
    Lane, StoreError, Tx, audit,
    operations::{
        organisations::{self, OrganisationRow},
        people::{self, PersonRow},
        rules,
    },
};

/// Keeps a person; `false`, and nothing is changed, where one of that id is not for whoever asks.
pub async fn put_person(
    engine: &Engine,
    row: &PersonRow,
    actor: &str,
    may_touch: impl Fn(Option<&str>) -> bool,
) -> Result<bool, EngineError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let before = people::by_ids(&mut tx.conn(), vec![row.id.clone()]).await?;
    if before.iter().any(|before| !may_touch(before.business_unit.as_deref())) {
        return Ok(false);
    }
    people::put(&mut tx.conn(), engine.clock.now(), row).await?;
    audited(engine, &mut tx, actor, "put", "person", &row.id).await?;
    tx.commit().await?;
    Ok(true)
}

/// Removes a person. Events and tasks keep the id; whoever is behind it gets nothing any more.
pub async fn remove_person(
    engine: &Engine,
    id: &str,
    actor: &str,
    may_touch: impl Fn(Option<&str>) -> bool,
) -> Result<bool, EngineError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row = people::by_ids(&mut tx.conn(), vec![id.to_owned()]).await?.pop();
    if !row.is_some_and(|row| may_touch(row.business_unit.as_deref())) {
        return Ok(false);
    }
    people::delete(&mut tx.conn(), id).await?;
    audited(engine, &mut tx, actor, "delete", "person", id).await?;
    tx.commit().await?;
    Ok(true)
}

/// Keeps an organisation. Where its zone or hour has changed, the reconciler moves what hangs on them.
pub async fn put_organisation(
    engine: &Engine,
    row: &OrganisationRow,
    actor: &str,
    may_touch: impl Fn(Option<&str>) -> bool,
) -> Result<bool, EngineError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let before = organisations::by_ids(&mut tx.conn(), vec![row.id.clone()]).await?.pop();
    if before.as_ref().is_some_and(|before| !may_touch(before.business_unit.as_deref())) {
        return Ok(false);
    }
    organisations::put(&mut tx.conn(), now, row).await?;
    let hour = |row: &OrganisationRow| (row.time_zone.clone(), row.all_day_at.clone());
    if before.as_ref().map(hour).unwrap_or_default() != hour(row) {
        rules::mark_pending_of(&mut tx.conn(), now, &row.id).await?;
    }
    audited(engine, &mut tx, actor, "put", "organisation", &row.id).await?;
    tx.commit().await?;
    Ok(true)
}

/// Removes an organisation; what hung on its zone or hour is planned without it.
pub async fn remove_organisation(
    engine: &Engine,
    id: &str,
    actor: &str,
    may_touch: impl Fn(Option<&str>) -> bool,
) -> Result<bool, EngineError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row = organisations::by_ids(&mut tx.conn(), vec![id.to_owned()]).await?.pop();
    if !row.is_some_and(|row| may_touch(row.business_unit.as_deref())) {
        return Ok(false);
    }
    organisations::delete(&mut tx.conn(), id).await?;
    rules::mark_pending_of(&mut tx.conn(), engine.clock.now(), id).await?;
    audited(engine, &mut tx, actor, "delete", "organisation", id).await?;
    tx.commit().await?;
    Ok(true)
}

async fn audited(
    engine: &Engine,
    tx: &mut Tx,
    actor: &str,
    action: &'static str,
    subject_kind: &'static str,
    id: &str,
) -> Result<(), StoreError> {
    let entry = audit::Entry {
        actor: actor.to_owned(),
        action,
        subject_kind,
        subject_id: id.to_owned(),
        ..audit::Entry::default()
    };
    audit::append(&mut tx.conn(), engine.clock.now(), &[entry]).await
}
