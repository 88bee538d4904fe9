//! `/api/v1/report-runs/{key}/ownership`: where an old scheduler asks, takes and reports.

use axum::extract::State;
use punctual_store::{Lane, StoreError, report_subscriptions, rollouts, run_ownership, work::instant};
use punctual_wire::{
    Problem,
    reports::{Ownership, OwnershipReport, OwnershipRequest},
};
use punctual_workflows::{
    reports::{KIND, RunKey},
    rollout::{
        Stage, old_may_take,
        ownership::{Owner, OwnershipRow, Run, Taken, status_word, take as take_run},
    },
};

use super::old_schedulers;
use crate::{
    App, RouteReach, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Ingest, Principal, Read},
    body::Json,
    parameters::Segments,
    trail::audited,
};

/// A run by its key, with the business unit it belongs to.
struct Named {
    run: RunKey,
    unit: Option<String>,
    /// Whether the subscription is one that is known here; an old scheduler may have others.
    known: bool,
}

/// Ask who owns a run
#[utoipa::path(get, path = "/api/v1/report-runs/{key}/ownership", tag = "Report runs", security(("key" = ["read"])),
    params(("key" = String, Path)), responses((status = 200, body = Ownership)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(key): Segments<String>) -> Answer {
    let named = named(&app, &key, |named| !named.known || caller.may_see(named.unit.as_deref())).await?;
    let mut reader = app.engine.store.read().await?;
    let row = run_ownership::get(&mut reader.conn(), &key).await?;
    let rollout = rollouts::over(&mut reader.conn(), KIND, &named.run.guid, named.unit.as_deref()).await?;
    JsonResponse::ok(&shape(&key, row.as_ref(), Stage::of(rollout.as_ref()))?)
}

/// Take a run
///
/// Before anything is made for it. Whoever is first owns it; the same owner asking again gets what it has reported. The
/// other side gets 409 `owned_by_other`, and makes nothing.
#[utoipa::path(post, path = "/api/v1/report-runs/{key}/ownership", tag = "Report runs", security(("key" = ["ingest"])),
    params(("key" = String, Path)), request_body = OwnershipRequest, responses((status = 200, body = Ownership)))]
pub async fn take(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    Segments(key): Segments<String>,
    body: Json,
) -> Answer {
    let named = touchable(&app, &caller, &key).await?;
    let request = OwnershipRequest::read(&body.value, "")?;
    let owner = Owner::parse(&request.owner).unwrap_or(Owner::OldScheduler);
    let now = app.engine.clock.now();
    let run = Run {
        path: KIND,
        subject_id: &named.run.guid,
        business_unit: named.unit.as_deref(),
        key: &key,
        kind: named.run.kind,
    };
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    let taken = take_run(&mut tx, now, run, owner, &request.owner_version).await?;
    let rollout = rollouts::over(&mut tx.conn(), KIND, &named.run.guid, named.unit.as_deref()).await?;
    tx.commit().await?;
    match taken {
        Taken::Own(row) => JsonResponse::ok(&shape(&key, Some(&row), Stage::of(rollout.as_ref()))?),
        Taken::Other(row) => {
            let problem = Problem::owned_by_other(&owner_word(&row.owner));
            Err(problem.with("ownershipStatus", status_word(&row.status)).into())
        }
        Taken::NotAllowed(Some(stage)) if owner == Owner::AutomationScheduler => {
            Err(old_schedulers(stage).into())
        }
        Taken::NotAllowed(stage) => {
            let problem = Problem::owned_by_other(Owner::AutomationScheduler.word());
            Err(problem.with("stage", stage.map(Stage::number)).into())
        }
    }
}

/// Report on a run
///
/// `deliveryCreated` with the coordinates of what was made, or `cancelled`: then the run is free again.
#[utoipa::path(patch, path = "/api/v1/report-runs/{key}/ownership", tag = "Report runs", security(("key" = ["ingest"])),
    params(("key" = String, Path)), request_body = OwnershipReport, responses((status = 200, body = Ownership)))]
pub async fn report(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    Segments(key): Segments<String>,
    body: Json,
) -> Answer {
    let named = touchable(&app, &caller, &key).await?;
    let report = OwnershipReport::read(&body.value, "")?;
    let owner = Owner::parse(&report.owner).unwrap_or(Owner::OldScheduler);
    let status = if report.status == "cancelled" { "cancelled" } else { "delivery_created" };
    let coordinates = report.coordinates.map(|value| value.to_string());
    let now = app.engine.clock.now();
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    let conn = &mut tx.conn();
    let row = run_ownership::report(conn, now, &key, owner.as_str(), status, coordinates.as_deref()).await?;
    let Some(row) = row else {
        return Err(match run_ownership::get(conn, &key).await? {
            None => Problem::not_found("ownership of the run", &key),
            Some(row) if row.owner != owner.as_str() => Problem::owned_by_other(&owner_word(&row.owner)),
            Some(row) => Problem::state_not_allowed("report", status_word(&row.status), &[]),
        }
        .into());
    };
    let rollout = rollouts::over(conn, KIND, &named.run.guid, named.unit.as_deref()).await?;
    if status == "cancelled" {
        audited(&mut tx, now, &caller, "cancel", "run-ownership", &key).await?;
    }
    tx.commit().await?;
    JsonResponse::ok(&shape(&key, Some(&row), Stage::of(rollout.as_ref()))?)
}

async fn touchable(app: &App, caller: &Principal, key: &str) -> Result<Named, Failure> {
    let named = named(app, key, |named| !named.known || caller.may_touch(named.unit.as_deref())).await?;
    if !named.known {
        // A subscription that is not known here belongs to no unit that a limited key could have.
        RouteReach::Installation.admit(caller.units.as_deref())?;
    }
    Ok(named)
}

async fn named(app: &App, key: &str, allows: impl Fn(&Named) -> bool) -> Result<Named, Failure> {
    let missing = || Failure::from(Problem::not_found("report run", key));
    let run = RunKey::read(key).ok_or_else(missing)?;
    let mut reader = app.engine.store.read().await?;
    let row = report_subscriptions::by_guids(&mut reader.conn(), vec![run.guid.clone()]).await?.pop();
    let named = Named { run, known: row.is_some(), unit: row.and_then(|row| row.business_unit) };
    if allows(&named) { Ok(named) } else { Err(missing()) }
}

pub fn owner_word(stored: &str) -> String {
    Owner::parse(stored).map_or_else(|| stored.to_owned(), |owner| owner.word().to_owned())
}

pub fn shape(key: &str, row: Option<&OwnershipRow>, stage: Option<Stage>) -> Result<Ownership, StoreError> {
    let kind = RunKey::read(key).map(|run| run.kind);
    let is_free = row.is_none_or(|row| row.status == "cancelled");
    Ok(Ownership {
        key: key.to_owned(),
        owner: row.map(|row| owner_word(&row.owner)),
        owner_version: row.map(|row| row.owner_version.clone()),
        status: row.map(|row| status_word(&row.status).to_owned()),
        coordinates: row
            .and_then(|row| row.coordinates.as_deref())
            .and_then(|text| serde_json::from_str(text).ok()),
        taken_at: row.map(|row| instant(row.taken_at)).transpose()?,
        stage: stage.map(Stage::number),
        old_scheduler_may_take: is_free && kind.is_some_and(|kind| old_may_take(stage, kind)),
    })
}
