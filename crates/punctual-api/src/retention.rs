//! `/api/v1/retention`: what the purge did last, and a purge by hand.

use axum::extract::State;
use punctual_engine::PurgeReport;
use punctual_store::retention::{TABLES, TableRule, Window};
use punctual_wire::retention::{PurgeRequest, PurgeRun, Retention, TableRetention};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Admin, Caller, Read},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
};

/// How long each table keeps its rows, and what the last purge removed
#[utoipa::path(get, path = "/api/v1/retention", tag = "Notifications", security(("key" = ["read"])),
    responses((status = 200, body = Retention)))]
pub async fn get(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    let last_run = app.engine.last_purge().await?.map(shape);
    let days = |window| app.engine.window(window).map(|window| window.as_secs() / 86_400);
    JsonResponse::ok(&Retention {
        keep_for_days: days(Window::Messages).unwrap_or_default(),
        keep_files_for_days: days(Window::Files).unwrap_or_default(),
        keep_audit_for_days: days(Window::Audit),
        keep_work_for_days: days(Window::Work).unwrap_or_default(),
        keep_surveys_for_days: days(Window::Surveys),
        keep_ids_for_days: days(Window::Ids),
        tables: TABLES.iter().map(|one| table(app.engine.rule_sentence(one), one)).collect(),
        last_run,
    })
}

fn table(rule: String, one: &TableRule) -> TableRetention {
    TableRetention {
        table: one.table.to_owned(),
        rule,
        setting: one.rule.window().map(|window| window.setting().to_owned()),
        why: Some(one.why).filter(|why| !why.is_empty()).map(str::to_owned),
    }
}

/// Purge now; with `confirm`, also what the daily run held back
#[utoipa::path(post, path = "/api/v1/retention/purge", tag = "Notifications", security(("key" = ["admin"])),
    request_body(content = Option<PurgeRequest>, example = json!({"confirm": true})),
    responses((status = 200, body = PurgeRun)))]
pub async fn purge(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = PurgeRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let done = app.engine.purge_by(&caller.by, request.confirm).await?;
        JsonResponse::ok(&shape(done))
    })
    .await
}

fn shape(report: PurgeReport) -> PurgeRun {
    PurgeRun {
        at: report.at,
        removed: report.removed as u64,
        files: report.files as u64,
        held_back: report.held_back.and_then(|rows| u64::try_from(rows).ok()),
    }
}
