//! Attempts: ledger and log. One row per target and try; the intent before the send, the result after it.

mod health;

use jiff::Timestamp;
use punctual_boxed::boxed;
use serde::Deserialize;
use sqlx::FromRow;

pub use health::{HEALTH_TRIES, HEALTH_WINDOW, HealthRow, health};

use crate::db::{Conn, Result, Sql, args};

/// One try at one target.
#[derive(Clone, Debug, PartialEq, FromRow, Deserialize)]
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

macro_rules! count_uncertain {
    ($seqs:literal) => {
        concat!(
            "
    UPDATE notifications SET uncertain = uncertain + 1 WHERE seq IN (",
            $seqs,
            ")"
        )
    };
}
const COUNT_UNCERTAIN: Sql = Sql::each(
    "notifications.count_uncertain",
    count_uncertain!("SELECT value FROM json_each($1)"),
    count_uncertain!("SELECT UNNEST($1::bigint[])"),
);

/// Counts an uncertain try on each of these notifications, for the figure that people watch.
#[boxed]
pub async fn count_uncertain(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<u64> {
    conn.execute(&COUNT_UNCERTAIN, args![seqs]).await
}

#[derive(FromRow, Deserialize)]
struct Seq {
    seq: i64,
}

/// An intent without a result, whose node is gone, may or may not have been sent. Answers whose were.
#[boxed]
pub async fn mark_uncertain(conn: &mut Conn<'_>, now: Timestamp, seqs: Vec<i64>) -> Result<Vec<i64>> {
    let rows: Vec<Seq> = conn.fetch_all(&UNCERTAIN, args![now, seqs]).await?;
    Ok(rows.into_iter().map(|row| row.seq).collect())
}

crate::db::statements![INTEND, RECORD, OF, UNCERTAIN, COUNT_UNCERTAIN; health];
