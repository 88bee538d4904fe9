//! The schema, step by step: the same file names in the same order for both databases.

use jiff::Timestamp;
use rusqlite::Connection;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::{
    StoreError,
    db::{Result, Session, SqliteThread},
    error::DriverError,
    schema,
};

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

const STEPS: &[Step] = &[
    step!(1, "0001_pipeline"),
    step!(2, "0002_console"),
    step!(3, "0003_sites"),
    step!(4, "0004_reminders"),
    step!(5, "0005_surveys"),
    step!(6, "0006_operations"),
    step!(7, "0007_reports"),
    step!(8, "0008_manners"),
    step!(9, "0009_receipts"),
    step!(10, "0010_surveys_more"),
    step!(11, "0011_dates"),
    step!(12, "0012_report_files"),
    step!(13, "0013_handling"),
    step!(14, "0014_keys"),
    step!(15, "0015_circuit_open"),
    step!(16, "0016_reason_codes"),
    step!(17, "0017_words"),
    step!(18, "0018_walls"),
    step!(20, "0020_nodes"),
    step!(21, "0021_batches"),
    step!(22, "0022_reminder_keys"),
    step!(23, "0023_latest_send"),
    step!(24, "0024_calendar_details"),
    step!(25, "0025_type_data"),
    step!(26, "0026_host_circuits"),
    step!(27, "0027_follows_list"),
    step!(28, "0028_report_edges"),
    step!(29, "0029_queued"),
    step!(30, "0030_users"),
    step!(31, "0031_sign_on"),
    step!(32, "0032_audit_units"),
    step!(33, "0033_audit_chain"),
    step!(36, "0036_owed"),
    step!(38, "0038_attachments"),
    step!(39, "0039_template_versions"),
    step!(41, "0041_consumers"),
    step!(46, "0046_autovacuum"),
    step!(48, "0048_personal_data"),
    step!(49, "0049_work_trace"),
    step!(50, "0050_folds_case"),
    step!(51, "0051_rule_texts"),
    step!(52, "0052_inbox_units"),
    step!(55, "0055_import_units"),
    step!(56, "0056_digest_units"),
    step!(65, "0065_earlier_attempts"),
    step!(70, "0070_saved_views"),
    step!(75, "0075_quotas"),
    step!(80, "0080_reminder_sends"),
    step!(85, "0085_people_changed"),
    step!(90, "0090_lasting_subjects"),
];

/// The newest step of the pipeline's schema.
pub(crate) const KNOWN: i64 = STEPS[STEPS.len() - 1].version;
/// Nodes that know at least this step work beside this program and understand what it writes. Steps after it only add
/// tables and columns (`tests/it/online_steps.rs`). One that nodes of this step would not understand raises it to its own number, and
/// is then not taken while one of them runs.
pub(crate) const OLDEST_NODE: i64 = 51;
/// The newest step of the newest release. A release sets it to its last step, and keeps a database of that schema
/// (`cargo xtask fixture`), which every later program is tested with.
pub(crate) const RELEASED: i64 = 85;

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

const LEDGER: &str = "CREATE TABLE IF NOT EXISTS schema_steps (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)";
const APPLIED: &str = "SELECT version, name FROM schema_steps ORDER BY version";
const RECORD: &str = "INSERT INTO schema_steps (version, name, applied_at) VALUES ($1, $2, $3)";
const SERVES: &str = "INSERT INTO facts (name, value, updated_at) VALUES ($1, $2, $3)
     ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, updated_at = EXCLUDED.updated_at
     WHERE CAST(facts.value AS BIGINT) < CAST(EXCLUDED.value AS BIGINT)";
