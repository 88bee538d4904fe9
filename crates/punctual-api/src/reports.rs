//! `/api/v1/report-subscriptions` and what belongs to it: recurring reports, their runs, who owns them, and the way over
//! from an old scheduler.

mod draft;
pub mod ownership;
pub mod rollouts;
pub mod runs;
pub mod subscriptions;

use axum::routing::{get, post};
use punctual_model::Fault;
use punctual_store::report_subscriptions::{self, SubscriptionRow};
use punctual_wire::{Code, FieldError, Problem, names};
use punctual_workflows::{reports::commands::Refused, rollout::Stage};

use crate::{App, Shared, answer::Failure, auth::Principal};

pub use draft::{Draft, whole};

/// The support routes at the addresses without `/api/v1`, which other systems know.
pub(crate) fn as_known() -> axum::Router<Shared> {
    const RUNS: &str = "/report-subscriptions/{guid}/automation-runs";
    axum::Router::new()
        .route(RUNS, get(runs::list).post(runs::run_now))
        .route("/report-subscriptions/{guid}/automation-runs/failed", get(runs::failed_of))
        .route("/report-subscriptions/{guid}/automation-runs/recent", get(runs::recent_of))
        .route("/report-subscriptions/{guid}/automation-runs/{run}", get(runs::get))
        .route("/report-subscriptions/{guid}/automation-runs/{run}/ownership", get(runs::ownership))
        .route("/report-subscriptions/{guid}/automation-runs/{run}/coordinates", get(runs::coordinates))
        .route("/report-subscriptions/{guid}/automation-runs/{run}/retry", post(runs::retry))
        .route("/report-subscriptions/{guid}/automation-runs/{run}/artefacts/{name}", get(runs::artefact))
}

fn missing(guid: &str) -> Failure {
    Problem::not_found("report subscription", guid).into()
}

/// The subscription, if the caller may see it; one that is deleted has no definition any more, but its runs.
async fn visible(app: &App, caller: &Principal, guid: &str) -> Result<SubscriptionRow, Failure> {
    let row = stored(app, guid).await?.filter(|row| caller.may_see(row.business_unit.as_deref()));
    row.ok_or_else(|| missing(guid))
}

/// The subscription, if the caller may change it.
async fn touchable(app: &App, caller: &Principal, guid: &str) -> Result<SubscriptionRow, Failure> {
    let row = stored(app, guid).await?.filter(|row| !row.deleted).ok_or_else(|| missing(guid))?;
    caller.may_change(row.business_unit.as_deref(), || missing(guid))?;
    Ok(row)
}

async fn stored(app: &App, guid: &str) -> Result<Option<SubscriptionRow>, Failure> {
    let Some(guid) = names::guid(guid) else { return Ok(None) };
    let mut reader = app.engine.store.read().await?;
    Ok(report_subscriptions::by_guids(&mut reader.conn(), vec![guid]).await?.pop())
}

/// What the workflow found wrong, in the words of a problem.
fn field_error(fault: Fault) -> FieldError {
    FieldError::new(fault.pointer, Code::parse(fault.code).unwrap_or(Code::OutOfRange), fault.detail)
}

fn of_faults(faults: Vec<Fault>) -> Problem {
    Problem::of_fields(faults.into_iter().map(field_error).collect())
}

fn refused(refused: Refused, guid: &str) -> Failure {
    match refused {
        Refused::Stale => Problem::stale_version().into(),
        Refused::Missing => missing(guid),
        Refused::Paused => Problem::state_not_allowed("run", "paused", &["resume"]).into(),
        Refused::OldSchedulers(stage) => old_schedulers(stage).into(),
        Refused::Faults(faults) => of_faults(faults).into(),
        Refused::Engine(error) => error.into(),
    }
}

fn old_schedulers(stage: Stage) -> Problem {
    let detail = format!(
        "At stage {} ({}) this run is the old scheduler's; move the subscription on first.",
        stage.number(),
        stage.name()
    );
    Problem::new(Code::StateNotAllowed, detail).with("stage", stage.number())
}
