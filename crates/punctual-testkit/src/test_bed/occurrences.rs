//! Where a text occurs in the whole database and among the blobs: for tests that something is gone.

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::{Database, TestBed};

impl TestBed {
    /// Every column of text, as table and column, whatever it is for.
    ///
    /// # Panics
    /// When the schema cannot be read.
    pub async fn text_columns(&self) -> Vec<(String, String)> {
        let columns = match self.database() {
            Database::Sqlite => self.columns_of_sqlite().map_err(|error| error.to_string()),
            Database::Postgres => self.columns_of_postgres().await.map_err(|error| error.to_string()),
        };
        columns.unwrap_or_else(|error| panic!("the schema cannot be read: {error}"))
    }

    /// Every table, by name.
    ///
    /// # Panics
    /// When the schema cannot be read.
    pub async fn tables(&self) -> Vec<String> {
        let tables = match self.database() {
            Database::Sqlite => self.tables_of_sqlite().map_err(|error| error.to_string()),
            Database::Postgres => self.tables_of_postgres().await.map_err(|error| error.to_string()),
        };
        tables.unwrap_or_else(|error| panic!("the schema cannot be read: {error}"))
    }

    fn tables_of_sqlite(&self) -> rusqlite::Result<Vec<String>> {
        let conn = rusqlite::Connection::open(self.url().trim_start_matches("sqlite:"))?;
        let names =
            // tidy-allow: the schema itself
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1";
        let mut names = conn.prepare(names)?;
        names.query_map([], |row| row.get(0))?.collect()
    }

    async fn tables_of_postgres(&self) -> sqlx::Result<Vec<String>> {
        let mut conn = PgConnection::connect(self.url()).await?;
        // tidy-allow: the schema itself
        let names = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
        sqlx::query_scalar(names).fetch_all(&mut conn).await
    }

    /// The columns, as `table.column`, in which the text occurs, whatever its case and whatever the tables are for.
    ///
    /// # Panics
    /// When the tables cannot be read.
    pub async fn columns_with(&self, text: &str) -> Vec<String> {
        let pattern = format!("%{}%", text.to_lowercase());
        let columns = self.text_columns().await;
        let found = match self.database() {
            Database::Sqlite => self.on_sqlite(&columns, &pattern).map_err(|error| error.to_string()),
            Database::Postgres => {
                self.on_postgres(&columns, &pattern).await.map_err(|error| error.to_string())
            }
        };
        found.unwrap_or_else(|error| panic!("the tables cannot be read: {error}"))
    }

    /// The names of the blobs whose name or content has the text.
    ///
    /// # Panics
    /// When the blobs cannot be read.
    pub async fn blobs_with(&self, text: &str) -> Vec<String> {
        let blobs = &self.engine.blobs;
        let names: Vec<String> =
            blobs.names().try_collect().await.unwrap_or_else(|error| panic!("blobs: {error}"));
        let mut found = Vec::new();
        for name in names {
            let content = blobs.get(&name).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            let content = String::from_utf8_lossy(&content.unwrap_or_default()).to_lowercase();
            if name.to_lowercase().contains(text) || content.contains(text) {
                found.push(name);
            }
        }
        found
    }

    fn columns_of_sqlite(&self) -> rusqlite::Result<Vec<(String, String)>> {
        let conn = rusqlite::Connection::open(self.url().trim_start_matches("sqlite:"))?;
        let mut columns = conn.prepare(
            // tidy-allow: the schema itself
            "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
             WHERE t.type = 'table' AND c.type = 'TEXT' ORDER BY 1, 2",
        )?;
        columns.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    fn on_sqlite(&self, columns: &[(String, String)], pattern: &str) -> rusqlite::Result<Vec<String>> {
        let conn = rusqlite::Connection::open(self.url().trim_start_matches("sqlite:"))?;
        let mut found = Vec::new();
        for (table, column) in columns {
            // tidy-allow: the names are those of the schema
            let look = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE LOWER({column}) LIKE ?1)");
            if conn.query_row(&look, [pattern], |row| row.get(0))? {
                found.push(format!("{table}.{column}"));
            }
        }
        Ok(found)
    }

    async fn columns_of_postgres(&self) -> sqlx::Result<Vec<(String, String)>> {
        let mut conn = PgConnection::connect(self.url()).await?;
        let columns = sqlx::query(
            // tidy-allow: the schema itself
            "SELECT table_name::text, column_name::text FROM information_schema.columns
             JOIN information_schema.tables USING (table_schema, table_name)
             WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND data_type = 'text' ORDER BY 1, 2",
        )
        .fetch_all(&mut conn)
        .await?;
        columns.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    async fn on_postgres(&self, columns: &[(String, String)], pattern: &str) -> sqlx::Result<Vec<String>> {
        let mut conn = PgConnection::connect(self.url()).await?;
        let mut found = Vec::new();
        for (table, column) in columns {
            // tidy-allow: the names are those of the schema
            let look = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE LOWER({column}) LIKE $1)");
            let has: bool =
                sqlx::query_scalar(AssertSqlSafe(look)).bind(pattern).fetch_one(&mut conn).await?;
            if has {
                found.push(format!("{table}.{column}"));
            }
        }
        Ok(found)
    }
}
