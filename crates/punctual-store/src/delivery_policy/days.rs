//! How many messages somebody was sent on a local day.

use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// One person on one local day.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, SetRow)]
pub struct Day {
    pub person: String,
    pub local_date: String,
}

/// Messages that were sent to one person on one local day.
#[derive(SetRow)]
struct Counted<'a> {
    person: &'a str,
    local_date: &'a str,
    sent: i64,
}

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SentRow {
    pub person: String,
    pub local_date: String,
    pub sent: i64,
}

// In one order, so that two nodes which write to the same people cannot deadlock.
const ADD: Sql = sql!(
    "sent_days.add", each Counted<'_>, after 0,
    "INSERT INTO sent_days ({names}) {values {*}}{postgres  ORDER BY r.person, r.local_date}
     ON CONFLICT (person, local_date) DO UPDATE SET sent = sent_days.sent + EXCLUDED.sent",
);
const READ: Sql = sql!(
    "sent_days.read", as SentRow, each Day, after 0,
    "SELECT {columns d} FROM sent_days d {join rows}
     WHERE d.person = {.person} AND d.local_date = {.local_date}",
);

/// Counts messages, and returns how many each person has now been sent. Another transaction that counts for the same
/// person waits for the end of this one.
#[boxed]
pub async fn count(conn: &mut Conn<'_>, days: &[(Day, i64)]) -> Result<Vec<SentRow>> {
    if days.is_empty() {
        return Ok(Vec::new());
    }
    let counted: Vec<Counted<'_>> = days
        .iter()
        .map(|(day, sent)| Counted { person: &day.person, local_date: &day.local_date, sent: *sent })
        .collect();
    conn.execute(&ADD, with_rows(args![], &counted)).await?;
    let days: Vec<&Day> = days.iter().map(|(day, _)| day).collect();
    conn.fetch_all(&READ, with_rows(args![], &days)).await
}

const FORGET: Sql = sql!("sent_days.forget", "DELETE FROM sent_days WHERE local_date < $1");

/// Forgets days that are over everywhere.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, before: &str) -> Result<u64> {
    conn.execute(&FORGET, args![before]).await
}

crate::db::statements![ADD, READ, FORGET];
