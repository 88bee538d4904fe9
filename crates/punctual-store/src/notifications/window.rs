//! What one commit writes of calls: outcomes, results, and the intents of the calls that start next.
//!
//! On PostgreSQL it is one statement. A channel with ten permits has ten calls a commit at most, so what a commit takes decides how many
//! mails it sends, and four round trips were most of it.

use std::collections::HashSet;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use super::{
    claim::{HOLD, hold},
    settle::{Delivery, SETTLE, SETTLE_ROWS, settle},
};
use crate::{
    attempts::{self, AttemptResult, INTEND, INTEND_ROWS, Intent, RECORD, RECORD_ROWS},
    db::{Result, Sql, Tx, args, columns_of, joined_sql, with_rows},
};

/// What is to be written.
#[derive(Default)]
pub struct Window<'w> {
    pub deliveries: &'w [&'w Delivery],
    pub results: &'w [AttemptResult],
    /// Claims whose next calls are about to start, as number and token. They are locked until the transaction ends.
    pub next: &'w [(i64, i64)],
    /// The calls; those of a claim that has moved on are left out.
    pub intents: &'w [Intent],
}

/// The notifications whose tokens were still valid.
#[derive(Default)]
pub struct Written {
    pub settled: HashSet<i64>,
    pub held: HashSet<i64>,
}

#[derive(SetRow)]
struct Next {
    seq: i64,
    token: i64,
}

#[derive(Record)]
struct Valid {
    seq: i64,
    is_next: bool,
}

// The claims come first and the notifications before their attempts, as whoever sweeps takes them: the lists are read in
// this order, and the statements beside them run after.
const WINDOW: Sql = joined_sql!(
    "notifications.window", for [HOLD, SETTLE, RECORD, INTEND],
    each Next, after 2 => [
        "WITH held AS (
           SELECT notifications.seq {from rows}
           JOIN notifications ON notifications.seq = {.seq} AND notifications.version = {.token}
           ORDER BY notifications.seq FOR NO KEY UPDATE OF notifications
         ), ",
    ],
    each Delivery, after 4 => ["settled AS (", SETTLE_ROWS, "), "],
    each AttemptResult, after 14 => ["recorded AS (", RECORD_ROWS, "), "],
    each Intent, after 21 => [
        "intended AS (", INTEND_ROWS, " WHERE r.seq IN (SELECT seq FROM held))
         SELECT seq, TRUE AS is_next FROM held
         UNION ALL SELECT id, FALSE FROM settled",
    ],
);

/// Writes a window of calls; returns what was still claimed. The other rows have moved on: they are not settled, and their
/// next calls have no intents.
#[boxed]
pub async fn write_window(tx: &mut Tx, now: Timestamp, node: &str, window: &Window<'_>) -> Result<Written> {
    let kinds = [
        !window.deliveries.is_empty(),
        !window.results.is_empty(),
        !(window.next.is_empty() && window.intents.is_empty()),
    ];
    if !tx.conn().is_sqlite() && kinds.iter().filter(|is_wanted| **is_wanted).count() > 1 {
        return write_at_once(tx, now, node, window).await;
    }
    let mut written = Written::default();
    if !window.next.is_empty() {
        written.held = hold(tx, window.next).await?.into_iter().collect();
    }
    // The results are prepared while the database settles.
    let mut conn = tx.conn();
    let (settled, results) = tokio::join!(
        async {
            match window.deliveries {
                [] => Ok(Vec::new()),
                deliveries => settle(&mut conn, now, deliveries).await,
            }
        },
        async { with_rows(args![], window.results) }
    );
    written.settled = settled?.into_iter().collect();
    if !window.results.is_empty() {
        conn.execute(&RECORD, results).await?;
    }
    let is_held = |intent: &&Intent| written.held.contains(&intent.seq);
    let intents: Vec<Intent> = window.intents.iter().filter(is_held).cloned().collect();
    if !intents.is_empty() {
        attempts::intend(&mut tx.conn(), now, node, &intents).await?;
    }
    Ok(written)
}

async fn write_at_once(tx: &mut Tx, now: Timestamp, node: &str, window: &Window<'_>) -> Result<Written> {
    let next: Vec<Next> = window.next.iter().map(|&(seq, token)| Next { seq, token }).collect();
    let mut args = with_rows(args![now, node], &next);
    args.extend(columns_of(window.deliveries));
    args.extend(columns_of(window.results));
    args.extend(columns_of(window.intents));
    let valid: Vec<Valid> = tx.conn().fetch_all(&WINDOW, args).await?;
    let (held, settled): (Vec<_>, Vec<_>) = valid.into_iter().partition(|row| row.is_next);
    let seqs = |rows: Vec<Valid>| rows.into_iter().map(|row| row.seq).collect();
    Ok(Written { settled: seqs(settled), held: seqs(held) })
}

crate::db::statements![WINDOW];
