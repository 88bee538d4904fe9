//! Sources: the last known state of the user's own entities. An older event never overwrites a newer one.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    walk::{IN_ORDER, Stretch, with_surplus},
};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SourceRow {
    pub source_type: String,
    pub source_id: String,
    pub business_unit: Option<String>,
    pub active: bool,
    pub deleted: bool,
    /// A JSON object.
    pub state: String,
    /// The producer's own order, where it has one.
    pub sequence: Option<i64>,
    pub occurred_at: Timestamp,
    pub version: i64,
    pub updated_at: Timestamp,
}

/// A state as an event carries it.
#[derive(Clone, Debug, PartialEq, SetRow)]
pub struct SourceChange {
    pub source_type: String,
    pub source_id: String,
    pub business_unit: Option<String>,
    pub active: bool,
    pub deleted: bool,
    pub state: String,
    pub sequence: Option<i64>,
    pub occurred_at: Timestamp,
}

// Any number that no other program on the same server uses; held until the transaction ends.
const JOIN_WRITERS: Sql =
    sql!("sources.join_writers", "SELECT {sqlite 1}{postgres pg_advisory_xact_lock_shared(7305792)}");
const AWAIT_WRITERS: Sql =
    sql!("sources.await_writers", "SELECT {sqlite 1}{postgres pg_advisory_xact_lock(7305792)}");

/// Says that this transaction writes sources, before it holds anything else; see [`await_writers`]. On SQLite there is one
/// writer at a time anyway.
#[boxed]
pub async fn join_writers(conn: &mut Conn<'_>) -> Result<()> {
    if !conn.is_sqlite() {
        conn.execute(&JOIN_WRITERS, args![]).await?;
    }
    Ok(())
}

/// Waits for every transaction that is writing sources. Whoever has just committed a setting or a zone and then waits here
/// finds all sources that were written without it; those that come after know it. Without this, a new source and a new
/// setting, each not committed yet, would not see each other.
#[boxed]
pub async fn await_writers(conn: &mut Conn<'_>) -> Result<()> {
    if !conn.is_sqlite() {
        conn.execute(&AWAIT_WRITERS, args![]).await?;
    }
    Ok(())
}

const PUT: Sql = sql!(
    "sources.put", as SourceRow, each SourceChange, after 2,
    "INSERT INTO sources ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (source_type, source_id) DO UPDATE
     SET business_unit = EXCLUDED.business_unit, active = EXCLUDED.active, deleted = EXCLUDED.deleted,
         state = EXCLUDED.state, sequence = COALESCE(EXCLUDED.sequence, sources.sequence),
         occurred_at = EXCLUDED.occurred_at, version = sources.version + 1, updated_at = $1
     WHERE {reach $2 sources.business_unit} AND CASE WHEN EXCLUDED.sequence IS NOT NULL AND sources.sequence IS NOT NULL
                THEN EXCLUDED.sequence > sources.sequence
                ELSE EXCLUDED.occurred_at >= sources.occurred_at OR sources.occurred_at > $1 + 86400000000 END
     RETURNING {columns}",
);

/// Writes states, one per source and in order of (type, id). The producer's sequence decides which is newer where both have one,
/// else the time; a stored time of more than a day ahead is no time that anything could be newer than. Returns those that were newer than what was there, as they
/// are stored now. One that is out of reach is left alone: the statement decides, so that two units that bring the same source to life
/// at once cannot overwrite each other.
#[boxed]
pub async fn put(
    conn: &mut Conn<'_>,
    now: Timestamp,
    reach: &Reach,
    changes: &[SourceChange],
) -> Result<Vec<SourceRow>> {
    conn.fetch_all(&PUT, with_rows(args![now, reach], changes)).await
}

#[derive(SetRow)]
struct SourceKey<'a> {
    source_type: &'a str,
    source_id: &'a str,
}

/// Each key once, in order.
fn keys<'a>(sources: &[(&'a str, &'a str)]) -> Vec<SourceKey<'a>> {
    let mut sources = sources.to_vec();
    sources.sort_unstable();
    sources.dedup();
    sources.into_iter().map(|(source_type, source_id)| SourceKey { source_type, source_id }).collect()
}

const LOCK: Sql = sql!(
    "sources.lock", as SourceRow, each SourceKey<'_>, after 0,
    "SELECT {columns s} FROM sources AS s {join rows}
     WHERE s.source_type = {.source_type} AND s.source_id = {.source_id}
     {postgres ORDER BY s.source_type, s.source_id FOR UPDATE OF s}",
);

/// The rows of these sources, in order, held until the transaction ends: what is decided on them stays true.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, sources: &[(&str, &str)]) -> Result<Vec<SourceRow>> {
    conn.fetch_all(&LOCK, with_rows(args![], &keys(sources))).await
}

const GET: Sql = sql!(
    "sources.get", as SourceRow,
    "SELECT {columns}
     FROM sources WHERE source_type = $1 AND source_id = $2 AND {reach $3 business_unit}",
);

/// The source, if it is within reach.
#[boxed]
pub async fn get(
    conn: &mut Conn<'_>,
    reach: &Reach,
    source_type: &str,
    source_id: &str,
) -> Result<Option<SourceRow>> {
    conn.fetch_optional(&GET, args![source_type, source_id, reach]).await
}

