//! `/api/v1/report-runs/{key}/ownership`: where an old scheduler asks, takes and reports.

use axum::extract::State;
use punctual_model::OwnershipStatus;
use punctual_store::{StoreError, rollouts::RolloutRow};
use punctual_wire::{
    Problem,
    reports::{Ownership, OwnershipReport, OwnershipRequest},
};
use punctual_workflows::{
    reports::{
        RunKey,
        ownership::{self as commands, NamedRun, Report, Reported},
    },
    rollout::{
        Stage, old_may_take,
        ownership::{Owner, OwnershipRow, Taken},
    },
};

use super::old_schedulers;
use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Ingest, Principal, Read},
    body::Json,
    idempotency::IdempotencyKey,
    parameters::Segments,
};

/// Ask who owns a run
#[utoipa::path(get, path = "/api/v1/report-runs/{key}/ownership", tag = "Report runs", security(("key" = ["read"])),
    params(("key" = String, Path)), responses((status = 200, body = Ownership)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(key): Segments<String>) -> Answer {
    let named = named(&app, &caller, &key).await?;
    let (row, rollout) = commands::look(&app.engine, &named).await?;
    JsonResponse::ok(&shape(&key, row.as_ref(), rollout.as_ref())?)
}

/// Take a run
///
/// Call this before you generate anything for the run. The first caller becomes the owner; the same owner gets its reported
/// coordinates again. Another owner gets 409 `owned_by_other` and must not deliver the run. So does a lower version of the same
/// owner; a higher version takes over a run that is not delivered.
#[utoipa::path(post, path = "/api/v1/report-runs/{key}/ownership", tag = "Report runs", security(("key" = ["ingest"])),
    params(("key" = String, Path)), request_body = OwnershipRequest, responses((status = 200, body = Ownership)))]
pub async fn take(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    Segments(key): Segments<String>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let bytes = body.bytes.clone();
    once.run(app, caller, &bytes, |_| async move {
        let named = named(app, caller, &key).await?;
        let request = OwnershipRequest::read(&body.value, "")?;
        let owner = Owner::parse(&request.owner).unwrap_or(Owner::OldScheduler);
        let (taken, rollout) = commands::take(&app.engine, &named, owner, &request.owner_version).await?;
        match taken {
            Taken::Own(row) => JsonResponse::ok(&shape(&key, Some(&row), rollout.as_ref())?),
            Taken::Newer(row) => Err(newer(&row).into()),
            Taken::Other(row) => {
                let problem = Problem::owned_by_other(&owner_word(&row.owner));
                Err(problem.with("ownershipStatus", row.status.word()).into())
            }
            Taken::NotAllowed(Some(stage)) if owner == Owner::AutomationScheduler => {
                Err(old_schedulers(stage).into())
            }
            Taken::NotAllowed(stage) => {
                let problem = Problem::owned_by_other(Owner::AutomationScheduler.word());
                Err(problem.with("stage", stage.map(Stage::number)).into())
            }
        }
    })
    .await
}

/// Report on a run
///
/// `deliveryCreated` with the coordinates of the delivery, or `cancelled` to release the run.
#[utoipa::path(patch, path = "/api/v1/report-runs/{key}/ownership", tag = "Report runs", security(("key" = ["ingest"])),
    params(("key" = String, Path)), request_body = OwnershipReport, responses((status = 200, body = Ownership)))]
pub async fn report(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    Segments(key): Segments<String>,
    body: Json,
) -> Answer {
    let named = named(&app, &caller, &key).await?;
    let report = OwnershipReport::read(&body.value, "")?;
    let report = Report {
        owner: Owner::parse(&report.owner).unwrap_or(Owner::OldScheduler),
        owner_version: report.owner_version,
        is_cancelled: report.status == OwnershipStatus::Cancelled.word(),
        coordinates: report.coordinates.map(|value| value.to_string()),
    };
    match commands::report(&app.engine, &caller.by, &named, &report).await? {
        Reported::Done(row, rollout) => JsonResponse::ok(&shape(&key, Some(&row), rollout.as_ref())?),
        Reported::Newer(row) => Err(newer(&row).into()),
        Reported::NotTaken => Err(Problem::not_found("ownership of the run", &key).into()),
        Reported::Refused(row) if row.owner != report.owner.as_str() => {
            Err(Problem::owned_by_other(&owner_word(&row.owner)).into())
        }
        Reported::Refused(row) => Err(Problem::state_not_allowed("report", row.status.word(), &[]).into()),
    }
}

/// The refusal for a version below that of the owner.
fn newer(row: &OwnershipRow) -> Problem {
    let problem = Problem::owned_by_newer(&owner_word(&row.owner), &row.owner_version);
    problem.with("ownershipStatus", row.status.word())
}

/// The run that a key names. One of a subscription that is not known here belongs to no unit that a limited key could
/// have.
async fn named(app: &App, caller: &Principal, key: &str) -> Result<NamedRun, Failure> {
    let allows = |named: &NamedRun| match named.is_known {
        true => caller.by.may_touch(named.unit.as_deref()),
        false => caller.by.units.is_none(),
    };
    let named = commands::named(&app.engine, &caller.by, key).await?.filter(allows);
    named.ok_or_else(|| Problem::not_found("report run", key).into())
}

pub fn owner_word(stored: &str) -> String {
    Owner::parse(stored).map_or_else(|| stored.to_owned(), |owner| owner.word().to_owned())
}

pub fn shape(
    key: &str,
    row: Option<&OwnershipRow>,
    rollout: Option<&RolloutRow>,
) -> Result<Ownership, StoreError> {
    let stage = Stage::of(rollout);
    let kind = RunKey::read(key).map(|run| run.kind_under(rollout));
    let is_free = row.is_none_or(|row| row.status == OwnershipStatus::Cancelled);
    Ok(Ownership {
        key: key.to_owned(),
        owner: row.map(|row| owner_word(&row.owner)),
        owner_version: row.map(|row| row.owner_version.clone()),
        status: row.map(|row| row.status.word().to_owned()),
        coordinates: row
            .and_then(|row| row.coordinates.as_deref())
            .and_then(|text| serde_json::from_str(text).ok()),
        taken_at: row.map(|row| row.taken_at),
        stage: stage.map(Stage::number),
        old_scheduler_may_take: is_free && kind.is_some_and(|kind| old_may_take(stage, kind)),
    })
}
