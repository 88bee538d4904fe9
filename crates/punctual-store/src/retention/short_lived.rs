//! Removes rows that are kept for days, in batches, so that nothing waits for a large delete.

// On PostgreSQL rows are named by their place: by their keys a batch would be joined with the whole table.

use jiff::Timestamp;
use punctual_boxed::boxed;

use crate::db::{Conn, Result, Sql, args, sql};

// Relies on idempotency_keys_by_age.
const ANSWERS: Sql = sql!(
    "retention.answers",
    "DELETE FROM idempotency_keys WHERE {sqlite (owner, key) IN (SELECT owner, key}{postgres ctid = ANY(ARRAY(SELECT ctid}
         FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2){postgres )}",
);

/// Removes some answers to idempotency keys that are older than this.
#[boxed]
pub async fn forget_answers(conn: &mut Conn<'_>, before: Timestamp, limit: i64) -> Result<u64> {
    conn.execute(&ANSWERS, args![before, limit]).await
}

// Relies on known_events_by_age.
const EVENTS: Sql = sql!(
    "retention.events",
    "DELETE FROM known_events WHERE {sqlite (scope, source, event_id) IN (SELECT scope, source, event_id}{postgres ctid = ANY(ARRAY(SELECT ctid}
         FROM known_events WHERE received_at < $1 ORDER BY received_at LIMIT $2){postgres )}",
);

/// Forgets some events of brokers that were received before this.
#[boxed]
pub async fn forget_events(conn: &mut Conn<'_>, before: Timestamp, limit: i64) -> Result<u64> {
    conn.execute(&EVENTS, args![before, limit]).await
}

// Relies on receipts_received.
const RECEIPTS: Sql = sql!(
    "retention.receipts",
    "DELETE FROM receipts WHERE {sqlite (provider, provider_id) IN (SELECT provider, provider_id}{postgres ctid = ANY(ARRAY(SELECT ctid}
         FROM receipts
         WHERE received_at IS NOT NULL AND received_at < $1 AND notification_seq IS NULL
         ORDER BY received_at LIMIT $2){postgres )}",
);

/// Removes some receipts for messages that were not ours after all.
#[boxed]
pub async fn forget_receipts(conn: &mut Conn<'_>, before: Timestamp, limit: i64) -> Result<u64> {
    conn.execute(&RECEIPTS, args![before, limit]).await
}

// Relies on inbox_by_age.
const INBOX: Sql = sql!(
    "retention.inbox",
    "DELETE FROM inbox WHERE {sqlite seq IN (SELECT seq}{postgres ctid = ANY(ARRAY(SELECT ctid}
         FROM inbox WHERE created_at < $1 ORDER BY created_at LIMIT $2){postgres )}",
);

/// Removes some messages of inboxes that are older than this.
#[boxed]
pub async fn forget_inbox(conn: &mut Conn<'_>, before: Timestamp, limit: i64) -> Result<u64> {
    conn.execute(&INBOX, args![before, limit]).await
}

crate::db::statements![ANSWERS, EVENTS, RECEIPTS, INBOX];
