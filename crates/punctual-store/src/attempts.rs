//! Attempts: ledger and log. One row per target and attempt; the intent before the send, the result after it.

mod health;

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::AttemptOutcome;

pub use health::{HEALTH_ATTEMPTS, HEALTH_WINDOW, HealthRow, health};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// One attempt for one target.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct AttemptRow {
    pub notification_seq: i64,
    pub target: String,
    pub n: i64,
    pub node: String,
    pub channel: String,
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub outcome: Option<AttemptOutcome>,
    pub provider_id: Option<String>,
    pub answer: Option<String>,
}

/// What is about to be sent.
#[derive(Clone, Debug, SetRow)]
pub struct Intent {
    pub seq: i64,
    pub target: String,
    pub n: i64,
    pub channel: String,
}

pub(crate) const INTEND_ROWS: &str =
    "INSERT INTO attempts (notification_seq, target, n, channel, node, started_at) {values {*}, $2, $1}";

pub(crate) const INTEND: Sql = sql!("attempts.intend", each Intent, after 2, INTEND_ROWS);

/// Writes down what is about to be sent, and by which node.
#[boxed]
pub async fn intend(conn: &mut Conn<'_>, now: Timestamp, node: &str, intents: &[Intent]) -> Result<u64> {
    conn.execute(&INTEND, with_rows(args![now, node], intents)).await
}

/// What came of one attempt.
#[derive(Clone, Debug, SetRow)]
pub struct AttemptResult {
    pub seq: i64,
    pub target: String,
    pub n: i64,
    pub finished_at: Timestamp,
    pub outcome: AttemptOutcome,
    pub provider_id: Option<String>,
    pub answer: Option<String>,
}

// A late answer is kept even where the sweep had already called the attempt uncertain: it is the truth, and a
// recorded yes keeps the next attempt away from that target.
pub(crate) const RECORD_ROWS: &str = "UPDATE attempts
     SET finished_at = {.finished_at}, outcome = {.outcome}, provider_id = {.provider_id}, answer = {.answer}
     {from rows}
     WHERE attempts.notification_seq = {.seq} AND attempts.target = {.target} AND attempts.n = {.n}
       AND (attempts.outcome IS NULL OR attempts.outcome = 'uncertain')";

pub(crate) const RECORD: Sql = sql!("attempts.record", each AttemptResult, after 0, RECORD_ROWS);

/// Writes what came of attempts.
#[boxed]
pub async fn record(conn: &mut Conn<'_>, results: &[AttemptResult]) -> Result<u64> {
    conn.execute(&RECORD, with_rows(args![], results)).await
}

const RECORD_UNCERTAIN: Sql = sql!(
    "attempts.record_uncertain", each AttemptResult, after 0,
    "UPDATE attempts
     SET finished_at = {.finished_at}, outcome = 'uncertain', answer = {.answer}
     {from rows}
     WHERE attempts.notification_seq = {.seq} AND attempts.target = {.target} AND attempts.n = {.n}
       AND attempts.outcome IS NULL
     {postgres RETURNING notification_seq AS id}",
);

/// Writes that nobody knows what came of these attempts, and counts and logs them with their notifications. Returns how
/// many targets of each notification were marked by this call: one that was marked before is not counted again.
#[boxed]
pub async fn record_uncertain(conn: &mut Conn<'_>, results: &[AttemptResult]) -> Result<BTreeMap<i64, i64>> {
    let marked = conn.change(&RECORD_UNCERTAIN, with_rows(args![], results), |row| results[row].seq).await?;
    let counts = counted(marked);
    let error_of = |seq| results.iter().find(|result| result.seq == seq)?.answer.as_deref();
    count_uncertain(conn, &counts, error_of).await?;
    Ok(counts)
}

/// How often each number occurs.
fn counted(seqs: impl IntoIterator<Item = i64>) -> BTreeMap<i64, i64> {
    let mut counts = BTreeMap::new();
    for seq in seqs {
        *counts.entry(seq).or_default() += 1;
    }
    counts
}

const OF: Sql = sql!(
    "attempts.of", as AttemptRow,
    "SELECT {columns} FROM attempts WHERE notification_seq IN ({ints $1}) ORDER BY notification_seq, n, target",
);

