//! Writing a reminder setting: checked by its providers, versioned, audited, and announced to what is planned. The
//! console writes through here too.

use jiff::Timestamp;
use punctual_engine::Engine;
use punctual_store::{
    Lane, StoreError, Tx, audit, channels,
    reminders::settings::{self, SettingRow},
};
use punctual_wire::{Code, FieldError, Problem, reminders::ReminderSettingRequest};
use punctual_workflows::reminders::{
    Providers, Setting,
    changes::{self, Change},
    evaluate::Plan,
};
use serde_json::{Map, Value};

use crate::answer::Failure;

/// A setting that was read and found good, not written yet.
pub struct Draft {
    row: SettingRow,
    pub setting: Setting,
    before: Option<SettingRow>,
}

impl Draft {
    /// Reads a definition; `unit_for` says which business unit it gets, or why it may not.
    pub fn read(
        providers: &Providers,
        id: String,
        before: Option<SettingRow>,
        value: &Value,
        unit_for: impl FnOnce(Option<String>) -> Result<Option<String>, Problem>,
    ) -> Result<Self, Problem> {
        let (value, version) = without_version(value)?;
        let stale = before.as_ref().is_some_and(|row| version.is_some_and(|version| version != row.version));
        if stale {
            return Err(Problem::stale_version());
        }
        let mut request = ReminderSettingRequest::read(&value, "").map_err(Problem::of_fields)?;
        request.business_unit = unit_for(request.business_unit)?;
        if let Some(before) = &before {
            same_identity(before, &request)?;
        }
        let definition = serde_json::to_value(&request).map_err(|_| Problem::internal())?;
        let mut row = SettingRow {
            id,
            name: request.name,
            business_unit: request.business_unit,
            source_type: request.source_type,
            child_type: None,
            kind: request.kind,
            active: request.active,
            deleted: false,
            definition: definition.to_string(),
            version: before.as_ref().map_or(1, |row| row.version),
            created_at: 0,
            updated_at: 0,
        };
        let setting = Setting::read(providers, &row)
            .map_err(|faults| Problem::of_fields(faults.into_iter().map(field_error).collect()))?;
        row.child_type = setting.rule.counted().map(|counted| counted.source_type.clone());
        Ok(Self { row, setting, before })
    }

    /// What it would do to the rows there are.
    pub async fn plan(&self, engine: &Engine, providers: &Providers) -> Result<Plan, StoreError> {
        let mut reader = engine.store.read().await?;
        changes::plan(&mut reader, providers, &self.setting, engine.clock.now()).await
    }

    /// Writes it, and applies the first of what it changes; returns its id. Nothing where somebody was faster.
    pub async fn save(
        self,
        engine: &Engine,
        providers: &Providers,
        actor: String,
    ) -> Result<Option<String>, StoreError> {
        let Self { row, setting, before } = self;
        let now = engine.clock.now();
        let mut tx = engine.store.begin(Lane::Intake).await?;
        let written = match &before {
            None => settings::insert(&mut tx.conn(), now, &row).await?,
            Some(_) => settings::update(&mut tx.conn(), now, &row).await?,
        };
        if !written {
            return Ok(None);
        }
        let planned_before = before
            .as_ref()
            .and_then(|row| Setting::read(providers, row).ok())
            .map(|setting| setting.plan_identity());
        let moves = planned_before.as_ref() != Some(&setting.plan_identity());
        let version = if before.is_some() { row.version + 1 } else { 1 };
        let key = if moves { announced(&mut tx, now, &row.id, version).await? } else { None };
        let action = if before.is_some() { "change" } else { "create" };
        audited(&mut tx, now, actor, action, &row.id).await?;
        tx.commit().await?;
        apply(engine, providers, key).await;
        Ok(Some(row.id))
    }
}

/// The version that a client saw is beside the definition, and is no part of it.
fn without_version(value: &Value) -> Result<(Value, Option<i64>), Problem> {
    let mut value = value.clone();
    let version = value.as_object_mut().and_then(|fields| fields.remove("version"));
    match version {
        None | Some(Value::Null) => Ok((value, None)),
        Some(version) => match version.as_i64() {
            Some(number) => Ok((value, Some(number))),
            None => {
                let detail = "`version` takes the whole number that was read with the setting.";
                Err(FieldError::new("/version", Code::WrongType, detail).into())
            }
        },
    }
}

