//! Fills the growing tables of a database for measurements, with statements that run inside the database.
//!
//! Most rows are ended and similar. A few rows of each rare kind are spread over the whole time range, so that a list with such
//! a filter must read far.

use jiff::Timestamp;
use punctual_boxed::boxed;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::{StoreError, db::Result, error::DriverError};

/// Rows that one statement writes.
const PIECE: i64 = 200_000;
/// The time that the rows are spread over, up to now.
const SPREAD: i64 = 300 * 24 * 60 * 60 * 1_000_000;

/// A table, one row for each of so many numbers, its columns and their values. `n` is the number, `{at}` its instant.
struct Fill {
    table: &'static str,
    of: i64,
    columns: &'static str,
    values: &'static str,
    only_postgres: bool,
}

const fn fill(table: &'static str, of: i64, columns: &'static str, values: &'static str) -> Fill {
    Fill { table, of, columns, values, only_postgres: false }
}

const FILLS: &[Fill] = &[
    fill(
        "notifications",
        1,
        "id, digest, kind, channel, list_name, targets, subject, body, status, ready_at, created_at, delivered_at,
         finished_at, source_site, business_unit, client, last_error, reason_code",
        "'00000000-0000-4000-8000-' || SUBSTR(CAST(1000000000000 + n AS TEXT), 2),
         '0000000000000000000000000000000000000000000000000000000000000000', 'email', 'memory:default',
         CASE WHEN n % 100000 = 7 THEN 'seldom' WHEN n % 2 = 0 THEN 'ops' END,
         CASE WHEN n % 2 = 0 THEN NULL ELSE '[\"user-' || n || '@example.org\"]' END,
         'Your order ' || n || ' has an update', 'Parcel ' || n || ' arrives today, open the app to see where it is.',
         CASE WHEN n % 5000 = 0 THEN 'parked' WHEN n % 7000 = 1 THEN 'withdrawn' WHEN n % 9000 = 2 THEN 'discarded'
              WHEN n % 100000 = 3 THEN 'retrying' WHEN n % 20000 = 5 THEN 'pending' ELSE 'delivered' END,
         {at}, {at},
         CASE WHEN n % 5000 = 0 OR n % 7000 = 1 OR n % 9000 = 2 OR n % 100000 = 3 OR n % 20000 = 5 THEN NULL ELSE {at} + 1000 END,
         CASE WHEN n % 5000 <> 0 AND n % 7000 <> 1 AND n % 9000 <> 2 AND (n % 100000 = 3 OR n % 20000 = 5) THEN NULL ELSE {at} + 1000 END,
         CASE WHEN n % 1000 = 0 THEN 'plant-7' WHEN n % 3 = 0 THEN 'depot-2' END,
         CASE WHEN n % 10000 = 0 THEN 'nz' END, CASE WHEN n % 500 = 0 THEN 'shop' END,
         CASE WHEN n % 5000 = 0 THEN 'refused' END, CASE WHEN n % 5000 = 0 THEN 'permanent' END",
    ),
    fill(
        "attempts",
        1,
        "notification_seq, target, n, node, channel, started_at, finished_at, outcome",
        "n, 'user-' || n || '@example.org', 1, 'a', 'memory:default', {at}, {at} + 1000, 'delivered'",
    ),
    fill(
        "work",
        1,
        "key, kind, trigger_type, business_unit, source_type, source_id, due_at, status, on_hold, ready_at, input_hash, input,
         created_at, updated_at",
        "CASE WHEN n % 20 = 1 THEN 'message:m-' || n WHEN n % 20 = 2 THEN 'schedule:s-' || n
              WHEN n % 20000 = 10 THEN 'report-subscription:00000000-0000-4000-8000-000000000001:scheduled:' || n
              ELSE 'reminder:1:document:' || n || ':expiry:2026-05-14:7' END,
         CASE WHEN n % 20 = 1 THEN 'message' WHEN n % 20 = 2 THEN 'schedule' WHEN n % 20000 = 10 THEN 'report-subscription'
              ELSE 'reminder' END,
         CASE WHEN n % 20 = 1 OR n % 20 = 2 THEN 'at' WHEN n % 20000 = 10 THEN 'scheduled_run' ELSE 'date_based' END,
         CASE WHEN n % 10000 = 0 THEN 'nz' END,
         CASE WHEN n % 20 = 1 OR n % 20 = 2 THEN NULL WHEN n % 20000 = 10 THEN 'report-subscription' ELSE 'document' END,
         CASE WHEN n % 20 = 1 OR n % 20 = 2 THEN NULL
              WHEN n % 20000 = 10 THEN '00000000-0000-4000-8000-000000000001' ELSE 'doc-' || n END,
         {at},
         CASE WHEN n % 50000 = 9 THEN 'failed' WHEN n % 100000 = 7 THEN 'deactivated' WHEN n % 100000 = 8 THEN 'cancelled'
              WHEN n % 50000 = 11 OR n % 20000 = 5 THEN 'pending' ELSE 'completed' END,
         n % 50000 = 11, {at} + 400 * 86400000000, '0000', '{}', {at}, {at}",
    ),
    Fill {
        table: "work_keys",
        of: 1,
        columns: "key, work_id",
        values: "CASE WHEN n % 20 = 1 THEN 'message:m-' || n WHEN n % 20 = 2 THEN 'schedule:s-' || n
              WHEN n % 20000 = 10 THEN 'report-subscription:00000000-0000-4000-8000-000000000001:scheduled:' || n
              ELSE 'reminder:1:document:' || n || ':expiry:2026-05-14:7' END, n",
        only_postgres: true,
    },
    fill(
        "sources",
        1,
        "source_type, source_id, business_unit, active, state, occurred_at, updated_at",
        "'document', 'doc-' || n, CASE WHEN n % 10000 = 0 THEN 'nz' END, 1 = 1, '{}', {at}, {at}",
    ),
    fill(
        "audit",
        1,
        "at, actor, action, subject_kind, subject_id, business_unit",
        "{at}, CASE WHEN n % 100000 = 7 THEN 'seldom' ELSE 'bench' END,
         CASE WHEN n % 100000 = 8 THEN 'discard' WHEN n % 2 = 0 THEN 'retry' ELSE 'park' END,
         'notification', 'n-' || n, CASE WHEN n % 10000 = 0 THEN 'nz' END",
    ),
    fill(
        "survey_instances",
        1,
        "public_id, survey_id, version_id, trigger_id, triggered_by, triggered_at, status, customer_ref, metadata, channel,
         recipient_address, reminders_remaining",
        "'p-' || n, 1, 1, CASE WHEN n % 100000 = 7 THEN 'sale' ELSE 'visit' END, 'bench', {at},
         CASE WHEN n % 100000 = 8 THEN 'opened' WHEN n % 3 = 0 THEN 'completed' ELSE 'expired' END,
         'cust-' || n, '{}', 'memory:default', 'user-' || n || '@example.org', 0",
    ),
    fill(
        "messages",
        20,
        "id, targets, subject, body, send_at, created_at",
        "'m-' || (n * 20 - 19), '[\"a@example.org\"]', 'Hello', 'There', {at}, {at}",
    ),
    fill(
        "suppressions",
        4,
        "channel_type, address, reason, source, since",
        "'email', 'user-' || n || '@example.org', CASE WHEN n % 50000 = 7 THEN 'complaint' ELSE 'hardBounce' END, 'bench', {at}",
    ),
    fill(
        "operations_subjects",
        4,
        "id, subject_type, title, start_at, is_all_day, creator, people, first_at, last_at, created_at, updated_at, business_unit",
        "'s-' || n, CASE WHEN n % 50000 = 7 THEN 'task' ELSE 'event' END, 'Visit', {at}, 1 = 0, 'ann', '[]', {at}, {at}, {at}, {at},
         CASE WHEN n % 10000 = 0 THEN 'nz' END",
    ),
    fill(
        "operations_rules",
        4,
        "id, subject_type, subject_id, kind, rule_type, rule, channels, dated_at, sync_status, active, created_at, updated_at",
        "'r-' || n, 'event', 's-' || n, 'start', 'at_subject_date', '{\"type\":\"at_subject_date\",\"anchor\":\"start\"}', '[]', {at}, 'synced', 1 = 1, {at}, {at}",
    ),
    fill(
        "operations_people",
        10,
        "id, name, email, channels, addresses, updated_at",
        "'p-' || n, 'Ann ' || n, 'user-' || n || '@example.org', '[]', '{}', {at}",
    ),
    fill(
        "outbox_events",
        4,
        "event_type, instance_public_id, survey_id, payload, created_at, business_unit",
        "'response-completed', 'p-' || n, 1, '{}', {at}, CASE WHEN n % 10000 = 0 THEN 'nz' END",
    ),
    fill(
        "inbox",
        4,
        "id, person, notification_id, channel, kind, subject, body, created_at, read_at",
        "'i-' || n, 'person-' || (n % 10), 'x', 'inbox:default', 'message', 'Hello', 'There', {at}, {at}",
    ),
    fill(
        "run_records",
        100,
        "key, workflow, subject_id, due_at, decided_at, outcome, attempts, conflicts, details",
        "'report-subscription:x:scheduled:' || n, 'report-subscription', '00000000-0000-4000-8000-000000000001', {at}, {at},
         'delivered', 1, 0, '{}'",
    ),
    fill("preferences", 10, "person, definition, updated_at", "'person-' || n, '{}', {at}"),
    fill(
        "tombstones",
        4,
        "id, digest, status, purged_at",
        "'10000000-0000-4000-8000-' || SUBSTR(CAST(1000000000000 + n AS TEXT), 2),
         '0000000000000000000000000000000000000000000000000000000000000000', 'delivered', {at}",
    ),
];

