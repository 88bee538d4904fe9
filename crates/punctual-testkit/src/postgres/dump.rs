//! Everything that a PostgreSQL database has in columns which can hold a text, for those who search it.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// Every column of our own tables that can hold text or bytes.
const COLUMNS: &str =
    // tidy-allow: it uses the schema itself, which no statement of the product does
    "SELECT c.table_schema::text, c.table_name::text, c.column_name::text, c.data_type::text
    FROM information_schema.columns AS c
    JOIN information_schema.tables AS t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
    WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')
      AND c.data_type NOT IN ('bigint', 'integer', 'smallint', 'boolean', 'double precision')
    ORDER BY c.table_schema, c.table_name, c.ordinal_position";

/// One value, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// `table.column`.
    pub place: String,
    pub bytes: Vec<u8>,
}

/// Every value of every column that can hold text or bytes, of every table.
///
/// # Panics
/// When the database cannot be read: a search that read nothing has found nothing.
pub async fn everything_stored(url: &str) -> Vec<Stored> {
    let broken = |what: &str, error: sqlx::Error| -> ! { panic!("{what} cannot be read: {error}") };
    let mut conn = PgConnection::connect(url).await.unwrap_or_else(|error| broken("the database", error));
    let columns: Vec<(String, String, String, String)> = sqlx::query_as(COLUMNS)
        .fetch_all(&mut conn)
        .await
        .unwrap_or_else(|error| broken("the schema", error));
    let mut found = Vec::new();
    for (schema, table, column, kind) in columns {
        // Bytes as they are, everything else as it is written.
        let value = if kind == "bytea" { "v" } else { "convert_to(v::text, 'UTF8')" };
        let text = format!(
            // tidy-allow: names of columns cannot be bound, and these come from the catalogue
            r#"SELECT {value} FROM (SELECT "{column}" AS v FROM "{schema}"."{table}") AS rows WHERE v IS NOT NULL"#
        );
        let values: sqlx::Result<Vec<(Vec<u8>,)>> =
            sqlx::query_as(AssertSqlSafe(text)).fetch_all(&mut conn).await;
        let values = values.unwrap_or_else(|error| broken(&format!("{table}.{column}"), error));
        let place = format!("{table}.{column}");
        found.extend(values.into_iter().map(|(bytes,)| Stored { place: place.clone(), bytes }));
    }
    conn.close().await.ok();
    found
}
