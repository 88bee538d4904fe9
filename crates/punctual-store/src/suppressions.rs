//! Suppressions: addresses that get nothing over channels of a type, by type and address.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    facts,
    notifications::contains_pattern,
    walk::{IN_ORDER, Stretch, with_surplus},
};

/// One address that gets nothing, in the spelling in which it is compared.
#[derive(Clone, Debug, PartialEq, Eq, Record, SetRow)]
pub struct SuppressionRow {
    pub channel_type: String,
    pub address: String,
    pub reason: String,
    pub source: String,
    pub detail: Option<String>,
    pub since: Timestamp,
    pub expires_at: Option<Timestamp>,
}

const PUT: Sql = sql!(
    "suppressions.put", each SuppressionRow, after 0,
    "INSERT INTO suppressions ({names}) {values {*}}
     ON CONFLICT (channel_type, address) DO UPDATE SET {replaced 2}",
);

/// Writes what a person decided: it replaces what was there.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, row: &SuppressionRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![], slice::from_ref(row))).await?;
    Ok(())
}

#[derive(Record)]
struct Key {
    channel_type: String,
    address: String,
}

// What was there stays, unless it was over.
const ADD: Sql = sql!(
    "suppressions.add", as Key, each SuppressionRow, after 1,
    "INSERT INTO suppressions (channel_type, address, reason, source, detail, since)
     {values {postgres DISTINCT ON (r.channel_type, r.address) }
         {.channel_type}, {.address}, {.reason}, {.source}, {.detail}, $1}
     {postgres ORDER BY r.channel_type, r.address}
     ON CONFLICT (channel_type, address) DO UPDATE
     SET reason = EXCLUDED.reason, source = EXCLUDED.source, detail = EXCLUDED.detail, since = $1, expires_at = NULL
     WHERE suppressions.expires_at IS NOT NULL AND suppressions.expires_at <= $1
     RETURNING {columns}",
);

/// Adds what sending has shown: what is already there stays as it is. Returns which are new.
#[boxed]
pub async fn add(
    conn: &mut Conn<'_>,
    now: Timestamp,
    rows: &[SuppressionRow],
) -> Result<Vec<(String, String)>> {
    let added: Vec<Key> = conn.fetch_all(&ADD, with_rows(args![now], rows)).await?;
    Ok(added.into_iter().map(|key| (key.channel_type, key.address)).collect())
}

const GET: Sql = sql!(
    "suppressions.get", as SuppressionRow,
    "SELECT {columns} FROM suppressions
     WHERE channel_type = $1 AND address = $2",
);

#[boxed]
pub async fn get(conn: &mut Conn<'_>, channel_type: &str, address: &str) -> Result<Option<SuppressionRow>> {
    conn.fetch_optional(&GET, args![channel_type, address]).await
}

#[derive(SetRow)]
struct Address<'a> {
    channel_type: &'a str,
    address: &'a str,
}

const AMONG: Sql = sql!(
    "suppressions.among", as SuppressionRow, each Address<'_>, after 1,
    "SELECT {columns s} FROM suppressions AS s {join rows}
     WHERE s.channel_type = {.channel_type} AND s.address = {.address}
       AND (s.expires_at IS NULL OR s.expires_at > $1)",
);

/// Those of these addresses that get nothing at this moment.
#[boxed]
pub async fn among(
    conn: &mut Conn<'_>,
    now: Timestamp,
    addresses: &[(String, String)],
) -> Result<Vec<SuppressionRow>> {
    let addresses: Vec<Address<'_>> =
        addresses.iter().map(|(channel_type, address)| Address { channel_type, address }).collect();
    conn.fetch_all(&AMONG, with_rows(args![now], &addresses)).await
}

/// Which part of the list is wanted; what is left out does not limit.
#[derive(Clone, Debug, Default)]
pub struct SuppressionFilter {
    pub channel_type: Option<String>,
    pub reason: Option<String>,
    /// A part of the address.
    pub q: Option<String>,
    /// The last type and address of the page before.
    pub after: (String, String),
    pub limit: i64,
}

