//! Reminder settings: a JSON definition, and the columns by which an event finds those that concern it.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct SettingRow {
    pub id: String,
    pub name: String,
    pub business_unit: Option<String>,
    pub source_type: String,
    /// The type of the sources that it counts, where it counts some.
    pub child_type: Option<String>,
    pub kind: String,
    pub active: bool,
    #[column(skip)]
    pub deleted: bool,
    /// The whole definition as JSON.
    pub definition: String,
    /// What its keys are measured against, as JSON: the trigger as it was when the setting was made. It never changes.
    pub key_base: Option<String>,
    #[column(skip)]
    pub version: i64,
    #[column(skip)]
    pub created_at: Timestamp,
    #[column(skip)]
    pub updated_at: Timestamp,
}

const INSERT: Sql = sql!(
    "reminder_settings.insert", each SettingRow, after 1,
    "INSERT INTO reminder_settings ({names}, created_at, updated_at) {values {*}, $1, $1}
     ON CONFLICT (id) DO NOTHING",
);

/// A new setting; false when its id is taken.
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, row: &SettingRow) -> Result<bool> {
    Ok(conn.execute(&INSERT, with_rows(args![now], slice::from_ref(row))).await? > 0)
}

const UPDATE: Sql = sql!(
    "reminder_settings.update",
    "UPDATE reminder_settings
     SET name = $4, business_unit = $5, child_type = $6, active = $7, deleted = $8, definition = $9,
         version = version + 1, updated_at = $1
     WHERE id = $2 AND version = $3 AND NOT deleted",
);

/// Writes a changed setting over the version that was read; false when there is a newer one.
#[boxed]
pub async fn update(conn: &mut Conn<'_>, now: Timestamp, row: &SettingRow) -> Result<bool> {
    let bound = args![
        now,
        &row.id,
        row.version,
        &row.name,
        row.business_unit.as_deref(),
        row.child_type.as_deref(),
        row.active,
        row.deleted,
        &row.definition,
    ];
    Ok(conn.execute(&UPDATE, bound).await? > 0)
}

const BY_IDS: Sql = sql!(
    "reminder_settings.by_ids", as SettingRow,
    "SELECT {columns} FROM reminder_settings WHERE id = {any $1} AND {shared $2 business_unit}",
);

/// Those of these settings that are within reach, deleted ones too: history still names them.
#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, reach: &Reach, mut ids: Vec<String>) -> Result<Vec<SettingRow>> {
    ids.sort_unstable();
    ids.dedup();
    conn.fetch_all(&BY_IDS, args![ids, reach]).await
}

const OF_TYPES: Sql = sql!(
    "reminder_settings.of_types", as SettingRow,
    "SELECT {columns}
     FROM reminder_settings
     WHERE NOT deleted AND (source_type IN ({texts $1}) OR child_type IN ({texts $1}))
     ORDER BY id{postgres  FOR SHARE}",
);

/// The settings that concern sources of these types, held until the transaction ends: an event and a change of a
/// setting cannot miss each other.
#[boxed]
pub async fn of_types(conn: &mut Conn<'_>, types: Vec<String>) -> Result<Vec<SettingRow>> {
    conn.fetch_all(&OF_TYPES, args![types]).await
}

const OF_TYPE: Sql = sql!(
    "reminder_settings.of_type", as SettingRow,
    "SELECT {columns} FROM reminder_settings
     WHERE NOT deleted AND source_type = $1 AND {shared $2 business_unit} ORDER BY id",
);

/// The settings for sources of one type that are within reach, not locked.
#[boxed]
pub async fn of_type(conn: &mut Conn<'_>, reach: &Reach, source_type: &str) -> Result<Vec<SettingRow>> {
    conn.fetch_all(&OF_TYPE, args![source_type, reach]).await
}

const PAGE: Sql = sql!(
    "reminder_settings.page", as SettingRow,
    "SELECT {columns} FROM reminder_settings WHERE id > $1 AND NOT deleted AND {shared $3 business_unit}
     ORDER BY id LIMIT $2",
);

/// The next ones after this place that are within reach. A page is full or the last: what is out of reach is not read.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, reach: &Reach, after: &str, limit: i64) -> Result<Vec<SettingRow>> {
    conn.fetch_all(&PAGE, args![after, limit, reach]).await
}

crate::db::statements![INSERT, UPDATE, BY_IDS, OF_TYPES, OF_TYPE, PAGE];
