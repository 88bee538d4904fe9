//! The chain over the audit: a seal for each entry, and one row with where the chain begins and how far it reaches.
//!
//! Seals lie beside the entries, so that an entry is written once and the hot path knows nothing of digests.

use punctual_boxed::{Record, SetRow, boxed};

use super::AuditRow;
use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// A place in the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The entry; 0 before the first.
    pub entry_id: i64,
    /// Counted from 1, without gaps.
    pub position: i64,
    pub digest: String,
}

/// Where the chain begins and how far it reaches. Everything up to `start` was purged, everything up to `head` is sealed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Record)]
pub struct ChainRow {
    pub start_id: i64,
    pub start_position: i64,
    pub start_digest: String,
    pub head_id: i64,
    pub head_position: i64,
    pub head_digest: String,
    /// Of all the others; empty while nothing was sealed.
    pub signature: String,
}

impl ChainRow {
    pub fn start(&self) -> Link {
        Link { entry_id: self.start_id, position: self.start_position, digest: self.start_digest.clone() }
    }

    pub fn head(&self) -> Link {
        Link { entry_id: self.head_id, position: self.head_position, digest: self.head_digest.clone() }
    }
}

/// The seal of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Record, SetRow)]
pub struct SealRow {
    pub entry_id: i64,
    pub position: i64,
    /// Gone once the payload of the entry was erased.
    pub salt: Option<String>,
    pub payload_hash: String,
    pub digest: String,
}

const CHAIN: Sql = sql!("audit.chain", as ChainRow, "SELECT {columns} FROM audit_chain");

#[boxed]
pub async fn chain(conn: &mut Conn<'_>) -> Result<ChainRow> {
    Ok(conn.fetch_optional(&CHAIN, args![]).await?.unwrap_or_default())
}

const LOCK_CHAIN: Sql =
    sql!("audit.lock_chain", as ChainRow, "SELECT {columns} FROM audit_chain {postgres FOR UPDATE}");

/// The chain, which nobody else moves until this transaction ends.
#[boxed]
pub async fn lock_chain(conn: &mut Conn<'_>) -> Result<ChainRow> {
    Ok(conn.fetch_optional(&LOCK_CHAIN, args![]).await?.unwrap_or_default())
}

const LOCK_IF_FREE: Sql = sql!(
    "audit.lock_chain_if_free", as ChainRow,
    "SELECT {columns} FROM audit_chain {postgres FOR UPDATE SKIP LOCKED}",
);

/// The same; `None` where another node has it.
#[boxed]
pub async fn lock_chain_if_free(conn: &mut Conn<'_>) -> Result<Option<ChainRow>> {
    conn.fetch_optional(&LOCK_IF_FREE, args![]).await
}

const MOVE_CHAIN: Sql = sql!(
    "audit.move_chain",
    "UPDATE audit_chain
     SET start_id = $1, start_position = $2, start_digest = $3, head_id = $4, head_position = $5, head_digest = $6,
         signature = $7",
);

/// Writes the chain, in the transaction that has locked it.
#[boxed]
pub async fn move_chain(conn: &mut Conn<'_>, row: &ChainRow) -> Result<()> {
    let row = row.clone();
    let start = (row.start_id, row.start_position, row.start_digest);
    let head = (row.head_id, row.head_position, row.head_digest);
    let bound = args![start.0, start.1, start.2, head.0, head.1, head.2, row.signature];
    conn.execute(&MOVE_CHAIN, bound).await?;
    Ok(())
}

#[derive(Record)]
struct Last {
    id: i64,
}

const LAST: Sql = sql!("audit.last", "SELECT id FROM audit ORDER BY id DESC LIMIT 1");

/// The number of the newest entry that can be seen; 0 where there is none.
#[boxed]
pub async fn last_id(conn: &mut Conn<'_>) -> Result<i64> {
    let last: Option<Last> = conn.fetch_optional(&LAST, args![]).await?;
    Ok(last.map_or(0, |last| last.id))
}

#[derive(Record)]
struct Writer {
    name: String,
}

// A transaction takes this lock before it takes a number for its first entry, and gives it back after its rows can be seen.
const WRITERS: Sql = sql!(
    "audit.writers",
    "{sqlite SELECT '' AS name WHERE FALSE}{postgres SELECT DISTINCT virtualtransaction AS name FROM pg_locks
     WHERE locktype = 'relation' AND relation = CAST('audit' AS regclass) AND mode = 'RowExclusiveLock'
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())}",
);

