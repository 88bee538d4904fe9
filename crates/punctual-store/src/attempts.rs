//! Attempts: ledger and log. One row per target and try; the intent before the send, the result after it.

mod health;

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

pub use health::{HEALTH_TRIES, HEALTH_WINDOW, HealthRow, health};

use crate::db::{Conn, Result, Sql, args};

/// One try at one target.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct AttemptRow {
    pub notification_seq: i64,
    pub target: String,
    pub n: i64,
    pub node: String,
    pub channel: String,
    pub started_at: i64,
    pub finished_at: Option<i64>,
    pub outcome: Option<String>,
    pub provider_id: Option<String>,
    pub answer: Option<String>,
}

/// What is about to be sent.
#[derive(Clone, Debug)]
pub struct Intent {
    pub seq: i64,
    pub target: String,
    pub n: i64,
    pub channel: String,
}

macro_rules! intend {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO attempts (notification_seq, target, n, node, channel, started_at)
    ",
            $values
        )
    };
}
const INTEND: Sql = Sql::rows(
    "attempts.intend",
    intend!("VALUES ($3, $4, $5, $2, $6, $1)"),
    intend!(
        "SELECT r.seq, r.target, r.n, $2, r.channel, $1
    FROM UNNEST($3::bigint[], $4::text[], $5::bigint[], $6::text[]) AS r(seq, target, n, channel)"
    ),
);

/// Writes down what is about to be sent, and by which node.
#[boxed]
pub async fn intend(conn: &mut Conn<'_>, now: Timestamp, node: &str, intents: &[Intent]) -> Result<u64> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            intents.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    conn.execute(
        &INTEND,
        args![
            now,
            node,
            column!(|i| i.seq),
            column!(|i| i.target.as_str()),
            column!(|i| i.n),
            column!(|i| i.channel.as_str()),
        ],
    )
    .await
}

/// What came of one try.
#[derive(Clone, Debug)]
pub struct AttemptResult {
    pub seq: i64,
    pub target: String,
    pub n: i64,
    pub finished_at: Timestamp,
    pub outcome: &'static str,
    pub provider_id: Option<String>,
    pub answer: Option<String>,
}

// A late answer is kept even where the sweep had already called the attempt uncertain: it is the truth, and a
// recorded yes keeps the next try away from that target.
const RECORD: Sql = Sql::rows(
    "attempts.record",
    "UPDATE attempts
     SET finished_at = $4, outcome = $5, provider_id = $6, answer = $7
     WHERE notification_seq = $1 AND target = $2 AND n = $3 AND (outcome IS NULL OR outcome = 'uncertain')",
    "UPDATE attempts
     SET finished_at = r.finished_at, outcome = r.outcome, provider_id = r.provider_id, answer = r.answer
     FROM UNNEST($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[])
         AS r(seq, target, n, finished_at, outcome, provider_id, answer)
     WHERE attempts.notification_seq = r.seq AND attempts.target = r.target AND attempts.n = r.n
       AND (attempts.outcome IS NULL OR attempts.outcome = 'uncertain')",
);

/// Writes what came of tries.
#[boxed]
pub async fn record(conn: &mut Conn<'_>, results: &[AttemptResult]) -> Result<u64> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            results.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    conn.execute(
        &RECORD,
        args![
            column!(|r| r.seq),
            column!(|r| r.target.as_str()),
            column!(|r| r.n),
            column!(|r| r.finished_at),
            column!(|r| r.outcome),
            column!(|r| r.provider_id.as_deref()),
            column!(|r| r.answer.as_deref()),
        ],
    )
    .await
}

const RECORD_UNCERTAIN: Sql = Sql::rows(
    "attempts.record_uncertain",
    "UPDATE attempts
     SET finished_at = $4, outcome = 'uncertain', answer = $5
     WHERE notification_seq = $1 AND target = $2 AND n = $3 AND outcome IS NULL",
    "UPDATE attempts
     SET finished_at = r.finished_at, outcome = 'uncertain', answer = r.answer
     FROM UNNEST($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])
         AS r(seq, target, n, finished_at, answer)
     WHERE attempts.notification_seq = r.seq AND attempts.target = r.target AND attempts.n = r.n
       AND attempts.outcome IS NULL
     RETURNING notification_seq AS id",
);

