//! Attempts of survey messages, moved here by a purge so that the log of an instance still shows them.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SurveyAttemptRow {
    pub notification_id: String,
    pub n: i64,
    pub attempted_at: Timestamp,
    /// As the log has it: `delivered`, `failed`, `uncertain`, or why there was no attempt.
    pub status: String,
    pub provider_id: Option<String>,
    pub answer: Option<String>,
}

const KEEP: Sql = sql!(
    "survey_attempts.keep",
    "INSERT INTO survey_attempts (notification_id, n, attempted_at, status, provider_id, answer)
     SELECT m.id, a.n, COALESCE(a.finished_at, a.started_at),
            CASE WHEN a.outcome = 'delivered' OR a.outcome = 'uncertain' THEN a.outcome ELSE 'failed' END,
            a.provider_id, a.answer
     FROM notifications m
     JOIN work w ON w.id = m.work_id AND w.kind = 'survey'
     JOIN attempts a ON a.notification_seq = m.seq
     WHERE m.seq IN ({ints $1})
     UNION ALL
     SELECT m.id, 0, COALESCE(m.finished_at, m.created_at), COALESCE(m.reason_code, 'failed'), NULL, m.last_error
     FROM notifications m
     JOIN work w ON w.id = m.work_id AND w.kind = 'survey'
     WHERE m.seq IN ({ints $1}) AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.notification_seq = m.seq)
       AND (m.status = 'parked' OR (m.status = 'withdrawn' AND m.last_error IS NOT NULL))
     ON CONFLICT (notification_id, n) DO NOTHING",
);

/// Keeps the attempts of these notifications, where they are a survey's, before they are removed.
pub(crate) async fn keep(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<u64> {
    conn.execute(&KEEP, args![seqs]).await
}

const OF: Sql = sql!(
    "survey_attempts.of", as SurveyAttemptRow,
    "SELECT {columns}
     FROM survey_attempts WHERE notification_id IN ({texts $1})
     ORDER BY notification_id, n",
);

/// What is kept of these notifications.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, notifications: Vec<String>) -> Result<Vec<SurveyAttemptRow>> {
    conn.fetch_all(&OF, args![notifications]).await
}

crate::db::statements![KEEP, OF];
