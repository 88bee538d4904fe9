//! The database: its settings, its clock, the master key of its secrets, rows that do not move, retention, and on PostgreSQL
//! what keeps it from cleaning up.

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{FailingChore, PurgeReport, failing_chores, secrets::key_in_use};
use punctual_model::{Clock, Reach};
use punctual_store::{
    Store, StoreError, attention, database_clock,
    doctor::{self, OpenTransaction},
    facts,
    nodes::{self, NodeRow},
    notifications::{self, AsOf},
    restored,
};

use super::Finding;
use crate::{clock::SystemClock, config::Config, master_key};

/// A clock that is off by more is wrong.
const WRONG_BY: SignedDuration = SignedDuration::from_secs(2);
/// A transaction that is open for longer holds others up.
const LONG: SignedDuration = SignedDuration::from_mins(10);
/// A purge runs every day; one that did not for so long does not run.
const NO_PURGE: SignedDuration = SignedDuration::from_hours(24 * 3);
/// Fewer dead rows than this are of no weight.
const DEAD_ROWS: i64 = 100_000;
/// Counting stops here.
const COUNTED: i64 = 10_000;

pub(super) async fn look(config: &Config, store: &Store, clock: &SystemClock) -> Result<Vec<Finding>> {
    let mut findings = vec![durability(store)];
    findings.extend(time(config, store, clock).await?);
    findings.extend(key(config, store).await?);
    findings.extend(rows(config, store, clock.now()).await?);
    findings.push(retention(store, clock.now()).await?);
    findings.extend(failing(store, clock.now()).await?);
    if !store.is_single_process() {
        findings.extend(cleaning(store).await?);
    }
    Ok(findings)
}

fn durability(store: &Store) -> Finding {
    let found = store.durability();
    let settings: Vec<String> =
        found.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let what = format!("{} {}, {}", found.database, found.version, settings.join(", "));
    // A look beside the owner has settings of its own; a SQLite file is owned with strong ones or not at all.
    if found.survives_power_loss || store.is_single_process() {
        return Finding::well("database", what);
    }
    Finding::error(
        "database",
        format!("acknowledged rows may be lost at a power cut: {what}"),
        "Set fsync, full_page_writes and synchronous_commit to `on`, and reload PostgreSQL.",
    )
}

async fn time(config: &Config, store: &Store, clock: &SystemClock) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut reader = store.read().await?;
    let compared = if store.is_single_process() { Compared::WithItsPast } else { Compared::WithTheDatabase };
    let now = match compared {
        Compared::WithItsPast => {
            let what = format!("{}; there is no other clock to compare it with", clock.now());
            findings.push(Finding::well("clock of this machine", what));
            clock.now()
        }
        Compared::WithTheDatabase => {
            let before = clock.now();
            let theirs = database_clock::now(&mut reader.conn()).await?;
            let middle = before + clock.now().duration_since(before) / 2;
            findings.push(offset("clock of this machine", middle.duration_since(theirs), compared));
            theirs
        }
    };
    let nodes = nodes::all(&mut reader.conn()).await?;
    findings.push(running(&nodes, now, SignedDuration::try_from(config.lease)?));
    for node in nodes {
        let off = SignedDuration::from_millis(node.clock_offset_ms);
        findings.push(offset(&format!("clock of node {}", node.node), off, compared));
    }
    Ok(findings)
}

/// Whether anybody sends what is due.
fn running(nodes: &[NodeRow], now: Timestamp, lease: SignedDuration) -> Finding {
    let is_seen = |node: &&NodeRow| now.duration_since(node.last_seen_at) < lease;
    let working = nodes.iter().filter(|node| node.role != "api").filter(is_seen).count();
    if working == 0 {
        return Finding::warning(
            "nodes",
            "no node works: nothing is sent",
            "Start one (`punctual serve`, with --role all or worker); its log says why it ends.",
        );
    }
    Finding::well("nodes", format!("{working} at work"))
}

/// What a node's time follows.
#[derive(Clone, Copy)]
enum Compared {
    /// The database has no clock of its own: the machine's, which never goes back.
    WithItsPast,
    WithTheDatabase,
}

