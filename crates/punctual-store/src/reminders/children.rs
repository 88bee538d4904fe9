//! The contribution of each counted source to its parent. Written with the event of the child, so that sums over a parent use
//! an index instead of a scan.

use punctual_boxed::{Record, SetRow, boxed};
use serde::{Deserialize, Serialize};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Record, SetRow)]
pub struct ChildRow {
    pub setting_id: String,
    pub child_id: String,
    pub parent_id: String,
    /// A million for a count, the amount in millionths for a sum.
    pub amount_millionths: i64,
    /// That of the child. It counts for parents of the same one; a child without one counts for all.
    pub business_unit: Option<String>,
}

#[derive(SetRow)]
struct Child<'a> {
    setting_id: &'a str,
    child_id: &'a str,
}

fn children<'a>(pairs: &[(&'a str, &'a str)]) -> Vec<Child<'a>> {
    pairs.iter().map(|&(setting_id, child_id)| Child { setting_id, child_id }).collect()
}

const OF: Sql = sql!(
    "reminder_children.of", as ChildRow, each Child<'_>, after 0,
    "SELECT {columns c} FROM reminder_children AS c {join rows}
     WHERE c.setting_id = {.setting_id} AND c.child_id = {.child_id}",
);

/// What these pairs of setting and child are counted as so far.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, pairs: &[(&str, &str)]) -> Result<Vec<ChildRow>> {
    conn.fetch_all(&OF, with_rows(args![], &children(pairs))).await
}

const PUT: Sql = sql!(
    "reminder_children.put", each ChildRow, after 0,
    "INSERT INTO reminder_children ({names}) {values {*}}
     ON CONFLICT (setting_id, child_id) DO UPDATE SET {replaced 2}",
);

/// Counts children, each at most once for a setting.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, rows: &[ChildRow]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    conn.execute(&PUT, with_rows(args![], rows)).await
}

const DELETE: Sql = sql!(
    "reminder_children.delete", each Child<'_>, after 0,
    "DELETE FROM reminder_children {using rows}
     WHERE reminder_children.setting_id = {.setting_id} AND reminder_children.child_id = {.child_id}",
);

/// Stops counting children.
#[boxed]
pub async fn delete(conn: &mut Conn<'_>, pairs: &[(&str, &str)]) -> Result<u64> {
    if pairs.is_empty() {
        return Ok(0);
    }
    conn.execute(&DELETE, with_rows(args![], &children(pairs))).await
}

/// The sum over the children of one parent.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct SumRow {
    pub setting_id: String,
    pub parent_id: String,
    pub total_millionths: i64,
}

/// A parent under a setting, with its own business unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, SetRow)]
pub struct Parent<'a> {
    pub setting_id: &'a str,
    pub parent_id: &'a str,
    pub business_unit: Option<&'a str>,
}

// Relies on reminder_children_by_parent.
const SUMS: Sql = sql!(
    "reminder_children.sums", each Parent<'_>, after 0,
    "SELECT c.setting_id, c.parent_id, CAST(SUM(c.amount_millionths) AS BIGINT) AS total_millionths
     FROM reminder_children AS c {join rows}
     WHERE c.setting_id = {.setting_id} AND c.parent_id = {.parent_id}
       AND (c.business_unit IS NULL OR c.business_unit = {.business_unit})
     GROUP BY c.setting_id, c.parent_id",
);

/// The sums of these parents over the children of their own business unit and those without one; parents without
/// children are left out.
#[boxed]
pub async fn sums(conn: &mut Conn<'_>, mut parents: Vec<Parent<'_>>) -> Result<Vec<SumRow>> {
    parents.sort_unstable();
    parents.dedup();
    conn.fetch_all(&SUMS, with_rows(args![], &parents)).await
}

crate::db::statements![OF, PUT, DELETE, SUMS];
