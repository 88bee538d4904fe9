//! Insert-if-absent: the id is the idempotency key, and a purged id stays known.

use punctual_boxed::{Record, boxed};
use punctual_model::{InputHash, NotificationId, NotificationStatus};

use super::NotificationRow;
use crate::{
    db::{Arg, Conn, Result, SetRow, Sql, Unchecked, args, sql, with_rows},
    uploads,
};

#[derive(Debug, Record)]
pub struct InsertedNotification {
    pub seq: i64,
    pub id: NotificationId,
}

// Ordered on PostgreSQL, because a join may give the rows in any order and numbers are to follow the order of the set. The tombstone is
// looked up for each row: as a join it could be planned to read all of them, while there are few.
const INSERT_ABSENT: Sql = sql!(
    "notifications.insert_absent", each NotificationRow, after 0,
    "INSERT INTO notifications ({names})
     SELECT {*}
     {ordered rows}
     WHERE (SELECT t.id FROM tombstones AS t WHERE t.id = {.id}) IS NULL
     {postgres ORDER BY r.position}
     ON CONFLICT (id) DO NOTHING
     {postgres RETURNING seq, id}",
);

/// Rows as the statement takes them: prepared while the database does something else.
pub struct Insertion(Vec<Arg>);

impl Insertion {
    pub fn of(rows: &[impl SetRow]) -> Self {
        Self(with_rows(args![], rows))
    }
}

/// Inserts what is new, numbered in the order of the set; returns what was inserted. Callers that may bring the same ids
/// bring them in one order, so that they cannot deadlock: that of the ids, or that of the one site they come from.
#[boxed]
pub async fn insert_absent(
    conn: &mut Conn<'_>,
    rows: &[&NotificationRow],
) -> Result<Vec<InsertedNotification>> {
    insert_prepared(conn, rows, Insertion::of(rows)).await
}

/// The same with rows that were prepared before.
#[boxed]
pub async fn insert_prepared(
    conn: &mut Conn<'_>,
    rows: &[&NotificationRow],
    prepared: Insertion,
) -> Result<Vec<InsertedNotification>> {
    let record = |row: usize, seq| InsertedNotification { seq, id: rows[row].id };
    let inserted = conn.insert(&INSERT_ABSENT, prepared.0, record).await?;
    let with_files: Vec<&NotificationRow> =
        rows.iter().copied().filter(|row| row.attachments.is_some()).collect();
    if !with_files.is_empty() {
        uploads::use_by_notifications(conn, &with_files, &inserted).await?;
    }
    Ok(inserted)
}

/// How an id that is already known stands: as a row, or as the tombstone of one.
#[derive(Clone, Debug, Record)]
pub struct PresentState {
    pub id: NotificationId,
    pub digest: InputHash,
    /// Tombstones have no CHECK for it.
    pub status: Unchecked<NotificationStatus>,
    pub source_site: Option<String>,
}

const PRESENT: Sql = sql!(
    "notifications.present",
    "SELECT id, digest, status, source_site FROM notifications WHERE id IN ({texts $1})
     UNION ALL
     SELECT id, digest, status, NULL FROM tombstones AS t WHERE id IN ({texts $1})
       AND NOT EXISTS (SELECT 1 FROM notifications AS n WHERE n.id = t.id)",
);

#[boxed]
pub async fn present(conn: &mut Conn<'_>, ids: Vec<NotificationId>) -> Result<Vec<PresentState>> {
    conn.fetch_all(&PRESENT, args![ids]).await
}

crate::db::statements![INSERT_ABSENT, PRESENT];
