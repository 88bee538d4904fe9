//! The sent reminders of each setting: one row for each reminder whose decision was to send.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    walk::{BY_INDEX, Stretch, with_surplus},
};

#[derive(SetRow)]
struct New<'a> {
    setting_id: &'a str,
    work_id: i64,
}

const PUT: Sql = sql!(
    "reminder_sends.put", each New<'_>, after 1,
    "INSERT INTO reminder_sends ({names}, sent_at) {values {*}, $1} ON CONFLICT DO NOTHING",
);

/// Notes that these pairs of setting and work row are sent now.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, sent: &[(&str, i64)]) -> Result<u64> {
    let mut rows: Vec<New<'_>> =
        sent.iter().map(|&(setting_id, work_id)| New { setting_id, work_id }).collect();
    rows.sort_by_key(|row| (row.setting_id, row.work_id));
    conn.execute(&PUT, with_rows(args![now], &rows)).await
}

/// Where a row of such a list is, and where the next page continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct SentPlace {
    pub sent_at: Timestamp,
    pub work_id: i64,
}

/// A reminder that was sent.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct SentRow {
    pub sent_at: Timestamp,
    pub work_id: i64,
    pub kind: String,
    pub key: String,
    /// The coordinates of its decision.
    pub result: Option<String>,
}

const PAGE: Sql = sql!(
    "reminder_sends.page",
    "SELECT s.sent_at, s.work_id, w.kind, w.key, w.result
     FROM reminder_sends AS s JOIN work AS w ON w.id = s.work_id
     WHERE s.setting_id = $1 AND (s.sent_at, s.work_id) < ($2, $3) AND (s.sent_at, s.work_id) >= ($4, $5)
       AND {reach $7 w.business_unit}
     ORDER BY s.sent_at DESC, s.work_id DESC LIMIT $6",
);
// The last row that a page reads: a caller limited to one business unit may have few among many.
const HORIZON: Sql = sql!(
    "reminder_sends.horizon",
    "SELECT sent_at, work_id FROM reminder_sends WHERE setting_id = $1 AND (sent_at, work_id) < ($2, $3)
     ORDER BY sent_at DESC, work_id DESC LIMIT 1 OFFSET $4",
);

/// One page of the sent reminders of a setting within reach, newest first. It may be short, or empty, and still continue.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    reach: &Reach,
    setting: &str,
    before: Option<SentPlace>,
    limit: i64,
) -> Result<Stretch<SentRow, SentPlace>> {
    let from = before.unwrap_or(SentPlace { sent_at: Timestamp::MAX, work_id: i64::MAX });
    let last: Option<SentPlace> =
        conn.fetch_optional(&HORIZON, args![setting, from.sent_at, from.work_id, BY_INDEX - 1]).await?;
    let to = last.unwrap_or(SentPlace { sent_at: Timestamp::MIN, work_id: i64::MIN });
    let bound =
        args![setting, from.sent_at, from.work_id, to.sent_at, to.work_id, with_surplus(limit), reach];
    let rows = conn.fetch_all(&PAGE, bound).await?;
    let place = |row: &SentRow| SentPlace { sent_at: row.sent_at, work_id: row.work_id };
    Ok(Stretch::cut(rows, limit, place, last))
}

// Relies on reminder_sends_by_age.
const FORGET: Sql = sql!(
    "reminder_sends.forget",
    "DELETE FROM reminder_sends
     WHERE {sqlite (setting_id, sent_at, work_id) IN (SELECT setting_id, sent_at, work_id}{postgres ctid = ANY(ARRAY(SELECT ctid}
         FROM reminder_sends WHERE sent_at < $1 ORDER BY sent_at LIMIT $2){postgres )}",
);

/// Forgets some of what was sent before this.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, before: Timestamp, limit: i64) -> Result<u64> {
    conn.execute(&FORGET, args![before, limit]).await
}

crate::db::statements![PUT, PAGE, HORIZON, FORGET];
