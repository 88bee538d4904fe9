//! Claim per channel, settle with the token, and what happens to claims whose node is gone.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::{
    Tx,
    db::{Conn, Result, Sql, args},
};

/// A claimed notification: all that a delivery needs, and the token for every later write.
#[derive(Clone, Debug, Record)]
pub struct ClaimedNotification {
    pub seq: i64,
    pub id: String,
    pub kind: String,
    pub channel: String,
    pub list_name: Option<String>,
    pub targets: Option<String>,
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    pub template: Option<String>,
    pub locale: Option<String>,
    pub context: Option<String>,
    pub type_data: Option<String>,
    /// The files that go along, a JSON array.
    pub attachments: Option<String>,
    pub retry_count: i64,
    /// Which try this is, counted over operator retries too.
    pub tries: i64,
    pub ready_at: i64,
    pub work_id: Option<i64>,
    pub reports_back: bool,
    pub priority: i64,
    pub business_unit: Option<String>,
    pub topic: Option<String>,
    /// The channels that are tried after its own, a JSON array.
    pub failover: Option<String>,
    /// The version after the claim.
    pub version: i64,
}

/// The columns of a [`ClaimedNotification`]; what a claim raises is given as it is after the claim.
macro_rules! columns {
    ($tries:literal, $version:literal) => {
        concat!(
            "seq, id, kind, channel, list_name, targets, subject, body, html, template, locale, context, type_data,
         attachments, retry_count, ",
            $tries,
            ", ready_at, work_id, reports_back, priority, business_unit, topic, failover, ",
            $version
        )
    };
}

macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "
    WITH due AS MATERIALIZED (
        SELECT ready.ready_seq, ready.token FROM generate_series(0::bigint, $5) AS p(level), LATERAL (
            SELECT seq AS ready_seq, version AS token FROM notifications
            WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel = $1
              AND priority = p.level AND ready_at <= $2
            ORDER BY ready_at, seq
            LIMIT $4",
            $lock,
            ") AS ready
        LIMIT $4)
    UPDATE notifications
    SET lease_expires_at = $3, tries = tries + 1, last_attempt_at = $2, version = version + 1
    FROM due
    WHERE seq = due.ready_seq AND version = due.token
    RETURNING ",
            columns!("tries", "version")
        )
    };
}
// Relies on notifications_ready: one probe a priority, because a walk over all of them would pass every row that is not
// ready yet.
const CLAIM: Sql = Sql::same("notifications.claim", claim!(" FOR UPDATE SKIP LOCKED"));
const CLAIM_WITHOUT_SKIP: Sql = Sql::same("notifications.claim", claim!(""));
// SQLite reads the set and then takes it: one transaction at a time writes, so nothing can come in between. The list of
// priorities lets it jump from one to the next inside the index instead of walking over rows that are not ready yet; the
// bound beside it is not for the index.
const READY: Sql = Sql::same(
    "notifications.ready",
    concat!(
        "SELECT ",
        columns!("tries + 1 AS tries", "version + 1 AS version"),
        " FROM notifications
     WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel = $1
       AND priority IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AND +priority <= $4 AND ready_at <= $2
     ORDER BY priority, ready_at, seq
     LIMIT $3"
    ),
);
macro_rules! take {
    ($which:literal) => {
        concat!(
            "
    UPDATE notifications
    SET lease_expires_at = $2, tries = tries + 1, last_attempt_at = $1, version = version + 1
    WHERE seq = ",
            $which
        )
    };
}
const TAKE: Sql = Sql::rows("notifications.take", take!("$3"), take!("ANY($3)"));

/// The least urgent priority there is.
const EVERY_PRIORITY: i64 = 9;

/// Claims up to `limit` ready notifications of one channel, most urgent first.
#[boxed]
pub async fn claim(
    tx: &mut Tx,
    channel: &str,
    now: Timestamp,
    lease_until: Timestamp,
    limit: i64,
) -> Result<Vec<ClaimedNotification>> {
    claim_up_to(tx, channel, EVERY_PRIORITY, now, lease_until, limit).await
}

/// The same, of those alone that are at least as urgent as this priority.
#[boxed]
pub async fn claim_up_to(
    tx: &mut Tx,
    channel: &str,
    priority: i64,
    now: Timestamp,
    lease_until: Timestamp,
    limit: i64,
) -> Result<Vec<ClaimedNotification>> {
    let sql = if tx.without_skip_locked() { &CLAIM_WITHOUT_SKIP } else { &CLAIM };
    let mut conn = tx.conn();
    let mut rows: Vec<ClaimedNotification> = if conn.is_sqlite() {
        let rows: Vec<ClaimedNotification> =
            conn.fetch_all(&READY, args![channel, now, limit, priority]).await?;
        if !rows.is_empty() {
            let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
            conn.execute(&TAKE, args![now, lease_until, seqs]).await?;
        }
        rows
    } else {
        conn.fetch_all(sql, args![channel, now, lease_until, limit, priority]).await?
    };
    rows.sort_by_key(|row| row.seq);
    Ok(rows)
}

