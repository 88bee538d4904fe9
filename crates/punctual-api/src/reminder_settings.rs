//! `/api/v1/reminder-settings`: what people are reminded of. A change is planned before it is made, and applied to the
//! rows that are there.

use axum::extract::State;
use punctual_engine::CommandError;
use punctual_store::{
    StoreError,
    reminders::settings::{self, SettingRow},
};
use punctual_wire::{
    FieldError, Page,
    page::NamePageQuery,
    reminders::{ReminderPlan, ReminderSetting, ReminderSettingRequest},
};
use punctual_workflows::reminders::commands::{Draft, merged, remove};
use serde_json::Value;

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Principal, Read},
    body::Json,
    definitions::{self, Definition},
    parameters::{Parameters, Segments, checked_name},
};

/// Make a reminder setting
///
/// The setting is applied to the existing sources: to the first 1,500 at once, to the rest by due work.
#[utoipa::path(post, path = "/api/v1/reminder-settings", tag = "Reminders", security(("key" = ["author"])),
    request_body(content = ReminderSettingRequest, example = json!({"name": "First aid", "sourceType": "document", "triggerKey": "first-aid-expiry", "kind": "dateBased",
        "date": {"field": "/expiresOn", "offsetsDays": [30, 7, 1], "sendTime": "09:00"}, "filter": {"questionId": "state.kind", "op": "==", "value": "first-aid"},
        "recipients": {"addresses": ["a@b.example"]}, "delivery": {"channel": "email:default"}, "maxLateness": "1d", "active": true})),
    responses((status = 201, body = ReminderSetting)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: crate::idempotency::IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let value = body.value.clone();
    once.run(app, caller, &body.bytes, |ids| async move {
        let draft = draft(app, caller, ids.at(0).to_string(), None, &value).await?;
        JsonResponse::created(&saved(app, caller, draft).await?)
    })
    .await
}

/// Look at a reminder setting
#[utoipa::path(get, path = "/api/v1/reminder-settings/{id}", tag = "Reminders", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = ReminderSetting)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    definitions::one(&id, found(&app, &caller, &id).await?)
}

/// All reminder settings
#[utoipa::path(get, path = "/api/v1/reminder-settings", tag = "Reminders", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<ReminderSetting>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let query = parameters.name_page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = settings::page(&mut reader.conn(), &caller.by.reach(), query.after(), query.rows()).await?;
    definitions::page(&query, rows)
}

/// Define a reminder setting, whole
///
/// Changes the setting with that id, or creates it. The type of source and the kind of trigger cannot be changed.
#[utoipa::path(put, path = "/api/v1/reminder-settings/{id}", tag = "Reminders", security(("key" = ["author"])),
    params(("id" = String, Path)), request_body(content = ReminderSettingRequest, example = json!({"name": "First aid", "sourceType": "document", "triggerKey": "first-aid-expiry", "kind": "dateBased",
        "date": {"field": "/expiresOn", "offsetsDays": [30, 7, 1], "sendTime": "09:00"}, "recipients": {"addresses": ["a@b.example"]},
        "delivery": {"channel": "email:default", "quietHours": {"from": "22:00", "to": "07:00"}}})), responses((status = 200, body = ReminderSetting)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    checked_name(&id, "/id")?;
    let before = touchable(&app, &caller, &id).await?;
    let draft = draft(&app, &caller, id, before, &body.value).await?;
    JsonResponse::ok(&saved(&app, &caller, draft).await?)
}

/// Change some fields of a reminder setting
///
/// A given field replaces the stored one completely; null removes it.
#[utoipa::path(patch, path = "/api/v1/reminder-settings/{id}", tag = "Reminders", security(("key" = ["author"])),
    params(("id" = String, Path)), request_body(content = Object, example = json!({"active": false})),
    responses((status = 200, body = ReminderSetting)))]
pub async fn patch(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    let before = touchable(&app, &caller, &id).await?.ok_or_else(|| missing(&id))?;
    let merged = merged(&before, &body.value)?;
    let draft = draft(&app, &caller, id, Some(before), &merged).await?;
    JsonResponse::ok(&saved(&app, &caller, draft).await?)
}

/// Remove a reminder setting
///
/// What it had planned is deactivated; what was sent stays on record.
#[utoipa::path(delete, path = "/api/v1/reminder-settings/{id}", tag = "Reminders", security(("key" = ["author"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
) -> Answer {
    let before = touchable(&app, &caller, &id).await?.ok_or_else(|| missing(&id))?;
    remove(&app.engine, &app.reminders, &caller.by, before).await?;
    JsonResponse::no_content()
}

