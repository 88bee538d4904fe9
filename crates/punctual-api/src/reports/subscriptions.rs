//! Subscriptions: made, changed, paused, transferred, removed, and what lies ahead of them.

use std::collections::HashMap;

use axum::extract::State;
use jiff::Timestamp;
use punctual_engine::CommandError;
use punctual_model::{ReasonCode, Trigger, WorkStatus, local_time::Adjustment};
use punctual_store::report_subscriptions::{self, SubscriptionRow};
use punctual_wire::{
    Code, FieldError, Page, names,
    page::NamePageQuery,
    reports::{
        OrphanedSubscription, ReportSubscription, ReportSubscriptionRequest, TransferRequest, Upcoming,
        UpcomingRun,
    },
    work::ActionRequest,
};
use punctual_workflows::reports::{
    Draft, Planned, Subscription,
    commands::{self, Change},
    draft::{NotThereYet, merged},
};
use serde_json::Value;

use super::{missing, touchable, visible};
use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Principal, Read},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments},
};

/// Runs ahead that can be asked for.
const AHEAD: i64 = 50;

/// Subscribe to a report
#[utoipa::path(post, path = "/api/v1/report-subscriptions", tag = "Reports", security(("key" = ["author"])),
    request_body(content = ReportSubscriptionRequest, example = json!({"name": "Weekly deliveries", "cadence": {"cron": "0 8 * * MON", "timeZone": "Europe/Berlin"},
        "report": {"source": {"builtin": "delivery-kpis"}, "format": ["html", "csv"]}, "recipients": {"addresses": ["a@b.example"]}, "channel": "email:default", "catchUp": "last"})),
    responses((status = 201, body = ReportSubscription)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let value = body.value.clone();
    once.run(app, caller, &body.bytes, |ids| async move {
        JsonResponse::created(&saved(app, caller, ids.at(0).to_string(), None, &value).await?)
    })
    .await
}

/// Look at a subscription
#[utoipa::path(get, path = "/api/v1/report-subscriptions/{guid}", tag = "Reports", security(("key" = ["read"])),
    params(("guid" = String, Path)), responses((status = 200, body = ReportSubscription)))]
pub async fn get(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(guid): Segments<String>,
) -> Answer {
    let row = visible(&app, &caller, &guid).await?;
    if row.deleted {
        return Err(missing(&guid).into());
    }
    JsonResponse::ok(&shape_one(&app, row).await?)
}

/// All subscriptions
#[utoipa::path(get, path = "/api/v1/report-subscriptions", tag = "Reports", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<ReportSubscription>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.name_page()?;
    let after = page.cursor.unwrap_or_default();
    let mut reader = app.engine.store.read_for_people().await?;
    let rows =
        report_subscriptions::page(&mut reader.conn(), &caller.by.reach(), &after, i64::from(page.limit) + 1)
            .await?;
    drop(reader);
    let page = Page::cut_by_name(rows, page.limit, |row| &row.guid);
    JsonResponse::ok(&Page { items: shape(&app, page.items).await?, next_cursor: page.next_cursor })
}

/// Define a subscription, whole
///
/// Changes the object with that guid, or creates it.
#[utoipa::path(put, path = "/api/v1/report-subscriptions/{guid}", tag = "Reports", security(("key" = ["author"])),
    params(("guid" = String, Path)), request_body(content = ReportSubscriptionRequest, example = json!({"name": "Weekly deliveries", "cadence": {"cron": "0 8 * * MON", "timeZone": "Europe/Berlin"},
        "report": {"source": {"builtin": "delivery-kpis"}, "format": ["html"]}, "recipients": {"addresses": ["a@b.example"]}, "channel": "email:default"})), responses((status = 200, body = ReportSubscription)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(guid): Segments<String>,
    body: Json,
) -> Answer {
    let Some(guid) = names::guid(&guid) else {
        let why = "a guid is written as `0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071`";
        return Err(FieldError::key_invalid("/guid", why).into());
    };
    let before = super::stored(&app, &caller, &guid).await?;
    if let Some(row) = &before {
        caller.by.may_change(row.business_unit.as_deref(), || missing(&guid))?;
        if row.deleted {
            return Err(CommandError::taken(&guid).into());
        }
    }
    JsonResponse::ok(&saved(&app, &caller, guid, before, &body.value).await?)
}

/// Change some fields of a subscription
///
/// A given field replaces the stored one completely; null removes it. The next run is planned again.
#[utoipa::path(patch, path = "/api/v1/report-subscriptions/{guid}", tag = "Reports", security(("key" = ["author"])),
    params(("guid" = String, Path)), request_body(content = Object, example = json!({"cadence": {"cron": "0 9 * * MON", "timeZone": "Europe/Berlin"}})),
    responses((status = 200, body = ReportSubscription)))]
