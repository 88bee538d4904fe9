//! Messages held back because a person had reached the limit of the day, until one digest summarises them.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

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

const FORGET: Sql = sql!("digest_items.forget", "DELETE FROM digest_items WHERE local_date < $1");

/// Removes what was sent long ago.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, before: &str) -> Result<u64> {
    conn.execute(&FORGET, args![before]).await
}

crate::db::statements![KEEP, OF, FORGET];