/// Writes that nobody knows what came of these tries. Returns how many targets of each notification were marked by this
/// call: one that was marked before is not counted again.
#[boxed]
pub async fn record_uncertain(conn: &mut Conn<'_>, results: &[AttemptResult]) -> Result<BTreeMap<i64, i64>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            results.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        column!(|r| r.seq),
        column!(|r| r.target.as_str()),
        column!(|r| r.n),
        column!(|r| r.finished_at),
        column!(|r| r.answer.as_deref()),
    ];
    Ok(counted(conn.change(&RECORD_UNCERTAIN, bound, |row| results[row].seq).await?))
}

/// How often each number occurs.
fn counted(seqs: impl IntoIterator<Item = i64>) -> BTreeMap<i64, i64> {
    let mut counts = BTreeMap::new();
    for seq in seqs {
        *counts.entry(seq).or_default() += 1;
    }
    counts
}

macro_rules! of { ($seqs:literal) => { concat!("
    SELECT notification_seq, target, n, node, channel, started_at, finished_at, outcome, provider_id, answer
    FROM attempts WHERE notification_seq IN (", $seqs, ")
    ORDER BY notification_seq, n, target") } }
const OF: Sql =
    Sql::each("attempts.of", of!("SELECT value FROM json_each($1)"), of!("SELECT UNNEST($1::bigint[])"));

/// Every try of these notifications, in order.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<Vec<AttemptRow>> {
    conn.fetch_all(&OF, args![seqs]).await
}

macro_rules! uncertain {
    ($seqs:literal) => {
        concat!(
            "
    UPDATE attempts SET outcome = 'uncertain', finished_at = $1
    WHERE outcome IS NULL AND notification_seq IN (",
            $seqs,
            ")
    RETURNING notification_seq AS seq"
        )
    };
}
const UNCERTAIN: Sql = Sql::each(
    "attempts.mark_uncertain",
    uncertain!("SELECT value FROM json_each($2)"),
    uncertain!("SELECT UNNEST($2::bigint[])"),
);

const COUNT_UNCERTAIN: Sql = Sql::rows(
    "notifications.count_uncertain",
    "UPDATE notifications SET uncertain = uncertain + $2 WHERE seq = $1",
    "UPDATE notifications SET uncertain = uncertain + r.targets
     FROM UNNEST($1::bigint[], $2::bigint[]) AS r(wanted, targets)
     WHERE seq = r.wanted",
);

/// Adds to each notification the number of its targets whose outcome is uncertain.
#[boxed]
pub async fn count_uncertain(conn: &mut Conn<'_>, counts: &BTreeMap<i64, i64>) -> Result<u64> {
    let (seqs, targets): (Vec<i64>, Vec<i64>) = counts.iter().map(|(seq, count)| (*seq, *count)).unzip();
    conn.execute(&COUNT_UNCERTAIN, args![seqs, targets]).await
}

const WITHDRAW: Sql = Sql::rows(
    "attempts.withdraw",
    "DELETE FROM attempts WHERE notification_seq = $1 AND target = $2 AND n = $3 AND outcome IS NULL",
    "DELETE FROM attempts
     USING UNNEST($1::bigint[], $2::text[], $3::bigint[]) AS r(seq, target, n)
     WHERE attempts.notification_seq = r.seq AND attempts.target = r.target AND attempts.n = r.n
       AND attempts.outcome IS NULL",
);

/// Takes back intents whose calls were never started.
#[boxed]
pub async fn withdraw(conn: &mut Conn<'_>, intents: &[Intent]) -> Result<u64> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            intents.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![column!(|i| i.seq), column!(|i| i.target.as_str()), column!(|i| i.n)];
    conn.execute(&WITHDRAW, bound).await
}

#[derive(Record)]
struct Seq {
    seq: i64,
}

/// Marks intents without a result, whose node is gone: they may or may not have been sent. Returns how many targets of
/// each notification were marked.
#[boxed]
pub async fn mark_uncertain(
    conn: &mut Conn<'_>,
    now: Timestamp,
    seqs: Vec<i64>,
) -> Result<BTreeMap<i64, i64>> {
    let rows: Vec<Seq> = conn.fetch_all(&UNCERTAIN, args![now, seqs]).await?;
    Ok(counted(rows.into_iter().map(|row| row.seq)))
}

crate::db::statements![INTEND, RECORD, RECORD_UNCERTAIN, WITHDRAW, OF, UNCERTAIN, COUNT_UNCERTAIN; health];
