//! Uploaded files: their owner, their uses and their expiry. The content is a blob.
//!
//! The id of an upload is never used again. A removed blob can therefore never be one that was just written, and a row with
//! `stored` has its content on disk.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{FileRef, Reach};

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    notifications::{InsertedNotification, NotificationRow},
};

/// One file that a caller brought.
#[derive(Clone, Debug, PartialEq, Eq, Record, SetRow)]
pub struct UploadRow {
    pub id: String,
    pub business_unit: Option<String>,
    /// SHA-256 of the content, in hex.
    pub digest: String,
    pub media_type: String,
    pub bytes: i64,
    /// Until when it is kept where nothing uses it.
    pub keep_until: Timestamp,
    pub created_at: Timestamp,
}

const INSERT: Sql =
    sql!("uploads.insert", each UploadRow, after 0, "INSERT INTO uploads ({names}) {values {*}}");

/// Announces files whose content is about to be written, so that one whose writer dies is found by the purge.
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, rows: &[UploadRow]) -> Result<()> {
    conn.execute(&INSERT, with_rows(args![], rows)).await?;
    Ok(())
}

const STORED: Sql = sql!(
    "uploads.stored",
    "UPDATE uploads SET stored = TRUE WHERE id IN ({texts $1}) AND removed_at IS NULL"
);

