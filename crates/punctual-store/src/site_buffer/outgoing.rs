//! Notifications that wait at a site for the central server, and the last known status of forwarded ones.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// A notification that a script has just handed in.
#[derive(Clone, Debug, SetRow)]
pub struct NewOutgoing {
    pub id: String,
    pub digest: String,
    #[column("list_name")]
    pub list: String,
    pub instance: Option<String>,
    pub script: Option<String>,
    pub subject: String,
    pub body: String,
    pub enqueued_at: Timestamp,
    /// How much it takes on the wire.
    pub bytes: i64,
}

const INSERT: Sql = sql!(
    "outgoing.insert", each NewOutgoing, after 0,
    "INSERT INTO outgoing ({names}, state, status) {values {*}, 'waiting', 'forwarding'}
     ON CONFLICT (id) DO NOTHING",
);

/// Inserts what is new, in this order; returns how many were.
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, rows: &[NewOutgoing]) -> Result<u64> {
    conn.execute(&INSERT, with_rows(args![], rows)).await
}

#[derive(Clone, Debug, PartialEq, Record)]
pub struct KnownDigest {
    pub id: String,
    pub digest: String,
}

const DIGESTS: Sql =
    sql!("outgoing.digests", as KnownDigest, "SELECT {columns} FROM outgoing WHERE id IN ({texts $1})");

/// The digests under which these ids are known.
#[boxed]
pub async fn digests(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Vec<KnownDigest>> {
    conn.fetch_all(&DIGESTS, args![ids]).await
}

/// A row that waits, with its content.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct WaitingRow {
    pub seq: i64,
    pub id: String,
    pub digest: String,
    pub enqueued_at: i64,
    pub bytes: i64,
    #[column("list_name")]
    pub list: String,
    pub instance: Option<String>,
    pub script: Option<String>,
    pub subject: String,
    pub body: String,
}

// The innermost select reads only the index, so that content beyond the batch is never touched. The first row is always
// taken, however large.
const WAITING: Sql = sql!(
    "outgoing.waiting", as WaitingRow,
    "SELECT {columns} FROM outgoing
     WHERE state = 'waiting' AND seq > $1 AND seq <= (
         SELECT MAX(seq) FROM (
             SELECT seq, SUM(bytes) OVER (ORDER BY seq) - bytes AS bytes_before
             FROM (SELECT seq, bytes FROM outgoing WHERE state = 'waiting' AND seq > $1 ORDER BY seq LIMIT $2))
         WHERE bytes_before < $3)
     ORDER BY seq",
);

/// The next rows after `after`, oldest first: at most `limit`, and no more than `bytes` unless the first alone has more.
#[boxed]
pub async fn waiting(conn: &mut Conn<'_>, after: i64, limit: i64, bytes: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&WAITING, args![after, limit, bytes]).await
}

const HAND_OVER: Sql = sql!(
    "outgoing.hand_over",
    "UPDATE outgoing
     SET state = 'handed_over', status = 'pending', settled_at = $1, last_error = NULL,
         list_name = NULL, instance = NULL, script = NULL, subject = NULL, body = NULL
     WHERE seq = {any $2} AND state = 'waiting'",
);

/// Central has these rows: their content goes, their ids stay.
#[boxed]
pub async fn hand_over(conn: &mut Conn<'_>, now: Timestamp, seqs: Vec<i64>) -> Result<u64> {
    conn.execute(&HAND_OVER, args![now, seqs]).await
}

#[derive(SetRow)]
struct Refused {
    seq: i64,
    last_error: String,
}

const REFUSE: Sql = sql!(
    "outgoing.refuse", each Refused, after 1,
    "UPDATE outgoing SET state = 'refused', status = 'refused', settled_at = $1, last_error = {.last_error}
     WHERE seq = {.seq} AND state = 'waiting'",
);

/// Central will never take these rows: they leave the queue and are kept, each with why.
#[boxed]
pub async fn refuse(conn: &mut Conn<'_>, now: Timestamp, rows: Vec<(i64, String)>) -> Result<u64> {
    let refused: Vec<Refused> =
        rows.into_iter().map(|(seq, last_error)| Refused { seq, last_error }).collect();
    conn.execute(&REFUSE, with_rows(args![now], &refused)).await
}

