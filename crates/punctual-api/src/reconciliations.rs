//! `/api/v1/reconciliations`: how far the repair of reminders has looked, and what it does or would do.

use axum::extract::State;
use punctual_wire::{
    Code, Fields, Page, Problem,
    reminders::{Reconciliation, ReconciliationRun, RunRequest},
};
use punctual_workflows::reminders::looks::{self, Look};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
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
    let found = looks::all(&mut reader.conn(), &app.reminders).await?;
    let every_seconds = app.reminders.reconcile_every.as_secs();
    let items = found.into_iter().map(|look| {
        let Look { provider, window_days, batch, looked_until, last_run_at, report } = look;
        Reconciliation {
            provider,
            every_seconds,
            window_days,
            batch,
            looked_until,
            last_run_at,
            sources: report.sources,
            created: report.created,
            moved: report.moved,
            deactivated: report.deactivated,
        }
    });
    JsonResponse::ok(&Page::whole(items.collect()))
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
        let (engine, providers) = (&app.engine, &app.reminders);
        if !request.dry_run {
            let work = looks::look_now(engine, providers, &caller.by, &provider).await?;
            return JsonResponse::ok(&ReconciliationRun {
                provider,
                dry_run: false,
                sources: None,
                create: None,
                moved: None,
                deactivate: None,
                work_id: Some(work),
            });
        }
        let (sources, plan) = looks::would_do(engine, providers, &provider).await?.map_err(|fault| {
            let code = if fault.may_pass { Code::StorageUnavailable } else { Code::StateNotAllowed };
            Problem::new(code, fault.detail)
        })?;
        JsonResponse::ok(&ReconciliationRun {
            provider,
            dry_run: true,
            sources: Some(sources),
            create: Some(plan.create),
            moved: Some(plan.moved),
            deactivate: Some(plan.deactivate),
            work_id: None,
        })
    })
    .await
}
