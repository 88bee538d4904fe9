//! No statement reads a table that grows from end to end, whatever it is called with.
//!
//! PostgreSQL alone, because it can plan a statement without values (a generic plan, which it may also choose when it runs
//! one) and because the two schemas have the same indexes, but for `work_keys`. Every statement of the store is planned
//! here, with ten thousand rows in every table. One that reads a table whole fails, unless it is in `COLD` with its reason.

use std::collections::{BTreeMap, BTreeSet};

use punctual_testkit::{Database, TestBed};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, raw_sql};

/// Tables of what people set up, or of who is signed in: they may be read whole. Every other table grows.
const SMALL: &[&str] = &[
    "api_keys",
    "audit_chain",
    "batches",
    "channels",
    "address_index_parts",
    "circuits",
    "consumer_health",
    "consumers",
    "erasures",
    "facts",
    "invitations",
    "lists",
    "nodes",
    "owed",
    "reconciliations",
    "reminder_settings",
    "saved_views",
    "sessions",
    "sign_in_links",
    "sign_on_answers",
    "site_agents",
    "sites",
    "subscribers",
    "survey_versions",
    "surveys",
    "users",
];

/// Partial indexes of what is under way or waits for a person; they may be read from end to end.
const SHORT: &[&str] = &[
    "business_units_with_quota",
    "notifications_leased",
    "notifications_live",
    "notifications_parked",
    "notifications_uncertain",
    "operations_rules_failed",
    "run_records_with_files",
    "upload_uses_of_messages",
    "work_failed",
    "work_held",
    "work_leased",
];

/// Columns that many rows share: an index that is entered by these alone is read in large part.
const BROAD: &[&str] = &["kind", "status"];

/// Statements that may read a growing table in large part, and why.
const COLD: &[(&str, &str)] = &[
    ("delivery_policy.standing", "whether there are any preferences: it ends with the first"),
    ("notifications.is_busy", "whether anything is ready: it ends with the first; for benchmarks"),
    ("notifications.purge_size", "once a day"),
    ("operations_people.by_emails", "imports of calendars, which are rare enough to look at everybody"),
    ("personal.count_digests", "when somebody asks: what is held back is of a day or two"),
    ("personal.digests", "when somebody asks: what is held back is of a day or two"),
    ("personal.erase_digests", "when somebody asks: what is held back is of a day or two"),
    ("personal.reports", "when somebody asks: subscriptions, which are few"),
    ("report_runs.count_troubles", "subscriptions and people, who are few, once for the badge"),
    ("report_subscriptions.orphaned", "subscriptions and people, who are few"),
    ("report_subscriptions.orphans", "subscriptions and people, who are few"),
    ("retention.suppressions", "once a day: addresses that nothing is sent to"),
    ("templates.forget_versions", "once a day: what templates said before, by when that was"),
    ("unit_rows.forget", "once a day: a row for each day of a unit with a quota"),
    (
        "unit_rows.many",
        "the sweep, where units have quotas: a row for each of their days, and what the last seconds added",
    ),
    ("uploads.doom", "once a day: files that nobody uses, beside what is in use"),
    ("verify.counts", "of the copy that a backup has made"),
    ("work.overdue_looks", "the looks of reconciliations that are planned: one row a provider"),
];

/// Statements that also read a table in large part where they were planned on a new installation, whose tables nobody has analysed
/// yet. A connection keeps such a plan for five seconds (`kept.rs`), in which so much of a table may be new.
const COLD_WHEN_NEW: &[(&str, &str)] = &[
    ("notifications.claim", "the index of what was accepted in these seconds"),
    ("notifications.last_delivered", "a page: at most a thousand rows, from the latest end"),
    ("notifications.withdraw_by_work", "messages that work rows have queued in these seconds"),
    ("notifications.withdrawn_too_late", "messages that work rows have queued in these seconds"),
    ("operations_subjects.by_ids", "events and tasks, which people write"),
    ("operations_subjects.by_uids", "imports of calendars"),
    ("operations_subjects.of_series", "imports of calendars"),
    ("personal.erase_attempts", "erasures, which nobody waits for"),
    ("personal.received", "erasures, which nobody waits for"),
    ("personal.suppressions", "when somebody asks for a person's data"),
    ("personal.withdraw", "erasures, which nobody waits for"),
    ("receipts.count_waiting", "a page: receipts that need attention"),
    ("report_subscriptions.of_runs", "a page: runs by their subscription"),
    ("survey_attempts.keep", "the purge, once a day"),
    ("survey_instances.open", "links that may still be opened, made in these seconds"),
    ("surveys.asked_in", "a report that ships"),
    ("verify.skipped_targets", "of the copy that a backup has made"),
    ("verify.survey_answers", "of the copy that a backup has made"),
    ("verify.survey_responses", "of the copy that a backup has made"),
    ("verify.work_notifications", "of the copy that a backup has made"),
    ("work.earliest", "at the start, before anything was claimed"),
    ("work.of_sources", "rows of sources that were planned in these seconds"),
];