pub async fn patch(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(guid): Segments<String>,
    body: Json,
) -> Answer {
    let before = touchable(&app, &caller, &guid).await?;
    let merged = merged(&before, &body.value)?;
    JsonResponse::ok(&saved(&app, &caller, before.guid.clone(), Some(before), &merged).await?)
}

/// Remove a subscription
///
/// What waits is deactivated; what was made stays on record.
#[utoipa::path(delete, path = "/api/v1/report-subscriptions/{guid}", tag = "Reports", security(("key" = ["author"])),
    params(("guid" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(guid): Segments<String>,
) -> Answer {
    changed(&app, &caller, &guid, Change::Delete, ActionRequest::default()).await?;
    JsonResponse::no_content()
}

/// Pause a subscription: what waits is deactivated
#[utoipa::path(post, path = "/api/v1/report-subscriptions/{guid}/pause", tag = "Reports", security(("key" = ["author"])),
    params(("guid" = String, Path)), request_body = Option<ActionRequest>, responses((status = 200, body = ReportSubscription)))]
pub async fn pause(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(guid): Segments<String>,
    once: IdempotencyKey,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let bytes = body.bytes.clone();
    once.run(app, caller, &bytes, |_| async move {
        let request = ActionRequest::read(&body.value, "")?;
        JsonResponse::ok(&shape_one(app, changed(app, caller, &guid, Change::Pause, request).await?).await?)
    })
    .await
}

/// Resume a subscription: its next run is planned
#[utoipa::path(post, path = "/api/v1/report-subscriptions/{guid}/resume", tag = "Reports", security(("key" = ["author"])),
    params(("guid" = String, Path)), request_body = Option<ActionRequest>, responses((status = 200, body = ReportSubscription)))]
pub async fn resume(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(guid): Segments<String>,
    once: IdempotencyKey,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let bytes = body.bytes.clone();
    once.run(app, caller, &bytes, |_| async move {
        let request = ActionRequest::read(&body.value, "")?;
        JsonResponse::ok(&shape_one(app, changed(app, caller, &guid, Change::Resume, request).await?).await?)
    })
    .await
}

/// Hand a subscription over to another owner
#[utoipa::path(post, path = "/api/v1/report-subscriptions/{guid}/transfer", tag = "Reports", security(("key" = ["author"])),
    params(("guid" = String, Path)), request_body(content = TransferRequest, example = json!({"owner": "person-7"})),
    responses((status = 200, body = ReportSubscription)))]
pub async fn transfer(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(guid): Segments<String>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let bytes = body.bytes.clone();
    once.run(app, caller, &bytes, |_| async move {
        let request = TransferRequest::read(&body.value, "")?;
        let row =
            changed(app, caller, &guid, Change::Transfer(request.owner), ActionRequest::default()).await?;
        JsonResponse::ok(&shape_one(app, row).await?)
    })
    .await
}

/// Subscriptions whose owner or recipients are gone
#[utoipa::path(get, path = "/api/v1/report-subscriptions/orphans", tag = "Reports", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<OrphanedSubscription>)))]
pub async fn orphans(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.name_page()?;
    let after = page.cursor.unwrap_or_default();
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = report_subscriptions::orphans(
        &mut reader.conn(),
        &caller.by.reach(),
        &after,
        i64::from(page.limit) + 1,
    )
    .await?;
    let page = Page::cut_by_name(rows, page.limit, |row| &row.guid);
    let seen = page.items.into_iter();
    let items: Vec<OrphanedSubscription> = seen
        .map(|row| OrphanedSubscription {
            reasons: [
                (row.owner_gone, ReasonCode::OwnerGone),
                (row.recipients_gone, ReasonCode::RecipientsGone),
            ]
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, reason)| reason.into())
            .collect(),
            guid: row.guid,
            name: row.name,
            business_unit: row.business_unit,
            owner: row.owner,
            list: row.list_name,
        })
        .collect();
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// The next runs of a subscription, in its local time
#[utoipa::path(get, path = "/api/v1/report-subscriptions/{guid}/upcoming", tag = "Reports", security(("key" = ["read"])),
    params(("guid" = String, Path), ("count" = Option<i64>, Query)), responses((status = 200, body = Upcoming)))]