/// What identifies a notification and its work, without anything of its content.
#[derive(Clone, Debug, Record)]
pub struct NotificationHead {
    pub seq: i64,
    pub id: String,
    pub channel: String,
    pub retry_count: i64,
    pub tries: i64,
    pub work_id: Option<i64>,
    pub reports_back: bool,
    pub version: i64,
}

macro_rules! head {
    () => {
        "seq, id, channel, retry_count, tries, work_id, reports_back, version"
    };
}

macro_rules! ready_heads {
    ($levels:literal) => {
        concat!(
            "
    SELECT ",
            head!(),
            " FROM notifications
    WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel = $1
      AND priority IN (",
            $levels,
            ") AND ready_at <= $2
    ORDER BY priority, ready_at, seq
    LIMIT $3"
        )
    };
}
// Relies on notifications_ready.
const READY_HEADS: Sql = Sql::each(
    "notifications.ready_heads",
    ready_heads!("SELECT value FROM json_each('[0,1,2,3,4,5,6,7,8,9]') WHERE value <= $4"),
    ready_heads!("SELECT generate_series(0::bigint, $4)"),
);

/// The rows that a claim of this channel would take, without their content: for finding the one that a claim fails on.
#[boxed]
pub async fn ready_heads(
    conn: &mut Conn<'_>,
    channel: &str,
    priority: i64,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<NotificationHead>> {
    conn.fetch_all(&READY_HEADS, args![channel, now, limit, priority]).await
}

// As with the claim above, SQLite reads the rows and then takes them.
const CLAIM_THESE: Sql = Sql::each(
    "notifications.claim_these",
    concat!(
        "SELECT ",
        columns!("tries + 1 AS tries", "version + 1 AS version"),
        " FROM notifications
     WHERE seq IN (SELECT value FROM json_each($1)) AND lease_expires_at IS NULL
     ORDER BY seq"
    ),
    concat!(
        "UPDATE notifications
     SET lease_expires_at = $3, tries = tries + 1, last_attempt_at = $2, version = version + 1
     FROM UNNEST($1::bigint[], $4::bigint[]) AS r(wanted, token)
     WHERE seq = r.wanted AND version = r.token AND lease_expires_at IS NULL
     RETURNING ",
        columns!("tries", "version")
    ),
);

/// Claims these rows, as far as they are still as they were read.
#[boxed]
pub async fn claim_these(
    tx: &mut Tx,
    heads: &[NotificationHead],
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Vec<ClaimedNotification>> {
    let mut conn = tx.conn();
    let seqs: Vec<i64> = heads.iter().map(|head| head.seq).collect();
    let mut rows: Vec<ClaimedNotification> = if conn.is_sqlite() {
        let mut rows: Vec<ClaimedNotification> = conn.fetch_all(&CLAIM_THESE, args![seqs]).await?;
        rows.retain(|row| heads.iter().any(|head| (head.seq, head.version + 1) == (row.seq, row.version)));
        if !rows.is_empty() {
            let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
            conn.execute(&TAKE, args![now, lease_until, seqs]).await?;
        }
        rows
    } else {
        let tokens: Vec<i64> = heads.iter().map(|head| head.version).collect();
        conn.fetch_all(&CLAIM_THESE, args![seqs, now, lease_until, tokens]).await?
    };
    rows.sort_by_key(|row| row.seq);
    Ok(rows)
}

/// What became of one claimed notification, ready to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    pub seq: i64,
    pub token: i64,
    pub status: &'static str,
    pub retry_count: i64,
    pub last_error: Option<String>,
    pub reason: Option<String>,
    /// When it is tried again, where it is.
    pub retry_at: Option<Timestamp>,
    /// Set where it must leave over another channel than it was queued for.
    pub channel: Option<String>,
}

const SETTLE: Sql = Sql::rows(
    "notifications.settle",
    "UPDATE notifications
     SET status = $4, lease_expires_at = NULL, retry_count = $5, last_error = COALESCE($6, last_error),
         reason_code = $7, ready_at = COALESCE($8, ready_at), channel = COALESCE($9, channel),
         delivered_at = CASE WHEN $4 = 'delivered' THEN $1 ELSE NULL END,
         finished_at = CASE WHEN $4 IN ('pending', 'retrying') THEN NULL ELSE $1 END,
         version = version + 1
     WHERE seq = $2 AND version = $3",
    "UPDATE notifications
     SET status = r.status, lease_expires_at = NULL, retry_count = r.retry_count,
         last_error = COALESCE(r.last_error, notifications.last_error), reason_code = r.reason,
         ready_at = COALESCE(r.retry_at, notifications.ready_at),
         channel = COALESCE(r.channel, notifications.channel),
         delivered_at = CASE WHEN r.status = 'delivered' THEN $1 ELSE NULL END,
         finished_at = CASE WHEN r.status IN ('pending', 'retrying') THEN NULL ELSE $1 END,
         version = notifications.version + 1
     FROM UNNEST($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::bigint[],
             $9::text[])
         AS r(seq, token, status, retry_count, last_error, reason, retry_at, channel)
     WHERE notifications.seq = r.seq AND notifications.version = r.token
     RETURNING notifications.seq AS id",
);

/// Writes outcomes. Returns the ids whose tokens were still valid; the other rows have moved on and are not changed.
#[boxed]
pub async fn settle(conn: &mut Conn<'_>, now: Timestamp, rows: &[Delivery]) -> Result<Vec<i64>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        now,
        column!(|d| d.seq),
        column!(|d| d.token),
        column!(|d| d.status),
        column!(|d| d.retry_count),
        column!(|d| d.last_error.as_deref()),
        column!(|d| d.reason.as_deref()),
        column!(|d| d.retry_at),
        column!(|d| d.channel.as_deref()),
    ];
    conn.change(&SETTLE, bound, |row| rows[row].seq).await
}

/// When the next notification of one channel and priority is ready.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Record)]
pub struct Earliest {
    pub channel: String,
    pub priority: i64,
    pub ready_at: i64,
}

// A loose walk over notifications_ready: one probe per channel that has live rows, not one per row.
macro_rules! earliest { ($least:literal) => { concat!("
    WITH RECURSIVE used(channel) AS (
        SELECT (SELECT channel FROM notifications
                WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL
                ORDER BY channel LIMIT 1)
        UNION ALL
        SELECT (SELECT n.channel FROM notifications n
                WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL AND n.channel > used.channel
                ORDER BY n.channel LIMIT 1)
        FROM used WHERE used.channel IS NOT NULL
    ), levels(channel, priority) AS (
        SELECT used.channel, p.priority FROM used, ", $least, "
        WHERE used.channel IS NOT NULL
    )
    SELECT channel, priority, ready_at FROM (
        SELECT l.channel AS channel, l.priority AS priority,
            (SELECT ready_at FROM notifications n
             WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL
               AND n.channel = l.channel AND n.priority = l.priority
             ORDER BY ready_at LIMIT 1) AS ready_at
        FROM levels l) AS firsts
    WHERE ready_at IS NOT NULL") } }
const EARLIEST: Sql = Sql::each(
    "notifications.earliest",
    earliest!("(SELECT value AS priority FROM json_each('[0,1,2,3,4,5,6,7,8,9]')) AS p"),
    earliest!("generate_series(0::bigint, 9) AS p(priority)"),
);

/// When the next notification of each channel and priority is ready; what has none is left out.
#[boxed]
pub async fn earliest(conn: &mut Conn<'_>) -> Result<Vec<Earliest>> {
    conn.fetch_all(&EARLIEST, args![]).await
}

// Relies on notifications_leased.
const EXPIRED: Sql = Sql::same(
    "notifications.expired",
    concat!(
        "SELECT ",
        head!(),
        " FROM notifications
     WHERE lease_expires_at IS NOT NULL AND lease_expires_at <= $1
     ORDER BY lease_expires_at
     LIMIT $2"
    ),
);

/// The oldest claims whose node did not settle them in time. Nothing is locked: whoever changes one names the version
/// that was read.
#[boxed]
pub async fn expired(conn: &mut Conn<'_>, now: Timestamp, limit: i64) -> Result<Vec<NotificationHead>> {
    conn.fetch_all(&EXPIRED, args![now, limit]).await
}

const RELEASE_LEASES: Sql = Sql::same(
    "notifications.release_leases",
    "UPDATE notifications SET lease_expires_at = $1 WHERE lease_expires_at > $1",
);

/// Ends every lease now, so that the sweep takes the rows: only where no other process can hold one.
#[boxed]
pub async fn release_leases(conn: &mut Conn<'_>, now: Timestamp) -> Result<u64> {
    conn.execute(&RELEASE_LEASES, args![now]).await
}

const RENEW: Sql = Sql::rows(
    "notifications.renew",
    "UPDATE notifications SET lease_expires_at = $1 WHERE seq = $2 AND version = $3",
    "UPDATE notifications SET lease_expires_at = $1
     FROM UNNEST($2::bigint[], $3::bigint[]) AS r(seq, token)
     WHERE notifications.seq = r.seq AND notifications.version = r.token
     RETURNING notifications.seq AS id",
);

/// Extends leases that are still held; returns their ids.
#[boxed]
pub async fn renew(conn: &mut Conn<'_>, lease_until: Timestamp, held: &[(i64, i64)]) -> Result<Vec<i64>> {
    let (seqs, tokens): (Vec<i64>, Vec<i64>) = held.iter().copied().unzip();
    conn.change(&RENEW, args![lease_until, seqs, tokens], |row| held[row].0).await
}

crate::db::statements![
    CLAIM,
    CLAIM_WITHOUT_SKIP,
    READY,
    READY_HEADS,
    CLAIM_THESE,
    TAKE,
    SETTLE,
    EARLIEST,
    EXPIRED,
    RELEASE_LEASES,
    RENEW
];
