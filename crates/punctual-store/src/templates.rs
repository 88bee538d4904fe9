//! Templates: named texts with a variant for each locale.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct TemplateRow {
    pub name: String,
    pub default_locale: String,
    /// A JSON object: locale → `{subject, body, html}`.
    pub variants: String,
    pub version: i64,
    pub updated_at: i64,
}

const PUT: Sql = Sql::same(
    "templates.put",
    "INSERT INTO templates (name, default_locale, variants, updated_at) VALUES ($2, $3, $4, $1)
     ON CONFLICT (name) DO UPDATE SET default_locale = EXCLUDED.default_locale, variants = EXCLUDED.variants,
         version = templates.version + 1, updated_at = EXCLUDED.updated_at",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, template: &TemplateRow) -> Result<()> {
    let t = template;
    conn.execute(&PUT, args![now, &t.name, &t.default_locale, &t.variants]).await?;
    Ok(())
}

macro_rules! by_names {
    ($names:literal) => {
        concat!(
            "
    SELECT name, default_locale, variants, version, updated_at FROM templates WHERE name IN (",
            $names,
            ")"
        )
    };
}
const BY_NAMES: Sql = Sql::each(
    "templates.by_names",
    by_names!("SELECT value FROM json_each($1)"),
    by_names!("SELECT UNNEST($1::text[])"),
);

#[boxed]
pub async fn by_names(conn: &mut Conn<'_>, names: Vec<String>) -> Result<Vec<TemplateRow>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_NAMES, args![names]).await
}

const PAGE: Sql = Sql::same(
    "templates.page",
    "SELECT name, default_locale, variants, version, updated_at FROM templates
     WHERE name > $1 ORDER BY name LIMIT $2",
);

#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<TemplateRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

const DELETE: Sql = Sql::same("templates.delete", "DELETE FROM templates WHERE name = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, name: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![name]).await? > 0)
}

crate::db::statements![PUT, BY_NAMES, PAGE, DELETE];
