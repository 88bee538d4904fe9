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
    pub updated_at: Timestamp,
}

const PUT: Sql = sql!(
    "templates.put", each TemplateRow, after 1,
    "INSERT INTO templates ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (name) DO UPDATE SET {replaced}, version = templates.version + 1, updated_at = $1",
);

const KEEP_VERSION: Sql = sql!(
    "templates.keep_version",
    "INSERT INTO template_versions (name, since, version, default_locale, variants)
     SELECT name, updated_at, version, default_locale, variants FROM templates WHERE name = $1
     ON CONFLICT (name, since) DO UPDATE
     SET version = excluded.version, default_locale = excluded.default_locale, variants = excluded.variants",
);

/// Writes a template, and keeps what it says beside what it said before.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, template: &TemplateRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], slice::from_ref(template))).await?;
    conn.execute(&KEEP_VERSION, args![&template.name]).await?;
    Ok(())
}

/// A template as it was from one moment on.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct TemplateVersion {
    pub name: String,
    pub since: Timestamp,
    pub version: i64,
    pub default_locale: String,
    pub variants: String,
}

const IN_FORCE: Sql = sql!(
    "templates.in_force", as TemplateVersion,
    "SELECT {columns} FROM template_versions
     WHERE name = $1 AND since <= $2 ORDER BY since DESC LIMIT 1",
);

/// The version that was in force at this moment.
#[boxed]
pub async fn in_force(conn: &mut Conn<'_>, name: &str, at: Timestamp) -> Result<Option<TemplateVersion>> {
    conn.fetch_optional(&IN_FORCE, args![name, at]).await
}

const FORGET_VERSIONS: Sql = sql!(
    "templates.forget_versions",
    "DELETE FROM template_versions
     WHERE since < $1
       AND (NOT EXISTS (SELECT 1 FROM templates WHERE templates.name = template_versions.name)
            OR EXISTS (SELECT 1 FROM template_versions AS later
                       WHERE later.name = template_versions.name
                         AND later.since > template_versions.since AND later.since < $1))",
);

/// Removes versions that were replaced before this moment; of a template that is gone, those that began before it.
#[boxed]
pub async fn forget_versions(conn: &mut Conn<'_>, before: Timestamp) -> Result<u64> {
    conn.execute(&FORGET_VERSIONS, args![before]).await
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

crate::db::statements![PUT, KEEP_VERSION, IN_FORCE, FORGET_VERSIONS, BY_NAMES, PAGE, DELETE];