fn offset(subject: &str, off: SignedDuration, compared: Compared) -> Finding {
    let what = format!("{} ms off the time that nodes go by", off.as_millis());
    if off.abs() <= WRONG_BY {
        return Finding::well(subject, what);
    }
    let repair = match compared {
        Compared::WithTheDatabase => {
            "Set the clock right, with NTP; nodes go by the database's time meanwhile."
        }
        Compared::WithItsPast => {
            "If the clock is wrong, set it right, with NTP. If it is right, it was ahead before: time runs at half speed until both agree, and messages are late for as long."
        }
    };
    Finding::warning(subject, what, repair)
}

async fn key(config: &Config, store: &Store) -> Result<Option<Finding>> {
    let mut reader = store.read().await?;
    let Some(needed) = key_in_use(&mut reader.conn()).await? else { return Ok(None) };
    let repair =
        "Put the key file back, or copy it from a node that has it; without it channels have no secrets.";
    Ok(Some(match master_key::open_present(config) {
        Ok(vault) if vault.has(&needed) => Finding::well("master key", format!("`{needed}` is there")),
        Ok(_) => {
            Finding::error("master key", format!("the database uses `{needed}`, which is not there"), repair)
        }
        Err(error) => Finding::error("master key", format!("`{needed}` is needed: {error:#}"), repair),
    }))
}

async fn rows(config: &Config, store: &Store, now: Timestamp) -> Result<Vec<Finding>> {
    let ago = |time: SignedDuration| now.checked_sub(time).unwrap_or(Timestamp::MIN);
    let stuck_before = ago(SignedDuration::try_from(config.stuck_after)?).as_microsecond();
    let as_of =
        AsOf { now: now.as_microsecond(), stuck_before, since: now.as_microsecond(), held_back: None };
    let mut reader = store.read().await?;
    let conn = &mut reader.conn();
    let everything = Reach::Everything;
    let stuck = notifications::kpis(conn, as_of, None).await?.stuck;
    let waiting = attention::counts(conn, &everything, COUNTED).await?;
    let failed = attention::count_failed(conn, &everything, COUNTED).await?;
    let lease = SignedDuration::try_from(config.lease)?;
    let locked = nodes::count_locked(conn, &everything, ago(lease), COUNTED).await?;
    let left = restored::left(conn, COUNTED).await?;
    let count = |count: i64, subject: &str, what: &str, repair: &str| {
        let found = format!("{count} {what}");
        if count == 0 { Finding::well(subject, found) } else { Finding::warning(subject, found, repair) }
    };
    Ok(vec![
        count(
            stuck,
            "queue",
            "messages wait for longer than they should",
            "Look at Channels: a limit, an open circuit or no worker.",
        ),
        count(
            locked,
            "claims",
            "rows have a claim that ran out and that nobody took over",
            "Look at the log of a node that works; start one.",
        ),
        count(
            waiting.held,
            "work on hold",
            "rows wait for a person",
            "Repair the cause and release them: console, Attention.",
        ),
        count(
            waiting.parked + waiting.events,
            "parked",
            "messages are not retried by themselves",
            "Retry or discard them: console, Outbox.",
        ),
        count(
            failed,
            "failed work",
            "rows failed for good",
            "Repair the cause and retry them, or cancel them.",
        ),
        count(
            left.work + left.notifications,
            "restore",
            "rows are in doubt because of a restore",
            "Release or discard them: console, After a restore.",
        ),
    ])
}

async fn retention(store: &Store, now: Timestamp) -> Result<Finding> {
    let mut reader = store.read().await?;
    let last = facts::get(&mut reader.conn(), "purge.last").await?;
    let last: Option<PurgeReport> = last.and_then(|text| serde_json::from_str(&text).ok());
    Ok(match last {
        None => {
            Finding::well("retention", "no purge has run yet; the first is due a day after the first start")
        }
        Some(PurgeReport { held_back: Some(rows), .. }) => Finding::warning(
            "retention",
            format!("the last purge is held back: {rows} messages are past their time, an unusual share"),
            "If the clock is right, confirm it: POST /api/v1/retention/purge {\"confirm\": true}.",
        ),
        Some(report) if now.duration_since(report.at) > NO_PURGE => Finding::warning(
            "retention",
            format!("the last purge was at {}", report.at),
            "Start a node that works; its log says why a purge fails.",
        ),
        Some(report) => Finding::well(
            "retention",
            format!("the last purge, at {}, removed {}", report.at, report.removed),
        ),
    })
}

