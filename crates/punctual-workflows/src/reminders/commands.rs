//! Commands for reminder settings: validation by the providers, version check, write, audit entry and replanning in one
//! transaction.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, CommandError, Engine, commands::Units};
use punctual_model::{
    AuditAction, Fault,
    keys::{MAX_KEY_BYTES, part_bytes},
};
use punctual_store::{
    Conn, Lane, StoreError, Tx,
    reminders::settings::{self, SettingRow},
};
use punctual_wire::reminders::ReminderSettingRequest;
use serde_json::{Map, Value};

use super::{
    Providers, Setting,
    changes::{self, Change, apply_announced},
    closed, delivery,
    evaluate::Plan,
    outlook::{self, Outlook},
};
use crate::faults::unreadable;

/// A setting that was read and found good, not written yet.
pub struct Draft {
    row: SettingRow,
    pub setting: Setting,
    before: Option<SettingRow>,
}

impl Draft {
    /// Reads a definition as its author gives it.
    #[boxed]
    pub async fn read(
        engine: &Engine,
        providers: &Providers,
        by: &Actor,
        id: String,
        before: Option<SettingRow>,
        value: &Value,
    ) -> Result<Self, CommandError> {
        let mut reader = engine.store.read_for_people().await?;
        Self::read_in(&mut reader.conn(), providers, by, id, before, value).await
    }

