//! Templates: named texts with a variant for each locale.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct TemplateRow {
    pub name: String,
    pub default_locale: String,
    /// A JSON object: locale → `{subject, body, html}`.
    pub variants: String,
    #[column(skip)]
    pub version: i64,
    #[column(skip)]
    pub updated_at: i64,
}

const PUT: Sql = sql!(
    "templates.put", each TemplateRow, after 1,
    "INSERT INTO templates ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (name) DO UPDATE SET {replaced}, version = templates.version + 1, updated_at = $1",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, template: &TemplateRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], slice::from_ref(template))).await?;
    Ok(())
}

const BY_NAMES: Sql =
    sql!("templates.by_names", as TemplateRow, "SELECT {columns} FROM templates WHERE name IN ({texts $1})");

#[boxed]
pub async fn by_names(conn: &mut Conn<'_>, names: Vec<String>) -> Result<Vec<TemplateRow>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_NAMES, args![names]).await
}

const PAGE: Sql = sql!(
    "templates.page", as TemplateRow,
    "SELECT {columns} FROM templates
     WHERE name > $1 ORDER BY name LIMIT $2",
);

#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<TemplateRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

const DELETE: Sql = sql!("templates.delete", "DELETE FROM templates WHERE name = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, name: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![name]).await? > 0)
}

crate::db::statements![PUT, BY_NAMES, PAGE, DELETE];
