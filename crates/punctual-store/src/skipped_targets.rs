//! Targets that were skipped when a notification was delivered, and why: there was no attempt.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// One target of one notification that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Record, SetRow)]
pub struct SkippedTarget {
    pub notification_seq: i64,
    pub target: String,
    /// Such as `suppressed`.
    pub reason: String,
    pub detail: Option<String>,
    #[column(skip)]
    pub at: Timestamp,
}

const PUT: Sql = sql!(
    "skipped_targets.put", each SkippedTarget, after 1,
    "INSERT INTO skipped_targets ({names}, at) {values {*}, $1}
     ON CONFLICT (notification_seq, target) DO UPDATE SET {replaced 2}, at = $1",
);

/// Records who was skipped, in the transaction that decides it.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[SkippedTarget]) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], rows)).await?;
    Ok(())
}

const OF: Sql = sql!(
    "skipped_targets.of", as SkippedTarget,
    "SELECT {columns} FROM skipped_targets WHERE notification_seq IN ({ints $1})
     ORDER BY notification_seq, target",
);

/// Who was skipped in these notifications.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<Vec<SkippedTarget>> {
    conn.fetch_all(&OF, args![seqs]).await
}

crate::db::statements![PUT, OF];
