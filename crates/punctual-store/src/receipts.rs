//! Receipts: what providers tell later about messages that they took, found by the provider's id of the message.
//!
//! A row is written with the provider's yes, for channels whose provider calls back and for no others, so that the
//! table of attempts needs no index on ids: PostgreSQL would then have to touch every index of it at each result. A
//! receipt only ever adds to what is known, so their order does not matter and a repeat changes nothing.

mod waiting;

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

pub use waiting::{count_failed, failed, seen};

use crate::db::{Conn, Result, Sql, args};

/// What is known of one message that a provider took.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct ReceiptRow {
    pub provider: String,
    pub provider_id: String,
    /// Nothing of these where the receipt was quicker than our own record of the yes.
    pub channel: Option<String>,
    pub notification_seq: Option<i64>,
    pub target: Option<String>,
    pub attempt: Option<i64>,
    /// See `ReceiptState::rank`.
    pub rank: i64,
    pub confirmed_at: Option<i64>,
    pub failed_at: Option<i64>,
    pub code: Option<String>,
    pub detail: Option<String>,
    pub suppress: Option<String>,
    pub needs_person: bool,
    pub received_at: Option<i64>,
}

/// A message that a provider took.
#[derive(Clone, Debug)]
pub struct Expected {
    pub provider_id: String,
    pub channel: String,
    pub seq: i64,
    pub target: String,
    pub attempt: i64,
}

macro_rules! columns {
    () => {
        "provider, provider_id, channel, notification_seq, target, attempt, rank, confirmed_at, failed_at, code, detail,
        suppress, needs_person, received_at"
    };
}

macro_rules! expect {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO receipts (provider, provider_id, channel, notification_seq, target, attempt, rank)
    ",
            $values,
            "
    ON CONFLICT (provider, provider_id) DO UPDATE
    SET channel = EXCLUDED.channel, notification_seq = EXCLUDED.notification_seq, target = EXCLUDED.target,
        attempt = EXCLUDED.attempt, needs_person = receipts.failed_at IS NOT NULL
    WHERE receipts.notification_seq IS NULL
    RETURNING ",
            columns!()
        )
    };
}
const EXPECT: Sql = Sql::rows(
    "receipts.expect",
    expect!("VALUES ($1, $2, $3, $4, $5, $6, 0)"),
    expect!(
        "SELECT $1, r.provider_id, r.channel, r.seq, r.target, r.attempt, 0
    FROM (SELECT DISTINCT ON (u.provider_id) u.* FROM UNNEST($2::text[], $3::text[], $4::bigint[], $5::text[],
            $6::bigint[]) AS u(provider_id, channel, seq, target, attempt) ORDER BY u.provider_id) AS r"
    ),
);

/// Writes down what a provider took, with the record of its yes. Returns what is already known of it: a receipt may have
/// been quicker.
#[boxed]
pub async fn expect(conn: &mut Conn<'_>, provider: &str, rows: &[Expected]) -> Result<Vec<ReceiptRow>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        provider,
        column!(|r| r.provider_id.as_str()),
        column!(|r| r.channel.as_str()),
        column!(|r| r.seq),
        column!(|r| r.target.as_str()),
        column!(|r| r.attempt),
    ];
    let rows: Vec<ReceiptRow> = conn.fetch_all(&EXPECT, bound).await?;
    Ok(rows.into_iter().filter(|row| row.received_at.is_some()).collect())
}

/// What a provider says about one message; one of each id in a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    pub provider_id: String,
    pub rank: i64,
    pub confirmed_at: Option<Timestamp>,
    pub failed_at: Option<Timestamp>,
    pub code: Option<String>,
    pub detail: Option<String>,
    pub suppress: Option<&'static str>,
}

