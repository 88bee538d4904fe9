//! The notifications that the decision of a row queued. The row holds the first few ids and the total; a separate table holds
//! all ids of larger decisions.

use std::collections::HashMap;

use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::NotificationId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::WorkRow;
use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// Notifications that a row names.
pub const NAMED: usize = 20;

#[derive(Default, Deserialize)]
struct Coordinates {
    #[serde(default)]
    notifications: Vec<String>,
}

/// The coordinates of a decision that queued these, as JSON.
pub fn coordinates(ids: &[NotificationId]) -> String {
    #[derive(Serialize)]
    struct Queued<'a> {
        notifications: &'a [NotificationId],
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<usize>,
    }
    let is_many = ids.len() > NAMED;
    let queued = Queued { notifications: &ids[..ids.len().min(NAMED)], count: is_many.then_some(ids.len()) };
    serde_json::to_string(&queued).unwrap_or_default()
}

fn named_in(row: &WorkRow) -> Vec<String> {
    named_by(row.result.as_deref())
}

fn named_by(result: Option<&str>) -> Vec<String> {
    let read = result.and_then(|text| serde_json::from_str(text).ok());
    read.map_or_else(Vec::new, |Coordinates { notifications }| notifications)
}

/// The first notifications that a decision with this result queued.
pub fn first_queued(result: Option<&str>) -> Vec<String> {
    let mut named = named_by(result);
    named.truncate(NAMED);
    named
}

impl WorkRow {
    /// The first notifications that its decision queued; [`queued`] has all.
    pub fn queued(&self) -> Vec<String> {
        first_queued(self.result.as_deref())
    }

    /// What its decision came to. Rows of earlier versions name every notification: of those the first are returned too.
    pub fn coordinates(&self) -> Option<Value> {
        let mut value: Value = self.result.as_deref().and_then(|text| serde_json::from_str(text).ok())?;
        let named = value.get_mut("notifications").and_then(Value::as_array_mut);
        if let Some(named) = named.filter(|named| named.len() > NAMED) {
            let count = named.len();
            named.truncate(NAMED);
            value["count"] = count.into();
        }
        Some(value)
    }
}

/// A notification of a row that queued many.
#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct QueuedRow {
    pub work_id: i64,
    pub notification_id: String,
}

const KEEP: Sql = sql!(
    "work_notifications.keep", each QueuedRow, after 0,
    "INSERT INTO work_notifications ({names}) {values {*}} ON CONFLICT DO NOTHING",
);

/// Writes what rows queued that name only the first.
#[boxed]
pub async fn keep_queued(conn: &mut Conn<'_>, rows: &[QueuedRow]) -> Result<()> {
    if !rows.is_empty() {
        conn.execute(&KEEP, with_rows(args![], rows)).await?;
    }
    Ok(())
}

const OF: Sql = sql!(
    "work_notifications.of", as QueuedRow,
    "SELECT {columns} FROM work_notifications WHERE work_id IN ({ints $1}) ORDER BY work_id, notification_id",
);

/// All notifications that the decisions of these rows queued, by row.
#[boxed]
pub async fn queued(conn: &mut Conn<'_>, rows: &[WorkRow]) -> Result<HashMap<i64, Vec<String>>> {
    let mut all: HashMap<i64, Vec<String>> = rows.iter().map(|row| (row.id, named_in(row))).collect();
    let many: Vec<i64> = rows.iter().filter(|row| all[&row.id].len() >= NAMED).map(|row| row.id).collect();
    if many.is_empty() {
        return Ok(all);
    }
    for QueuedRow { work_id, notification_id } in conn.fetch_all::<QueuedRow>(&OF, args![many]).await? {
        let named = all.entry(work_id).or_default();
        if !named.contains(&notification_id) {
            named.push(notification_id);
        }
    }
    Ok(all)
}

const FORGET: Sql = sql!(
    "work_notifications.forget",
    "DELETE FROM work_notifications
     WHERE notification_id {sqlite IN (SELECT value FROM json_each($1))}{postgres = ANY($1)}",
);

/// Forgets notifications that are purged.
#[boxed]
pub(crate) async fn forget_queued(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<u64> {
    conn.execute(&FORGET, args![ids]).await
}

crate::db::statements![KEEP, OF, FORGET];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_names_the_first_and_counts_the_rest() {
        let written = |count: u128| {
            let ids: Vec<_> = (0..count).map(|n| NotificationId(uuid::Uuid::from_u128(n))).collect();
            serde_json::from_str::<Value>(&coordinates(&ids)).unwrap()
        };
        let one = |last| format!("00000000-0000-0000-0000-00000000000{last}");
        assert_eq!(written(2), json!({ "notifications": [one(0), one(1)] }));
        assert_eq!(written(NAMED as u128).get("count"), None);
        let many = written(21);
        assert_eq!((many["notifications"].as_array().unwrap().len(), &many["count"]), (20, &json!(21)));
    }
}
