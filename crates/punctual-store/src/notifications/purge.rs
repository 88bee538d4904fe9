//! Retention: terminal rows older than their window go, in small batches, and leave a tombstone.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    survey_attempts, uploads, work,
};

#[derive(Record, SetRow)]
struct Doomed {
    #[column(skip)]
    seq: i64,
    id: String,
    digest: String,
    status: String,
    source_site: Option<String>,
}

/// How many rows one batch removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    pub notifications: usize,
}

// Relies on notifications_finished. The lock makes an operator's retry and a purge of one row take turns.
const DOOMED: Sql = sql!(
    "notifications.doomed", as Doomed,
    "SELECT {columns} FROM notifications
     WHERE finished_at IS NOT NULL AND finished_at < $1
       AND status IN ('delivered', 'parked', 'withdrawn', 'discarded') AND lease_expires_at IS NULL
     ORDER BY finished_at
     LIMIT $2 {postgres FOR UPDATE SKIP LOCKED}",
);
const BURY: Sql = sql!(
    "tombstones.bury", each Doomed, after 1,
    "INSERT INTO tombstones ({names}, purged_at) {values {*}, $1} ON CONFLICT (id) DO NOTHING",
);
// What belongs to the rows of a set of numbers.
const THESE: &str = "notification_seq {sqlite IN (SELECT value FROM json_each($1))}{postgres = ANY($1)}";
const DELETE_ATTEMPTS: Sql = sql!("attempts.delete", "DELETE FROM attempts WHERE ", THESE);
const DELETE_SKIPPED: Sql = sql!("skipped_targets.delete", "DELETE FROM skipped_targets WHERE ", THESE);
const DELETE_RECEIPTS: Sql =
    sql!("receipts.delete", "DELETE FROM receipts WHERE notification_seq IS NOT NULL AND ", THESE);
const DELETE: Sql = sql!(
    "notifications.delete",
    "DELETE FROM notifications WHERE seq {sqlite IN (SELECT value FROM json_each($1))}{postgres = ANY($1)}",
);

// An insert looks for a tombstone in the snapshot of its statement and for the id in the present. Without this lock one
// that began before the purge committed would see neither. It is taken first, when nothing else is held.
const LOCK_TOMBSTONES: Sql = sql!(
    "tombstones.lock",
    "{sqlite SELECT 1 WHERE FALSE}{postgres LOCK TABLE tombstones IN ACCESS EXCLUSIVE MODE}",
);

const PURGED: Sql =
    sql!("tombstones.of_site", "SELECT status FROM tombstones WHERE id = $1 AND source_site = $2",);

/// The last state of a notification of this site that is no longer there.
#[boxed]
pub async fn purged_of_site(conn: &mut Conn<'_>, site: &str, id: &str) -> Result<Option<String>> {
    let row: Option<Buried> = conn.fetch_optional(&PURGED, args![id, site]).await?;
    Ok(row.map(|row| row.status))
}

#[derive(Record)]
struct Buried {
    status: String,
}

/// How much a purge would remove, beside all that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct PurgeSize {
    pub doomed: i64,
    pub finished: i64,
}

// Relies on notifications_finished; once a day.
const SIZE: Sql = sql!(
    "notifications.purge_size",
    "SELECT (SELECT COUNT(*) FROM notifications WHERE finished_at IS NOT NULL AND finished_at < $1) AS doomed,
        (SELECT COUNT(*) FROM notifications WHERE finished_at IS NOT NULL) AS finished",
);

#[boxed]
pub async fn purge_size(conn: &mut Conn<'_>, finished_before: Timestamp) -> Result<PurgeSize> {
    conn.fetch_one(&SIZE, args![finished_before]).await
}

/// Removes up to `limit` terminal rows that ended before `finished_before`.
#[boxed]
pub async fn purge(
    conn: &mut Conn<'_>,
    now: Timestamp,
    finished_before: Timestamp,
    limit: i64,
) -> Result<Purged> {
    conn.execute(&LOCK_TOMBSTONES, args![]).await?;
    let doomed: Vec<Doomed> = conn.fetch_all(&DOOMED, args![finished_before, limit]).await?;
    if doomed.is_empty() {
        return Ok(Purged::default());
    }
    let seqs: Vec<i64> = doomed.iter().map(|row| row.seq).collect();
    conn.execute(&BURY, with_rows(args![now], &doomed)).await?;
    survey_attempts::keep(conn, seqs.clone()).await?;
    for theirs in [&DELETE_ATTEMPTS, &DELETE_SKIPPED, &DELETE_RECEIPTS] {
        conn.execute(theirs, args![seqs.clone()]).await?;
    }
    work::forget_queued(conn, doomed.into_iter().map(|row| row.id).collect()).await?;
    uploads::release_notifications(conn, seqs.clone()).await?;
    conn.execute(&DELETE, args![seqs.clone()]).await?;
    Ok(Purged { notifications: seqs.len() })
}

crate::db::statements![
    DOOMED,
    PURGED,
    BURY,
    DELETE_ATTEMPTS,
    DELETE_SKIPPED,
    DELETE_RECEIPTS,
    DELETE,
    LOCK_TOMBSTONES,
    SIZE
];
