//! Commands for authors: save and publish a survey.

use std::collections::{HashMap, HashSet};

use punctual_boxed::boxed;
use punctual_engine::{
    Actor, CommandError, Engine, EngineError,
    commands::{Seen, Units},
};
use punctual_model::{
    AuditAction, Fault,
    survey::{Schema, Warning, lint},
};
use punctual_store::{
    Conn, Lane, StoreError, Tx, subscribers,
    surveys::{self, SurveyDraft, SurveyRow},
};
use serde_json::Value;

use super::catalogue;
use crate::inline::{self, Saved};

/// Keeps a new survey.
#[boxed]
pub async fn create(engine: &Engine, by: &Actor, draft: &SurveyDraft) -> Result<SurveyRow, CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row = create_in(&mut tx, engine, by, draft).await?;
    tx.commit().await?;
    Ok(row)
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn create_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    draft: &SurveyDraft,
) -> Result<SurveyRow, CommandError> {
    let named = draft.business_unit.as_deref().into_iter().collect();
    let unit = Units::read(&mut tx.conn(), by, named).await?.unit_for(draft.business_unit.clone(), "")?;
    let draft = &SurveyDraft { business_unit: unit.into_name(), ..draft.clone() };
    let row = surveys::insert(&mut tx.conn(), engine.clock.now(), draft).await?;
    audited(tx, engine, by, AuditAction::Put, &row).await?;
    Ok(row)
}

/// Changes the draft that its author has seen. What is published stays as it is until the next publishing.
#[boxed]
pub async fn change(
    engine: &Engine,
    by: &Actor,
    id: i64,
    seen: Seen,
    draft: &SurveyDraft,
) -> Result<SurveyRow, CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row = change_in(&mut tx, engine, by, id, seen, draft).await?;
    tx.commit().await?;
    Ok(row)
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn change_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    id: i64,
    seen: Seen,
    draft: &SurveyDraft,
) -> Result<SurveyRow, CommandError> {
    let now = engine.clock.now();
    let named = draft.business_unit.as_deref().into_iter().collect();
    let units = Units::read(&mut tx.conn(), by, named).await?;
    let missing = || CommandError::not_found("survey", id.to_string());
    let before = surveys::lock(&mut tx.conn(), &by.reach(), id).await?.ok_or_else(missing)?;
    seen.check(Some(before.version), &id.to_string())?;
    let unit = units.unit_after(Some(&before.business_unit), draft.business_unit.clone(), "")?;
    let draft = &SurveyDraft { business_unit: unit.into_name(), ..draft.clone() };
    let row = surveys::update(&mut tx.conn(), now, id, draft).await?.ok_or_else(missing)?;
    if before.business_unit != row.business_unit {
        // Who owns the survey is part of what is published.
        catalogue::mark(&mut tx.conn(), now, &format!("unit:{id}:{}", row.version)).await?;
    }
    audited(tx, engine, by, AuditAction::Put, &row).await?;
    Ok(row)
}

/// What publishing came to.
#[derive(Debug)]
pub enum Publishing {
    Published {
        version: i64,
        warnings: Vec<Warning>,
    },
    /// The draft has faults, each with its pointer from the schema; nothing was changed.
    Refused(Vec<Fault>),
}

/// The same for the draft that somebody has seen, and no other.
#[boxed]
pub async fn publish_seen(
    engine: &Engine,
    by: &Actor,
    id: i64,
    seen: Seen,
) -> Result<Publishing, CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let missing = || CommandError::not_found("survey", id.to_string());
    let survey = surveys::lock(&mut tx.conn(), &by.reach(), id).await?.ok_or_else(missing)?;
    seen.check(Some(survey.version), &id.to_string())?;
    let published = publish_in(&mut tx, engine, by, id).await?;
    tx.commit().await?;
    Ok(published)
}

