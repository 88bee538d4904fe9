//! People by their addresses and ids: their records, suppressions, inboxes and counts.

use std::collections::BTreeSet;

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use super::{deliveries::as_json, walk::contacts};
use crate::db::{Conn, Result, Sql, args, sql};

/// Somebody who may be notified of events and tasks.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct FoundPerson {
    pub id: String,
    pub name: String,
    pub email: Option<String>,
    /// A JSON object: type of channel to address.
    pub addresses: String,
    pub business_unit: Option<String>,
}

impl FoundPerson {
    /// Where they are reached, in comparable form.
    pub fn comparable_addresses(&self) -> BTreeSet<String> {
        contacts(self.email.as_deref(), &self.addresses)
    }
}

const BY_IDS: Sql = sql!(
    "personal.people_by_ids", as FoundPerson,
    "SELECT {columns} FROM operations_people WHERE id IN ({texts $1}) AND {reach $2 business_unit} ORDER BY id",
);
// Relies on operations_people_changed.
const CHANGED_AT: Sql = sql!(
    "personal.people_changed_at", as FoundPerson,
    "SELECT {columns} FROM operations_people WHERE updated_at IN ({ints $1}) AND {reach $2 business_unit} ORDER BY id",
);

/// Those of these people that are within reach.
#[boxed]
pub async fn people_by_ids(conn: &mut Conn<'_>, reach: &Reach, ids: Vec<String>) -> Result<Vec<FoundPerson>> {
    conn.fetch_all(&BY_IDS, args![ids, reach]).await
}

/// People who were last changed at these moments and are within reach.
#[boxed]
pub async fn people_changed_at(
    conn: &mut Conn<'_>,
    reach: &Reach,
    moments: Vec<i64>,
) -> Result<Vec<FoundPerson>> {
    conn.fetch_all(&CHANGED_AT, args![moments, reach]).await
}

const BLANK: Sql = sql!(
    "personal.blank_person",
    "UPDATE operations_people
     SET name = '', email = NULL, time_zone = NULL, locale = NULL, channels = '[]', addresses = '{}', updated_at = $1
     WHERE id = $2",
);
const DELETE_FEED: Sql = sql!(
    "personal.delete_feed",
    "DELETE FROM operations_feeds WHERE owner_type = 'person' AND owner_id = $1",
);

/// Empties the record of a person, and ends the link to their calendar. Events and tasks that name the id continue without
/// them.
#[boxed]
pub async fn blank_person(conn: &mut Conn<'_>, now: Timestamp, id: &str) -> Result<()> {
    conn.execute(&BLANK, args![now, id]).await?;
    conn.execute(&DELETE_FEED, args![id]).await?;
    Ok(())
}

/// The type and address of a suppression.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct SuppressedAt {
    pub channel_type: String,
    pub address: String,
}

// The table is in the order of types, of which there are few: from one to the next, and then the address.
const SUPPRESSIONS: Sql = sql!(
    "personal.suppressions",
    "WITH RECURSIVE kinds (channel_type) AS (
         SELECT (SELECT channel_type FROM suppressions ORDER BY channel_type LIMIT 1)
         UNION ALL
         SELECT (SELECT s.channel_type FROM suppressions AS s
                 WHERE s.channel_type > kinds.channel_type ORDER BY s.channel_type LIMIT 1)
         FROM kinds WHERE kinds.channel_type IS NOT NULL)
     SELECT s.channel_type, s.address FROM kinds
     JOIN suppressions AS s ON s.channel_type = kinds.channel_type AND s.address IN ({texts $1})
     ORDER BY s.channel_type, s.address",
);

/// Suppressions of these addresses, which are in comparable form.
#[boxed]
pub async fn suppressions_of(conn: &mut Conn<'_>, addresses: Vec<String>) -> Result<Vec<SuppressedAt>> {
    conn.fetch_all(&SUPPRESSIONS, args![addresses]).await
}

#[derive(Record)]
struct Count {
    count: i64,
}

const COUNT_INBOX: Sql =
    sql!("personal.count_inbox", "SELECT COUNT(*) AS count FROM inbox WHERE person IN ({texts $1})");

/// How many messages there are in the inboxes of these people.
#[boxed]
pub async fn count_inbox(conn: &mut Conn<'_>, people: Vec<String>) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT_INBOX, args![people]).await?;
    Ok(row.count)
}

/// A message in an inbox, or one that is held back for a digest.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct FoundText {
    pub subject: String,
    pub body: String,
    pub at: Timestamp,
}

const INBOX: Sql = sql!(
    "personal.inbox",
    "SELECT subject, body, created_at AS at FROM inbox WHERE person IN ({texts $1}) ORDER BY seq LIMIT $2",
);
const DIGESTS: Sql = sql!(
    "personal.digests",
    "SELECT subject, body, held_at AS at FROM digest_items
     WHERE person IN ({texts $1}) OR TRIM({folded target}) IN
         ({sqlite SELECT value FROM json_each($2)}{postgres SELECT JSONB_ARRAY_ELEMENTS_TEXT(CAST($2 AS JSONB))})
     ORDER BY held_at LIMIT $3",
);

/// The messages in the inboxes of these people, the oldest first.
#[boxed]
pub async fn inbox_of(conn: &mut Conn<'_>, people: Vec<String>, limit: i64) -> Result<Vec<FoundText>> {
    conn.fetch_all(&INBOX, args![people, limit]).await
}

/// What is held back for these people or addresses, the oldest first.
#[boxed]
pub async fn digests_of(
    conn: &mut Conn<'_>,
    people: Vec<String>,
    addresses: Vec<String>,
    limit: i64,
) -> Result<Vec<FoundText>> {
    conn.fetch_all(&DIGESTS, args![people, as_json(&addresses), limit]).await
}

const DELETE_INBOX: Sql = sql!("personal.delete_inbox", "DELETE FROM inbox WHERE person IN ({texts $1})");

#[boxed]
pub async fn delete_inbox(conn: &mut Conn<'_>, people: Vec<String>) -> Result<u64> {
    conn.execute(&DELETE_INBOX, args![people]).await
}

const DELETE_DAYS: Sql = sql!("personal.delete_days", "DELETE FROM sent_days WHERE person IN ({texts $1})");

/// Removes how much these people were sent on which day.
#[boxed]
pub async fn delete_days(conn: &mut Conn<'_>, people: Vec<String>) -> Result<u64> {
    conn.execute(&DELETE_DAYS, args![people]).await
}

const COUNT_DIGESTS: Sql = sql!(
    "personal.count_digests",
    "SELECT COUNT(*) AS count FROM digest_items
     WHERE person IN ({texts $1}) OR TRIM({folded target}) IN
         ({sqlite SELECT value FROM json_each($2)}{postgres SELECT JSONB_ARRAY_ELEMENTS_TEXT(CAST($2 AS JSONB))})",
);

/// How much is held back for these people or addresses. It reads the table, which holds a day or two.
#[boxed]
pub async fn count_digests(conn: &mut Conn<'_>, people: Vec<String>, addresses: Vec<String>) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT_DIGESTS, args![people, as_json(&addresses)]).await?;
    Ok(row.count)
}

crate::db::statements![
    BY_IDS,
    CHANGED_AT,
    BLANK,
    DELETE_FEED,
    SUPPRESSIONS,
    COUNT_INBOX,
    INBOX,
    DIGESTS,
    DELETE_INBOX,
    DELETE_DAYS,
    COUNT_DIGESTS
];
