//! A database that refuses some rows or holds a damaged one: what a broken rule, a full index page or a fault of the disk
//! looks like to the engine.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{Database, TestBed};

impl TestBed {
    /// From now on the database refuses to write rows of this table that fit a condition on `NEW`, such as
    /// `NEW.target = 'a'`.
    pub async fn refuse(&self, table: &str, operation: &str, condition: &str) {
        // tidy-allow: a rule of the test's own
        let refusal = "SELECT RAISE(ABORT, 'this row is refused')";
        let sqlite = format!(
            // tidy-allow: names of tables cannot be bound
            "CREATE TRIGGER refuse_{table}_{operation} BEFORE {operation} ON {table} WHEN {condition}
             BEGIN {refusal}; END"
        );
        let postgres = format!(
            "CREATE FUNCTION refuse_{table}_{operation}() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN IF {condition} THEN RAISE EXCEPTION 'this row is refused'; END IF; RETURN NEW; END $$;
             CREATE TRIGGER refuse_{operation} BEFORE {operation} ON {table}
             FOR EACH ROW EXECUTE FUNCTION refuse_{table}_{operation}()"
        );
        self.behind_the_store(&sqlite, &postgres).await;
    }

    /// The database takes such rows again.
    pub async fn allow(&self, table: &str, operation: &str) {
        // tidy-allow: a rule of the test's own
        let sqlite = format!("DROP TRIGGER refuse_{table}_{operation}");
        // tidy-allow: a rule of the test's own
        let postgres = format!("DROP FUNCTION refuse_{table}_{operation} CASCADE");
        self.behind_the_store(&sqlite, &postgres).await;
    }

    /// Runs statements of the test's own behind the store's back.
    ///
    /// # Panics
    /// When they fail.
    pub async fn behind_the_store(&self, sqlite: &str, postgres: &str) {
        match self.database() {
            Database::Sqlite => {
                let file = self.url().trim_start_matches("sqlite:");
                let run = rusqlite::Connection::open(file).and_then(|conn| conn.execute_batch(sqlite));
                run.unwrap_or_else(|error| panic!("{sqlite}: {error}"));
            }
            Database::Postgres => {
                let conn = PgConnection::connect(self.url()).await;
                let mut conn = conn.unwrap_or_else(|error| panic!("no connection: {error}"));
                let run = sqlx::raw_sql(AssertSqlSafe(postgres.to_owned())).execute(&mut conn).await;
                run.unwrap_or_else(|error| panic!("{postgres}: {error}"));
            }
        }
    }
}