// The earlier of two instants counts, and the higher rank with what was said with it: whatever the order, the end is the
// same.
macro_rules! tell {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO receipts (provider, provider_id, rank, confirmed_at, failed_at, code, detail, suppress, received_at)
    ",
            $values,
            "
    ON CONFLICT (provider, provider_id) DO UPDATE
    SET code = CASE WHEN EXCLUDED.rank > receipts.rank THEN EXCLUDED.code ELSE receipts.code END,
        detail = CASE WHEN EXCLUDED.rank > receipts.rank THEN EXCLUDED.detail ELSE receipts.detail END,
        rank = CASE WHEN EXCLUDED.rank > receipts.rank THEN EXCLUDED.rank ELSE receipts.rank END,
        confirmed_at = CASE WHEN receipts.confirmed_at IS NULL OR EXCLUDED.confirmed_at < receipts.confirmed_at
            THEN EXCLUDED.confirmed_at ELSE receipts.confirmed_at END,
        needs_person = receipts.needs_person
            OR (receipts.notification_seq IS NOT NULL AND receipts.failed_at IS NULL AND EXCLUDED.failed_at IS NOT NULL),
        failed_at = CASE WHEN receipts.failed_at IS NULL OR EXCLUDED.failed_at < receipts.failed_at
            THEN EXCLUDED.failed_at ELSE receipts.failed_at END,
        suppress = COALESCE(receipts.suppress, EXCLUDED.suppress),
        received_at = EXCLUDED.received_at
    WHERE EXCLUDED.rank > receipts.rank
        OR (EXCLUDED.confirmed_at IS NOT NULL
            AND (receipts.confirmed_at IS NULL OR EXCLUDED.confirmed_at < receipts.confirmed_at))
        OR (EXCLUDED.failed_at IS NOT NULL AND (receipts.failed_at IS NULL OR EXCLUDED.failed_at < receipts.failed_at))
        OR (EXCLUDED.suppress IS NOT NULL AND receipts.suppress IS NULL)
    RETURNING ",
            columns!()
        )
    };
}
const TELL: Sql = Sql::rows(
    "receipts.tell",
    tell!("VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $1)"),
    tell!(
        "SELECT $2, r.provider_id, r.rank, r.confirmed_at, r.failed_at, r.code, r.detail, r.suppress, $1
    FROM UNNEST($3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[])
        AS r(provider_id, rank, confirmed_at, failed_at, code, detail, suppress)
    ORDER BY r.provider_id"
    ),
);

/// Takes what a provider says; returns the rows to which it added something. A message that is not known yet is kept: its
/// own record may be under way.
#[boxed]
pub async fn tell(
    conn: &mut Conn<'_>,
    now: Timestamp,
    provider: &str,
    news: &[News],
) -> Result<Vec<ReceiptRow>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            news.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let micros = |at: Option<Timestamp>| at.map(Timestamp::as_microsecond);
    let bound = args![
        now,
        provider,
        column!(|r| r.provider_id.as_str()),
        column!(|r| r.rank),
        column!(|r| micros(r.confirmed_at)),
        column!(|r| micros(r.failed_at)),
        column!(|r| r.code.as_deref()),
        column!(|r| r.detail.as_deref()),
        column!(|r| r.suppress),
    ];
    conn.fetch_all(&TELL, bound).await
}

macro_rules! of {
    ($seqs:literal) => {
        concat!(
            "
    SELECT ",
            columns!(),
            "
    FROM receipts WHERE notification_seq IS NOT NULL AND notification_seq IN (",
            $seqs,
            ")
    ORDER BY notification_seq, attempt, target"
        )
    };
}
const OF: Sql =
    Sql::each("receipts.of", of!("SELECT value FROM json_each($1)"), of!("SELECT UNNEST($1::bigint[])"));

/// What is known of the tries of these notifications.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<Vec<ReceiptRow>> {
    conn.fetch_all(&OF, args![seqs]).await
}

const GET: Sql = Sql::same(
    "receipts.get",
    concat!("SELECT ", columns!(), " FROM receipts WHERE provider = $1 AND provider_id = $2"),
);

#[boxed]
pub async fn get(conn: &mut Conn<'_>, provider: &str, provider_id: &str) -> Result<Option<ReceiptRow>> {
    conn.fetch_optional(&GET, args![provider, provider_id]).await
}

const FORGET: Sql = Sql::same(
    "receipts.forget",
    "DELETE FROM receipts WHERE received_at IS NOT NULL AND received_at < $1 AND notification_seq IS NULL",
);

/// Removes receipts for messages that were not ours after all.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, before: Timestamp) -> Result<u64> {
    conn.execute(&FORGET, args![before]).await
}

/// What came in since an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
pub struct ReceiptFigures {
    pub confirmed: i64,
    pub failed: i64,
}

// Relies on receipts_received.
const FIGURES: Sql = Sql::same(
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

crate::db::statements![EXPECT, TELL, OF, GET, FORGET, FIGURES; waiting];
