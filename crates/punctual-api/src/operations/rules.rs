//! `/api/v1/operations/rules`: when somebody is notified of an event or task.

use axum::extract::State;
use jiff::Timestamp;
use punctual_model::{ScheduleId, SyncStatus, delivery_policy::Handling};
use punctual_store::{
    StoreError,
    operations::rules::{self, RuleRow},
};
use punctual_wire::{
    Code, FieldError, Page, Problem,
    operations::{
        rules::{Rule, RuleChange, RuleQuery, RuleRequest},
        texts::RuleTexts,
    },
};
use punctual_workflows::operations::{
    commands::{self, Changed, DefaultRule, RULES_MAX, RuleRefused},
    spec_of, texts,
    written::{rule_shape, rule_spec, texts_fit},
};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Operate, Read},
    body::Json,
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments},
};

/// Add a rule to an event or task
///
/// There is at most one rule at the start and one at the end (`at_subject_date`); all others are extra.
#[utoipa::path(post, path = "/api/v1/operations/rules", tag = "Operations", security(("key" = ["author"])),
    request_body(content = RuleRequest, example = json!({"subjectType": "event", "subjectId": "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071", "rule": {"type": "relative", "anchor": "start", "offset": "-24h"}, "channels": ["email"]})),
    responses((status = 201, body = Rule)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = RuleRequest::read(&body.value, "")?;
    texts_fit(&request.message, "/message")?;
    let wanted = DefaultRule {
        rule: rule_spec(&request.rule, "/rule")?,
        channels: request.channels,
        handling: request.handling.into(),
        message: request.message,
    };
    once.run(app, caller, &body.bytes, |ids| async move {
        let id = ids.at(0).to_string();
        let subject = &request.subject_id;
        let may =
            |row: &punctual_store::operations::subjects::SubjectRow| row.subject_type == request.subject_type;
        let done = commands::add_rule(&app.engine, &caller.by, subject, id, &wanted, may).await?;
        let row = changed(done, &request.subject_type, subject)?;
        JsonResponse::created(&saved(app, row).await?)
    })
    .await
}

/// List rules
#[utoipa::path(get, path = "/api/v1/operations/rules", tag = "Operations", security(("key" = ["read"])),
    params(RuleQuery), responses((status = 200, body = Page<Rule>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let query = parameters.read(RuleQuery::read)?;
    let mut reader = app.engine.store.read_for_people().await?;
    let page = match query.subject_id {
        Some(subject) => {
            Page::whole(rules::of_subjects(&mut reader.conn(), &caller.by.reach(), vec![subject]).await?)
        }
        None => {
            let after = query.cursor.unwrap_or_default();
            let limit = i64::from(query.limit);
            let found = rules::stretch(&mut reader.conn(), &caller.by.reach(), &after, limit).await?;
            Page::stretch_by_name(found.rows, found.next.as_deref())
        }
    };
    let now = app.engine.clock.now();
    let items: Vec<Rule> = page.items.into_iter().map(|row| shape(row, now)).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Read a rule; a deleted rule stays readable
#[utoipa::path(get, path = "/api/v1/operations/rules/{id}", tag = "Operations", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = Rule)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = rules::by_ids(&mut reader.conn(), &caller.by.reach(), vec![id.clone()]).await?.pop();
    let row = row.ok_or_else(|| Failure::from(Problem::not_found("rule", id)))?;
    JsonResponse::ok(&shape(row, app.engine.clock.now())?)
}

/// Change, pause or resume a rule
#[utoipa::path(patch, path = "/api/v1/operations/rules/{id}", tag = "Operations", security(("key" = ["author"])),
    params(("id" = String, Path)), request_body(content = RuleChange, example = json!({"rule": {"type": "relative", "anchor": "start", "offset": "-2h"},
        "message": {"subject": "Soon: {{ title }}", "body": "{{ title }} starts {{ whenLabel }}."}})), responses((status = 200, body = Rule)))]
