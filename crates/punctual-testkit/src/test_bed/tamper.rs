//! What somebody does who has the database itself: statements past all of our code.

use std::{collections::BTreeSet, time::Duration};

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{Database, TestBed};

/// The triggers that keep the audit.
const TRIGGERS: [&str; 4] = ["audit_keeps", "audit_keeps_all", "audit_seals_keep", "audit_seals_keep_all"];

/// Runs statements on a file; says what the database says against it.
pub fn run_on_sqlite(file: &str, statements: &str) -> Result<(), String> {
    let conn = rusqlite::Connection::open(file).map_err(|error| error.to_string())?;
    conn.busy_timeout(Duration::from_secs(10)).map_err(|error| error.to_string())?;
    conn.execute_batch(statements).map_err(|error| error.to_string())
}

impl TestBed {
    /// Runs statements as anybody can who may write to the database; says what the database says against it.
    ///
    /// # Panics
    /// When there is no connection.
    pub async fn run_sql(&self, statements: &str) -> Result<(), String> {
        match self.database() {
            Database::Sqlite => run_on_sqlite(self.url().trim_start_matches("sqlite:"), statements),
            Database::Postgres => {
                let conn = PgConnection::connect(self.url()).await;
                let mut conn = conn.unwrap_or_else(|error| panic!("no connection: {error}"));
                let text = AssertSqlSafe(statements.to_owned());
                sqlx::raw_sql(text).execute(&mut conn).await.map(drop).map_err(|error| error.to_string())
            }
        }
    }

    /// The same by somebody who owns the database, and takes away what keeps the audit.
    ///
    /// # Panics
    /// When a statement fails.
    pub async fn tamper(&self, statements: &str) {
        let unlocked = match self.database() {
            // tidy-allow: names of triggers cannot be bound
            Database::Sqlite => TRIGGERS.map(|name| format!("DROP TRIGGER IF EXISTS {name}; ")).concat(),
            Database::Postgres => "SET session_replication_role = replica; ".to_owned(),
        };
        let done = self.run_sql(&(unlocked + statements)).await;
        done.unwrap_or_else(|error| panic!("{statements}: {error}"));
    }
}

/// Every row of a file, a line for each.
fn rows_of_sqlite(file: &str) -> rusqlite::Result<BTreeSet<String>> {
    let conn = rusqlite::Connection::open(file)?;
    // tidy-allow: what a file has
    let mut tables = conn.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?;
    let tables = tables.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let mut found = BTreeSet::new();
    for table in tables {
        // tidy-allow: names of tables cannot be bound
        let mut rows = conn.prepare(&format!("SELECT * FROM \"{table}\""))?;
        let columns = rows.column_count();
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|column| row.get::<_, rusqlite::types::Value>(column));
            found.insert(format!("{table}: {:?}", values.collect::<Result<Vec<_>, _>>()?));
        }
    }
    Ok(found)
}

impl TestBed {
    /// Everything that is stored, a line for each row: what was refused changes nothing of it.
    ///
    /// # Panics
    /// When it cannot be read.
    pub async fn everything_stored(&self) -> BTreeSet<String> {
        match self.database() {
            Database::Sqlite => {
                let rows = rows_of_sqlite(self.url().trim_start_matches("sqlite:"));
                rows.unwrap_or_else(|error| panic!("{error}"))
            }
            Database::Postgres => {
                let conn = PgConnection::connect(self.url()).await;
                let mut conn = conn.unwrap_or_else(|error| panic!("no connection: {error}"));
                // tidy-allow: all tables in one text, each with its name
                let all = "SELECT c.relname || ': ' || r FROM pg_class c,
                           LATERAL unnest(xpath('/*/row', query_to_xml('SELECT * FROM ' || c.oid::regclass, true, false, ''))) AS x(r0),
                           LATERAL (SELECT r0::text AS r) AS y
                           WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace";
                let rows = sqlx::query_scalar::<_, String>(all).fetch_all(&mut conn).await;
                rows.unwrap_or_else(|error| panic!("{error}")).into_iter().collect()
            }
        }
    }
}
