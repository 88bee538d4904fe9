//! What somebody does who has the database itself: statements past all of our code.

use std::time::Duration;

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
