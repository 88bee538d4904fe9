//! A database that refuses some rows: what a broken rule, a full index page or a damaged row looks like to the engine.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{Database, TestBed};

impl TestBed {
    /// From now on the database refuses to write rows of this table that fit a condition on `NEW`, such as
    /// `NEW.target = 'a'`.
    ///
    /// # Panics
    /// When the rule cannot be made.
    pub async fn refuse(&self, table: &str, operation: &str, condition: &str) {
        match self.database() {
            Database::Sqlite => self.refuse_on_sqlite(table, operation, condition),
            Database::Postgres => self.refuse_on_postgres(table, operation, condition).await,
        }
    }

    fn refuse_on_sqlite(&self, table: &str, operation: &str, condition: &str) {
        let file = self.url().trim_start_matches("sqlite:");
        // tidy-allow: a rule of the test's own
        let refusal = "SELECT RAISE(ABORT, 'this row is refused')";
        let rule = format!(
            // tidy-allow: names of tables cannot be bound
            "CREATE TRIGGER refuse_{table}_{operation} BEFORE {operation} ON {table} WHEN {condition}
             BEGIN {refusal}; END"
        );
        let made = rusqlite::Connection::open(file).and_then(|conn| conn.execute_batch(&rule));
        made.unwrap_or_else(|error| panic!("no rule: {error}"));
    }

    async fn refuse_on_postgres(&self, table: &str, operation: &str, condition: &str) {
        let rule = format!(
            "CREATE FUNCTION refuse_{table}_{operation}() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN IF {condition} THEN RAISE EXCEPTION 'this row is refused'; END IF; RETURN NEW; END $$;
             CREATE TRIGGER refuse_{operation} BEFORE {operation} ON {table}
             FOR EACH ROW EXECUTE FUNCTION refuse_{table}_{operation}()"
        );
        let mut conn =
            PgConnection::connect(self.url()).await.unwrap_or_else(|error| panic!("no connection: {error}"));
        let made = sqlx::raw_sql(AssertSqlSafe(rule)).execute(&mut conn).await;
        made.unwrap_or_else(|error| panic!("no rule: {error}"));
    }
}