pub async fn patch(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    let request = RuleChange::read(&body.value, "")?;
    let rule = request.rule.as_ref().map(|rule| rule_spec(rule, "/rule")).transpose()?;
    let RuleChange { channels, active, handling, message, .. } = request;
    if let Some(message) = &message {
        texts_fit(message, "/message")?;
    }
    let change = commands::RuleChange { rule, channels, active, handling: handling.into(), message };
    let done = commands::change_rule(&app.engine, &caller.by, &id, change).await?;
    JsonResponse::ok(&saved(&app, changed(done, "rule", &id)?).await?)
}

/// Delete a rule
#[utoipa::path(delete, path = "/api/v1/operations/rules/{id}", tag = "Operations", security(("key" = ["author"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
) -> Answer {
    commands::delete_rule(&app.engine, &caller.by, &id).await?;
    JsonResponse::no_content()
}

/// Schedule a rule again that is out of step
#[utoipa::path(post, path = "/api/v1/operations/rules/{id}/repair", tag = "Operations", security(("key" = ["operate"])),
    params(("id" = String, Path)), responses((status = 200, body = Rule)))]
pub async fn repair(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    Segments(id): Segments<String>,
    once: IdempotencyKey,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    once.run(app, caller, &[], |_| async move {
        let row = commands::repair_rule(&app.engine, &caller.by, &id).await?;
        JsonResponse::ok(&shape(row, app.engine.clock.now())?)
    })
    .await
}

fn changed(done: Changed<RuleRow, RuleRefused>, what: &str, id: &str) -> Result<RuleRow, Failure> {
    match done {
        Changed::Done(row) => Ok(row),
        Changed::NotFound => Err(Problem::not_found(what, id).into()),
        Changed::Refused(refused) => Err(match refused {
            RuleRefused::NoDate => {
                let detail = "It has no such date to go by; give it one first.";
                FieldError::new("/rule/anchor", Code::OutOfRange, detail).into()
            }
            RuleRefused::AlreadyThere(other) => {
                let detail = format!("There is a rule at this date already, `{other}`; at most one a date.");
                Problem::new(Code::StateNotAllowed, detail)
                    .with_field("/rule", Code::StateNotAllowed, "At most one rule fires at each date.")
                    .into()
            }
            RuleRefused::TooMany => {
                let detail = format!("It has {RULES_MAX} rules already, which is the most it may have.");
                Problem::new(Code::StateNotAllowed, detail).into()
            }
        }),
    }
}

pub fn shape(row: RuleRow, now: Timestamp) -> Result<Rule, StoreError> {
    let spec = spec_of(&row).ok_or(StoreError::Stored("operations_rules.rule"))?;
    let next = row.run_at.filter(|at| *at > now && row.active && row.deleted_at.is_none());
    Ok(Rule {
        rule: rule_shape(&spec),
        channels: texts(&row.channels),
        handling: Handling::read(row.handling.as_deref()).into(),
        message: RuleTexts::stored(row.texts.as_deref()),
        deleted_at: row.deleted_at,
        last_sent_at: row.last_sent_at,
        next_run_at: next.filter(|_| row.sync_status == SyncStatus::Synced),
        id: row.id,
        subject_type: row.subject_type,
        subject_id: row.subject_id,
        kind: row.kind.as_str().to_owned(),
        schedule_id: row.schedule_id.map(|id| ScheduleId(id).to_string()),
        sync_status: row.sync_status.as_str().to_owned(),
        sync_error: row.sync_error,
        active: row.active,
        warnings: Vec::new(),
    })
}

/// A rule as it was saved, with what is to be said about its channels. A type leaves the channel to the person; a key names one.
async fn saved(app: &App, row: RuleRow) -> Result<Rule, Failure> {
    let rule = shape(row, app.engine.clock.now())?;
    let keys = rule.channels.iter().filter(|channel| channel.contains(':')).cloned().collect();
    let unknown = app.engine.unknown_channels(keys).await?;
    let named = rule.channels.iter().enumerate().filter(|(_, key)| unknown.contains(*key));
    let warnings = named.map(|(place, key)| FieldError::channel_unknown(format!("/channels/{place}"), key));
    Ok(Rule { warnings: warnings.collect(), ..rule })
}
