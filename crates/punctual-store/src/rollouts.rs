//! The migration stage of a subject, or of all subjects of a business unit.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct RolloutRow {
    pub workflow: String,
    /// `subject` or `business_unit`.
    pub scope: String,
    pub scope_id: String,
    pub stage: i64,
    /// What was confirmed, by whom and when: a JSON object.
    pub checklist: String,
    /// The runs that were chosen at stage 2, by their ids: a JSON array; nothing where all that are asked for are meant.
    pub selected_runs: Option<String>,
    #[column(skip)]
    pub version: i64,
    #[column(skip)]
    pub created_at: Timestamp,
    #[column(skip)]
    pub updated_at: Timestamp,
}

const PUT: Sql = sql!(
    "rollouts.put", each RolloutRow, after 1,
    "INSERT INTO rollouts ({names}, created_at, updated_at) {values {*}, $1, $1}
     ON CONFLICT (workflow, scope, scope_id) DO UPDATE
     SET {replaced 3}, version = rollouts.version + 1, updated_at = $1",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, row: &RolloutRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], slice::from_ref(row))).await?;
    Ok(())
}

const GET: Sql = sql!(
    "rollouts.get", as RolloutRow,
    "SELECT {columns} FROM rollouts WHERE workflow = $1 AND scope = $2 AND scope_id = $3",
);
const LOCK: Sql = sql!(
    "rollouts.lock", as RolloutRow,
    "SELECT {columns} FROM rollouts WHERE workflow = $1 AND scope = $2 AND scope_id = $3{postgres  FOR UPDATE}",
);

#[boxed]
pub async fn get(
    conn: &mut Conn<'_>,
    workflow: &str,
    scope: &str,
    scope_id: &str,
) -> Result<Option<RolloutRow>> {
    conn.fetch_optional(&GET, args![workflow, scope, scope_id]).await
}

/// The rollout, held until the transaction ends.
#[boxed]
pub async fn lock(
    conn: &mut Conn<'_>,
    workflow: &str,
    scope: &str,
    scope_id: &str,
) -> Result<Option<RolloutRow>> {
    conn.fetch_optional(&LOCK, args![workflow, scope, scope_id]).await
}

const OVER: Sql = sql!(
    "rollouts.over", as RolloutRow,
    "SELECT {columns} FROM rollouts
     WHERE workflow = $1 AND ((scope = 'subject' AND scope_id = $2) OR (scope = 'business_unit' AND scope_id = $3))
     ORDER BY scope DESC",
);
const HOLD_OVER: Sql = sql!(
    "rollouts.hold_over", as RolloutRow,
    "SELECT {columns} FROM rollouts
     WHERE workflow = $1 AND ((scope = 'subject' AND scope_id = $2) OR (scope = 'business_unit' AND scope_id = $3))
     ORDER BY scope DESC{postgres  FOR SHARE}",
);

/// The rollout that a subject is under: its own before that of its business unit.
#[boxed]
pub async fn over(
    conn: &mut Conn<'_>,
    workflow: &str,
    subject_id: &str,
    business_unit: Option<&str>,
) -> Result<Option<RolloutRow>> {
    conn.fetch_optional(&OVER, args![workflow, subject_id, business_unit]).await
}

/// The same, held until the transaction ends: a stage does not change under a run that is being taken or delivered.
#[boxed]
pub async fn hold_over(
    conn: &mut Conn<'_>,
    workflow: &str,
    subject_id: &str,
    business_unit: Option<&str>,
) -> Result<Option<RolloutRow>> {
    conn.fetch_optional(&HOLD_OVER, args![workflow, subject_id, business_unit]).await
}

const PAGE: Sql = sql!(
    "rollouts.page", as RolloutRow,
    "SELECT {columns}
     FROM rollouts
     WHERE workflow = $1 AND (scope, scope_id) > ($2, $3)
       AND (CASE WHEN scope = 'business_unit' THEN {reach $5 scope_id}
            ELSE $5{postgres ::text[]} IS NULL OR EXISTS (
                SELECT 1 FROM report_subscriptions AS s
                WHERE s.guid = rollouts.scope_id AND {shared $5 s.business_unit}) END)
     ORDER BY scope, scope_id LIMIT $4",
);

/// Rollouts of business units and subscriptions that are within reach.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    reach: &Reach,
    workflow: &str,
    after: (&str, &str),
    limit: i64,
) -> Result<Vec<RolloutRow>> {
    conn.fetch_all(&PAGE, args![workflow, after.0, after.1, limit, reach]).await
}

const DELETE: Sql =
    sql!("rollouts.delete", "DELETE FROM rollouts WHERE workflow = $1 AND scope = $2 AND scope_id = $3");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, workflow: &str, scope: &str, scope_id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![workflow, scope, scope_id]).await? > 0)
}

crate::db::statements![PUT, GET, LOCK, OVER, HOLD_OVER, PAGE, DELETE];