// The limit within is that of `IN_ORDER`: it ends the walk. The end of a pair would not, where all have the same type.
const PAGE: Sql = sql!(
    "suppressions.page", as SuppressionRow,
    "SELECT {columns}
     FROM (SELECT * FROM suppressions WHERE (channel_type, address) > ($1, $2) ORDER BY channel_type, address LIMIT 10000) AS s
     WHERE ($3 IS NULL OR channel_type = $3) AND ($4 IS NULL OR reason = $4)
       AND ($5 IS NULL OR {contains $5 address})
     ORDER BY channel_type, address LIMIT $6",
);
// The last address that one page looks at.
const HORIZON: Sql = sql!(
    "suppressions.page_horizon", as Key,
    "SELECT {columns} FROM suppressions WHERE (channel_type, address) > ($1, $2)
     ORDER BY channel_type, address LIMIT 1 OFFSET $3",
);

/// The list in order of type and address. Where a filter may leave out much it may be short, or empty, and still continue.
#[boxed]
pub async fn stretch(
    conn: &mut Conn<'_>,
    filter: &SuppressionFilter,
) -> Result<Stretch<SuppressionRow, (String, String)>> {
    let f = filter.clone();
    let is_filtered = f.channel_type.is_some() || f.reason.is_some() || f.q.is_some();
    let (after_type, after_address) = match f.channel_type.clone() {
        // What comes before its type is left out at once.
        Some(kind) if kind > f.after.0 => (kind, String::new()),
        _ => f.after,
    };
    let horizon: Option<Key> = if is_filtered {
        conn.fetch_optional(&HORIZON, args![&after_type, &after_address, IN_ORDER - 1]).await?
    } else {
        None
    };
    let pattern = f.q.map(|q| contains_pattern(&q.to_lowercase()));
    let bound = args![after_type, after_address, f.channel_type, f.reason, pattern, with_surplus(f.limit)];
    let rows = conn.fetch_all(&PAGE, bound).await?;
    let place = |row: &SuppressionRow| (row.channel_type.clone(), row.address.clone());
    Ok(Stretch::cut(rows, f.limit, place, horizon.map(|last| (last.channel_type, last.address))))
}

/// The rows of the first page.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, filter: &SuppressionFilter) -> Result<Vec<SuppressionRow>> {
    Ok(stretch(conn, filter).await?.rows)
}

const DELETE: Sql =
    sql!("suppressions.delete", "DELETE FROM suppressions WHERE channel_type = $1 AND address = $2");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, channel_type: &str, address: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![channel_type, address]).await? > 0)
}

const KEYS: Sql = sql!("suppressions.keys", as Key, "SELECT {columns} FROM suppressions LIMIT $1");

/// Every type and address, up to a limit: with all of them, a node need not query each address.
#[boxed]
pub async fn keys(conn: &mut Conn<'_>, limit: i64) -> Result<Vec<(String, String)>> {
    let keys: Vec<Key> = conn.fetch_all(&KEYS, args![limit]).await?;
    Ok(keys.into_iter().map(|key| (key.channel_type, key.address)).collect())
}

#[derive(Record)]
struct Count {
    count: i64,
}

const COUNT: Sql = sql!(
    "suppressions.count",
    "SELECT COUNT(*) AS count FROM (SELECT 1 AS one FROM suppressions LIMIT $1) AS s",
);

/// How many there are, counted up to the bound.
#[boxed]
pub async fn count(conn: &mut Conn<'_>, bound: i64) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT, args![bound]).await?;
    Ok(row.count)
}

/// The fact that changes with the list.
const MARK: &str = "suppressions.mark";

const CHANGED: Sql = sql!(
    "suppressions.changed",
    "INSERT INTO facts (name, value, updated_at) VALUES ($2, '1', $1)
     ON CONFLICT (name) DO UPDATE
     SET value = CAST(CAST(facts.value AS BIGINT) + 1 AS TEXT), updated_at = EXCLUDED.updated_at",
);

/// Marks the list as changed, in the transaction of the change: every node reads it again.
#[boxed]
pub async fn changed(conn: &mut Conn<'_>, now: Timestamp) -> Result<()> {
    conn.execute(&CHANGED, args![now, MARK]).await?;
    Ok(())
}

/// A text that is another one after each change of the list; nothing where there never was one.
#[boxed]
pub async fn mark(conn: &mut Conn<'_>) -> Result<Option<String>> {
    facts::get(conn, MARK).await
}

crate::db::statements![PUT, ADD, GET, AMONG, PAGE, HORIZON, DELETE, KEYS, COUNT, CHANGED];
