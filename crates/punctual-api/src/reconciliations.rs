//! `/api/v1/reconciliations`: how far the repair of reminders has looked, and what it does or would do.

use axum::extract::State;
use jiff::Timestamp;
use punctual_engine::{EngineError, EnsureOutcome};
use punctual_model::{AuditAction, Cause};
use punctual_store::{reminders::reconciliations, work::instant};
use punctual_wire::{
    Code, Fields, Page, Problem,
    reminders::{Reconciliation, ReconciliationRun, RunRequest},
};
use punctual_workflows::reminders::{
    external::{self, External},
    reconcile::{self, Report},
};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Operate, Read},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
    parameters::Segments,
};

/// Every trigger provider, and how far it has looked
#[utoipa::path(get, path = "/api/v1/reconciliations", tag = "Reminders", security(("key" = ["read"])),
    responses((status = 200, body = Page<Reconciliation>)))]
pub async fn list(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = reconciliations::all(&mut reader.conn()).await?;
    let mut items = Vec::new();
    let triggers = app.reminders.triggers.keys().map(|provider| {
        let bounds = app.reminders.bounds_of(provider).unwrap_or_default();
        (provider.to_owned(), bounds.window_days.unwrap_or(0), bounds.batch.unwrap_or(0))
    });
    let externals = app.reminders.externals.iter();
    let externals =
        externals.map(|one| (one.provider(), one.window_days.unwrap_or(0), one.batch.unwrap_or(0)));
    for (provider, window_days, batch) in triggers.chain(externals) {
        let row = rows.iter().find(|row| row.provider == provider);
        let report: Option<Report> = row.and_then(|row| serde_json::from_str(&row.report).ok());
        let report = report.unwrap_or_default();
        items.push(Reconciliation {
            provider,
            every_seconds: app.reminders.reconcile_every.as_secs(),
            window_days,
            batch,
            looked_until: row.map(|row| instant(row.watermark)).transpose()?,
            last_run_at: row.map(|row| instant(row.last_run_at)).transpose()?,
            sources: report.sources,
            created: report.created,
            moved: report.moved,
            deactivated: report.deactivated,
        });
    }
    JsonResponse::ok(&Page::whole(items))
}

/// Let a provider look now, or see what it would do
#[utoipa::path(post, path = "/api/v1/reconciliations/{provider}/run", tag = "Reminders", security(("key" = ["operate"])),
    params(("provider" = String, Path, example = "dateBased")), request_body = RunRequest,
    responses((status = 200, body = ReconciliationRun)))]
pub async fn run(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    Segments(provider): Segments<String>,
    once: IdempotencyKey,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let bytes = body.bytes.clone();
    once.run(app, caller, &bytes, |_| async move {
        let mut fields = Fields::new(&body.value, "");
        let request = RunRequest { dry_run: fields.bool("dryRun", false) };
        fields.finish()?;
        let missing = || Failure::from(Problem::not_found("trigger provider", &provider));
        let now = app.engine.clock.now();
        if let Some(name) = provider.strip_prefix("external:") {
            let external = app.reminders.external(name).ok_or_else(missing)?;
            if !request.dry_run {
                app.engine
                    .record_act(&caller.by, AuditAction::RunNow, "reconciliation", &provider, None)
                    .await?;
            }
            return look(app, external, now, request.dry_run).await;
        }
        app.reminders.triggers.get(&provider).ok_or_else(missing)?;
        if request.dry_run {
            let mut reader = app.engine.store.read_for_people().await?;
            let found = reconcile::dry_run(&mut reader.conn(), &app.reminders, &provider, now).await?;
            let (report, plan) = found.ok_or_else(missing)?;
            return JsonResponse::ok(&ReconciliationRun {
                provider,
                dry_run: true,
                sources: Some(report.sources),
                create: Some(plan.create),
                moved: Some(plan.moved),
                deactivate: Some(plan.deactivate),
                work_id: None,
            });
        }
        app.engine.record_act(&caller.by, AuditAction::RunNow, "reconciliation", &provider, None).await?;
        let row = reconcile::at(&provider, now).ok_or_else(missing)?;
        let ensured = app.engine.ensure(&[row], Cause::Person).await?.pop();
        let ensured = ensured.ok_or_else(|| Failure::from(EngineError::NotFound))?;
        debug_assert!(!matches!(ensured.outcome, EnsureOutcome::Conflict { .. }));
        JsonResponse::ok(&ReconciliationRun {
            provider,
            dry_run: false,
            sources: None,
            create: None,
            moved: None,
            deactivate: None,
            work_id: Some(ensured.id),
        })
    })
    .await
}

/// A look at another system's database, or what it would do.
async fn look(app: &App, external: &External, now: Timestamp, dry_run: bool) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let mut answer = ReconciliationRun {
        provider: external.provider(),
        dry_run,
        sources: None,
        create: None,
        moved: None,
        deactivate: None,
        work_id: None,
    };
    if dry_run {
        let found = external::dry_run(&mut reader.conn(), &app.reminders, external, now).await?;
        let (sources, plan) = found.map_err(|fault| {
            let code = if fault.may_pass { Code::StorageUnavailable } else { Code::StateNotAllowed };
            Problem::new(code, fault.detail)
        })?;
        answer.sources = Some(sources);
        answer.create = Some(plan.create);
        answer.moved = Some(plan.moved);
        answer.deactivate = Some(plan.deactivate);
        return JsonResponse::ok(&answer);
    }
    let cursor = external.cursor(&mut reader.conn()).await?;
    drop(reader);
    let row = external.at(now, &cursor).ok_or_else(|| Failure::from(Problem::internal()))?;
    let ensured = app.engine.ensure(&[row], Cause::Person).await?;
    answer.work_id = ensured.first().map(|one| one.id);
    JsonResponse::ok(&answer)
}
