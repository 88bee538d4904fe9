//! How many messages somebody was sent on a local day.

use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

/// One person on one local day.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day {
    pub person: String,
    pub local_date: String,
}

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SentRow {
    pub person: String,
    pub local_date: String,
    pub sent: i64,
}

// In one order, so that two nodes which write to the same people cannot deadlock.
const ADD: Sql = Sql::rows(
    "sent_days.add",
    "INSERT INTO sent_days (person, local_date, sent) VALUES ($1, $2, $3)
     ON CONFLICT (person, local_date) DO UPDATE SET sent = sent_days.sent + EXCLUDED.sent",
    "INSERT INTO sent_days (person, local_date, sent)
     SELECT r.person, r.local_date, r.sent
     FROM UNNEST($1::text[], $2::text[], $3::bigint[]) AS r(person, local_date, sent)
     ORDER BY r.person, r.local_date
     ON CONFLICT (person, local_date) DO UPDATE SET sent = sent_days.sent + EXCLUDED.sent",
);
macro_rules! sent {
    ($from:literal) => {
        concat!("SELECT d.person, d.local_date, d.sent FROM sent_days d ", $from)
    };
}
const READ: Sql = Sql::rows(
    "sent_days.read",
    sent!("WHERE d.person = $1 AND d.local_date = $2"),
    sent!(
        "JOIN UNNEST($1::text[], $2::text[]) AS r(person, local_date) ON d.person = r.person AND d.local_date = r.local_date"
    ),
);

/// Counts messages, and returns how many each person has had with them; whoever counts for the same person waits for the
/// end of this transaction.
#[boxed]
pub async fn count(conn: &mut Conn<'_>, days: &[(Day, i64)]) -> Result<Vec<SentRow>> {
    if days.is_empty() {
        return Ok(Vec::new());
    }
    let people: Vec<&str> = days.iter().map(|(day, _)| day.person.as_str()).collect();
    let dates: Vec<&str> = days.iter().map(|(day, _)| day.local_date.as_str()).collect();
    let counts: Vec<i64> = days.iter().map(|(_, count)| *count).collect();
    conn.execute(&ADD, args![people.clone(), dates.clone(), counts]).await?;
    conn.fetch_all(&READ, args![people, dates]).await
}

const FORGET: Sql = Sql::same("sent_days.forget", "DELETE FROM sent_days WHERE local_date < $1");

/// Forgets days that are over everywhere.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, before: &str) -> Result<u64> {
    conn.execute(&FORGET, args![before]).await
}

crate::db::statements![ADD, READ, FORGET];
