//! Where a text is stored: every column of every table, past all of our code.

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::{Database, TestBed};

impl TestBed {
    /// The columns that contain a text, whatever its case, as `table.column`.
    ///
    /// # Panics
    /// When the database cannot be read.
    pub async fn columns_with(&self, text: &str) -> Vec<String> {
        let pattern = format!("%{}%", text.to_lowercase());
        let found = match self.database() {
            Database::Sqlite => self.on_sqlite(&pattern).map_err(|error| error.to_string()),
            Database::Postgres => self.on_postgres(&pattern).await.map_err(|error| error.to_string()),
        };
        found.unwrap_or_else(|error| panic!("the tables cannot be read: {error}"))
    }

    fn on_sqlite(&self, pattern: &str) -> rusqlite::Result<Vec<String>> {
        let conn = rusqlite::Connection::open(self.url().trim_start_matches("sqlite:"))?;
        let mut columns = conn.prepare(
            // tidy-allow: the schema itself
            "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
             WHERE t.type = 'table' AND c.type = 'TEXT' ORDER BY 1, 2",
        )?;
        let columns = columns.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut found = Vec::new();
        for column in columns {
            let (table, column): (String, String) = column?;
            // tidy-allow: the names are those of the schema
            let look = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE LOWER({column}) LIKE ?1)");
            if conn.query_row(&look, [pattern], |row| row.get(0))? {
                found.push(format!("{table}.{column}"));
            }
        }
        Ok(found)
    }

    async fn on_postgres(&self, pattern: &str) -> sqlx::Result<Vec<String>> {
        let mut conn = PgConnection::connect(self.url()).await?;
        let columns = sqlx::query(
            // tidy-allow: the schema itself
            "SELECT table_name::text, column_name::text FROM information_schema.columns
             JOIN information_schema.tables USING (table_schema, table_name)
             WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND data_type = 'text' ORDER BY 1, 2",
        )
        .fetch_all(&mut conn)
        .await?;
        let mut found = Vec::new();
        for row in columns {
            let (table, column): (String, String) = (row.try_get(0)?, row.try_get(1)?);
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