    /// The same over a connection of the caller's, which sees what its transaction has written.
    #[boxed]
    pub async fn read_in(
        conn: &mut Conn<'_>,
        providers: &Providers,
        by: &Actor,
        id: String,
        before: Option<SettingRow>,
        value: &Value,
    ) -> Result<Self, CommandError> {
        let (value, version) = without_version(value)?;
        if before.as_ref().is_some_and(|row| version.is_some_and(|version| version != row.version)) {
            return Err(CommandError::Stale);
        }
        let mut request = ReminderSettingRequest::read(&value, "").map_err(unreadable)?;
        let own = before.as_ref().map(|row| &row.business_unit);
        let units = Units::read(conn, by, request.business_unit.as_deref().into_iter().collect()).await?;
        request.business_unit = units.unit_after(own, request.business_unit, "")?.into_name();
        if let Some(before) = &before {
            same_identity(before, &request)?;
        }
        let definition =
            serde_json::to_value(&request).map_err(|_| StoreError::Stored("reminder_settings.definition"))?;
        let mut row = SettingRow {
            id,
            name: request.name,
            business_unit: request.business_unit,
            source_type: request.source_type,
            child_type: None,
            kind: request.kind.clone(),
            active: request.active,
            deleted: false,
            key_base: match &before {
                Some(before) => before.key_base.clone(),
                None => key_base(providers, &request.kind, &definition),
            },
            definition: definition.to_string(),
            version: before.as_ref().map_or(1, |row| row.version),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let setting = Setting::read(providers, &row)
            .map_err(|faults| CommandError::Invalid(faults.into_iter().map(in_known_words).collect()))?;
        let known = before.as_ref().and_then(|row| serde_json::from_str(&row.definition).ok());
        let mut faults = closed::unknown_fields(providers, &setting.definition, known.as_ref());
        faults.extend(delivery::text_faults(&setting.definition, known.as_ref()));
        if !faults.is_empty() {
            return Err(CommandError::Invalid(faults));
        }
        room_for_source(&setting)?;
        row.child_type = setting.rule.counted().map(|counted| counted.source_type.clone());
        Ok(Self { row, setting, before })
    }

    /// What it would do to the rows there are.
    #[boxed]
    pub async fn plan(&self, engine: &Engine, providers: &Providers) -> Result<Plan, StoreError> {
        let mut reader = engine.store.read().await?;
        changes::plan(&mut reader, providers, &self.setting, engine.clock.now()).await
    }

    /// What it would send next, and would have sent in the last twelve months, from the present states of sources.
    #[boxed]
    pub async fn outlook(&self, engine: &Engine, providers: &Providers) -> Result<Outlook, StoreError> {
        let mut reader = engine.store.read_for_people().await?;
        outlook::outlook(&mut reader, providers, &self.setting, engine.clock.now()).await
    }

    /// The channel that it names and that is not there yet.
    #[boxed]
    pub async fn unknown_channel(&self, engine: &Engine) -> Result<Option<String>, StoreError> {
        let channel = self.setting.definition.pointer("/delivery/channel").and_then(Value::as_str);
        let Some(channel) = channel else { return Ok(None) };
        let mut reader = engine.store.read().await?;
        let known = engine.channels.is_known(&mut reader.conn(), channel).await?;
        Ok((!known).then(|| channel.to_owned()))
    }

    /// Writes it, and applies the first of what it changes; returns its id.
    #[boxed]
    pub async fn save(
        self,
        engine: &Engine,
        providers: &Providers,
        by: &Actor,
    ) -> Result<String, CommandError> {
        let mut tx = engine.store.begin(Lane::Intake).await?;
        let (id, announced) = self.save_in(&mut tx, engine, providers, by).await?;
        tx.commit().await?;
        apply_announced(engine, providers, announced).await;
        Ok(id)
    }

    /// Writes it in a transaction of the caller's, who calls `apply_announced` with the key that comes back, after the
    /// commit.
    #[boxed]
    pub async fn save_in(
        self,
        tx: &mut Tx,
        engine: &Engine,
        providers: &Providers,
        by: &Actor,
    ) -> Result<(String, Option<String>), CommandError> {
        let Self { row, setting, before } = self;
        let now = engine.clock.now();
        let written = match &before {
            None => settings::insert(&mut tx.conn(), now, &row).await?,
            Some(_) => settings::update(&mut tx.conn(), now, &row).await?,
        };
        if !written {
            return Err(not_written(&row.id, before.is_none()));
        }
        let planned_before = before
            .as_ref()
            .and_then(|row| Setting::read(providers, row).ok())
            .map(|setting| setting.plan_identity());
        let moves = planned_before.as_ref() != Some(&setting.plan_identity());
        let version = if before.is_some() { row.version + 1 } else { 1 };
        let key = if moves { announced(tx, now, &row.id, version).await? } else { None };
        let action = if before.is_some() { AuditAction::Change } else { AuditAction::Create };
        by.audit(tx, now, action, "reminder-setting", &row.id, row.business_unit.as_deref()).await?;
        Ok((row.id, key))
    }
}

/// The version that a client saw is beside the definition, and is no part of it.
fn without_version(value: &Value) -> Result<(Value, Option<i64>), CommandError> {
    let mut value = value.clone();
    let version = value.as_object_mut().and_then(|fields| fields.remove("version"));
    match version {
        None | Some(Value::Null) => Ok((value, None)),
        Some(version) => match version.as_i64() {
            Some(number) => Ok((value, Some(number))),
            None => {
                let detail = "`version` takes the whole number that was read with the setting.";
                Err(CommandError::invalid("/version", "wrong_type", detail))
            }
        },
    }
}

/// What rows are found by cannot be changed: that would be another setting.
fn same_identity(before: &SettingRow, request: &ReminderSettingRequest) -> Result<(), CommandError> {
    let pairs =
        [("sourceType", &before.source_type, &request.source_type), ("kind", &before.kind, &request.kind)];
    for (name, was, is) in pairs {
        if was != is {
            let detail = format!("`{name}` is `{was}` and cannot be changed; make another setting instead.");
            return Err(CommandError::invalid(format!("/{name}"), "field_conflict", detail));
        }
    }
    Ok(())
}

fn key_base(providers: &Providers, kind: &str, definition: &Value) -> Option<String> {
    let provider = providers.triggers.get(kind)?;
    provider.key_base(definition).map(|base| base.to_string())
}

/// Bytes of a key that are left for the id of a source: a UUID fits.
const ROOM_FOR_SOURCE: usize = 36;
/// Bytes of a key for dates, values and the words between parts, at the most.
const ROOM_FOR_REST: usize = 100;

/// A setting whose keys would be too long for every source would be saved and never fire. The longest part is named.
fn room_for_source(setting: &Setting) -> Result<(), CommandError> {
    let mut fields =
        vec![("/triggerKey", setting.trigger_key.as_str()), ("/sourceType", &setting.source_type)];
    fields.extend(setting.rule.key_fields());
    let fixed: usize = fields.iter().map(|(_, text)| part_bytes(text)).sum();
    let most = MAX_KEY_BYTES - ROOM_FOR_SOURCE - ROOM_FOR_REST - setting.id.len();
    match fields.into_iter().max_by_key(|(_, text)| part_bytes(text)) {
        Some((pointer, _)) if fixed > most => {
            let detail = format!(
                "The key of a reminder has at most {MAX_KEY_BYTES} bytes; these parts have {fixed} of the {most} that they may have together."
            );
            Err(CommandError::invalid(pointer, "key_invalid", detail))
        }
        _ => Ok(()),
    }
}

/// Invalid times of day have the code of dates.
fn in_known_words(fault: Fault) -> Fault {
    let code = if fault.code == "time_invalid" { "date_invalid" } else { fault.code };
    Fault { code, ..fault }
}

/// The stored definition with some fields replaced; null takes one away.
pub fn merged(before: &SettingRow, change: &Value) -> Result<Value, CommandError> {
    let Some(change) = change.as_object() else {
        let detail = "Expected an object with the fields to change.";
        return Err(CommandError::invalid("", "wrong_type", detail));
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

/// Why a setting was not written.
fn not_written(id: &str, is_new: bool) -> CommandError {
    if is_new { CommandError::taken(id) } else { CommandError::Stale }
}

/// Takes a setting away, as it was read, with what it had planned.
#[boxed]
pub async fn remove(
    engine: &Engine,
    providers: &Providers,
    by: &Actor,
    before: SettingRow,
) -> Result<(), CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let key = remove_in(&mut tx, engine, by, before).await?;
    tx.commit().await?;
    apply_announced(engine, providers, key).await;
    Ok(())
}

/// The same in a transaction of the caller's, who calls `apply_announced` with the key that comes back, after the commit.
#[boxed]
pub async fn remove_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    before: SettingRow,
) -> Result<Option<String>, CommandError> {
    let now = engine.clock.now();
    let row = SettingRow { deleted: true, active: false, ..before };
    if !settings::update(&mut tx.conn(), now, &row).await? {
        return Err(CommandError::Stale);
    }
    let key = announced(tx, now, &row.id, row.version + 1).await?;
    by.audit(tx, now, AuditAction::Delete, "reminder-setting", &row.id, row.business_unit.as_deref()).await?;
    Ok(key)
}

async fn announced(
    tx: &mut Tx,
    now: Timestamp,
    id: &str,
    version: i64,
) -> Result<Option<String>, StoreError> {
    changes::announce(tx, now, &Change::Setting { id: id.to_owned(), version }).await
}