/// Says that the contents are on disk; returns how many rows were still there.
#[boxed]
pub async fn stored(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<u64> {
    conn.execute(&STORED, args![ids]).await
}

const TAKE: Sql = sql!(
    "uploads.take", as UploadRow,
    "UPDATE uploads SET keep_until = CASE WHEN keep_until > $2 THEN keep_until ELSE $2 END
     WHERE id IN ({texts $1}) AND stored AND removed_at IS NULL AND (in_use OR keep_until >= $4)
       AND {reach $3 business_unit}
     RETURNING {columns}",
);

/// The files of these ids that the caller may use; they stay until this moment even if nothing comes to use them.
#[boxed]
pub async fn take(
    conn: &mut Conn<'_>,
    ids: Vec<String>,
    now: Timestamp,
    keep_until: Timestamp,
    reach: &Reach,
) -> Result<Vec<UploadRow>> {
    conn.fetch_all(&TAKE, args![ids, keep_until, reach, now]).await
}

#[derive(SetRow)]
struct Use {
    upload_id: String,
    used_by: String,
    notification_seq: Option<i64>,
}

const PUT_USES: Sql = sql!(
    "upload_uses.put", each Use, after 0,
    "INSERT INTO upload_uses ({names}) {values {*}} ON CONFLICT (upload_id, used_by) DO NOTHING",
);
const MARK_USED: Sql =
    sql!("uploads.mark_used", "UPDATE uploads SET in_use = TRUE WHERE id = {any $1} AND NOT in_use");

async fn put(conn: &mut Conn<'_>, uses: Vec<Use>) -> Result<()> {
    if uses.is_empty() {
        return Ok(());
    }
    conn.execute(&PUT_USES, with_rows(args![], &uses)).await?;
    // In one order, so that two transactions with the same files cannot deadlock.
    let mut ids: Vec<String> = uses.into_iter().map(|one| one.upload_id).collect();
    ids.sort_unstable();
    ids.dedup();
    conn.execute(&MARK_USED, args![ids]).await?;
    Ok(())
}

/// Records which files new notifications use, in the transaction that inserts them.
pub(crate) async fn use_by_notifications(
    conn: &mut Conn<'_>,
    rows: &[&NotificationRow],
    inserted: &[InsertedNotification],
) -> Result<()> {
    let mut uses = Vec::new();
    for row in rows {
        let Some(files) = row.attachments.as_ref().and_then(|files| files.read().ok()) else { continue };
        let Some(seq) = inserted.iter().find(|one| one.id == row.id).map(|one| one.seq) else { continue };
        uses.extend(of(&files, &seq.to_string(), Some(seq)));
    }
    put(conn, uses).await
}

/// Records which files the message of this work key uses.
#[boxed]
pub async fn use_by_message(conn: &mut Conn<'_>, key: &str, files: &[FileRef]) -> Result<()> {
    put(conn, of(files, key, None).collect()).await
}

fn of(files: &[FileRef], used_by: &str, notification_seq: Option<i64>) -> impl Iterator<Item = Use> {
    let ids = files.iter().filter_map(FileRef::upload);
    ids.map(move |id| Use { upload_id: id.to_owned(), used_by: used_by.to_owned(), notification_seq })
}

#[derive(Record)]
struct Released {
    upload_id: String,
}

const RELEASE_NOTIFICATIONS: Sql = sql!(
    "upload_uses.release_notifications",
    "DELETE FROM upload_uses
     WHERE notification_seq IS NOT NULL
       AND notification_seq {sqlite IN (SELECT value FROM json_each($1))}{postgres = ANY($1)}
     RETURNING upload_id",
);
const RELEASE_MESSAGE: Sql = sql!(
    "upload_uses.release_message",
    "DELETE FROM upload_uses WHERE used_by = $1 AND notification_seq IS NULL RETURNING upload_id",
);
const MARK_UNUSED: Sql = sql!(
    "uploads.mark_unused",
    "UPDATE uploads SET in_use = FALSE
     WHERE id IN ({texts $1}) AND NOT EXISTS (SELECT 1 FROM upload_uses AS u WHERE u.upload_id = uploads.id)",
);

/// Ends what notifications that are purged used; returns which files that were.
pub(crate) async fn release_notifications(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<Vec<String>> {
    let released = conn.fetch_all(&RELEASE_NOTIFICATIONS, args![seqs]).await?;
    unused(conn, released).await
}

/// Ends what the message of this work key used: it says something else now. Returns which files that were.
#[boxed]
pub async fn release_message(conn: &mut Conn<'_>, key: &str) -> Result<Vec<String>> {
    let released = conn.fetch_all(&RELEASE_MESSAGE, args![key]).await?;
    unused(conn, released).await
}

async fn unused(conn: &mut Conn<'_>, released: Vec<Released>) -> Result<Vec<String>> {
    let mut ids: Vec<String> = released.into_iter().map(|one| one.upload_id).collect();
    if ids.is_empty() {
        return Ok(ids);
    }
    ids.sort_unstable();
    ids.dedup();
    conn.execute(&MARK_UNUSED, args![ids.clone()]).await?;
    Ok(ids)
}

// The notification that a message became uses the same files, so that a message needs them no longer than its work row lives.
const OVER: Sql = sql!(
    "upload_uses.over",
    "SELECT u.used_by FROM upload_uses AS u
     WHERE u.notification_seq IS NULL AND u.used_by > $1
       AND NOT EXISTS (
           SELECT 1 FROM {sqlite work AS w WHERE w.key = u.used_by}
               {postgres work_keys AS k JOIN work AS w ON w.id = k.work_id WHERE k.key = u.used_by}
             AND (w.on_hold OR w.status = 'pending' OR w.status = 'processing' OR w.updated_at >= $2))
     ORDER BY u.used_by
     LIMIT $3",
);

#[derive(Record)]
struct Over {
    used_by: String,
}

/// Ends what messages used that were over before this moment; returns how many messages that were.
#[boxed]
pub async fn release_messages_over(conn: &mut Conn<'_>, before: Timestamp, limit: i64) -> Result<usize> {
    let over: Vec<Over> = conn.fetch_all(&OVER, args!["", before, limit]).await?;
    for one in &over {
        release_message(conn, &one.used_by).await?;
    }
    Ok(over.len())
}

#[derive(Record)]
struct Doomed {
    id: String,
}

// Relies on uploads_unused. Looking at the uses again costs little and makes a mark that is wrong harmless.
const DOOM: Sql = sql!(
    "uploads.doom",
    "UPDATE uploads SET removed_at = $1
     WHERE id IN (
         SELECT u.id FROM uploads AS u
         WHERE NOT u.in_use AND u.keep_until < $1
           AND NOT EXISTS (SELECT 1 FROM upload_uses AS s WHERE s.upload_id = u.id)
         ORDER BY u.keep_until
         LIMIT $2)
     RETURNING id",
);
const DELETE: Sql =
    sql!("uploads.delete", "DELETE FROM uploads WHERE id IN ({texts $1}) AND removed_at IS NOT NULL");

/// Files that nobody uses and whose time is over: from now on nobody can. Their blobs go next, then their rows.
#[boxed]
pub async fn doom(conn: &mut Conn<'_>, now: Timestamp, limit: i64) -> Result<Vec<String>> {
    let doomed: Vec<Doomed> = conn.fetch_all(&DOOM, args![now, limit]).await?;
    Ok(doomed.into_iter().map(|one| one.id).collect())
}

const DOOM_NOW: Sql = sql!(
    "uploads.doom_now",
    "UPDATE uploads SET removed_at = $1
     WHERE id = {any $2} AND NOT in_use
       AND NOT EXISTS (SELECT 1 FROM upload_uses AS s WHERE s.upload_id = uploads.id)
     RETURNING id",
);

/// Those of these files that nobody uses, whatever time they have left: from now on nobody can.
#[boxed]
pub async fn doom_now(conn: &mut Conn<'_>, now: Timestamp, ids: Vec<String>) -> Result<Vec<String>> {
    let doomed: Vec<Doomed> = conn.fetch_all(&DOOM_NOW, args![now, ids]).await?;
    Ok(doomed.into_iter().map(|one| one.id).collect())
}

/// Removes the rows of files whose blobs are gone.
#[boxed]
pub async fn delete(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<u64> {
    conn.execute(&DELETE, args![ids]).await
}

crate::db::statements![
    INSERT,
    STORED,
    TAKE,
    PUT_USES,
    MARK_USED,
    RELEASE_NOTIFICATIONS,
    RELEASE_MESSAGE,
    MARK_UNUSED,
    OVER,
    DOOM,
    DOOM_NOW,
    DELETE
];