/// Statements that each request runs which asks for a message or a schedule.
const OF_REQUESTS: &[&str] = &["notifications.insert_absent", "work.insert_absent", "messages.insert"];

/// The names of all statements, read from the source, without the examples of `sql!`. The buffer of a site is never on
/// PostgreSQL.
fn named_in_code() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("src/site_buffer") || path.with_extension("").ends_with("src/db/text") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let statements = ["sql!(", "Sql::same(", "Sql::each("];
            for (at, opening) in statements.iter().flat_map(|opening| text.match_indices(opening)) {
                let name = text[at + opening.len()..].trim_start();
                if let Some(name) = name.strip_prefix('"').and_then(|rest| rest.split('"').next()) {
                    names.insert(name.to_owned());
                }
            }
        }
    }
    names
}

#[test]
fn every_statement_of_the_code_is_listed() {
    let listed: BTreeSet<String> =
        punctual_store::statements().into_iter().map(|(name, _)| name.to_owned()).collect();
    let coded = named_in_code();
    let missing: Vec<&String> = coded.difference(&listed).collect();
    assert!(missing.is_empty(), "not in the `statements!` of their modules: {missing:?}");
    assert_eq!(listed, coded);
}

/// ILIKE and LOWER without a collation go by the locale of the database, which may know ASCII alone.
#[test]
fn no_statement_folds_case_by_the_locale_of_the_database() {
    for (name, text) in punctual_store::statements() {
        let count = |part: &str| text.matches(part).count();
        assert_eq!(
            count("ILIKE"),
            count("COLLATE folds_case ILIKE"),
            "{name}: `{{contains $1 column}}` is for that"
        );
        assert_eq!(count("LOWER("), count(" COLLATE folds_case)"), "{name}: `{{folded column}}` is for that");
        assert_eq!(count("UPPER("), 0, "{name}");
    }
}

#[tokio::test]
async fn no_statement_reads_a_table_that_grows_from_end_to_end() {
    let bed = TestBed::on(Database::Postgres).await;
    let mut conn = PgConnection::connect(bed.url()).await.unwrap();
    fill_every_table(&mut conn).await;
    for name in SMALL.iter().chain(SHORT) {
        let known: bool = sqlx::query_scalar("SELECT TO_REGCLASS($1) IS NOT NULL")
            .bind(*name)
            .fetch_one(&mut conn)
            .await
            .unwrap();
        assert!(known, "no table or index is called {name}");
    }
    let found = whole_reads_of_all(&mut conn).await;
    let mut unneeded: BTreeSet<&str> = COLD.iter().map(|(name, _)| *name).collect();
    let faults: Vec<&(&str, String)> = found.iter().filter(|(name, _)| !unneeded.remove(name)).collect();
    assert!(faults.is_empty(), "{} statements: {faults:#?}", faults.len());
    assert!(unneeded.is_empty(), "no longer cold, or gone: {unneeded:?}");
}

/// Nor does another one that was planned on a new installation: PostgreSQL takes a table that was never analysed for ten pages.
#[tokio::test]
async fn no_other_does_where_the_tables_were_new_when_it_was_planned() {
    let bed = TestBed::on(Database::Postgres).await;
    let mut conn = PgConnection::connect(bed.url()).await.unwrap();
    let mut unneeded: BTreeSet<&str> = COLD_WHEN_NEW.iter().map(|(name, _)| *name).collect();
    let known: BTreeSet<&str> = COLD.iter().chain(COLD_WHEN_NEW).map(|(name, _)| *name).collect();
    let found = whole_reads_of_all(&mut conn).await;
    unneeded.retain(|name| !found.iter().any(|(found, _)| found == name));
    let faults: Vec<&(&str, String)> = found.iter().filter(|(name, _)| !known.contains(name)).collect();
    assert!(faults.is_empty(), "{} statements: {faults:#?}", faults.len());
    assert!(unneeded.is_empty(), "no longer cold, or gone: {unneeded:?}");
}

