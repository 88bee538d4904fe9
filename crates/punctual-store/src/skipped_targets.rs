//! Targets that were left out when a notification was delivered, and why: no try was made.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

/// One target of one notification that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct SkippedTarget {
    pub notification_seq: i64,
    pub target: String,
    /// Such as `suppressed`.
    pub reason: String,
    pub detail: Option<String>,
    pub at: i64,
}

macro_rules! put {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO skipped_targets (notification_seq, target, reason, detail, at)
    ",
            $values,
            "
    ON CONFLICT (notification_seq, target) DO UPDATE
    SET reason = EXCLUDED.reason, detail = EXCLUDED.detail, at = EXCLUDED.at"
        )
    };
}
const PUT: Sql = Sql::rows(
    "skipped_targets.put",
    put!("VALUES ($2, $3, $4, $5, $1)"),
    put!(
        "SELECT r.seq, r.target, r.reason, r.detail, $1
    FROM UNNEST($2::bigint[], $3::text[], $4::text[], $5::text[]) AS r(seq, target, reason, detail)"
    ),
);

/// Writes down who was left out, in the transaction that decides it.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[SkippedTarget]) -> Result<()> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        now,
        column!(|r| r.notification_seq),
        column!(|r| r.target.as_str()),
        column!(|r| r.reason.as_str()),
        column!(|r| r.detail.as_deref()),
    ];
    conn.execute(&PUT, bound).await?;
    Ok(())
}

macro_rules! of {
    ($seqs:literal) => {
        concat!(
            "
    SELECT notification_seq, target, reason, detail, at FROM skipped_targets WHERE notification_seq IN (",
            $seqs,
            ")
    ORDER BY notification_seq, target"
        )
    };
}
const OF: Sql = Sql::each(
    "skipped_targets.of",
    of!("SELECT value FROM json_each($1)"),
    of!("SELECT UNNEST($1::bigint[])"),
);

/// Who was left out of these notifications.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<Vec<SkippedTarget>> {
    conn.fetch_all(&OF, args![seqs]).await
}

crate::db::statements![PUT, OF];
