//! `/api/v1/retention`: how long is kept, what the purge did last, and a purge by hand.

use axum::extract::State;
use punctual_engine::{PurgeReport, WindowChange};
use punctual_store::retention::{TABLES, TableRule, Window};
use punctual_wire::retention::{
    PurgeRequest, PurgeRun, Retention, RetentionChange, RetentionPlan, RetentionSettings, TableRetention,
};

use crate::{
    App, Shared,
    answer::{Answer, JsonResponse},
    auth::{Admin, Caller, Read},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
};

/// How long each table keeps its rows, and what the last purge removed
#[utoipa::path(get, path = "/api/v1/retention", tag = "Notifications", security(("key" = ["read"])),
    responses((status = 200, body = Retention)))]
pub async fn get(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    shown(&app).await
}

async fn shown(app: &App) -> Answer {
    let last_run = app.engine.last_purge().await?.map(shape);
    let windows = app.engine.windows().await?;
    let fixed = Window::ALL.into_iter().filter(|window| app.engine.is_window_fixed(*window));
    JsonResponse::ok(&Retention {
        keep_for_days: windows.days(Window::Messages).unwrap_or_default(),
        keep_files_for_days: windows.days(Window::Files).unwrap_or_default(),
        keep_audit_for_days: windows.days(Window::Audit),
        keep_work_for_days: windows.days(Window::Work).unwrap_or_default(),
        keep_surveys_for_days: windows.days(Window::Surveys),
        keep_ids_for_days: windows.days(Window::Ids),
        fixed: fixed.map(|window| window.setting().to_owned()).collect(),
        tables: TABLES.iter().map(|one| table(windows.rule_sentence(one), one)).collect(),
        last_run,
    })
}

/// Set how long is kept
#[utoipa::path(put, path = "/api/v1/retention", tag = "Notifications", security(("key" = ["admin"])),
    request_body(content = RetentionSettings, example = json!({"keepForDays": 90})),
    responses((status = 200, body = Retention)))]
pub async fn put(State(app): State<Shared>, caller: Caller<Admin>, body: Json) -> Answer {
    let settings = RetentionSettings::read(&body.value, "")?;
    app.engine.save_retention(&caller.by, None, &stored(&settings)).await?;
    shown(&app).await
}

/// See what other times would remove
#[utoipa::path(post, path = "/api/v1/retention/plan", tag = "Notifications", security(("key" = ["admin"])),
    request_body(content = RetentionSettings, example = json!({"keepForDays": 90})),
    responses((status = 200, body = RetentionPlan)))]
pub async fn plan(State(app): State<Shared>, _caller: Caller<Admin>, body: Json) -> Answer {
    let settings = RetentionSettings::read(&body.value, "")?;
    let changes = app.engine.plan_retention(&stored(&settings)).await?;
    let change = |change: WindowChange| RetentionChange {
        setting: change.window.setting().to_owned(),
        from_days: change.from,
        to_days: change.to,
        rows: change.rows,
        is_more: change.is_more,
    };
    JsonResponse::ok(&RetentionPlan { changes: changes.into_iter().map(change).collect() })
}

/// What the engine keeps of a request.
fn stored(settings: &RetentionSettings) -> punctual_engine::RetentionSettings {
    Window::ALL.into_iter().fold(punctual_engine::RetentionSettings::default(), |kept, window| {
        let days = match window {
            Window::Messages => settings.keep_for_days,
            Window::Files => settings.keep_files_for_days,
            Window::Work => settings.keep_work_for_days,
            Window::Surveys => settings.keep_surveys_for_days,
            Window::Audit => settings.keep_audit_for_days,
            Window::Ids => settings.keep_ids_for_days,
        };
        kept.with(window, days.and_then(|days| u64::try_from(days).ok()))
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
