//! How far a subject, or all subjects of a business unit, have moved over from an old scheduler.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct RolloutRow {
    pub path: String,
    /// `subject` or `business_unit`.
    pub scope: String,
    pub scope_id: String,
    pub stage: i64,
    /// What was confirmed, by whom and when: a JSON object.
    pub checklist: String,
    pub version: i64,
    pub created_at: i64,
    pub updated_at: i64,
}

macro_rules! columns {
    () => {
        "path, scope, scope_id, stage, checklist, version, created_at, updated_at"
    };
}

const PUT: Sql = Sql::same(
    "rollouts.put",
    "INSERT INTO rollouts (path, scope, scope_id, stage, checklist, created_at, updated_at)
     VALUES ($2, $3, $4, $5, $6, $1, $1)
     ON CONFLICT (path, scope, scope_id) DO UPDATE
     SET stage = EXCLUDED.stage, checklist = EXCLUDED.checklist, version = rollouts.version + 1,
         updated_at = EXCLUDED.updated_at",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, row: &RolloutRow) -> Result<()> {
    let bound = args![now, &row.path, &row.scope, &row.scope_id, row.stage, &row.checklist];
    conn.execute(&PUT, bound).await?;
    Ok(())
}

macro_rules! get {
    ($lock:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM rollouts WHERE path = $1 AND scope = $2 AND scope_id = $3",
            $lock
        )
    };
}
const GET: Sql = Sql::same("rollouts.get", get!(""));
const LOCK: Sql = Sql::each("rollouts.lock", get!(""), get!(" FOR UPDATE"));

#[boxed]
pub async fn get(conn: &mut Conn<'_>, path: &str, scope: &str, scope_id: &str) -> Result<Option<RolloutRow>> {
    conn.fetch_optional(&GET, args![path, scope, scope_id]).await
}

/// The rollout, held until the transaction ends.
#[boxed]
pub async fn lock(
    conn: &mut Conn<'_>,
    path: &str,
    scope: &str,
    scope_id: &str,
) -> Result<Option<RolloutRow>> {
    conn.fetch_optional(&LOCK, args![path, scope, scope_id]).await
}

macro_rules! over {
    ($lock:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM rollouts
     WHERE path = $1 AND ((scope = 'subject' AND scope_id = $2) OR (scope = 'business_unit' AND scope_id = $3))
     ORDER BY scope DESC",
            $lock
        )
    };
}
const OVER: Sql = Sql::same("rollouts.over", over!(""));
const HOLD_OVER: Sql = Sql::each("rollouts.hold_over", over!(""), over!(" FOR SHARE"));

/// The rollout that a subject is under: its own before that of its business unit.
#[boxed]
pub async fn over(
    conn: &mut Conn<'_>,
    path: &str,
    subject_id: &str,
    business_unit: Option<&str>,
) -> Result<Option<RolloutRow>> {
    conn.fetch_optional(&OVER, args![path, subject_id, business_unit]).await
}

/// The same, held until the transaction ends: a stage does not change under a run that is being taken or delivered.
#[boxed]
pub async fn hold_over(
    conn: &mut Conn<'_>,
    path: &str,
    subject_id: &str,
    business_unit: Option<&str>,
) -> Result<Option<RolloutRow>> {
    conn.fetch_optional(&HOLD_OVER, args![path, subject_id, business_unit]).await
}

const PAGE: Sql = Sql::same(
    "rollouts.page",
    concat!(
        "SELECT ",
        columns!(),
        " FROM rollouts WHERE path = $1 AND (scope, scope_id) > ($2, $3) ORDER BY scope, scope_id LIMIT $4"
    ),
);

#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    path: &str,
    after: (&str, &str),
    limit: i64,
) -> Result<Vec<RolloutRow>> {
    conn.fetch_all(&PAGE, args![path, after.0, after.1, limit]).await
}

const DELETE: Sql =
    Sql::same("rollouts.delete", "DELETE FROM rollouts WHERE path = $1 AND scope = $2 AND scope_id = $3");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, path: &str, scope: &str, scope_id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![path, scope, scope_id]).await? > 0)
}

crate::db::statements![PUT, GET, LOCK, OVER, HOLD_OVER, PAGE, DELETE];