/// What is done regularly and fails each time.
async fn failing(store: &Store, now: Timestamp) -> Result<Vec<Finding>, StoreError> {
    let mut reader = store.read().await?;
    let failing = failing_chores(&mut reader.conn(), now).await?;
    let finding = |chore: FailingChore| {
        let what = format!("fails since {}, {} times in a row: {}", chore.since, chore.times, chore.error);
        Finding::warning(
            chore.title,
            what,
            "Repair what the error names; the log of a node that works has more.",
        )
    };
    Ok(failing.into_iter().map(finding).collect())
}

async fn cleaning(store: &Store) -> Result<Vec<Finding>, StoreError> {
    let mut reader = store.read().await?;
    let conn = &mut reader.conn();
    let now = database_clock::now(conn).await?;
    let mut findings = Vec::new();
    if !doctor::vacuums(conn).await? {
        let repair = "Set `autovacuum = on`, and reload PostgreSQL.";
        findings.push(Finding::error("autovacuum", "it is off: dead rows stay for good", repair));
    }
    let hidden = doctor::hidden_sessions(conn).await?;
    if hidden > 0 {
        findings.push(Finding::warning(
            "snapshots",
            format!(
                "{hidden} sessions of other roles cannot be read: their open transactions are not checked"
            ),
            "As a superuser: GRANT pg_read_all_stats TO the role in `database_url`.", // tidy-allow: words for an operator
        ));
    }
    let open = doctor::open_transactions(conn).await?;
    findings.extend(open.iter().filter_map(|open| snapshot(open, now)));
    for keeper in doctor::keepers(conn).await? {
        let name = keeper.name.replace('\'', "''");
        let (what, repair) = match keeper.kind.as_str() {
            "slot" => (
                "a replication slot that nobody reads keeps the log",
                format!("SELECT pg_drop_replication_slot('{name}')"), // tidy-allow: words for an operator
            ),
            _ => ("a prepared transaction keeps rows and locks", format!("ROLLBACK PREPARED '{name}'")),
        };
        findings.push(Finding::warning(
            "snapshots",
            format!("{what}: `{}`", keeper.name),
            format!("End it where it is not needed: {repair}."),
        ));
    }
    for table in doctor::bloat(conn, DEAD_ROWS).await? {
        findings.push(Finding::warning(
            format!("table {}", table.name),
            format!("{} dead rows beside {} live ones", table.dead, table.live),
            format!(
                "End what holds snapshots, then VACUUM {}; lower its autovacuum_vacuum_scale_factor.",
                table.name
            ),
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::well("snapshots", "nothing keeps dead rows"));
    }
    Ok(findings)
}

/// A transaction that is open for too long.
fn snapshot(open: &OpenTransaction, now: Timestamp) -> Option<Finding> {
    let OpenTransaction { pid, name, state, since } = open;
    let since = Timestamp::from_microsecond(*since).ok().filter(|since| now.duration_since(*since) > LONG)?;
    Some(Finding::warning(
        "snapshots",
        format!(
            "a transaction of `{name}` ({state}) is open since {since}: rows changed since then stay in tables and indexes"
        ),
        format!("End it where it is not needed: SELECT pg_terminate_backend({pid})."), // tidy-allow: words for an operator
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_found_once_it_is_open_for_ten_minutes() {
        let now: Timestamp = "2026-05-14T05:20:00Z".parse().unwrap();
        let open = |since: &str| OpenTransaction {
            pid: 7,
            name: "dump".to_owned(),
            state: "active".to_owned(),
            since: since.parse::<Timestamp>().unwrap().as_microsecond(),
        };
        assert!(snapshot(&open("2026-05-14T05:15:00Z"), now).is_none());
        let found = snapshot(&open("2026-05-14T05:00:00Z"), now).expect("a finding");
        assert!(found.repair.contains("pg_terminate_backend(7)"), "{found:?}");
    }

    #[test]
    fn a_clock_is_wrong_from_two_seconds_on() {
        use super::super::Severity;
        assert_eq!(
            offset("c", SignedDuration::from_millis(-1_900), Compared::WithTheDatabase).severity,
            Severity::Well
        );
        assert_eq!(
            offset("c", SignedDuration::from_millis(-2_100), Compared::WithTheDatabase).severity,
            Severity::Warning
        );
    }
}
