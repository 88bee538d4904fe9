//! Messages held back because a person had reached the limit of the day, until one digest summarises them.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::WorkId;

use super::days::Day;
use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct DigestItem {
    pub person: String,
    pub local_date: String,
    pub notification_id: String,
    pub target: String,
    pub channel: String,
    pub subject: String,
    pub body: String,
    /// The row that queued it.
    pub work_id: Option<WorkId>,
    #[column(skip)]
    pub held_at: i64,
}

const KEEP: Sql = sql!(
    "digest_items.keep", each DigestItem, after 1,
    "INSERT INTO digest_items ({names}, held_at) {values {*}, $1}
     ON CONFLICT (person, local_date, notification_id, target) DO NOTHING",
);

#[boxed]
pub async fn keep(conn: &mut Conn<'_>, now: Timestamp, items: &[DigestItem]) -> Result<()> {
    conn.execute(&KEEP, with_rows(args![now], items)).await?;
    Ok(())
}

const OF: Sql = sql!(
    "digest_items.of", as DigestItem, each Day, after 0,
    "SELECT {columns d} FROM digest_items d {join rows}
     WHERE d.person = {.person} AND d.local_date = {.local_date}
     ORDER BY d.held_at, d.notification_id",
);

/// What was held back of these days, in the order in which it was.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, days: &[Day]) -> Result<Vec<DigestItem>> {
    if days.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&OF, with_rows(args![], days)).await
}

#[derive(Record)]
struct Dropped {
    person: String,
    local_date: String,
}

// Relies on digest_items_by_work.
const DROP: Sql = sql!(
    "digest_items.drop_by_work",
    "DELETE FROM digest_items
     WHERE work_id IS NOT NULL AND work_id IN (SELECT work_id FROM work_keys
         WHERE key {sqlite IN (SELECT value FROM json_each($1))}{postgres = ANY($1)})
     RETURNING person, local_date",
);

/// Takes what these work rows queued out of digests; returns the days of those.
#[boxed]
pub async fn drop_of_work(conn: &mut Conn<'_>, work_keys: Vec<String>) -> Result<Vec<Day>> {
    let rows: Vec<Dropped> = conn.fetch_all(&DROP, args![work_keys]).await?;
    let mut days: Vec<Day> =
        rows.into_iter().map(|row| Day { person: row.person, local_date: row.local_date }).collect();
    days.sort_unstable();
    days.dedup();
    Ok(days)
}

const FORGET: Sql = sql!("digest_items.forget", "DELETE FROM digest_items WHERE local_date < $1");

/// Removes what was sent long ago.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, before: &str) -> Result<u64> {
    conn.execute(&FORGET, args![before]).await
}

crate::db::statements![KEEP, OF, DROP, FORGET];
