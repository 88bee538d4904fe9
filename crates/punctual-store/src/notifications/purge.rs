//! Retention: terminal rows older than their window go, in small batches, and leave a tombstone.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::NotificationStatus;

use crate::{
    db::{Conn, Result, Sql, args, sql},
    survey_attempts, uploads, work,
};

#[derive(Record)]
struct Doomed {
    seq: i64,
    id: String,
}

/// How many rows one batch removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    pub notifications: usize,
}

// Which rows may go.
const IS_OVER: &str = "finished_at IS NOT NULL AND finished_at < $1
       AND status IN ('delivered', 'parked', 'withdrawn', 'discarded') AND lease_expires_at IS NULL";
// Relies on notifications_finished. Nothing is locked: one that is retried before it is removed stays, and its tombstone goes.
const DOOMED: Sql = sql!(
    "notifications.doomed", as Doomed,
    "SELECT {columns} FROM notifications WHERE ", IS_OVER, " ORDER BY finished_at LIMIT $2",
);
// What a tombstone has stands in the row; it does not travel.
const BURY: Sql = sql!(
    "tombstones.bury",
    "INSERT INTO tombstones (id, digest, status, source_site, purged_at)
     SELECT id, digest, status, source_site, $3 FROM notifications
     WHERE seq {sqlite IN (SELECT value FROM json_each($2))}{postgres = ANY($2)} AND ",
    IS_OVER,
    " ON CONFLICT (id) DO UPDATE SET status = EXCLUDED.status, purged_at = EXCLUDED.purged_at",
);
// One that was retried has no end any more, or another one.
const UNBURY: Sql = sql!(
    "tombstones.unbury",
    "DELETE FROM tombstones WHERE id IN (
         SELECT id FROM notifications
         WHERE seq {sqlite IN (SELECT value FROM json_each($2))}{postgres = ANY($2)} AND NOT (",
    IS_OVER,
    "))",
);
// The lock makes an operator's retry and the removal of one row take turns.
const STILL_DOOMED: Sql = sql!(
    "notifications.still_doomed", as Doomed,
    "SELECT {columns} FROM notifications
     WHERE seq {sqlite IN (SELECT value FROM json_each($2))}{postgres = ANY($2)} AND ", IS_OVER,
    " ORDER BY seq {postgres FOR UPDATE SKIP LOCKED}",
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

#[derive(Record)]
struct Writer {
    name: String,
}

// A transaction takes this lock before it takes the snapshot in which it looks for tombstones.
const WRITERS: Sql = sql!(
    "notifications.writers",
    "{sqlite SELECT '' AS name WHERE FALSE}{postgres SELECT DISTINCT virtualtransaction AS name FROM pg_locks
     WHERE locktype = 'relation' AND relation = CAST('notifications' AS regclass) AND mode = 'RowExclusiveLock'
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND pid <> pg_backend_pid()}",
);

/// The transactions that may insert notifications without seeing tombstones that were committed a moment ago, by name.
#[boxed]
pub async fn writers(conn: &mut Conn<'_>) -> Result<Vec<String>> {
    if conn.is_sqlite() {
        return Ok(Vec::new());
    }
    let writers: Vec<Writer> = conn.fetch_all(&WRITERS, args![]).await?;
    Ok(writers.into_iter().map(|writer| writer.name).collect())
}

const PURGED: Sql =
    sql!("tombstones.of_site", "SELECT status FROM tombstones WHERE id = $1 AND source_site = $2",);

/// The last state of a notification of this site that is no longer there.
#[boxed]
pub async fn purged_of_site(conn: &mut Conn<'_>, site: &str, id: &str) -> Result<Option<NotificationStatus>> {
    let row: Option<Buried> = conn.fetch_optional(&PURGED, args![id, site]).await?;
    Ok(row.map(|row| row.status))
}

#[derive(Record)]
struct Buried {
    status: NotificationStatus,
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

/// Writes the tombstones of up to `limit` rows that ended before `finished_before`; returns the rows.
///
/// An insert looks for a tombstone in the snapshot of its statement and for the id in the present. So a row is removed in a
/// later transaction, once every statement has ended that began before its tombstone could be seen ([`writers`]). Until then an
/// insert finds the row, after it the tombstone, and nobody waits for a lock.
#[boxed]
pub async fn bury(
    conn: &mut Conn<'_>,
    now: Timestamp,
    finished_before: Timestamp,
    limit: i64,
) -> Result<Vec<i64>> {
    let doomed: Vec<Doomed> = conn.fetch_all(&DOOMED, args![finished_before, limit]).await?;
    let seqs: Vec<i64> = doomed.into_iter().map(|row| row.seq).collect();
    if !seqs.is_empty() {
        conn.execute(&BURY, args![finished_before, seqs.clone(), now]).await?;
    }
    Ok(seqs)
}

/// Removes buried rows. One that a person has retried meanwhile stays, and its tombstone goes.
#[boxed]
pub async fn remove_buried(
    conn: &mut Conn<'_>,
    finished_before: Timestamp,
    buried: Vec<i64>,
) -> Result<Purged> {
    conn.execute(&UNBURY, args![finished_before, buried.clone()]).await?;
    let doomed: Vec<Doomed> = conn.fetch_all(&STILL_DOOMED, args![finished_before, buried]).await?;
    remove(conn, doomed).await
}

async fn remove(conn: &mut Conn<'_>, doomed: Vec<Doomed>) -> Result<Purged> {
    if doomed.is_empty() {
        return Ok(Purged::default());
    }
    let seqs: Vec<i64> = doomed.iter().map(|row| row.seq).collect();
    survey_attempts::keep(conn, seqs.clone()).await?;
    for theirs in [&DELETE_ATTEMPTS, &DELETE_SKIPPED, &DELETE_RECEIPTS] {
        conn.execute(theirs, args![seqs.clone()]).await?;
    }
    work::forget_queued(conn, doomed.into_iter().map(|row| row.id).collect()).await?;
    let _files = uploads::release_notifications(conn, seqs.clone()).await?;
    conn.execute(&DELETE, args![seqs.clone()]).await?;
    Ok(Purged { notifications: seqs.len() })
}

/// Buries and removes in one transaction: where there is one writer, nobody can come between.
#[boxed]
pub async fn purge(
    conn: &mut Conn<'_>,
    now: Timestamp,
    finished_before: Timestamp,
    limit: i64,
) -> Result<Purged> {
    let doomed: Vec<Doomed> = conn.fetch_all(&DOOMED, args![finished_before, limit]).await?;
    if !doomed.is_empty() {
        let seqs: Vec<i64> = doomed.iter().map(|row| row.seq).collect();
        conn.execute(&BURY, args![finished_before, seqs, now]).await?;
    }
    remove(conn, doomed).await
}

crate::db::statements![
    DOOMED,
    PURGED,
    BURY,
    DELETE_ATTEMPTS,
    DELETE_SKIPPED,
    DELETE_RECEIPTS,
    DELETE,
    UNBURY,
    STILL_DOOMED,
    WRITERS,
    SIZE
];
