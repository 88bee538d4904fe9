//! Tries at surveys' messages that a purge has moved here from the ledger: what an instance's log still says of them.

use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct TryRow {
    pub notification_id: String,
    pub n: i64,
    pub tried_at: i64,
    /// As the log says it: `delivered`, `failed`, `uncertain`, or why there was no try.
    pub status: String,
    pub provider_id: Option<String>,
    pub answer: Option<String>,
}

macro_rules! keep { ($seqs:literal) => { concat!("
    INSERT INTO survey_tries (notification_id, n, tried_at, status, provider_id, answer)
    SELECT m.id, a.n, COALESCE(a.finished_at, a.started_at),
           CASE WHEN a.outcome = 'delivered' OR a.outcome = 'uncertain' THEN a.outcome ELSE 'failed' END,
           a.provider_id, a.answer
    FROM notifications m
    JOIN work w ON w.id = m.work_id AND w.kind = 'survey'
    JOIN attempts a ON a.notification_seq = m.seq
    WHERE m.seq IN (", $seqs, ")
    UNION ALL
    SELECT m.id, 0, COALESCE(m.finished_at, m.created_at), COALESCE(m.reason_code, 'failed'), NULL, m.last_error
    FROM notifications m
    JOIN work w ON w.id = m.work_id AND w.kind = 'survey'
    WHERE m.seq IN (", $seqs, ") AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.notification_seq = m.seq)
      AND (m.status = 'parked' OR (m.status = 'withdrawn' AND m.last_error IS NOT NULL))
    ON CONFLICT (notification_id, n) DO NOTHING") } }
const KEEP: Sql = Sql::each(
    "survey_tries.keep",
    keep!("SELECT value FROM json_each($1)"),
    keep!("SELECT UNNEST($1::bigint[])"),
);

/// Keeps the tries of these notifications, as far as they are a survey's, before they are removed.
pub(crate) async fn keep(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<u64> {
    conn.execute(&KEEP, args![seqs]).await
}

macro_rules! of {
    ($ids:literal) => {
        concat!(
            "
    SELECT notification_id, n, tried_at, status, provider_id, answer
    FROM survey_tries WHERE notification_id IN (",
            $ids,
            ")
    ORDER BY notification_id, n"
        )
    };
}
const OF: Sql =
    Sql::each("survey_tries.of", of!("SELECT value FROM json_each($1)"), of!("SELECT UNNEST($1::text[])"));

/// What is kept of these notifications.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, notifications: Vec<String>) -> Result<Vec<TryRow>> {
    conn.fetch_all(&OF, args![notifications]).await
}

crate::db::statements![KEEP, OF];
