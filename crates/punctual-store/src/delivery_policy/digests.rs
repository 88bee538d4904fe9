//! What somebody was not sent because it was too much for a day, until it is told in one message.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use super::days::Day;
use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct DigestItem {
    pub person: String,
    pub local_date: String,
    pub notification_id: String,
    pub target: String,
    pub channel: String,
    pub subject: String,
    pub body: String,
    pub held_at: i64,
}

macro_rules! keep {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO digest_items (person, local_date, notification_id, target, channel, subject, body, held_at)
    ",
            $values,
            "
    ON CONFLICT (person, local_date, notification_id, target) DO NOTHING"
        )
    };
}
const KEEP: Sql = Sql::rows(
    "digest_items.keep",
    keep!("VALUES ($2, $3, $4, $5, $6, $7, $8, $1)"),
    keep!(
        "SELECT r.person, r.local_date, r.id, r.target, r.channel, r.subject, r.body, $1
    FROM UNNEST($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
        AS r(person, local_date, id, target, channel, subject, body)"
    ),
);

#[boxed]
pub async fn keep(conn: &mut Conn<'_>, now: Timestamp, items: &[DigestItem]) -> Result<()> {
    macro_rules! column {
        ($field:ident) => {
            items.iter().map(|item| item.$field.as_str()).collect::<Vec<_>>()
        };
    }
    let bound = args![
        now,
        column!(person),
        column!(local_date),
        column!(notification_id),
        column!(target),
        column!(channel),
        column!(subject),
        column!(body),
    ];
    conn.execute(&KEEP, bound).await?;
    Ok(())
}

macro_rules! of {
    ($from:literal) => {
        concat!(
            "
    SELECT d.person, d.local_date, d.notification_id, d.target, d.channel, d.subject, d.body, d.held_at
    FROM digest_items d ",
            $from
        )
    };
}
const OF: Sql = Sql::rows(
    "digest_items.of",
    of!("WHERE d.person = $1 AND d.local_date = $2 ORDER BY d.held_at, d.notification_id"),
    of!("JOIN UNNEST($1::text[], $2::text[]) AS r(person, local_date)
        ON d.person = r.person AND d.local_date = r.local_date ORDER BY d.held_at, d.notification_id"),
);

/// What was held back of these days, in the order in which it was.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, days: &[Day]) -> Result<Vec<DigestItem>> {
    if days.is_empty() {
        return Ok(Vec::new());
    }
    let people: Vec<&str> = days.iter().map(|day| day.person.as_str()).collect();
    let dates: Vec<&str> = days.iter().map(|day| day.local_date.as_str()).collect();
    conn.fetch_all(&OF, args![people, dates]).await
}

const FORGET: Sql = Sql::same("digest_items.forget", "DELETE FROM digest_items WHERE local_date < $1");

/// Forgets what was told long ago.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, before: &str) -> Result<u64> {
    conn.execute(&FORGET, args![before]).await
}

crate::db::statements![KEEP, OF, FORGET];
