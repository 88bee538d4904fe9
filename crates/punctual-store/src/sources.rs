//! Sources: the last known state of the user's own entities. An older event never overwrites a newer one.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

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
    pub occurred_at: i64,
    pub version: i64,
    pub updated_at: i64,
}

/// A state as an event carries it.
#[derive(Clone, Debug, PartialEq)]
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
    Sql::each("sources.join_writers", "SELECT 1", "SELECT pg_advisory_xact_lock_shared(7305792)");
const AWAIT_WRITERS: Sql =
    Sql::each("sources.await_writers", "SELECT 1", "SELECT pg_advisory_xact_lock(7305792)");

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

macro_rules! put { ($values:literal) => { concat!("
    INSERT INTO sources (source_type, source_id, business_unit, active, deleted, state, sequence, occurred_at, updated_at)
    ", $values, "
    ON CONFLICT (source_type, source_id) DO UPDATE
    SET business_unit = EXCLUDED.business_unit, active = EXCLUDED.active, deleted = EXCLUDED.deleted,
        state = EXCLUDED.state, sequence = COALESCE(EXCLUDED.sequence, sources.sequence),
        occurred_at = EXCLUDED.occurred_at, version = sources.version + 1, updated_at = EXCLUDED.updated_at
    WHERE CASE WHEN EXCLUDED.sequence IS NOT NULL AND sources.sequence IS NOT NULL
               THEN EXCLUDED.sequence > sources.sequence
               ELSE EXCLUDED.occurred_at >= sources.occurred_at END
    RETURNING source_type, source_id, business_unit, active, deleted, state, sequence, occurred_at, version, updated_at") } }
const PUT: Sql = Sql::rows(
    "sources.put",
    put!("VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $1)"),
    put!("SELECT r.source_type, r.source_id, r.business_unit, r.active, r.deleted, r.state, r.sequence, r.occurred_at, $1
    FROM UNNEST($2::text[], $3::text[], $4::text[], $5::boolean[], $6::boolean[], $7::text[], $8::bigint[], $9::bigint[])
        AS r(source_type, source_id, business_unit, active, deleted, state, sequence, occurred_at)"),
);

/// Writes states, one per source and in order of (type, id); returns those that were newer than what was there, as they
/// are stored now.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, changes: &[SourceChange]) -> Result<Vec<SourceRow>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            changes.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    conn.fetch_all(
        &PUT,
        args![
            now,
            column!(|c| c.source_type.as_str()),
            column!(|c| c.source_id.as_str()),
            column!(|c| c.business_unit.as_deref()),
            column!(|c| c.active),
            column!(|c| c.deleted),
            column!(|c| c.state.as_str()),
            column!(|c| c.sequence),
            column!(|c| c.occurred_at),
        ],
    )
    .await
}

macro_rules! lock { ($which:literal) => { concat!("
    SELECT s.source_type, s.source_id, s.business_unit, s.active, s.deleted, s.state, s.sequence, s.occurred_at,
        s.version, s.updated_at
    FROM sources AS s
    ", $which) } }
const LOCK: Sql = Sql::rows(
    "sources.lock",
    lock!("WHERE s.source_type = $1 AND s.source_id = $2"),
    lock!(
        "JOIN UNNEST($1::text[], $2::text[]) AS r(source_type, source_id)
        ON s.source_type = r.source_type AND s.source_id = r.source_id
    ORDER BY s.source_type, s.source_id
    FOR UPDATE OF s"
    ),
);

/// The rows of these sources, in order, held until the transaction ends: what is decided on them stays true.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, sources: &[(&str, &str)]) -> Result<Vec<SourceRow>> {
    let mut sources: Vec<(&str, &str)> = sources.to_vec();
    sources.sort_unstable();
    sources.dedup();
    let (types, ids): (Vec<String>, Vec<String>) =
        sources.into_iter().map(|(kind, id)| (kind.to_owned(), id.to_owned())).unzip();
    conn.fetch_all(&LOCK, args![types, ids]).await
}

const GET: Sql = Sql::same(
    "sources.get",
    "SELECT source_type, source_id, business_unit, active, deleted, state, sequence, occurred_at, version, updated_at
     FROM sources WHERE source_type = $1 AND source_id = $2",
);

#[boxed]
pub async fn get(conn: &mut Conn<'_>, source_type: &str, source_id: &str) -> Result<Option<SourceRow>> {
    conn.fetch_optional(&GET, args![source_type, source_id]).await
}

const PAGE: Sql = Sql::same(
    "sources.page",
    "SELECT source_type, source_id, business_unit, active, deleted, state, sequence, occurred_at, version, updated_at
     FROM sources
     WHERE source_type = $1 AND source_id > $2 AND NOT deleted
     ORDER BY source_id LIMIT $3",
);

/// The sources of one type, by id.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, source_type: &str, after: &str, limit: i64) -> Result<Vec<SourceRow>> {
    conn.fetch_all(&PAGE, args![source_type, after, limit]).await
}

const WALK: Sql = Sql::each(
    "sources.walk",
    "SELECT source_type, source_id, business_unit, active, deleted, state, sequence, occurred_at, version, updated_at
     FROM sources
     WHERE source_type = $1 AND source_id > $2 AND ($3 IS NULL OR business_unit = $3)
     ORDER BY source_id LIMIT $4",
    "SELECT source_type, source_id, business_unit, active, deleted, state, sequence, occurred_at, version, updated_at
     FROM sources
     WHERE source_type = $1 AND source_id > $2 AND ($3::text IS NULL OR business_unit = $3)
     ORDER BY source_id LIMIT $4
     FOR UPDATE",
);
const LOOK: Sql = Sql::same(
    "sources.look",
    "SELECT source_type, source_id, business_unit, active, deleted, state, sequence, occurred_at, version, updated_at
     FROM sources
     WHERE source_type = $1 AND source_id > $2 AND ($3 IS NULL OR business_unit = $3)
     ORDER BY source_id LIMIT $4",
);

/// The next sources of one type after an id, deleted ones too; held until the transaction ends where they are to be
/// decided on, and only looked at for a plan.
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

const CHANGED: Sql = Sql::same(
    "sources.changed",
    "SELECT source_type, source_id, business_unit, active, deleted, state, sequence, occurred_at, version, updated_at
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

macro_rules! by_keys {
    ($which:literal) => {
        concat!(
            "SELECT s.source_type, s.source_id, s.business_unit, s.active, s.deleted, s.state, s.sequence, s.occurred_at,
         s.version, s.updated_at
     FROM sources AS s ",
            $which
        )
    };
}
const BY_KEYS: Sql = Sql::rows(
    "sources.by_keys",
    by_keys!("WHERE s.source_type = $1 AND s.source_id = $2"),
    by_keys!(
        "JOIN UNNEST($1::text[], $2::text[]) AS r(source_type, source_id)
         ON s.source_type = r.source_type AND s.source_id = r.source_id"
    ),
);

/// These sources, to look at.
#[boxed]
pub async fn by_keys(conn: &mut Conn<'_>, sources: &[(&str, &str)]) -> Result<Vec<SourceRow>> {
    if sources.is_empty() {
        return Ok(Vec::new());
    }
    let mut sources = sources.to_vec();
    sources.sort_unstable();
    sources.dedup();
    let (types, ids): (Vec<&str>, Vec<&str>) = sources.into_iter().unzip();
    conn.fetch_all(&BY_KEYS, args![types, ids]).await
}

#[derive(Record)]
struct Kind {
    source_type: String,
}

// A step over the index for each type, not a walk over all sources.
const TYPES: Sql = Sql::same(
    "sources.types",
    "WITH RECURSIVE t(source_type) AS (
         SELECT MIN(source_type) FROM sources
         UNION ALL
         SELECT (SELECT MIN(s.source_type) FROM sources AS s WHERE s.source_type > t.source_type)
         FROM t WHERE t.source_type IS NOT NULL)
     SELECT source_type FROM t WHERE source_type IS NOT NULL",
);

/// The types that there are sources of.
#[boxed]
pub async fn types(conn: &mut Conn<'_>) -> Result<Vec<String>> {
    let rows: Vec<Kind> = conn.fetch_all(&TYPES, args![]).await?;
    Ok(rows.into_iter().map(|row| row.source_type).collect())
}

crate::db::statements![
    JOIN_WRITERS,
    AWAIT_WRITERS,
    PUT,
    LOCK,
    GET,
    PAGE,
    WALK,
    LOOK,
    CHANGED,
    BY_KEYS,
    TYPES
];