/// What a request waits for goes by keys also where it is planned on tables that are known to be empty: a connection may keep such a plan
/// while a purge puts a hundred thousand tombstones into one of them.
#[tokio::test]
async fn requests_go_by_keys_where_tables_were_empty_when_they_were_planned() {
    let bed = TestBed::on(Database::Postgres).await;
    let mut conn = PgConnection::connect(bed.url()).await.unwrap();
    raw_sql("VACUUM ANALYZE").execute(&mut conn).await.unwrap();
    let found: BTreeMap<&str, String> = whole_reads_of_all(&mut conn).await.into_iter().collect();
    let listed: BTreeSet<&str> = punctual_store::statements().into_iter().map(|(name, _)| name).collect();
    for name in OF_REQUESTS {
        assert!(listed.contains(name), "no statement is called {name}");
        assert_eq!(found.get(name), None, "{name}");
    }
}

/// The statements whose plans read a table that grows in large part, and what they read.
async fn whole_reads_of_all(conn: &mut PgConnection) -> Vec<(&'static str, String)> {
    let settings = "SET enable_seqscan = off; SET jit = off; SET plan_cache_mode = force_generic_plan";
    raw_sql(settings).execute(&mut *conn).await.unwrap();
    let mut all = Vec::new();
    for (name, text) in punctual_store::statements() {
        let found = match plan(conn, text).await {
            Ok(plan) => whole_reads(&plan, false),
            Err(fault) => vec![format!("cannot be planned: {fault}")],
        };
        if !found.is_empty() {
            all.push((name, found.join("; ")));
        }
    }
    all
}

/// The plan of a statement for any values.
async fn plan(conn: &mut PgConnection, text: &str) -> Result<Value, sqlx::Error> {
    let count = prepare(conn, text).await?;
    let values = vec!["NULL"; count].join(", ");
    let values = if count == 0 { String::new() } else { format!("({values})") };
    let explain = format!("EXPLAIN (COSTS OFF, FORMAT JSON) EXECUTE p{values}");
    let row = raw_sql(AssertSqlSafe(explain)).fetch_one(&mut *conn).await?;
    raw_sql("DEALLOCATE p").execute(&mut *conn).await?;
    let text: String = row.try_get_unchecked(0)?;
    Ok(serde_json::from_str::<Value>(&text).unwrap()[0]["Plan"].take())
}

/// Prepares a statement as `p` and returns how many values it has. Their types follow from the text, but for some that
/// are only compared with nothing; the store binds those with a type, and here the types it has are tried in turn.
async fn prepare(conn: &mut PgConnection, text: &str) -> Result<usize, sqlx::Error> {
    const TYPES: [&str; 5] = ["text", "bigint", "boolean", "text[]", "bigint[]"];
    let digits = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok());
    let count: usize = text.split('$').skip(1).filter_map(digits).max().unwrap_or(0);
    let mut types = vec!["unknown"; count];
    let mut last = None;
    loop {
        let given = if count == 0 { String::new() } else { format!("({})", types.join(", ")) };
        let prepared =
            raw_sql(AssertSqlSafe(format!("PREPARE p {given} AS {text}"))).execute(&mut *conn).await;
        let Err(fault) = prepared else { return Ok(count) };
        let message = fault.to_string();
        let open = message.split("data type of parameter $").nth(1).and_then(digits);
        let at = match open {
            Some(n) => n - 1,
            // `CASE … THEN $1 END`, where $1 is now.
            None if message.contains("is of type bigint but expression is of type text") => 0,
            None => last.ok_or(fault)?,
        };
        let tried = TYPES.iter().position(|kind| *kind == types[at]);
        let next = if open.is_none() && last != Some(at) { 1 } else { tried.map_or(0, |tried| tried + 1) };
        let Some(kind) = TYPES.get(next) else { panic!("no type fits ${}: {message}\n{text}", at + 1) };
        types[at] = kind;
        last = Some(at);
    }
}

