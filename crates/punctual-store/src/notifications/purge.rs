//! Retention: terminal rows older than their window go, in small batches, and leave a tombstone.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::{
    db::{Conn, Result, Sql, args},
    survey_tries,
};

#[derive(Record)]
struct Doomed {
    seq: i64,
    id: String,
    digest: String,
    status: String,
}

/// How many rows one batch removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    pub notifications: usize,
}

macro_rules! doomed {
    ($lock:literal) => {
        concat!(
            "
    SELECT seq, id, digest, status FROM notifications
    WHERE finished_at IS NOT NULL AND finished_at < $1
      AND status IN ('delivered', 'parked', 'withdrawn', 'discarded') AND lease_expires_at IS NULL
    ORDER BY finished_at
    LIMIT $2",
            $lock
        )
    };
}
// Relies on notifications_finished. The lock makes an operator's retry and a purge of one row take turns.
const DOOMED: Sql = Sql::each("notifications.doomed", doomed!(""), doomed!(" FOR UPDATE SKIP LOCKED"));

macro_rules! bury {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO tombstones (id, digest, status, purged_at)
    ",
            $values,
            "
    ON CONFLICT (id) DO NOTHING"
        )
    };
}
const BURY: Sql = Sql::rows(
    "tombstones.bury",
    bury!("VALUES ($2, $3, $4, $1)"),
    bury!(
        "SELECT r.id, r.digest, r.status, $1
    FROM UNNEST($2::text[], $3::text[], $4::text[]) AS r(id, digest, status)"
    ),
);
const DELETE_ATTEMPTS: Sql = Sql::each(
    "attempts.delete",
    "DELETE FROM attempts WHERE notification_seq IN (SELECT value FROM json_each($1))",
    "DELETE FROM attempts WHERE notification_seq = ANY($1)",
);
const DELETE_SKIPPED: Sql = Sql::each(
    "skipped_targets.delete",
    "DELETE FROM skipped_targets WHERE notification_seq IN (SELECT value FROM json_each($1))",
    "DELETE FROM skipped_targets WHERE notification_seq = ANY($1)",
);
const DELETE_RECEIPTS: Sql = Sql::each(
    "receipts.delete",
    "DELETE FROM receipts WHERE notification_seq IS NOT NULL AND notification_seq IN (SELECT value FROM json_each($1))",
    "DELETE FROM receipts WHERE notification_seq IS NOT NULL AND notification_seq = ANY($1)",
);
const DELETE: Sql = Sql::each(
    "notifications.delete",
    "DELETE FROM notifications WHERE seq IN (SELECT value FROM json_each($1))",
    "DELETE FROM notifications WHERE seq = ANY($1)",
);

// An insert looks for a tombstone in the snapshot of its statement and for the id in the present. Without this lock one
// that began before the purge committed would see neither. It is taken first, when nothing else is held.
const LOCK_TOMBSTONES: Sql =
    Sql::each("tombstones.lock", "SELECT 1 WHERE FALSE", "LOCK TABLE tombstones IN ACCESS EXCLUSIVE MODE");

/// How much a purge would remove, beside all that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct PurgeSize {
    pub doomed: i64,
    pub finished: i64,
}

// Relies on notifications_finished; once a day.
const SIZE: Sql = Sql::same(
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
    let mut ids = Vec::new();
    let mut digests = Vec::new();
    let mut statuses = Vec::new();
    for row in doomed {
        ids.push(row.id);
        digests.push(row.digest);
        statuses.push(row.status);
    }
    conn.execute(&BURY, args![now, ids, digests, statuses]).await?;
    survey_tries::keep(conn, seqs.clone()).await?;
    for theirs in [&DELETE_ATTEMPTS, &DELETE_SKIPPED, &DELETE_RECEIPTS] {
        conn.execute(theirs, args![seqs.clone()]).await?;
    }
    conn.execute(&DELETE, args![seqs.clone()]).await?;
    Ok(Purged { notifications: seqs.len() })
}

crate::db::statements![
    DOOMED,
    BURY,
    DELETE_ATTEMPTS,
    DELETE_SKIPPED,
    DELETE_RECEIPTS,
    DELETE,
    LOCK_TOMBSTONES,
    SIZE
];
