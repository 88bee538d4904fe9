//! The schema, step by step: the same file names in the same order for both databases.

use jiff::Timestamp;
use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

use crate::{StoreError, db::Result};

struct Step {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! step {
    ($version:literal, $file:literal) => {
        Step {
            version: $version,
            name: $file,
            sqlite: include_str!(concat!("../migrations/sqlite/", $file, ".sql")),
            postgres: include_str!(concat!("../migrations/postgres/", $file, ".sql")),
        }
    };
}

const STEPS: &[Step] = &[step!(1, "0001_pipeline"), step!(2, "0002_sites")];

/// The buffer of a site agent, which is always a SQLite file of its own.
const SITE_BUFFER_STEPS: &[Step] = &[Step {
    version: 1,
    name: "0001_buffer",
    sqlite: include_str!("../migrations/site/0001_buffer.sql"),
    postgres: "",
}];

/// What a database is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schema {
    /// The pipeline: what `serve` works on.
    #[default]
    Pipeline,
    /// The buffer of a site agent.
    SiteBuffer,
}

impl Schema {
    fn steps(self) -> &'static [Step] {
        match self {
            Self::Pipeline => STEPS,
            Self::SiteBuffer => SITE_BUFFER_STEPS,
        }
    }
}

pub(crate) enum Migrator<'p> {
    Sqlite(&'p SqlitePool),
    Postgres(&'p PgPool),
}

const LEDGER: &str = "CREATE TABLE IF NOT EXISTS schema_steps (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)";
const APPLIED: &str = "SELECT version, name FROM schema_steps ORDER BY version";
const RECORD: &str = "INSERT INTO schema_steps (version, name, applied_at) VALUES ($1, $2, $3)";
/// Any number that no other program on the same server uses.
const MIGRATION_LOCK: &str = "SELECT pg_advisory_xact_lock(7305791)";

/// Applies what is missing, in one transaction; refuses a database that a newer program made.
pub(crate) async fn run(migrator: &Migrator<'_>, schema: Schema, now: Timestamp) -> Result<()> {
    let now = now.as_microsecond();
    // The two arms differ in driver types only; each step's text is picked beside its database.
    macro_rules! apply {
        ($tx:expr, $text:ident) => {{
            sqlx::query(LEDGER)
                .execute(&mut *$tx)
                .await
                .map_err(|e| StoreError::Migration("schema_steps", e))?;
            let applied: Vec<(i64, String)> =
                sqlx::query_as(APPLIED).fetch_all(&mut *$tx).await.map_err(StoreError::connection)?;
            for step in missing(schema.steps(), &applied)? {
                sqlx::raw_sql(AssertSqlSafe(step.$text))
                    .execute(&mut *$tx)
                    .await
                    .map_err(|e| StoreError::Migration(step.name, e))?;
                sqlx::query(RECORD)
                    .bind(step.version)
                    .bind(step.name)
                    .bind(now)
                    .execute(&mut *$tx)
                    .await
                    .map_err(|e| StoreError::Migration(step.name, e))?;
            }
        }};
    }
    match migrator {
        Migrator::Sqlite(pool) => {
            let mut tx = pool.begin_with("BEGIN IMMEDIATE").await.map_err(StoreError::connection)?;
            apply!(tx, sqlite);
            tx.commit().await.map_err(StoreError::commit)
        }
        Migrator::Postgres(pool) => {
            let mut tx = pool.begin().await.map_err(StoreError::connection)?;
            sqlx::query(MIGRATION_LOCK).execute(&mut *tx).await.map_err(StoreError::connection)?;
            apply!(tx, postgres);
            tx.commit().await.map_err(StoreError::commit)
        }
    }
}

fn missing(steps: &'static [Step], applied: &[(i64, String)]) -> Result<&'static [Step]> {
    let known = steps.last().map_or(0, |step| step.version);
    if let Some((found, _)) = applied.last().filter(|(found, _)| *found > known) {
        return Err(StoreError::NewerSchema { found: *found, known });
    }
    for ((version, name), step) in applied.iter().zip(steps) {
        if *version != step.version || name != step.name {
            return Err(StoreError::ChangedMigration(name.clone()));
        }
    }
    Ok(&steps[applied.len().min(steps.len())..])
}

/// A digest of all steps, for whoever keeps a database made from them (test templates).
pub fn schema_digest() -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    for step in STEPS {
        (step.name, step.sqlite, step.postgres).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_of_a_newer_program_is_refused() {
        let applied = vec![(1, "0001_pipeline".to_owned()), (99, "0099_future".to_owned())];
        assert!(matches!(missing(STEPS, &applied), Err(StoreError::NewerSchema { found: 99, .. })));
        assert!(matches!(
            missing(STEPS, &[(1, "0001_other".to_owned())]),
            Err(StoreError::ChangedMigration(_))
        ));
        assert_eq!(missing(STEPS, &[]).unwrap().len(), STEPS.len());
    }
}