/// What rows are found by cannot be changed: that would be another setting.
fn same_identity(before: &SettingRow, request: &ReminderSettingRequest) -> Result<(), Problem> {
    let pairs =
        [("sourceType", &before.source_type, &request.source_type), ("kind", &before.kind, &request.kind)];
    for (name, was, is) in pairs {
        if was != is {
            let detail = format!("`{name}` is `{was}` and cannot be changed; make another setting instead.");
            return Err(FieldError::new(format!("/{name}"), Code::FieldConflict, detail).into());
        }
    }
    Ok(())
}

/// What the workflow found wrong, in the words of a problem.
fn field_error(fault: punctual_model::Fault) -> FieldError {
    let code = match fault.code {
        // A time of day that is none has no code of its own here.
        "time_invalid" => Code::DateInvalid,
        other => Code::parse(other).unwrap_or(Code::OutOfRange),
    };
    FieldError::new(fault.pointer, code, fault.detail)
}

/// The stored definition with some fields replaced; null takes one away.
pub fn merged(before: &SettingRow, change: &Value) -> Result<Value, Failure> {
    let Some(change) = change.as_object() else {
        let detail = "Expected an object with the fields to change.";
        return Err(FieldError::new("", Code::WrongType, detail).into());
    };
    let mut merged: Map<String, Value> = serde_json::from_str(&before.definition).unwrap_or_default();
    for (name, value) in change {
        if value.is_null() {
            merged.remove(name);
        } else {
            merged.insert(name.clone(), value.clone());
        }
    }
    Ok(Value::Object(merged))
}

/// Takes a setting away with what it had planned; false where somebody was faster.
pub async fn remove(
    engine: &Engine,
    providers: &Providers,
    actor: String,
    before: SettingRow,
) -> Result<bool, StoreError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row = SettingRow { deleted: true, active: false, ..before };
    if !settings::update(&mut tx.conn(), now, &row).await? {
        return Ok(false);
    }
    let key = announced(&mut tx, now, &row.id, row.version + 1).await?;
    audited(&mut tx, now, actor, "delete", &row.id).await?;
    tx.commit().await?;
    apply(engine, providers, key).await;
    Ok(true)
}

async fn announced(
    tx: &mut Tx,
    now: Timestamp,
    id: &str,
    version: i64,
) -> Result<Option<String>, StoreError> {
    changes::announce(tx, now, &Change::Setting { id: id.to_owned(), version }).await
}

async fn audited(
    tx: &mut Tx,
    now: Timestamp,
    actor: String,
    action: &'static str,
    id: &str,
) -> Result<(), StoreError> {
    let entry = audit::Entry {
        actor,
        action,
        subject_kind: "reminder-setting",
        subject_id: id.to_owned(),
        ..audit::Entry::default()
    };
    audit::append(&mut tx.conn(), now, &[entry]).await
}

/// Applies the first of a change. What fails is no fault of the request: the change is on disk, and its row applies it.
pub async fn apply(engine: &Engine, providers: &Providers, key: Option<String>) {
    let Some(key) = key else { return };
    if let Err(error) = changes::apply_first(engine, providers, &key).await {
        tracing::warn!(work.key = key, %error, "a change of reminders is left to its work row");
    }
}

/// What was taken but will not work yet.
pub async fn warnings(engine: &Engine, definition: &Value) -> Result<Vec<FieldError>, StoreError> {
    let channel = definition.pointer("/delivery/channel").and_then(Value::as_str);
    let Some(channel) = channel else { return Ok(Vec::new()) };
    let mut reader = engine.store.read().await?;
    let known = engine.channels.built_in().contains(&channel)
        || channels::get(&mut reader.conn(), channel).await?.is_some();
    Ok((!known).then(|| FieldError::channel_unknown("/delivery/channel", channel)).into_iter().collect())
}
