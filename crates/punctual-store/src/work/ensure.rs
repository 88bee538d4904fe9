//! The statements of `ensure` for existing rows: lock, read and update them.
//!
//! The engine decides, on plain values, which statement a row needs.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{InputHash, NewWork, WorkStatus};

use super::STARTS_AGAIN;
use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// What `ensure` needs to know about a row that is already there.
#[derive(Debug, Clone, Record)]
pub struct Existing {
    pub id: i64,
    pub key: String,
    pub status: WorkStatus,
    pub on_hold: bool,
    pub cancelled_by_person: bool,
    pub due_at: Timestamp,
    pub local_date: Option<String>,
    pub time_zone: Option<String>,
    pub input_hash: String,
    pub result: Option<String>,
    pub business_unit: Option<String>,
    pub version: i64,
}

// Relies on work_by_key.
const LOCK_EXISTING: Sql = sql!(
    "work.lock_existing", as Existing, each Wanted<'_>, after 0,
    "SELECT {columns w} FROM
     {sqlite work AS w WHERE w.key = {.key}}{postgres work_keys AS k JOIN work AS w ON w.id = k.work_id
     WHERE k.key = ANY($1)
     ORDER BY k.key
     FOR UPDATE OF w}",
);

#[derive(SetRow)]
struct Wanted<'a> {
    key: &'a str,
}

/// Reads and locks the rows of these keys, in key order, so that two callers cannot deadlock.
#[boxed]
pub async fn lock_existing(conn: &mut Conn<'_>, mut keys: Vec<String>) -> Result<Vec<Existing>> {
    keys.sort_unstable();
    keys.dedup();
    let wanted: Vec<Wanted<'_>> = keys.iter().map(|key| Wanted { key }).collect();
    conn.fetch_all(&LOCK_EXISTING, with_rows(args![], &wanted)).await
}

/// A row that moves to another due time.
#[derive(SetRow)]
struct Rescheduled<'a> {
    id: i64,
    token: i64,
    due_at: Timestamp,
    local_date: Option<&'a str>,
    time_zone: Option<&'a str>,
    input: &'a str,
}

// A row that lost its input with time gets it back: the hash says that it is the same.
const DUE_AGAIN: &str = "UPDATE work
     SET due_at = {.due_at}, ready_at = {.due_at}, local_date = {.local_date}, time_zone = {.time_zone},
         input = CASE WHEN work.input = '{\"purged\":true}' THEN {.input} ELSE work.input END,
         version = work.version + 1, updated_at = $1, ";
const OF_THESE: &str = "
     {from rows}
     WHERE work.id = {.id} AND work.version = {.token}";
const RESCHEDULE: Sql = sql!(
    "work.reschedule", each Rescheduled<'_>, after 1, DUE_AGAIN, "next_retry_at = NULL", OF_THESE,
);
// A hold outlives the end of its row, and so does its reason.
const REACTIVATE: Sql = sql!(
    "work.reactivate", each Rescheduled<'_>, after 1,
    DUE_AGAIN, "status = 'pending', cancelled_by_person = FALSE, ", STARTS_AGAIN, OF_THESE, " AND NOT work.on_hold",
);
const REACTIVATE_HELD: Sql = sql!(
    "work.reactivate_held", each Rescheduled<'_>, after 1,
    DUE_AGAIN, "status = 'pending', cancelled_by_person = FALSE, next_retry_at = NULL", OF_THESE, " AND work.on_hold",
);

/// Moves pending rows to their new due time. What they have counted stays.
#[boxed]
pub async fn reschedule(conn: &mut Conn<'_>, now: Timestamp, rows: &[(&Existing, &NewWork)]) -> Result<u64> {
    conn.execute(&RESCHEDULE, with_rows(args![now], &moved(rows))).await
}

/// Brings ended rows back: with all of their attempts before them, unless they are on hold and a person looks first. What
/// was attempted, why it had ended, coordinates and holds stay.
#[boxed]
pub async fn reactivate(conn: &mut Conn<'_>, now: Timestamp, rows: &[(&Existing, &NewWork)]) -> Result<()> {
    let (held, ended): (Vec<_>, Vec<_>) = rows.iter().copied().partition(|(old, _)| old.on_hold);
    for (sql, rows) in [(&REACTIVATE, ended), (&REACTIVATE_HELD, held)] {
        if !rows.is_empty() {
            conn.execute(sql, with_rows(args![now], &moved(&rows))).await?;
        }
    }
    Ok(())
}

fn moved<'a>(rows: &[(&Existing, &'a NewWork)]) -> Vec<Rescheduled<'a>> {
    rows.iter()
        .map(|(old, new)| Rescheduled {
            id: old.id,
            token: old.version,
            due_at: new.due_at,
            local_date: new.local.as_ref().map(|(date, _)| date.as_str()),
            time_zone: new.local.as_ref().map(|(_, zone)| zone.as_str()),
            input: &new.input,
        })
        .collect()
}

const CONFLICT: Sql = sql!(
    "work.put_on_hold_as_conflict",
    "UPDATE work
     SET on_hold = TRUE, reason_code = 'input-conflict', version = version + 1, updated_at = $1
     WHERE status <> 'completed' AND status <> 'processing' AND id IN ({ints $2})",
);

/// Someone asked for the same key with another input: nothing is overwritten, a person must look.
#[boxed]
pub async fn put_on_hold_as_conflict(conn: &mut Conn<'_>, now: Timestamp, ids: Vec<i64>) -> Result<u64> {
    conn.execute(&CONFLICT, args![now, ids]).await
}

const CHANGE_INPUT: Sql = sql!(
    "work.change_input",
    "UPDATE work
     SET input_hash = $3, due_at = $4, ready_at = $4, version = version + 1, updated_at = $1
     WHERE id = $2 AND version = $5",
);

/// Gives a pending row that the caller has locked another input and moment, because its requester changed it.
#[boxed]
pub async fn change_input(
    conn: &mut Conn<'_>,
    now: Timestamp,
    row: &Existing,
    input_hash: InputHash,
    due_at: Timestamp,
) -> Result<u64> {
    let hash = input_hash.to_string();
    conn.execute(&CHANGE_INPUT, args![now, row.id, hash, due_at, row.version]).await
}

crate::db::statements![LOCK_EXISTING, RESCHEDULE, REACTIVATE, REACTIVATE_HELD, CONFLICT, CHANGE_INPUT];