/// Every attempt of these notifications, in order.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<Vec<AttemptRow>> {
    conn.fetch_all(&OF, args![seqs]).await
}

const LATEST: Sql = sql!(
    "attempts.latest", as AttemptRow,
    "SELECT {columns} FROM attempts WHERE notification_seq IN ({ints $1})
     ORDER BY started_at DESC, notification_seq DESC, n DESC, target
     LIMIT $2",
);

/// The latest attempts of these notifications, newest first.
#[boxed]
pub async fn latest(conn: &mut Conn<'_>, seqs: Vec<i64>, limit: i64) -> Result<Vec<AttemptRow>> {
    if seqs.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&LATEST, args![seqs, limit]).await
}

const UNCERTAIN: Sql = sql!(
    "attempts.mark_uncertain",
    "UPDATE attempts SET outcome = 'uncertain', finished_at = $1
     WHERE outcome IS NULL AND notification_seq IN ({ints $2})
     RETURNING notification_seq AS seq",
);

#[derive(SetRow)]
struct Doubt {
    wanted: i64,
    targets: i64,
}

const COUNT_UNCERTAIN: Sql = sql!(
    "notifications.count_uncertain", each Doubt, after 0,
    "UPDATE notifications SET uncertain = uncertain + {.targets} {from rows} WHERE seq = {.wanted}",
);

/// A notification with an attempt whose end nobody knows, as the log names it.
#[derive(Record)]
struct InDoubt {
    seq: i64,
    id: String,
    channel: String,
    attempts: i64,
}

const IN_DOUBT: Sql = sql!(
    "notifications.in_doubt", as InDoubt,
    "SELECT {columns} FROM notifications WHERE seq IN ({ints $1}) ORDER BY seq",
);

/// Adds to each notification the number of its targets whose outcome is uncertain, and writes a warning for each. Both
/// functions that mark attempts come here, so that none is marked and not counted or not logged.
async fn count_uncertain<'r>(
    conn: &mut Conn<'_>,
    counts: &BTreeMap<i64, i64>,
    error_of: impl Fn(i64) -> Option<&'r str>,
) -> Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    let rows: Vec<Doubt> = counts.iter().map(|(&wanted, &targets)| Doubt { wanted, targets }).collect();
    conn.execute(&COUNT_UNCERTAIN, with_rows(args![], &rows)).await?;
    let named: Vec<InDoubt> =
        conn.fetch_all(&IN_DOUBT, args![counts.keys().copied().collect::<Vec<_>>()]).await?;
    for row in named {
        tracing::warn!(
            notification.id = row.id,
            channel.key = row.channel,
            attempt = row.attempts,
            targets = counts.get(&row.seq).copied(),
            error = error_of(row.seq),
            "an attempt may or may not have reached its target"
        );
    }
    Ok(())
}

const WITHDRAW: Sql = sql!(
    "attempts.withdraw", each Intent, after 0,
    "DELETE FROM attempts {using rows}
     WHERE attempts.notification_seq = {.seq} AND attempts.target = {.target} AND attempts.n = {.n}
       AND attempts.outcome IS NULL",
);

/// Takes back intents whose calls were never started.
#[boxed]
pub async fn withdraw(conn: &mut Conn<'_>, intents: &[Intent]) -> Result<u64> {
    conn.execute(&WITHDRAW, with_rows(args![], intents)).await
}

#[derive(Record)]
struct Seq {
    seq: i64,
}

/// Marks intents without a result, whose node is gone: they may or may not have been sent. They are counted and logged
/// with their notifications. Returns how many targets of each notification were marked.
#[boxed]
pub async fn mark_uncertain(
    conn: &mut Conn<'_>,
    now: Timestamp,
    seqs: Vec<i64>,
) -> Result<BTreeMap<i64, i64>> {
    let rows: Vec<Seq> = conn.fetch_all(&UNCERTAIN, args![now, seqs]).await?;
    let counts = counted(rows.into_iter().map(|row| row.seq));
    count_uncertain(conn, &counts, |_| None).await?;
    Ok(counts)
}

crate::db::statements![INTEND, RECORD, RECORD_UNCERTAIN, WITHDRAW, OF, LATEST, UNCERTAIN, COUNT_UNCERTAIN, IN_DOUBT; health];
