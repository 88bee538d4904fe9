//! Delivery receipts of providers, found by the provider's message id.
//!
//! A row is written when the provider accepts a message, only for channels whose provider calls back. The table of attempts
//! therefore needs no index on provider ids, which PostgreSQL would have to update for each result. A receipt only adds
//! information, so order and duplicates do not matter.

mod waiting;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

pub use waiting::{count_failed, failed, seen};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// What is known of one message that a provider accepted.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct ReceiptRow {
    pub provider: String,
    pub provider_id: String,
    /// Empty, like the next three, while the receipt has arrived and our own record of the message has not.
    pub channel: Option<String>,
    pub notification_seq: Option<i64>,
    pub target: Option<String>,
    pub attempt: Option<i64>,
    /// See `ReceiptState::rank`.
    pub rank: i64,
    pub confirmed_at: Option<Timestamp>,
    pub failed_at: Option<Timestamp>,
    pub code: Option<String>,
    pub detail: Option<String>,
    pub suppress: Option<String>,
    pub needs_person: bool,
    pub received_at: Option<Timestamp>,
}

/// A message that a provider accepted.
#[derive(Clone, Debug, SetRow)]
pub struct Expected {
    pub provider_id: String,
    pub channel: String,
    #[column("notification_seq")]
    pub seq: i64,
    pub target: String,
    pub attempt: i64,
}

const EXPECT: Sql = sql!(
    "receipts.expect", as ReceiptRow, each Expected, after 1,
    "INSERT INTO receipts (provider, {names}, rank)
     {values {postgres DISTINCT ON (r.provider_id) }$1, {*}, 0}{postgres  ORDER BY r.provider_id}
     ON CONFLICT (provider, provider_id) DO UPDATE
     SET {replaced}, needs_person = receipts.failed_at IS NOT NULL
     WHERE receipts.notification_seq IS NULL
     RETURNING {columns}",
);

/// Records messages that a provider accepted. Returns what is already known of them: a receipt may have arrived before.
#[boxed]
pub async fn expect(conn: &mut Conn<'_>, provider: &str, rows: &[Expected]) -> Result<Vec<ReceiptRow>> {
    let rows: Vec<ReceiptRow> = conn.fetch_all(&EXPECT, with_rows(args![provider], rows)).await?;
    Ok(rows.into_iter().filter(|row| row.received_at.is_some()).collect())
}

/// What a provider reports about one message; one of each id in a set.
#[derive(Clone, Debug, PartialEq, Eq, SetRow)]
pub struct News {
    pub provider_id: String,
    pub rank: i64,
    pub confirmed_at: Option<Timestamp>,
    pub failed_at: Option<Timestamp>,
    pub code: Option<String>,
    pub detail: Option<String>,
    pub suppress: Option<&'static str>,
}

// The earlier of two instants counts, and the higher rank with its code and detail: the order of receipts does not
// matter.
const REPORT: Sql = sql!(
    "receipts.report", as ReceiptRow, each News, after 2,
    "INSERT INTO receipts (provider, {names}, received_at)
     {values $2, {*}, $1}{postgres  ORDER BY r.provider_id}
     ON CONFLICT (provider, provider_id) DO UPDATE
     SET code = CASE WHEN EXCLUDED.rank > receipts.rank THEN EXCLUDED.code ELSE receipts.code END,
         detail = CASE WHEN EXCLUDED.rank > receipts.rank THEN EXCLUDED.detail ELSE receipts.detail END,
         rank = CASE WHEN EXCLUDED.rank > receipts.rank THEN EXCLUDED.rank ELSE receipts.rank END,
         confirmed_at = CASE WHEN receipts.confirmed_at IS NULL OR EXCLUDED.confirmed_at < receipts.confirmed_at
             THEN EXCLUDED.confirmed_at ELSE receipts.confirmed_at END,
         needs_person = receipts.needs_person OR (receipts.notification_seq IS NOT NULL
             AND receipts.failed_at IS NULL AND EXCLUDED.failed_at IS NOT NULL),
         failed_at = CASE WHEN receipts.failed_at IS NULL OR EXCLUDED.failed_at < receipts.failed_at
             THEN EXCLUDED.failed_at ELSE receipts.failed_at END,
         suppress = COALESCE(receipts.suppress, EXCLUDED.suppress),
         received_at = EXCLUDED.received_at
     WHERE EXCLUDED.rank > receipts.rank
         OR (EXCLUDED.confirmed_at IS NOT NULL
             AND (receipts.confirmed_at IS NULL OR EXCLUDED.confirmed_at < receipts.confirmed_at))
         OR (EXCLUDED.failed_at IS NOT NULL
             AND (receipts.failed_at IS NULL OR EXCLUDED.failed_at < receipts.failed_at))
         OR (EXCLUDED.suppress IS NOT NULL AND receipts.suppress IS NULL)
     RETURNING {columns}",
);

/// Records what a provider reports; returns the rows to which it added something. A message that is not known yet is
/// kept: its own record may follow.
#[boxed]
pub async fn report(
    conn: &mut Conn<'_>,
    now: Timestamp,
    provider: &str,
    news: &[News],
) -> Result<Vec<ReceiptRow>> {
    conn.fetch_all(&REPORT, with_rows(args![now, provider], news)).await
}

const OF: Sql = sql!(
    "receipts.of", as ReceiptRow,
    "SELECT {columns}
     FROM receipts
     WHERE notification_seq IS NOT NULL
       AND notification_seq {sqlite IN (SELECT value FROM json_each($1))}{postgres = ANY($1::bigint[])}
     ORDER BY notification_seq, attempt, target",
);

/// What is known of the attempts of these notifications.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<Vec<ReceiptRow>> {
    conn.fetch_all(&OF, args![seqs]).await
}

const GET: Sql = sql!(
    "receipts.get", as ReceiptRow,
    "SELECT {columns} FROM receipts WHERE provider = $1 AND provider_id = $2",
);

#[boxed]
pub async fn get(conn: &mut Conn<'_>, provider: &str, provider_id: &str) -> Result<Option<ReceiptRow>> {
    conn.fetch_optional(&GET, args![provider, provider_id]).await
}

/// What was received since an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
pub struct ReceiptFigures {
    pub confirmed: i64,
    pub failed: i64,
}

// Relies on receipts_received.
const FIGURES: Sql = sql!(
    "receipts.figures",
    "SELECT COUNT(CASE WHEN failed_at IS NULL AND confirmed_at IS NOT NULL THEN 1 END) AS confirmed,
        COUNT(failed_at) AS failed
     FROM receipts
     WHERE received_at IS NOT NULL AND received_at >= $1 AND notification_seq IS NOT NULL",
);

#[boxed]
pub async fn figures(conn: &mut Conn<'_>, since: i64) -> Result<ReceiptFigures> {
    conn.fetch_one(&FIGURES, args![since]).await
}

crate::db::statements![EXPECT, REPORT, OF, GET, FIGURES; waiting];
