//! `/api/v1/rollouts/report-subscription/…`: stages, the comparison with the old scheduler, figures, and the way back.

use std::collections::BTreeMap;

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use punctual_store::{
    StoreError,
    rollouts::{self, RolloutRow},
};
use punctual_wire::{
    Code, FieldError, Page, Problem,
    rollouts::{
        ChecklistPoint, ComparedRun, Comparison, RollBackRequest, RolledBack, Rollout, RolloutFigures,
        RolloutRequest, StageFigures,
    },
};
use punctual_workflows::{
    reports::{
        KIND,
        rollouts::{self as path, NotEnded},
    },
    rollout::{
        CHECKLIST, Stage, selected,
        stages::{self, Refused, Scope},
    },
};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Operate, Principal, Read},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments},
};

/// How far back a comparison and figures look by default.
const BACK: SignedDuration = SignedDuration::from_hours(24 * 35);

/// All rollouts of report subscriptions
#[utoipa::path(get, path = "/api/v1/rollouts/report-subscription", tag = "Rollouts", security(("key" = ["read"])),
    responses((status = 200, body = Page<Rollout>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = rollouts::page(&mut reader.conn(), &caller.by.reach(), KIND, ("", ""), 1_000).await?;
    drop(reader);
    JsonResponse::ok(&Page::whole(rows.into_iter().map(shape).collect::<Result<Vec<_>, _>>()?))
}

/// Look at a rollout
#[utoipa::path(get, path = "/api/v1/rollouts/report-subscription/{scope}/{id}", tag = "Rollouts", security(("key" = ["read"])),
    params(("scope" = String, Path, description = "`subscription` or `business-unit`"), ("id" = String, Path)),
    responses((status = 200, body = Rollout)))]
pub async fn get(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments((scope, id)): Segments<(String, String)>,
) -> Answer {
    let scope = named(&app, &caller, &scope, &id, false).await?;
    JsonResponse::ok(&shape(stored(&app, &scope).await?)?)
}

/// Set the stage of a rollout
///
/// At stage 2, `runs` selects single manual runs.
///
/// Above stage 0, all points of the checklist must be confirmed, in this call or earlier. The allowlist is the set of
/// subscriptions and business units at stage 2 or higher. A lower stage releases runs that Punctual took and has not delivered,
/// if the old scheduler makes them at that stage.
#[utoipa::path(put, path = "/api/v1/rollouts/report-subscription/{scope}/{id}", tag = "Rollouts", security(("key" = ["operate"])),
    params(("scope" = String, Path), ("id" = String, Path)),
    request_body(content = RolloutRequest, example = json!({"stage": 1, "confirm": ["deliveryPath", "oldScheduler", "ownershipStorage"]})),
    responses((status = 200, body = Rollout)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    Segments((scope, id)): Segments<(String, String)>,
    body: Json,
) -> Answer {
    // Whether there is such a unit the command finds out.
    let scope = match scope.as_str() {
        "business-unit" => Scope::BusinessUnit(id),
        _ => named(&app, &caller, &scope, &id, true).await?,
    };
    let request = RolloutRequest::read(&body.value, "")?;
    let stage = Stage::parse(request.stage).unwrap_or(Stage::Design);
    let mut change = path::change(&scope, stage, request.confirm, &caller.by);
    change.selected = request.runs;
    match path::set(&app.engine, &change).await? {
        Ok(row) => JsonResponse::ok(&shape(row)?),
        Err(Refused::Unconfirmed(open)) => {
            let detail = format!("Confirm `{}` before stage {}.", open.join("`, `"), stage.number());
            Err(Problem::new(Code::StateNotAllowed, detail).with("open", open).into())
        }
    }
}

/// End a rollout: the migration is complete and the old scheduler is no longer used
#[utoipa::path(delete, path = "/api/v1/rollouts/report-subscription/{scope}/{id}", tag = "Rollouts", security(("key" = ["operate"])),
    params(("scope" = String, Path), ("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    Segments((scope, id)): Segments<(String, String)>,
) -> Answer {
    let scope = named(&app, &caller, &scope, &id, true).await?;
    match path::end(&app.engine, &caller.by, &scope).await? {
        Ok(()) => JsonResponse::no_content(),
        Err(NotEnded::Missing) => Err(missing(&scope)),
        Err(NotEnded::TooEarly(stage)) => {
            let state = format!("at stage {stage}");
            Err(Problem::state_not_allowed("delete", &state, &["put", "rollback"]).into())
        }
    }
}

/// Go back to the old scheduler
///
/// What was taken here and not delivered is given back and named; what was delivered stays delivered.
#[utoipa::path(post, path = "/api/v1/rollouts/report-subscription/{scope}/{id}/rollback", tag = "Rollouts", security(("key" = ["operate"])),
    params(("scope" = String, Path), ("id" = String, Path)), request_body = Option<RollBackRequest>,
    responses((status = 200, body = RolledBack)))]
pub async fn roll_back(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    Segments((scope, id)): Segments<(String, String)>,
    once: IdempotencyKey,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let bytes = body.bytes.clone();
    once.run(app, caller, &bytes, |_| async move {
        let scope = named(app, caller, &scope, &id, true).await?;
        let request = RollBackRequest::read(&body.value, "")?;
        stored(app, &scope).await?;
        let stage = request.stage.and_then(Stage::parse).unwrap_or(Stage::Shadow);
        let by = caller.by.because(request.reason.as_deref());
        let change = path::change(&scope, stage, Vec::new(), &by);
        let (row, given_back) = path::roll_back(&app.engine, &change).await?;
        JsonResponse::ok(&RolledBack { rollout: shape(row)?, given_back })
    })
    .await
}