pub async fn upcoming(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(guid): Segments<String>,
    parameters: Parameters,
) -> Answer {
    let count = parameters.read(|fields| fields.optional_int("count", 1..=AHEAD))?.unwrap_or(5);
    let row = visible(&app, &caller, &guid).await?;
    let subscription = Subscription::read(&row).map_err(CommandError::Invalid)?;
    let now = app.engine.clock.now();
    let count = usize::try_from(count).unwrap_or(5);
    let ahead = subscription.cadence.after(now).filter_map(|one| subscription.planned(one).ok());
    let items = ahead.take(count).map(|planned| upcoming_run(&subscription, planned)).collect();
    JsonResponse::ok(&Upcoming { items })
}

fn upcoming_run(subscription: &Subscription, planned: Planned) -> UpcomingRun {
    let cadence = &subscription.cadence;
    let at = planned.occurrence.at;
    UpcomingRun {
        key: planned.key.to_string(),
        run_at: at,
        local: at.to_zoned(cadence.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        time_zone: cadence.zone_name.clone(),
        adjusted: planned.occurrence.adjusted.map(|adjusted| {
            let word = match adjusted {
                Adjustment::Gap => "gap",
                Adjustment::Overlap => "overlap",
            };
            word.to_owned()
        }),
        period_start: planned.period.start,
        period_end: planned.period.end,
    }
}

async fn changed(
    app: &App,
    caller: &Principal,
    guid: &str,
    change: Change,
    asked: ActionRequest,
) -> Result<SubscriptionRow, Failure> {
    let row = touchable(app, caller, guid).await?;
    let by = caller.by.because(asked.reason.as_deref());
    Ok(commands::change(&app.engine, &by, &row.guid, &change, asked.version).await?)
}

async fn saved(
    app: &App,
    caller: &Principal,
    guid: String,
    before: Option<SubscriptionRow>,
    value: &Value,
) -> Result<ReportSubscription, Failure> {
    let draft = Draft::read(&app.engine, &app.reports, &caller.by, guid, before, value).await?;
    let mut warnings = warnings(draft.not_there_yet(&app.engine).await?);
    warnings.extend(draft.skips_months(app.engine.clock.now()).then(|| {
        let detail = "Months without such a day are skipped, as the standard says; `-1` is the last day of each month.";
        FieldError::new("/cadence", Code::MonthsSkipped, detail)
    }));
    let row = draft.save(&app.engine, &caller.by).await?;
    Ok(ReportSubscription { warnings, ..shape_one(app, row).await? })
}

fn warnings(missing: NotThereYet) -> Vec<FieldError> {
    let channel = missing.channel.map(|channel| FieldError::channel_unknown("/channel", &channel));
    let list = missing.list.map(|list| {
        let detail = format!("There is no list `{list}` yet; reports are parked until there is.");
        FieldError::new("/recipients/list", Code::NotFound, detail)
    });
    channel.into_iter().chain(list).collect()
}

async fn shape_one(app: &App, row: SubscriptionRow) -> Result<ReportSubscription, Failure> {
    let guid = row.guid.clone();
    shape(app, vec![row]).await?.pop().ok_or_else(|| missing(&guid).into())
}

async fn shape(app: &App, rows: Vec<SubscriptionRow>) -> Result<Vec<ReportSubscription>, Failure> {
    let mut reader = app.engine.store.read_for_people().await?;
    let guids = rows.iter().map(|row| row.guid.clone()).collect();
    let live = report_subscriptions::live_runs(&mut reader.conn(), guids).await?;
    let mut next: HashMap<String, Timestamp> = HashMap::new();
    for run in live {
        let waits = run.status == WorkStatus::Pending && !run.on_hold && run.retry_count == 0;
        if waits && run.trigger_type == Trigger::ScheduledRun.as_str() {
            let first = next.entry(run.setting_id).or_insert(run.due_at);
            *first = (*first).min(run.due_at);
        }
    }
    rows.into_iter()
        .map(|row| {
            let next_run_at = next.get(&row.guid).copied();
            let definition: Value =
                serde_json::from_str(&row.definition).map_err(|error| Failure::internal(&error))?;
            let zone = definition.pointer("/cadence/timeZone").and_then(Value::as_str);
            let zone = zone.or(row.unit_time_zone.as_deref()).unwrap_or("UTC").to_owned();
            Ok(ReportSubscription {
                definition,
                next_run_at,
                time_zone: zone,
                created_at: row.created_at,
                updated_at: row.updated_at,
                guid: row.guid,
                business_unit: row.business_unit,
                owner: row.owner,
                paused: row.paused,
                version: row.version,
                warnings: Vec::new(),
            })
        })
        .collect()
}
