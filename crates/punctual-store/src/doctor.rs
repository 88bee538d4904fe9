//! What a check-up asks the database about itself. On SQLite there is nothing to ask: one process owns the file.

use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

/// A transaction that is open: rows that were changed since it began cannot be removed.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct OpenTransaction {
    pub pid: i64,
    pub name: String,
    pub state: String,
    /// Microseconds since 1970, by the database's clock.
    pub since: i64,
}

const TRANSACTIONS: Sql = Sql::each(
    "doctor.transactions",
    "SELECT 0 AS pid, '' AS name, '' AS state, 0 AS since WHERE FALSE",
    "SELECT CAST(pid AS BIGINT) AS pid, COALESCE(application_name, '') AS name, COALESCE(state, '') AS state,
         CAST(EXTRACT(EPOCH FROM xact_start) * 1000000 AS BIGINT) AS since
     FROM pg_stat_activity
     WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
     ORDER BY xact_start
     LIMIT 5",
);

/// The transactions that are open for the longest, the oldest first.
#[boxed]
pub async fn open_transactions(conn: &mut Conn<'_>) -> Result<Vec<OpenTransaction>> {
    conn.fetch_all(&TRANSACTIONS, args![]).await
}

/// Something else that keeps rows or the log from being removed.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct Keeper {
    /// `slot` or `prepared`.
    pub kind: String,
    pub name: String,
}

const KEEPERS: Sql = Sql::each(
    "doctor.keepers",
    "SELECT '' AS kind, '' AS name WHERE FALSE",
    "SELECT 'slot' AS kind, CAST(slot_name AS TEXT) AS name FROM pg_replication_slots WHERE NOT active
     UNION ALL
     SELECT 'prepared' AS kind, gid AS name FROM pg_prepared_xacts WHERE database = current_database()
     ORDER BY kind, name
     LIMIT 20",
);

/// Replication slots that nobody reads, and transactions that were prepared and forgotten.
#[boxed]
pub async fn keepers(conn: &mut Conn<'_>) -> Result<Vec<Keeper>> {
    conn.fetch_all(&KEEPERS, args![]).await
}

/// A table with rows that are dead and not removed.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct Bloat {
    pub name: String,
    pub live: i64,
    pub dead: i64,
}

const BLOAT: Sql = Sql::each(
    "doctor.bloat",
    "SELECT '' AS name, 0 AS live, 0 AS dead WHERE $1 < 0",
    "SELECT CAST(relname AS TEXT) AS name, n_live_tup AS live, n_dead_tup AS dead
     FROM pg_stat_user_tables
     WHERE n_dead_tup > $1 AND n_dead_tup > n_live_tup
     ORDER BY n_dead_tup DESC
     LIMIT 10",
);

/// Tables with more dead rows than live ones, and more than this.
#[boxed]
pub async fn bloat(conn: &mut Conn<'_>, more_than: i64) -> Result<Vec<Bloat>> {
    conn.fetch_all(&BLOAT, args![more_than]).await
}

#[derive(Record)]
struct Hidden {
    sessions: i64,
}

const HIDDEN: Sql = Sql::each(
    "doctor.hidden",
    "SELECT 0 AS sessions",
    "SELECT COUNT(*) AS sessions FROM pg_stat_activity
     WHERE datname = current_database() AND query = '<insufficient privilege>'",
);

/// How many sessions of other roles this one is not allowed to look at.
#[boxed]
pub async fn hidden_sessions(conn: &mut Conn<'_>) -> Result<i64> {
    let row: Hidden = conn.fetch_one(&HIDDEN, args![]).await?;
    Ok(row.sessions)
}

#[derive(Record)]
struct Setting {
    value: String,
}

const AUTOVACUUM: Sql = Sql::each(
    "doctor.autovacuum",
    "SELECT 'on' AS value",
    "SELECT setting AS value FROM pg_settings WHERE name = 'autovacuum'",
);

/// Whether PostgreSQL removes dead rows by itself.
#[boxed]
pub async fn vacuums(conn: &mut Conn<'_>) -> Result<bool> {
    let setting: Option<Setting> = conn.fetch_optional(&AUTOVACUUM, args![]).await?;
    Ok(setting.is_none_or(|setting| setting.value == "on"))
}

crate::db::statements![TRANSACTIONS, HIDDEN, KEEPERS, BLOAT, AUTOVACUUM];