/// Puts `rows` rows into every table that grows, or a part of that where there are fewer of a kind. Returns how many were
/// written.
#[boxed]
pub async fn fill_all(url: &str, now: Timestamp, rows: i64) -> Result<i64> {
    let mut written = 0;
    for fill in FILLS {
        written += fill_table(url, now, rows / fill.of, fill).await?;
    }
    Ok(written)
}

/// Puts notifications that ended long ago into the database, with one attempt each: what a purge removes.
#[boxed]
pub async fn fill_outbox(url: &str, now: Timestamp, rows: i64) -> Result<i64> {
    let mut written = 0;
    for fill in FILLS.iter().filter(|fill| ["notifications", "attempts"].contains(&fill.table)) {
        written += fill_table(url, now, rows, fill).await?;
    }
    Ok(written)
}

async fn fill_table(url: &str, now: Timestamp, rows: i64, fill: &Fill) -> Result<i64> {
    let is_sqlite = url.starts_with("sqlite:");
    if rows == 0 || is_sqlite && fill.only_postgres {
        return Ok(0);
    }
    let step = (SPREAD / rows).max(1);
    let at = format!("({} - ({rows} - n) * {step})", now.as_microsecond() - 1_000_000);
    let values = fill.values.replace("{at}", &at);
    let mut texts = Vec::new();
    let mut first = 1;
    while first <= rows {
        let last = (first + PIECE - 1).min(rows);
        let numbers = if is_sqlite {
            format!(
                // tidy-allow: numbers of this program
                "(WITH RECURSIVE s(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM s WHERE n < {last}) SELECT n FROM s)"
            )
        } else {
            format!("generate_series({first}::bigint, {last}::bigint) AS s(n)")
        };
        // tidy-allow: texts of this program
        texts.push(format!("INSERT INTO {} ({}) SELECT {values} FROM {numbers}", fill.table, fill.columns));
        first = last + 1;
    }
    // Of many rows each index is made once, sorted, instead of page by page.
    let rebuilds = rows > PIECE;
    match url.strip_prefix("sqlite:") {
        Some(file) => {
            let (file, table) = (file.to_owned(), fill.table);
            let filled = tokio::task::spawn_blocking(move || fill_sqlite(&file, table, &texts, rebuilds));
            let filled = filled.await.map_err(|_| StoreError::statement("fill", DriverError::Closed))?;
            filled.map_err(|error| StoreError::statement("fill", DriverError::from(error)))?;
        }
        None => fill_postgres(url, fill.table, &texts, rebuilds).await.map_err(StoreError::connection)?,
    }
    Ok(rows)
}

