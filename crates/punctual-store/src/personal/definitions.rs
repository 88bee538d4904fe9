//! Definitions with recipients: lists, reminders, reports. They are few and are searched as text.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use crate::{
    db::{Conn, Result, Sql, args, sql},
    notifications::contains_pattern,
};

/// A kind of definition that names recipients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefinitionKind {
    List,
    Reminder,
    Report,
}

impl DefinitionKind {
    pub const ALL: [Self; 3] = [Self::List, Self::Reminder, Self::Report];
}

/// A definition and its text, which is JSON.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct DefinitionRow {
    pub id: String,
    pub text: String,
    pub business_unit: Option<String>,
}

const LISTS: Sql = sql!(
    "personal.lists", as DefinitionRow,
    "SELECT name AS id, targets AS text, business_unit FROM lists
     WHERE {contains $1 targets} AND {reach $2 business_unit}
     ORDER BY name",
);
const REMINDERS: Sql = sql!(
    "personal.reminders", as DefinitionRow,
    "SELECT id, definition AS text, business_unit FROM reminder_settings
     WHERE {contains $1 definition} AND {reach $2 business_unit}
     ORDER BY id",
);
const REPORTS: Sql = sql!(
    "personal.reports", as DefinitionRow,
    "SELECT guid AS id, definition AS text, business_unit FROM report_subscriptions
     WHERE {contains $1 definition} AND {reach $2 business_unit}
     ORDER BY guid",
);

/// Definitions within reach whose text may contain an address, also deleted ones.
#[boxed]
pub async fn definitions_with(
    conn: &mut Conn<'_>,
    reach: &Reach,
    kind: DefinitionKind,
    address: &str,
) -> Result<Vec<DefinitionRow>> {
    // A phone number may be written in many ways; the caller compares.
    let pattern = contains_pattern(if address.starts_with('+') { "+" } else { address });
    let statement = match kind {
        DefinitionKind::List => &LISTS,
        DefinitionKind::Reminder => &REMINDERS,
        DefinitionKind::Report => &REPORTS,
    };
    conn.fetch_all(statement, args![pattern, reach]).await
}

const REWRITE_LIST: Sql =
    sql!("personal.rewrite_list", "UPDATE lists SET targets = $3, updated_at = $1 WHERE name = $2");
const REWRITE_REMINDER: Sql = sql!(
    "personal.rewrite_reminder",
    "UPDATE reminder_settings SET definition = $3, version = version + 1, updated_at = $1 WHERE id = $2",
);
const REWRITE_REPORT: Sql = sql!(
    "personal.rewrite_report",
    "UPDATE report_subscriptions SET definition = $3, version = version + 1, updated_at = $1 WHERE guid = $2",
);

/// Writes a definition without the person.
#[boxed]
pub async fn rewrite_definition(
    conn: &mut Conn<'_>,
    now: Timestamp,
    kind: DefinitionKind,
    id: &str,
    text: &str,
) -> Result<()> {
    let statement = match kind {
        DefinitionKind::List => &REWRITE_LIST,
        DefinitionKind::Reminder => &REWRITE_REMINDER,
        DefinitionKind::Report => &REWRITE_REPORT,
    };
    conn.execute(statement, args![now, id, text]).await?;
    Ok(())
}

crate::db::statements![LISTS, REMINDERS, REPORTS, REWRITE_LIST, REWRITE_REMINDER, REWRITE_REPORT];