/// See what a change of a reminder setting would do
///
/// Takes what `PATCH` takes, changes nothing, and says how many rows would be created, deactivated and moved.
#[utoipa::path(post, path = "/api/v1/reminder-settings/{id}/plan", tag = "Reminders", security(("key" = ["author"])),
    params(("id" = String, Path)), request_body(content = Object, example = json!({"date": {"field": "/expiresOn", "offsetsDays": [60, 30]}})),
    responses((status = 200, body = ReminderPlan)))]
pub async fn plan(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    let before = touchable(&app, &caller, &id).await?.ok_or_else(|| missing(&id))?;
    let merged = merged(&before, &body.value)?;
    let draft = draft(&app, &caller, id, Some(before), &merged).await?;
    JsonResponse::ok(&planned(&app, &draft).await?)
}

/// See what a new reminder setting would do
#[utoipa::path(post, path = "/api/v1/reminder-settings/plan", tag = "Reminders", security(("key" = ["author"])),
    request_body(content = ReminderSettingRequest, example = json!({"name": "First aid", "sourceType": "document", "triggerKey": "first-aid-expiry", "kind": "dateBased",
        "date": {"field": "/expiresOn", "offsetsDays": [30, 7, 1], "sendTime": "09:00"}, "recipients": {"addresses": ["a@b.example"]},
        "delivery": {"channel": "email:default", "quietHours": {"from": "22:00", "to": "07:00"}}})), responses((status = 200, body = ReminderPlan)))]
pub async fn plan_new(State(app): State<Shared>, caller: Caller<Author>, body: Json) -> Answer {
    let id = app.engine.random.ordered_uuid(app.engine.clock.now()).to_string();
    let draft = draft(&app, &caller, id, None, &body.value).await?;
    JsonResponse::ok(&planned(&app, &draft).await?)
}

async fn draft(
    app: &App,
    caller: &Principal,
    id: String,
    before: Option<SettingRow>,
    value: &Value,
) -> Result<Draft, Failure> {
    Ok(Draft::read(&app.engine, &app.reminders, &caller.by, id, before, value).await?)
}

async fn saved(app: &App, caller: &Principal, draft: Draft) -> Result<ReminderSetting, Failure> {
    let unknown = draft.unknown_channel(&app.engine).await?;
    let warnings = unknown.iter().map(|channel| FieldError::channel_unknown("/delivery/channel", channel));
    let warnings = warnings.collect();
    let id = draft.save(&app.engine, &app.reminders, &caller.by).await?;
    let row = found(app, caller, &id).await?.ok_or_else(|| missing(&id))?;
    Ok(ReminderSetting { warnings, ..row.shape()? })
}

async fn planned(app: &App, draft: &Draft) -> Result<ReminderPlan, Failure> {
    let plan = draft.plan(&app.engine, &app.reminders).await?;
    Ok(ReminderPlan {
        create: plan.create,
        deactivate: plan.deactivate,
        moved: plan.moved,
        gap: plan.gap,
        overlap: plan.overlap,
        unchanged: plan.unchanged,
    })
}

async fn found(app: &App, caller: &Principal, id: &str) -> Result<Option<SettingRow>, Failure> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = settings::by_ids(&mut reader.conn(), &caller.by.reach(), vec![id.to_owned()]).await?.pop();
    Ok(row.filter(|row| !row.deleted))
}

/// The setting, if the caller may change it; one that belongs to somebody else looks like none.
async fn touchable(app: &App, caller: &Principal, id: &str) -> Result<Option<SettingRow>, Failure> {
    let row = found(app, caller, id).await?;
    if let Some(row) = &row {
        caller.by.may_change(row.business_unit.as_deref(), || missing(id))?;
    }
    Ok(row)
}

fn missing(id: &str) -> CommandError {
    CommandError::not_found("reminder setting", id)
}

impl Definition for SettingRow {
    const WHAT: &'static str = "reminder setting";
    type Shape = ReminderSetting;

    fn key(&self) -> &str {
        &self.id
    }

    fn shape(self) -> Result<ReminderSetting, StoreError> {
        let definition: Value = serde_json::from_str(&self.definition)
            .map_err(|_| StoreError::Stored("reminder_settings.definition"))?;
        Ok(ReminderSetting {
            definition,
            created_at: self.created_at,
            updated_at: self.updated_at,
            id: self.id,
            version: self.version,
            plan: None,
            warnings: Vec::new(),
        })
    }
}