/// What a plan reads whole, or in large part: tables, and indexes that are walked without a condition that few rows meet.
fn whole_reads(node: &Value, is_limited: bool) -> Vec<String> {
    let text = |field: &str| node[field].as_str().unwrap_or_default();
    let (kind, table, index) = (text("Node Type"), text("Relation Name"), text("Index Name"));
    let mut found = Vec::new();
    // PostgreSQL plans reads of its catalogs by what the whole server holds: other databases come and go.
    let is_catalog = table.starts_with("pg_") || index.starts_with("pg_");
    if kind == "Seq Scan" && !is_catalog && !SMALL.contains(&table) {
        found.push(format!("reads {table} whole"));
    }
    let of_small =
        is_catalog || SMALL.iter().any(|small| *small == table || index.starts_with(&format!("{small}_")));
    let walks =
        kind.contains("Index") && !of_small && !SHORT.contains(&index) && !is_selective(text("Index Cond"));
    // A limit ends a walk in order; rows that a filter leaves out are walked over.
    if walks && !(is_limited && (node["Filter"].is_null() || !node["Index Cond"].is_null())) {
        found.push(format!("walks {index} with {:?} and {:?}", text("Index Cond"), text("Filter")));
    }
    let is_limited = match kind {
        "Limit" => true,
        "Sort" | "Aggregate" | "Hash" | "Hash Join" | "Bitmap Heap Scan" | "Materialize" | "ModifyTable" => {
            false
        }
        _ => is_limited,
    };
    let until_found = kind == "Nested Loop" && ["Semi", "Anti"].contains(&text("Join Type"));
    let under = node["Plans"].as_array().into_iter().flatten();
    found.extend(under.flat_map(|node| {
        let is_limited = match node["Parent Relationship"].as_str() {
            Some("InitPlan" | "SubPlan") => false,
            Some("Inner") if until_found => true,
            _ => is_limited,
        };
        whole_reads(node, is_limited)
    }));
    found
}

/// Whether a condition such as `((kind = $1) AND (ready_at <= $2))` compares a column that few rows share.
fn is_selective(condition: &str) -> bool {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let compared = condition.split('(').filter_map(|part| part.split(|c| !is_name(c)).next());
    compared.filter(|name| !name.is_empty()).any(|name| !BROAD.contains(&name))
}

/// Puts ten thousand rows into every table: numbers and texts that differ, the values that a check names in turn, and
/// nothing in a third of what may be null.
async fn fill_every_table(conn: &mut PgConnection) {
    let rows = sqlx::query(
        "SELECT c.table_name, c.column_name, c.data_type, c.is_nullable = 'YES' AS nullable,
                c.is_identity = 'YES' OR c.is_generated = 'ALWAYS' AS made,
                (SELECT STRING_AGG(PG_GET_CONSTRAINTDEF(k.oid), ' ') FROM pg_constraint AS k
                 JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attname = c.column_name
                 WHERE k.contype = 'c' AND k.conrelid = c.table_name::regclass AND k.conkey = ARRAY[a.attnum]) AS checks
         FROM information_schema.columns AS c JOIN information_schema.tables AS t USING (table_schema, table_name)
         WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' ORDER BY 1, c.ordinal_position",
    )
    .fetch_all(&mut *conn)
    .await
    .unwrap();
    let mut tables: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for row in &rows {
        let (table, column, kind): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        if row.get::<Option<bool>, _>("made") == Some(true) || table.starts_with('_') {
            continue;
        }
        let checks: Option<String> = row.get("checks");
        let words: Vec<String> = checks
            .iter()
            .flat_map(|checks| checks.split('\'').skip(1).step_by(2))
            .map(|word| format!("'{word}'"))
            .collect();
        let value = match kind.as_str() {
            "text" if !words.is_empty() => format!("(ARRAY[{}])[1 + n % {}]", words.join(", "), words.len()),
            "text" => "'k' || n".to_owned(),
            "boolean" => "n % 50 = 0".to_owned(),
            "bytea" => "'x'::bytea".to_owned(),
            _ => "n".to_owned(),
        };
        let value = if row.get("nullable") { format!("CASE WHEN n % 3 > 0 THEN {value} END") } else { value };
        tables.entry(table).or_default().push((column, value));
    }
    let constraints: Vec<(String, String)> = sqlx::query_as(
        "SELECT conrelid::regclass::text, conname::text FROM pg_constraint
         WHERE contype IN ('c', 'f') AND connamespace = 'public'::regnamespace AND conrelid <> 0",
    )
    .fetch_all(&mut *conn)
    .await
    .unwrap();
    for (table, name) in constraints {
        let drop = format!("ALTER TABLE {table} DROP CONSTRAINT {name}");
        raw_sql(AssertSqlSafe(drop)).execute(&mut *conn).await.unwrap();
    }
    for (table, columns) in tables {
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let values: Vec<&str> = columns.iter().map(|(_, value)| value.as_str()).collect();
        let fill = format!(
            // tidy-allow: the names are those of the schema
            "INSERT INTO {table} ({}) SELECT {} FROM GENERATE_SERIES(1, 10000) AS s(n) ON CONFLICT DO NOTHING",
            names.join(", "),
            values.join(", ")
        );
        raw_sql(AssertSqlSafe(fill))
            .execute(&mut *conn)
            .await
            .unwrap_or_else(|fault| panic!("{table}: {fault}"));
    }
    raw_sql("VACUUM ANALYZE").execute(&mut *conn).await.unwrap();
}