const SERVED: &str = "SELECT value FROM facts WHERE name = $1";
const CONNECTED: &str = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()";
/// Any number that no other program on the same server uses.
const MIGRATION_LOCK: &str = "SELECT pg_advisory_xact_lock(7305791)";
/// How long a step may wait for a table, in milliseconds. Whatever wants the table after it waits behind it, so an upgrade beside a backup would
/// stop intake until the backup ends. Longer than PostgreSQL's `deadlock_timeout` (1 s), after which a vacuum that is in the way gives up.
const LOCK_LIMIT: &str = "SET LOCAL lock_timeout = 2000";
const LONGEST_OPEN: &str =
    "SELECT COALESCE(NULLIF(application_name, ''), usename, 'unknown') || ', process ' || pid
     FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
     ORDER BY xact_start
     LIMIT 1";

/// Applies what is missing, in one transaction. Refuses a database that a newer program made and that this one does not
/// understand, and a change that nodes which are running would not understand.
pub(crate) async fn on_postgres(
    conn: &mut PgConnection,
    begin: String,
    kind: Schema,
    now: Timestamp,
) -> Result<()> {
    // Nothing is prepared and kept on the session: a pooler may give it to others.
    let mut tx = conn.begin_with(AssertSqlSafe(begin)).await.map_err(StoreError::connection)?;
    sqlx::query(MIGRATION_LOCK).persistent(false).execute(&mut *tx).await.map_err(StoreError::connection)?;
    sqlx::query(LEDGER).persistent(false).execute(&mut *tx).await.map_err(failed("schema_steps"))?;
    let applied: Vec<Applied> = sqlx::query_as(APPLIED)
        .persistent(false)
        .fetch_all(&mut *tx)
        .await
        .map_err(StoreError::connection)?;
    let missing = match missing(kind.steps(), &applied) {
        Err(error @ StoreError::NewerSchema { .. }) => {
            let oldest: Option<String> = sqlx::query_scalar(SERVED)
                .persistent(false)
                .bind(schema::OLDEST_NODE)
                .fetch_optional(&mut *tx)
                .await
                .map_err(StoreError::connection)?;
            return serves_us(oldest).then_some(()).ok_or(error);
        }
        missing => missing?,
    };
    if !missing.is_empty() && applied.last().is_some_and(|(last, _)| *last < OLDEST_NODE) {
        let connected: Vec<String> = sqlx::query_scalar(CONNECTED)
            .persistent(false)
            .fetch_all(&mut *tx)
            .await
            .map_err(StoreError::connection)?;
        if connected.iter().any(|name| schema::is_older(name, OLDEST_NODE)) {
            return Err(StoreError::OldNodeLive);
        }
    }
    if !missing.is_empty() {
        sqlx::raw_sql(LOCK_LIMIT).execute(&mut *tx).await.map_err(StoreError::connection)?;
    }
    for step in missing {
        match sqlx::raw_sql(AssertSqlSafe(step.postgres)).execute(&mut *tx).await.map_err(DriverError::from) {
            Err(error) if error.gave_way() => {
                tx.rollback().await.map_err(StoreError::connection)?;
                let holder: Option<String> = sqlx::query_scalar(LONGEST_OPEN)
                    .persistent(false)
                    .fetch_optional(conn)
                    .await
                    .map_err(StoreError::connection)?;
                return Err(StoreError::MigrationBlocked(
                    step.name,
                    holder.unwrap_or_else(|| "unknown".to_owned()),
                ));
            }
            done => done.map_err(failed(step.name))?,
        };
        let record = sqlx::query(RECORD)
            .persistent(false)
            .bind(step.version)
            .bind(step.name)
            .bind(now.as_microsecond());
        record.execute(&mut *tx).await.map_err(failed(step.name))?;
    }
    if kind == Schema::Pipeline {
        let serves =
            sqlx::query(SERVES).persistent(false).bind(schema::OLDEST_NODE).bind(OLDEST_NODE.to_string());
        let serves = serves.bind(now.as_microsecond()).execute(&mut *tx);
        serves.await.map_err(failed("schema_steps"))?;
    }
    tx.commit().await.map_err(StoreError::commit)
}

/// The same on SQLite.
pub(crate) async fn on_sqlite(writer: &SqliteThread, kind: Schema, now: Timestamp) -> Result<()> {
    let job = move |session: &mut Session| {
        session.begin().map_err(StoreError::connection)?;
        let done = apply_on_sqlite(session.bare(), kind, now)
            .and_then(|()| session.commit().map_err(StoreError::commit));
        session.roll_back();
        done
    };
    writer.run(job).await.map_err(StoreError::connection)?
}