/// The expected runs against those that the old scheduler has taken
#[utoipa::path(get, path = "/api/v1/rollouts/report-subscription/{scope}/{id}/comparison", tag = "Rollouts", security(("key" = ["read"])),
    params(("scope" = String, Path), ("id" = String, Path), ("from" = Option<String>, Query), ("to" = Option<String>, Query)),
    responses((status = 200, body = Comparison)))]
pub async fn comparison(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments((scope, id)): Segments<(String, String)>,
    parameters: Parameters,
) -> Answer {
    let scope = named(&app, &caller, &scope, &id, false).await?;
    let (from, to) = interval(&app, parameters)?;
    let (compared, cut) = path::comparison(&app.engine, &scope, from, to).await?;
    let mut counts: BTreeMap<String, i64> =
        ["match", "missing", "extra"].map(|word| (word.to_owned(), 0)).into_iter().collect();
    let items = compared.into_iter().map(|one| {
        let verdict = serde_json::to_value(one.verdict).ok();
        let verdict = verdict.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default();
        *counts.entry(verdict.clone()).or_default() += 1;
        ComparedRun {
            difference_seconds: one.difference_seconds(),
            key: one.key,
            verdict,
            expected_at: one.expected_at,
            found_at: one.found_at,
        }
    });
    let items = items.collect();
    JsonResponse::ok(&Comparison { from, to, counts, items, cut })
}

/// Conflicts, failures and latency by stage
#[utoipa::path(get, path = "/api/v1/rollouts/report-subscription/{scope}/{id}/figures", tag = "Rollouts", security(("key" = ["read"])),
    params(("scope" = String, Path), ("id" = String, Path), ("from" = Option<String>, Query), ("to" = Option<String>, Query)),
    responses((status = 200, body = RolloutFigures)))]
pub async fn figures(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments((scope, id)): Segments<(String, String)>,
    parameters: Parameters,
) -> Answer {
    let scope = named(&app, &caller, &scope, &id, false).await?;
    let (from, to) = interval(&app, parameters)?;
    let rows = path::figures(&app.engine, &scope, from, to).await?;
    let stages = rows
        .into_iter()
        .map(|row| StageFigures {
            stage: row.stage,
            runs: row.runs,
            delivered: row.delivered,
            shadow: row.shadow,
            skipped: row.skipped,
            failed: row.failed,
            retrying: row.retrying,
            conflicts: row.conflicts,
            mean_latency_ms: row.mean_latency.map(|micros| micros / 1_000),
            longest_latency_ms: row.longest_latency.map(|micros| micros / 1_000),
        })
        .collect();
    JsonResponse::ok(&RolloutFigures { from, to, stages })
}

fn interval(app: &App, parameters: Parameters) -> Result<(Timestamp, Timestamp), Failure> {
    let (from, to) =
        parameters.read(|fields| (fields.optional_instant("from"), fields.optional_instant("to")))?;
    // A second more than now, so that what happens now counts.
    let now = app.engine.clock.now();
    let to = to.unwrap_or_else(|| now.checked_add(SignedDuration::from_secs(1)).unwrap_or(now));
    let from = from.unwrap_or_else(|| to.checked_sub(BACK).unwrap_or(Timestamp::MIN));
    if from > to {
        return Err(FieldError::new("/to", Code::OutOfRange, "`to` is later than `from`.").into());
    }
    Ok((from, to))
}

/// The scope that an address names, if the caller may see or change it.
async fn named(app: &App, caller: &Principal, scope: &str, id: &str, change: bool) -> Result<Scope, Failure> {
    let named = match scope {
        "subscription" => Some(Scope::Subject(id.to_lowercase())),
        "business-unit" => Some(Scope::BusinessUnit(id.to_owned())),
        _ => None,
    };
    let missing = || Failure::from(Problem::not_found("rollout", format!("{scope}/{id}")));
    let named = named.ok_or_else(missing)?;
    may(app, caller, &named, change).await?.ok_or_else(missing)?;
    Ok(named)
}

async fn may(app: &App, caller: &Principal, scope: &Scope, change: bool) -> Result<Option<()>, Failure> {
    let unit = match scope {
        Scope::BusinessUnit(unit) => Some(unit.clone()),
        Scope::Subject(guid) => match super::stored(app, caller, guid).await? {
            Some(row) if path::is_there(&app.engine, scope, row.deleted).await? => row.business_unit,
            _ => return Ok(None),
        },
    };
    let unit = unit.as_deref();
    let allowed = if change { caller.by.may_touch(unit) } else { caller.by.may_see(unit) };
    Ok(allowed.then_some(()))
}

async fn stored(app: &App, scope: &Scope) -> Result<RolloutRow, Failure> {
    path::find(&app.engine, scope).await?.ok_or_else(|| missing(scope))
}

fn missing(scope: &Scope) -> Failure {
    Problem::not_found("rollout", scope.parts().1).into()
}

fn shape(row: RolloutRow) -> Result<Rollout, StoreError> {
    let confirmed = stages::checklist(Some(&row));
    let point = |(name, what): (&str, &str)| {
        let entry = confirmed.get(name);
        let text = |field: &str| entry.and_then(|entry| entry.get(field)?.as_str().map(str::to_owned));
        ChecklistPoint {
            name: name.to_owned(),
            what: what.to_owned(),
            confirmed: entry.is_some(),
            by: text("by"),
            at: text("at"),
        }
    };
    Ok(Rollout {
        checklist: CHECKLIST.map(point).to_vec(),
        scope: if row.scope == "subject" { "subscription" } else { "business-unit" }.to_owned(),
        stage_name: Stage::of(Some(&row)).map_or("unknown", Stage::name).to_owned(),
        updated_at: row.updated_at,
        runs: selected(&row),
        path: row.workflow,
        id: row.scope_id,
        stage: row.stage,
        version: row.version,
    })
}