/// The transactions that may have written entries which cannot be seen yet, by name. On PostgreSQL numbers are given out
/// before a commit, so that one may still bring an entry with a number below one that is there; on SQLite there is none.
#[boxed]
pub async fn open_writers(conn: &mut Conn<'_>) -> Result<Vec<String>> {
    if conn.is_sqlite() {
        return Ok(Vec::new());
    }
    let writers: Vec<Writer> = conn.fetch_all(&WRITERS, args![]).await?;
    Ok(writers.into_iter().map(|writer| writer.name).collect())
}

const ENTRIES: Sql = sql!(
    "audit.entries_after", as AuditRow,
    "SELECT {columns} FROM audit WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3",
);

/// Entries in the order of their numbers, after one and up to another.
#[boxed]
pub async fn entries_after(conn: &mut Conn<'_>, after: i64, up_to: i64, limit: i64) -> Result<Vec<AuditRow>> {
    conn.fetch_all(&ENTRIES, args![after, up_to, limit]).await
}

const SEALS: Sql = sql!(
    "audit.seals_after", as SealRow,
    "SELECT {columns} FROM audit_seals WHERE entry_id > $1 AND entry_id <= $2 ORDER BY entry_id LIMIT $3",
);

/// Seals in the order of their entries, after one and up to another.
#[boxed]
pub async fn seals_after(conn: &mut Conn<'_>, after: i64, up_to: i64, limit: i64) -> Result<Vec<SealRow>> {
    conn.fetch_all(&SEALS, args![after, up_to, limit]).await
}

const INSERT: Sql = sql!(
    "audit.seal", each SealRow, after 0,
    "INSERT INTO audit_seals ({names}) {values {*}}",
);

#[boxed]
pub async fn insert_seals(conn: &mut Conn<'_>, rows: &[SealRow]) -> Result<()> {
    conn.execute(&INSERT, with_rows(args![], rows)).await?;
    Ok(())
}

const UNERASED: Sql = sql!(
    "audit.unerased_of",
    "SELECT id FROM audit
     WHERE subject_kind = $1 AND subject_id = $2 AND id > $3 AND ($4 OR reason IS NOT NULL OR data IS NOT NULL)
     ORDER BY id LIMIT $5",
);

/// Entries about a subject that have something to erase, by number, after one; with `with_subject` its id counts, too.
#[boxed]
pub async fn unerased_of(
    conn: &mut Conn<'_>,
    (subject_kind, subject_id): (&str, &str),
    with_subject: bool,
    after: i64,
    limit: i64,
) -> Result<Vec<i64>> {
    let bound = args![subject_kind, subject_id, after, with_subject, limit];
    let rows: Vec<Last> = conn.fetch_all(&UNERASED, bound).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

const ERASE: Sql = sql!(
    "audit.erase",
    "UPDATE audit
     SET reason = NULL, data = NULL, subject_id = CASE WHEN $2 THEN '' ELSE subject_id END
     WHERE id IN ({ints $1})",
);
const ERASE_SALT: Sql =
    sql!("audit.erase_salt", "UPDATE audit_seals SET salt = NULL WHERE entry_id IN ({ints $1})");

/// Empties what these entries say about a person, the subject too where it names one. Without its salt the hash of the
/// payload reveals nothing, and the digest stays good.
#[boxed]
pub async fn erase(conn: &mut Conn<'_>, ids: &[i64], with_subject: bool) -> Result<()> {
    conn.execute(&ERASE, args![ids.to_vec(), with_subject]).await?;
    conn.execute(&ERASE_SALT, args![ids.to_vec()]).await?;
    Ok(())
}

const REMOVE: Sql = sql!("audit.remove", "DELETE FROM audit WHERE id <= $1");
const REMOVE_SEALS: Sql = sql!("audit.remove_seals", "DELETE FROM audit_seals WHERE entry_id <= $1");

/// Removes entries and seals up to one, which the chain must begin after: the database refuses it otherwise.
#[boxed]
pub async fn remove_up_to(conn: &mut Conn<'_>, id: i64) -> Result<u64> {
    conn.execute(&REMOVE_SEALS, args![id]).await?;
    conn.execute(&REMOVE, args![id]).await
}

crate::db::statements![
    CHAIN,
    LOCK_CHAIN,
    LOCK_IF_FREE,
    MOVE_CHAIN,
    LAST,
    WRITERS,
    ENTRIES,
    SEALS,
    INSERT,
    UNERASED,
    ERASE,
    ERASE_SALT,
    REMOVE,
    REMOVE_SEALS
];