/// Checks the draft and pins it as the next version. The same schema again is the same version.
#[boxed]
pub async fn publish(engine: &Engine, by: &Actor, id: i64) -> Result<Publishing, EngineError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let published = publish_in(&mut tx, engine, by, id).await?;
    tx.commit().await?;
    Ok(published)
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn publish_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    id: i64,
) -> Result<Publishing, EngineError> {
    let now = engine.clock.now();
    let survey = surveys::lock(&mut tx.conn(), &by.reach(), id).await?.ok_or(EngineError::NotFound)?;
    let draft: Value = serde_json::from_str(&survey.draft).unwrap_or_default();
    let schema = match Schema::read(&draft) {
        Ok(schema) => schema,
        Err(faults) => return Ok(Publishing::Refused(faults)),
    };
    let last = match survey.published_version {
        Some(number) => surveys::version(&mut tx.conn(), id, number).await?,
        None => None,
    };
    let last_schema = last.as_ref().map(|last| last.schema_json.clone());
    let before = last_schema.as_deref().and_then(Schema::parse);
    let faults = text_faults(&draft, &schema, before.as_ref());
    if !faults.is_empty() {
        return Ok(Publishing::Refused(faults));
    }
    let mut warnings = warnings(&mut tx.conn(), engine, &schema).await?;
    if let Some(last) = last.filter(|last| last.schema_json == survey.draft) {
        return Ok(Publishing::Published { version: last.number, warnings });
    }
    let last = last_schema.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    warnings.extend(changed_recipes(&last, &draft));
    let number = survey.published_version.unwrap_or(0) + 1;
    let version = surveys::publish(&mut tx.conn(), now, id, number, &survey.draft, by.name()).await?;
    catalogue::mark(&mut tx.conn(), now, &version.to_string()).await?;
    audited(tx, engine, by, AuditAction::Publish, &survey).await?;
    Ok(Publishing::Published { version: number, warnings })
}

/// What is wrong with the invitations and reminders of a schema that is published instead of another.
pub fn text_faults(draft: &Value, schema: &Schema, before: Option<&Schema>) -> Vec<Fault> {
    let known: HashMap<String, &str> = before.into_iter().flat_map(catalogue::message_texts).collect();
    let texts = catalogue::message_texts(schema).map(|(pointer, text)| Saved {
        before: known.get(&pointer).copied(),
        pointer,
        text,
    });
    let mut faults = inline::faults(texts, inline::SURVEY);
    // A text in one language may stand without its tag.
    for fault in &mut faults {
        if let (None, Some((whole, _))) = (draft.pointer(&fault.pointer), fault.pointer.rsplit_once('/')) {
            fault.pointer = whole.to_owned();
        }
    }
    faults
}

/// Triggers whose duplicate rules have changed: an event that has made a link may make another one.
pub(super) fn changed_recipes(before: &Value, now: &Value) -> Vec<Warning> {
    let triggers = |schema: &Value| schema["triggers"].as_array().cloned().unwrap_or_default();
    let before = triggers(before);
    let mut warnings = Vec::new();
    for (index, trigger) in triggers(now).iter().enumerate() {
        let same = before.iter().find(|one| one["id"] == trigger["id"]);
        if same.is_some_and(|same| same["dedupRecipe"] != trigger["dedupRecipe"]) {
            let pointer = format!("/triggers/{index}/dedupRecipe");
            let detail = "The duplicate rules have changed: people who were asked before are asked again if their event is repeated.";
            warnings.push(Warning { pointer, code: "recipe_changed", detail: detail.to_owned() });
        }
    }
    warnings
}

/// What an author should look at: what the schema itself shows, and keys that lead nowhere yet.
pub(super) async fn warnings(
    conn: &mut Conn<'_>,
    engine: &Engine,
    schema: &Schema,
) -> Result<Vec<Warning>, StoreError> {
    let mut warnings = lint(schema);
    let subscribers: HashSet<String> = subscribers::all(conn).await?.into_iter().map(|row| row.key).collect();
    let mut unknown = |pointer: String, key: &str| {
        if !subscribers.contains(key) {
            let detail =
                format!("There is no subscriber `{key}` yet; what it should get is parked until there is.");
            warnings.push(Warning { pointer, code: "subscriber_unknown", detail });
        }
    };
    for (index, route) in schema.subscribers.iter().flatten().enumerate() {
        unknown(format!("/subscribers/{index}/key"), &route.key);
    }
    for (index, trigger) in schema.triggers.iter().enumerate() {
        for (place, route) in trigger.subscribers.iter().flatten().enumerate() {
            unknown(format!("/triggers/{index}/subscribers/{place}/key"), &route.key);
        }
    }
    for (index, trigger) in schema.triggers.iter().enumerate() {
        if !engine.channels.is_known(conn, trigger.channel.as_str()).await? {
            let channel = &trigger.channel;
            let detail =
                format!("There is no channel `{channel}` yet; messages for it are parked until there is.");
            let pointer = format!("/triggers/{index}/channel");
            warnings.push(Warning { pointer, code: "channel_unknown", detail });
        }
    }
    Ok(warnings)
}

async fn audited(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    action: AuditAction,
    survey: &SurveyRow,
) -> Result<(), EngineError> {
    let unit = survey.business_unit.as_deref();
    Ok(by.audit(tx, engine.clock.now(), action, "survey", &survey.id.to_string(), unit).await?)
}