fn apply_on_sqlite(conn: &Connection, kind: Schema, now: Timestamp) -> Result<()> {
    conn.execute_batch(LEDGER).map_err(failed("schema_steps"))?;
    let mut read = conn.prepare(APPLIED).map_err(StoreError::connection)?;
    let applied = read.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let applied: Vec<Applied> = applied.and_then(Iterator::collect).map_err(StoreError::connection)?;
    let missing = match missing(kind.steps(), &applied) {
        Err(error @ StoreError::NewerSchema { .. }) => {
            let oldest = conn.query_row(SERVED, [schema::OLDEST_NODE], |row| row.get(0)).ok();
            return serves_us(oldest).then_some(()).ok_or(error);
        }
        missing => missing?,
    };
    for step in missing {
        conn.execute_batch(step.sqlite).map_err(failed(step.name))?;
        conn.execute(RECORD, (step.version, step.name, now.as_microsecond())).map_err(failed(step.name))?;
    }
    if kind == Schema::Pipeline {
        let serves = (schema::OLDEST_NODE, OLDEST_NODE.to_string(), now.as_microsecond());
        conn.execute(SERVES, serves).map_err(failed("schema_steps"))?;
    }
    Ok(())
}

/// The number and the name of a step that a database has.
type Applied = (i64, String);

/// An error where the schema is not one that this program works with; nothing is changed.
pub(crate) async fn check_on_sqlite(reader: &SqliteThread, kind: Schema) -> Result<()> {
    let job = move |session: &mut Session| -> rusqlite::Result<(Vec<Applied>, Option<String>)> {
        let mut read = session.bare().prepare(APPLIED)?;
        let applied = read.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let applied = applied.collect::<rusqlite::Result<_>>()?;
        // The buffer of a site has no facts.
        let oldest = session.bare().query_row(SERVED, [schema::OLDEST_NODE], |row| row.get(0)).ok();
        Ok((applied, oldest))
    };
    let read = reader.run(job).await.map_err(StoreError::connection)?;
    let (applied, oldest) = read.map_err(StoreError::connection)?;
    check(kind, &applied, oldest)
}

/// The same on PostgreSQL.
pub(crate) async fn check_on_postgres(conn: &mut PgConnection, kind: Schema) -> Result<()> {
    let applied = sqlx::query_as(APPLIED).persistent(false).fetch_all(&mut *conn).await;
    let applied: Vec<Applied> = applied.map_err(StoreError::connection)?;
    let oldest = sqlx::query_scalar(SERVED).persistent(false).bind(schema::OLDEST_NODE).fetch_optional(conn);
    check(kind, &applied, oldest.await.ok().flatten())
}

fn check(kind: Schema, applied: &[Applied], oldest_node: Option<String>) -> Result<()> {
    match missing(kind.steps(), applied) {
        Ok([]) => return Ok(()),
        Ok(_) => {}
        // A newer program has added what this one does not need.
        Err(StoreError::NewerSchema { .. }) if serves_us(oldest_node) => return Ok(()),
        Err(error) => return Err(error),
    }
    let found = applied.last().map_or(0, |(found, _)| *found);
    Err(StoreError::OlderSchema { found, known: kind.steps().last().map_or(0, |step| step.version) })
}

fn failed<E: Into<DriverError>>(step: &'static str) -> impl FnOnce(E) -> StoreError {
    move |error| StoreError::Migration(step, error.into())
}

fn missing(steps: &'static [Step], applied: &[Applied]) -> Result<&'static [Step]> {
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

/// Whether a database that a newer program has changed can still be used by this one.
fn serves_us(oldest_node: Option<String>) -> bool {
    oldest_node.and_then(|oldest| oldest.parse().ok()).is_some_and(|oldest: i64| oldest <= KNOWN)
}

/// A digest of all steps, for databases that are kept as test templates.
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
