//! Messages that a provider accepted but did not deliver; they need attention until a person acknowledges them.

use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use crate::{
    attention::WaitingRow,
    db::{Conn, Result, Sql, args, sql},
};

const NOT_DELIVERED: &str = "FROM receipts AS r {sqlite INDEXED BY receipts_waiting}
         JOIN notifications AS n ON n.seq = r.notification_seq
     WHERE r.needs_person AND {reach $1 n.business_unit}";

const FAILED: Sql = sql!(
    "receipts.waiting",
    "SELECT n.id, n.kind, n.subject AS title, 'not-delivered' AS reason,
         COALESCE(r.target, '') || COALESCE(': ' || r.detail, '') AS answer, COALESCE(r.failed_at, 0) AS since ",
    NOT_DELIVERED,
    " ORDER BY r.failed_at DESC LIMIT $2",
);
const COUNT_FAILED: Sql = sql!(
    "receipts.count_waiting",
    "SELECT COUNT(*) AS count FROM (SELECT 1 AS one ",
    NOT_DELIVERED,
    " LIMIT $2) AS f",
);

/// Those that nobody has seen yet, newest first, of what is within reach.
#[boxed]
pub async fn failed(conn: &mut Conn<'_>, reach: &Reach, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&FAILED, args![reach, limit]).await
}

#[derive(Record)]
struct Count {
    count: i64,
}

#[boxed]
pub async fn count_failed(conn: &mut Conn<'_>, reach: &Reach, bound: i64) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT_FAILED, args![reach, bound]).await?;
    Ok(row.count)
}

const SEEN: Sql = sql!(
    "receipts.seen",
    "UPDATE receipts SET needs_person = FALSE
     WHERE notification_seq IS NOT NULL AND notification_seq = $1 AND needs_person",
);

/// A person has seen which targets of this notification were not reached; returns how many.
#[boxed]
pub async fn seen(conn: &mut Conn<'_>, seq: i64) -> Result<u64> {
    conn.execute(&SEEN, args![seq]).await
}

crate::db::statements![FAILED, COUNT_FAILED, SEEN];
