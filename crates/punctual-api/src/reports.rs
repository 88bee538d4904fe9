//! `/api/v1/report-subscriptions` and what belongs to it: recurring reports, their runs, who owns them, and the way over
//! from an old scheduler.

pub mod ownership;
pub mod rollouts;
pub mod runs;
pub mod subscriptions;

use axum::routing::{get, post};
use punctual_engine::CommandError;
use punctual_store::report_subscriptions::{self, SubscriptionRow};
use punctual_wire::{Code, Problem, names};
use punctual_workflows::{reports::commands::NotRun, rollout::Stage};

use crate::{App, Shared, answer::Failure, auth::Principal};

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

fn missing(guid: &str) -> CommandError {
    CommandError::not_found("report subscription", guid)
}

/// The subscription, if the caller may see it; one that is deleted has no definition any more, but its runs.
async fn visible(app: &App, caller: &Principal, guid: &str) -> Result<SubscriptionRow, Failure> {
    stored(app, caller, guid).await?.ok_or_else(|| missing(guid).into())
}

/// The subscription, if the caller may change it.
async fn touchable(app: &App, caller: &Principal, guid: &str) -> Result<SubscriptionRow, Failure> {
    let row = stored(app, caller, guid).await?.filter(|row| !row.deleted).ok_or_else(|| missing(guid))?;
    caller.by.may_change(row.business_unit.as_deref(), || missing(guid))?;
    Ok(row)
}

async fn stored(app: &App, caller: &Principal, guid: &str) -> Result<Option<SubscriptionRow>, Failure> {
    let Some(guid) = names::guid(guid) else { return Ok(None) };
    let mut reader = app.engine.store.read_for_people().await?;
    Ok(report_subscriptions::by_guids(&mut reader.conn(), &caller.by.reach(), vec![guid]).await?.pop())
}

fn not_run(refused: NotRun) -> Failure {
    match refused {
        NotRun::OldSchedulers(stage) => old_schedulers(stage).into(),
        NotRun::Refused(error) => error.into(),
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