fn fill_sqlite(file: &str, table: &str, texts: &[String], rebuilds: bool) -> rusqlite::Result<()> {
    let conn = rusqlite::Connection::open(file)?;
    conn.busy_timeout(std::time::Duration::from_secs(30))?;
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA threads = 2")?;
    let mut indexes: Vec<(String, String)> = Vec::new();
    if rebuilds {
        let mut of_table = conn.prepare(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL",
        )?;
        let rows = of_table.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?;
        indexes = rows.collect::<rusqlite::Result<_>>()?;
    }
    for (name, _) in &indexes {
        conn.execute_batch(&format!("DROP INDEX {name}"))?; // tidy-allow: a name of the schema
    }
    for text in texts {
        conn.execute_batch(text)?;
    }
    for (_, make) in &indexes {
        conn.execute_batch(make)?;
    }
    Ok(())
}

async fn fill_postgres(url: &str, table: &str, texts: &[String], rebuilds: bool) -> sqlx::Result<()> {
    let mut conn = PgConnection::connect(url).await?;
    sqlx::raw_sql("SET synchronous_commit = off; SET maintenance_work_mem = '512MB'")
        .execute(&mut conn)
        .await?;
    let mut indexes: Vec<(String, String)> = Vec::new();
    if rebuilds {
        let of_table = sqlx::query_as(
            "SELECT CAST(indexname AS TEXT), indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = $1
             AND indexname NOT IN (SELECT conname FROM pg_constraint)",
        );
        indexes = of_table.bind(table).fetch_all(&mut conn).await?;
    }
    let drops = indexes.iter().map(|(name, _)| format!("DROP INDEX {name}")); // tidy-allow: a name of the schema
    let makes = indexes.iter().map(|(_, make)| make.clone());
    let begin = ["BEGIN".to_owned()].into_iter();
    for text in begin.chain(drops).chain(texts.iter().cloned()).chain(makes).chain(["COMMIT".to_owned()]) {
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut conn).await?;
    }
    Ok(())
}
