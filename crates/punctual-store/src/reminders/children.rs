//! What each counted source adds to which parent. Written with the child's own event, so that a parent is summed up
//! over an index and never by a scan.

use punctual_boxed::{Record, boxed};
use serde::{Deserialize, Serialize};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Record)]
pub struct ChildRow {
    pub setting_id: String,
    pub child_id: String,
    pub parent_id: String,
    /// A million for a count, the amount in millionths for a sum.
    pub amount_millionths: i64,
}

macro_rules! of {
    ($which:literal) => {
        concat!(
            "SELECT c.setting_id, c.child_id, c.parent_id, c.amount_millionths FROM reminder_children AS c ",
            $which
        )
    };
}
const OF: Sql = Sql::rows(
    "reminder_children.of",
    of!("WHERE c.setting_id = $1 AND c.child_id = $2"),
    of!("JOIN UNNEST($1::text[], $2::text[]) AS r(setting_id, child_id)
         ON c.setting_id = r.setting_id AND c.child_id = r.child_id"),
);

/// What these pairs of setting and child are counted as so far.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, pairs: &[(&str, &str)]) -> Result<Vec<ChildRow>> {
    let (settings, children): (Vec<&str>, Vec<&str>) = pairs.iter().copied().unzip();
    conn.fetch_all(&OF, args![settings, children]).await
}

macro_rules! put {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO reminder_children (setting_id, child_id, parent_id, amount_millionths)
    ",
            $values,
            "
    ON CONFLICT (setting_id, child_id) DO UPDATE
    SET parent_id = EXCLUDED.parent_id, amount_millionths = EXCLUDED.amount_millionths"
        )
    };
}
const PUT: Sql = Sql::rows(
    "reminder_children.put",
    put!("VALUES ($1, $2, $3, $4)"),
    put!(
        "SELECT r.setting_id, r.child_id, r.parent_id, r.amount_millionths
    FROM UNNEST($1::text[], $2::text[], $3::text[], $4::bigint[])
        AS r(setting_id, child_id, parent_id, amount_millionths)"
    ),
);

/// Counts children, each at most once for a setting.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, rows: &[ChildRow]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        column!(|c| c.setting_id.as_str()),
        column!(|c| c.child_id.as_str()),
        column!(|c| c.parent_id.as_str()),
        column!(|c| c.amount_millionths),
    ];
    conn.execute(&PUT, bound).await
}

const DELETE: Sql = Sql::rows(
    "reminder_children.delete",
    "DELETE FROM reminder_children WHERE setting_id = $1 AND child_id = $2",
    "DELETE FROM reminder_children USING UNNEST($1::text[], $2::text[]) AS r(setting_id, child_id)
     WHERE reminder_children.setting_id = r.setting_id AND reminder_children.child_id = r.child_id",
);

/// Counts children no longer.
#[boxed]
pub async fn delete(conn: &mut Conn<'_>, pairs: &[(&str, &str)]) -> Result<u64> {
    if pairs.is_empty() {
        return Ok(0);
    }
    let (settings, children): (Vec<&str>, Vec<&str>) = pairs.iter().copied().unzip();
    conn.execute(&DELETE, args![settings, children]).await
}

/// What the children of one parent come to.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct SumRow {
    pub setting_id: String,
    pub parent_id: String,
    pub total_millionths: i64,
}

macro_rules! sums {
    ($which:literal) => {
        concat!(
            "SELECT c.setting_id, c.parent_id, CAST(SUM(c.amount_millionths) AS BIGINT) AS total_millionths
     FROM reminder_children AS c ",
            $which,
            " GROUP BY c.setting_id, c.parent_id"
        )
    };
}
// Relies on reminder_children_by_parent.
const SUMS: Sql = Sql::rows(
    "reminder_children.sums",
    sums!("WHERE c.setting_id = $1 AND c.parent_id = $2"),
    sums!(
        "JOIN UNNEST($1::text[], $2::text[]) AS r(setting_id, parent_id)
         ON c.setting_id = r.setting_id AND c.parent_id = r.parent_id"
    ),
);

/// The sums of these pairs of setting and parent; those without children are left out.
#[boxed]
pub async fn sums(conn: &mut Conn<'_>, pairs: &[(&str, &str)]) -> Result<Vec<SumRow>> {
    let mut pairs = pairs.to_vec();
    pairs.sort_unstable();
    pairs.dedup();
    let (settings, parents): (Vec<&str>, Vec<&str>) = pairs.into_iter().unzip();
    conn.fetch_all(&SUMS, args![settings, parents]).await
}

crate::db::statements![OF, PUT, DELETE, SUMS];