/// The state of a notification as far as the site knows.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct OutgoingState {
    pub id: String,
    pub state: String,
    pub status: String,
    pub retry_count: i64,
    pub last_error: Option<String>,
    pub enqueued_at: i64,
    pub delivered_at: Option<i64>,
}

const BY_ID: Sql = sql!("outgoing.by_id", as OutgoingState, "SELECT {columns} FROM outgoing WHERE id = $1");

#[boxed]
pub async fn by_id(conn: &mut Conn<'_>, id: &str) -> Result<Option<OutgoingState>> {
    conn.fetch_optional(&BY_ID, args![id]).await
}

const LEARN: Sql = sql!(
    "outgoing.learn",
    "UPDATE outgoing SET status = $2, retry_count = $3, last_error = $4, delivered_at = $5
     WHERE id = $1 AND state = 'handed_over'",
);

/// Keeps what central answered, for times when it cannot be reached.
#[boxed]
pub async fn learn(conn: &mut Conn<'_>, known: &OutgoingState) -> Result<()> {
    let k = known;
    let bound = args![&k.id, &k.status, k.retry_count, k.last_error.clone(), k.delivered_at];
    conn.execute(&LEARN, bound).await?;
    Ok(())
}

/// How much waits, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Record)]
pub struct Backlog {
    pub waiting: i64,
    pub bytes: i64,
    pub oldest_at: Option<i64>,
    /// Rows that wait since before the instant asked for.
    pub long: i64,
    pub refused: i64,
    /// What the refused ones take.
    pub refused_bytes: i64,
}

// Relies on outgoing_waiting and outgoing_settled alone, but for the bytes of refused rows, of which there are few.
const BACKLOG: Sql = sql!(
    "outgoing.backlog",
    "SELECT
        (SELECT COUNT(*) FROM outgoing WHERE state = 'waiting') AS waiting,
        (SELECT COALESCE(SUM(bytes), 0) FROM outgoing WHERE state = 'waiting') AS bytes,
        (SELECT enqueued_at FROM outgoing WHERE state = 'waiting' ORDER BY seq LIMIT 1) AS oldest_at,
        (SELECT COUNT(*) FROM outgoing WHERE state = 'waiting' AND enqueued_at < $1) AS long,
        (SELECT COUNT(*) FROM outgoing WHERE state = 'refused' AND settled_at IS NOT NULL) AS refused,
        (SELECT COALESCE(SUM(bytes), 0) FROM outgoing WHERE state = 'refused' AND settled_at IS NOT NULL) AS refused_bytes",
);

#[boxed]
pub async fn backlog(conn: &mut Conn<'_>, long_before: Timestamp) -> Result<Backlog> {
    conn.fetch_one(&BACKLOG, args![long_before]).await
}

#[derive(Record)]
struct Oldest {
    enqueued_at: i64,
}

const OLDEST: Sql =
    sql!("outgoing.oldest", "SELECT enqueued_at FROM outgoing WHERE state = 'waiting' ORDER BY seq LIMIT 1");

/// Since when the oldest row waits. A probe, not a count.
#[boxed]
pub async fn oldest(conn: &mut Conn<'_>) -> Result<Option<i64>> {
    let row: Option<Oldest> = conn.fetch_optional(&OLDEST, args![]).await?;
    Ok(row.map(|row| row.enqueued_at))
}

const FORGET: Sql = sql!(
    "outgoing.forget",
    "DELETE FROM outgoing WHERE seq IN (
        SELECT seq FROM outgoing WHERE state = $1 AND settled_at < $2 ORDER BY settled_at LIMIT $3)",
);

/// Removes up to `limit` rows that central has had since before this instant.
#[boxed]
pub async fn forget_handed_over(conn: &mut Conn<'_>, before: Timestamp, limit: i64) -> Result<u64> {
    conn.execute(&FORGET, args!["handed_over", before, limit]).await
}

/// Removes up to `limit` rows that were refused before this instant.
#[boxed]
pub async fn forget_refused(conn: &mut Conn<'_>, before: Timestamp, limit: i64) -> Result<u64> {
    conn.execute(&FORGET, args!["refused", before, limit]).await
}
