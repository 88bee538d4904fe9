//! `/api/v1/scheduler`: one bounded pass over all that is due, for tests and for use by hand.

use axum::extract::State;
use punctual_engine::PassReport;
use punctual_wire::{
    limits::TICK_BATCH,
    scheduler::{Tick, TickDeliveries, TickRequest, TickWork},
};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Caller, Operate},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
};

/// Run one pass over every stage and return the counts
#[utoipa::path(post, path = "/api/v1/scheduler/tick", tag = "Scheduler", security(("key" = ["operate"])),
    request_body(content = Option<TickRequest>, example = json!({"batchSize": 100})), responses((status = 200, body = Tick)))]
pub async fn tick(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = TickRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let _alone = app.driver.lock().await;
        let now = app.engine.clock.now();
        let PassReport { due, deliveries, sweep } =
            app.engine.pass(now, request.batch_size.unwrap_or(TICK_BATCH)).await?;
        let count = |rows: usize| rows as u64;
        JsonResponse::ok(&Tick {
            now,
            processed: count(due.claimed),
            expired: count(due.noted.get("expired").copied().unwrap_or(0)),
            dispatched: count(deliveries.events.difference(&deliveries.failed_events).count()),
            failed: count(due.failed + deliveries.failed_events.len()),
            work: TickWork {
                completed: count(due.completed),
                deactivated: count(due.deactivated),
                held: count(due.held + sweep.held),
            },
            deliveries: TickDeliveries {
                delivered: count(deliveries.delivered),
                retrying: count(deliveries.retrying),
                parked: count(deliveries.parked + sweep.parked),
            },
        })
    })
    .await
}
