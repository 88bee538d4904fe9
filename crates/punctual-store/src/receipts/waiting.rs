//! Messages that a provider took and that did not arrive: they wait until a person has seen them.

use punctual_boxed::{Record, boxed};

use crate::{
    attention::WaitingRow,
    db::{Conn, Result, Sql, args},
};

macro_rules! failed {
    ($hint:literal, $units:literal) => {
        concat!(
            "FROM receipts AS r ",
            $hint,
            " JOIN notifications AS n ON n.seq = r.notification_seq
     WHERE r.needs_person AND (NOT $1 OR n.business_unit IS NULL OR n.business_unit IN (",
            $units,
            "))"
        )
    };
}
macro_rules! list_failed {
    ($hint:literal, $units:literal) => {
        concat!(
            "SELECT n.id, n.kind, n.subject AS title, 'not-delivered' AS reason,
             COALESCE(r.target, '') || COALESCE(': ' || r.detail, '') AS answer, COALESCE(r.failed_at, 0) AS since ",
            failed!($hint, $units),
            " ORDER BY r.failed_at DESC LIMIT $2"
        )
    };
}
macro_rules! count_failed {
    ($hint:literal, $units:literal) => {
        concat!("SELECT COUNT(*) AS count FROM (SELECT 1 AS one ", failed!($hint, $units), " LIMIT $2) AS f")
    };
}
const FAILED: Sql = Sql::each(
    "receipts.waiting",
    list_failed!("INDEXED BY receipts_waiting", "SELECT value FROM json_each($3)"),
    list_failed!("", "SELECT UNNEST($3::text[])"),
);
const COUNT_FAILED: Sql = Sql::each(
    "receipts.count_waiting",
    count_failed!("INDEXED BY receipts_waiting", "SELECT value FROM json_each($3)"),
    count_failed!("", "SELECT UNNEST($3::text[])"),
);

/// Those that nobody has seen yet, newest first, for someone who sees these business units (or all).
#[boxed]
pub async fn failed(conn: &mut Conn<'_>, units: Option<&[String]>, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&FAILED, args![units.is_some(), limit, units.unwrap_or_default().to_vec()]).await
}

#[derive(Record)]
struct Count {
    count: i64,
}

#[boxed]
pub async fn count_failed(conn: &mut Conn<'_>, units: Option<&[String]>, bound: i64) -> Result<i64> {
    let args = args![units.is_some(), bound, units.unwrap_or_default().to_vec()];
    let row: Count = conn.fetch_one(&COUNT_FAILED, args).await?;
    Ok(row.count)
}

const SEEN: Sql = Sql::same(
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
