//! Database maintenance for benchmarks and trials: create, settle and drop databases.

mod bare;
mod fill;

pub use bare::{BareRow, make_bare, write_bare};
pub use fill::{fill_all, fill_outbox};
use punctual_boxed::boxed;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::{Store, StoreError, db::Result, error::DriverError};

/// A separate database for one measurement, removed by `remove`.
pub struct FreshDatabase {
    pub url: String,
    admin_url: Option<(String, String)>,
}

impl FreshDatabase {
    /// On PostgreSQL a new database beside the one of `url`; on SQLite a new file where `url` says.
    #[boxed]
    pub async fn create(url: &str, name: &str) -> Result<Self> {
        if url.starts_with("sqlite:") {
            return Ok(Self { url: url.to_owned(), admin_url: None });
        }
        debug_assert!(
            name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
            "a name made by the program"
        );
        let mut admin = PgConnection::connect(url).await.map_err(StoreError::connection)?;
        let create = format!("CREATE DATABASE {name}");
        sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut admin).await.map_err(StoreError::connection)?;
        Ok(Self { url: beside(url, name), admin_url: Some((url.to_owned(), name.to_owned())) })
    }

    /// The database of this name as an earlier run has left it, or a new one. It stays where it is.
    #[boxed]
    pub async fn found_or_create(url: &str, name: &str) -> Result<Self> {
        if !url.starts_with("sqlite:") {
            let mut admin = PgConnection::connect(url).await.map_err(StoreError::connection)?;
            let known = sqlx::query_scalar("SELECT COUNT(*) FROM pg_database WHERE datname = $1").bind(name);
            let known: i64 = known.fetch_one(&mut admin).await.map_err(StoreError::connection)?;
            if known > 0 {
                return Ok(Self { url: beside(url, name), admin_url: None });
            }
        }
        Ok(Self { admin_url: None, ..Self::create(url, name).await? })
    }

    #[boxed]
    pub async fn remove(self) -> Result<()> {
        let Some((admin_url, name)) = self.admin_url else { return Ok(()) };
        let mut admin = PgConnection::connect(&admin_url).await.map_err(StoreError::connection)?;
        let remove = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        sqlx::raw_sql(AssertSqlSafe(remove)).execute(&mut admin).await.map_err(StoreError::connection)?;
        Ok(())
    }
}

/// The address of another database on the same server.
fn beside(url: &str, name: &str) -> String {
    let (server, options) = match url.split_once('?') {
        Some((server, options)) => (server, format!("?{options}")),
        None => (url, String::new()),
    };
    let scheme = server.find("://").map_or(0, |at| at + 3);
    let base = server[scheme..].find('/').map_or(server, |at| &server[..scheme + at]);
    format!("{base}/{name}{options}")
}

/// How many tables a PostgreSQL database has: none where it is empty.
#[boxed]
pub async fn tables(url: &str) -> Result<i64> {
    let mut conn = PgConnection::connect(url).await.map_err(StoreError::connection)?;
    let count = sqlx::query_scalar("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'");
    count.fetch_one(&mut conn).await.map_err(StoreError::connection)
}

/// A snapshot of the whole database that is held until this is dropped, as a dump or a replica holds one. PostgreSQL keeps
/// every row that is changed meanwhile; SQLite's readers do the same to its log.
pub struct HeldSnapshot {
    _postgres: Option<PgConnection>,
}

impl HeldSnapshot {
    #[boxed]
    pub async fn take(url: &str) -> Result<Self> {
        if url.starts_with("sqlite:") {
            return Ok(Self { _postgres: None });
        }
        let mut conn = PgConnection::connect(url).await.map_err(StoreError::connection)?;
        for statement in ["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT id FROM work LIMIT 1"] {
            sqlx::raw_sql(statement).execute(&mut conn).await.map_err(StoreError::connection)?;
        }
        Ok(Self { _postgres: Some(conn) })
    }
}

/// Brings statistics up to date and empties the logs, so that a measurement starts from rest.
#[boxed]
pub async fn settle_down(store: &Store, url: &str) -> Result<()> {
    if url.starts_with("sqlite:") {
        return store.checkpoint().await;
    }
    let mut conn = PgConnection::connect(url).await.map_err(StoreError::connection)?;
    for statement in ["VACUUM ANALYZE", "CHECKPOINT"] {
        sqlx::raw_sql(statement).execute(&mut conn).await.map_err(StoreError::connection)?;
    }
    Ok(())
}

/// How many bytes the database takes on the disk, once what is written is in its tables and what is dead may be reused.
#[boxed]
pub async fn size_of(store: &Store, url: &str) -> Result<i64> {
    settle_down(store, url).await?;
    if let Some(file) = url.strip_prefix("sqlite:") {
        let bytes = std::fs::metadata(file).map_or(0, |about| about.len());
        return Ok(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
    let mut conn = PgConnection::connect(url).await.map_err(StoreError::connection)?;
    let size = sqlx::query_scalar("SELECT pg_database_size(current_database())");
    size.fetch_one(&mut conn).await.map_err(StoreError::connection)
}

/// The tables and indexes that take the most, with their bytes, the largest first.
#[boxed]
pub async fn largest_parts(url: &str, count: i64) -> Result<Vec<(String, i64)>> {
    if let Some(file) = url.strip_prefix("sqlite:") {
        let file = file.to_owned();
        let read = tokio::task::spawn_blocking(move || {
            let conn = rusqlite::Connection::open(file)?;
            let mut parts = conn.prepare(
                "SELECT name, SUM(pgsize) FROM dbstat WHERE aggregate = TRUE GROUP BY name ORDER BY 2 DESC LIMIT ?1",
            )?;
            let rows = parts.query_map([count], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(String, i64)>>>()
        });
        let read = read.await.map_err(|_| StoreError::statement("parts", DriverError::Closed))?;
        return read.map_err(|error| StoreError::statement("parts", DriverError::from(error)));
    }
    let mut conn = PgConnection::connect(url).await.map_err(StoreError::connection)?;
    let parts = sqlx::query_as(
        "SELECT CAST(relname AS TEXT), CASE WHEN relkind = 'r' THEN pg_table_size(oid) ELSE pg_relation_size(oid) END
         FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')
         ORDER BY 2 DESC LIMIT $1",
    );
    parts.bind(count).fetch_all(&mut conn).await.map_err(StoreError::connection)
}