const PAGE: Sql = sql!(
    "sources.page", as SourceRow,
    "SELECT {columns}
     FROM sources
     WHERE source_type = $1 AND source_id > $2 AND NOT deleted AND {reach $4 business_unit}
     ORDER BY source_id LIMIT $3",
);
const PAGE_TO: Sql = sql!(
    "sources.page_to", as SourceRow,
    "SELECT {columns}
     FROM sources
     WHERE source_type = $1 AND source_id > $2 AND source_id <= $5 AND NOT deleted AND {reach $4 business_unit}
     ORDER BY source_id LIMIT $3",
);
// The last source that one page looks at.
const HORIZON: Sql = sql!(
    "sources.page_horizon",
    "SELECT source_id FROM sources WHERE source_type = $1 AND source_id > $2 ORDER BY source_id LIMIT 1 OFFSET $3",
);

#[derive(Record)]
struct Horizon {
    source_id: String,
}

/// The sources of one type within reach, by id. For a caller of few it may be short, or empty, and still continue.
#[boxed]
pub async fn stretch(
    conn: &mut Conn<'_>,
    reach: &Reach,
    source_type: &str,
    after: &str,
    limit: i64,
) -> Result<Stretch<SourceRow, String>> {
    let horizon: Option<Horizon> = match reach.units() {
        Some(_) => conn.fetch_optional(&HORIZON, args![source_type, after, IN_ORDER - 1]).await?,
        None => None,
    };
    let horizon = horizon.map(|row| row.source_id);
    let mut bound = args![source_type, after, with_surplus(limit), reach];
    let sql = match &horizon {
        Some(last) => {
            bound.extend(args![last]);
            &PAGE_TO
        }
        None => &PAGE,
    };
    let rows = conn.fetch_all(sql, bound).await?;
    Ok(Stretch::cut(rows, limit, |row: &SourceRow| row.source_id.clone(), horizon))
}

/// The sources of the first page.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    reach: &Reach,
    source_type: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<SourceRow>> {
    Ok(stretch(conn, reach, source_type, after, limit).await?.rows)
}

const AFTER: &str = "SELECT {columns} FROM sources
     WHERE source_type = $1 AND source_id > $2 AND ($3{postgres ::text} IS NULL OR business_unit = $3)
     ORDER BY source_id LIMIT $4";
const WALK: Sql = sql!("sources.walk", as SourceRow, AFTER, "{postgres  FOR UPDATE}");
const LOOK: Sql = sql!("sources.look", as SourceRow, AFTER);

/// The next sources of one type after an id, deleted ones too; locked until the transaction ends where they are to be
/// decided on, and only read for a plan.
#[boxed]
pub async fn walk(
    conn: &mut Conn<'_>,
    source_type: &str,
    after: &str,
    business_unit: Option<&str>,
    limit: i64,
    held: bool,
) -> Result<Vec<SourceRow>> {
    conn.fetch_all(if held { &WALK } else { &LOOK }, args![source_type, after, business_unit, limit]).await
}

const CHANGED: Sql = sql!(
    "sources.changed", as SourceRow,
    "SELECT {columns}
     FROM sources
     WHERE (updated_at, source_type, source_id) > ($1, $2, $3) AND updated_at <= $4
     ORDER BY updated_at, source_type, source_id
     LIMIT $5",
);

/// The sources that changed after a place and up to an instant, in the order of their change.
#[boxed]
pub async fn changed(
    conn: &mut Conn<'_>,
    after: (i64, &str, &str),
    until: i64,
    limit: i64,
) -> Result<Vec<SourceRow>> {
    conn.fetch_all(&CHANGED, args![after.0, after.1, after.2, until, limit]).await
}

const WITHIN: Sql = sql!(
    "sources.within", as SourceRow, each SourceKey<'_>, after 1,
    "SELECT {columns s} FROM sources AS s {join rows}
     WHERE s.source_type = {.source_type} AND s.source_id = {.source_id} AND {reach $1 s.business_unit}",
);

/// Those of these sources that are within reach, not locked.
#[boxed]
pub async fn within(conn: &mut Conn<'_>, reach: &Reach, sources: &[(&str, &str)]) -> Result<Vec<SourceRow>> {
    if sources.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&WITHIN, with_rows(args![reach], &keys(sources))).await
}

#[derive(Record)]
struct Kind {
    source_type: String,
}

// A step over the index for each type, not a walk over all sources.
const TYPES: Sql = sql!(
    "sources.types",
    "WITH RECURSIVE t(source_type) AS (
         SELECT MIN(source_type) FROM sources
         UNION ALL
         SELECT (SELECT MIN(s.source_type) FROM sources AS s WHERE s.source_type > t.source_type)
         FROM t WHERE t.source_type IS NOT NULL)
     SELECT source_type FROM t WHERE source_type IS NOT NULL
       AND ($1{postgres ::text[]} IS NULL OR EXISTS (
           SELECT 1 FROM sources AS s WHERE s.source_type = t.source_type AND {reach $1 s.business_unit}))",
);

/// The types that there are sources of within reach.
#[boxed]
pub async fn types(conn: &mut Conn<'_>, reach: &Reach) -> Result<Vec<String>> {
    let rows: Vec<Kind> = conn.fetch_all(&TYPES, args![reach]).await?;
    Ok(rows.into_iter().map(|row| row.source_type).collect())
}

crate::db::statements![
    JOIN_WRITERS,
    AWAIT_WRITERS,
    PUT,
    LOCK,
    GET,
    PAGE,
    PAGE_TO,
    HORIZON,
    WALK,
    LOOK,
    CHANGED,
    WITHIN,
    TYPES
];
