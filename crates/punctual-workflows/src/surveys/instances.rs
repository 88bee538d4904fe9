//! Instances for people: the outcome of each message, and revoking a link.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, Engine, EngineError};
use punctual_model::{AttemptOutcome, AuditAction, NotificationStatus, Reach, ReasonCode, WorkKey};
use punctual_store::{
    Conn, Lane, StoreError,
    attempts::{self, AttemptRow},
    audit,
    notifications::{self, NotificationRow},
    survey_attempts,
    survey_instances::{self, InstanceRow},
    work,
};

use super::{
    Catalogue,
    answer::{live_keys, stop},
};

/// One attempt for one message.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    /// Which attempt of all, from 1.
    pub attempt: i64,
    /// Which message of the schedule, from 1.
    pub ordinal: i64,
    pub sent_at: Timestamp,
    /// `delivered`, `failed`, `uncertain`, `underway`, or why there was none, such as `no-channel`.
    pub status: String,
    /// The provider's id of the message.
    pub message_id: Option<String>,
    pub error: Option<String>,
    pub notification_id: String,
}

/// How many times a completed message was sent again by hand, as far as one look goes; there is another look where it was
/// more often.
const SENT_AGAIN: i64 = 3;

/// The attempts of each instance, oldest first, read from the ledger of attempts and from what purges have left of it.
#[boxed]
pub async fn delivery_logs(
    conn: &mut Conn<'_>,
    reach: &Reach,
    instances: &[InstanceRow],
) -> Result<HashMap<String, Vec<LogEntry>>, StoreError> {
    let mut logs: HashMap<String, Vec<LogEntry>> = HashMap::new();
    let mut wanted = HashMap::new();
    for instance in instances {
        // The message after those that arrived may be under way, or given up.
        for ordinal in 1..=instance.sends + 1 {
            sends(instance, ordinal, 0..=SENT_AGAIN, &mut wanted);
        }
    }
    while !wanted.is_empty() {
        let (mut messages, mut more) = (HashMap::new(), HashMap::new());
        for row in work::by_keys(conn, reach, wanted.keys().cloned().collect()).await? {
            let Some(send) = wanted.get(&row.key) else { continue };
            messages.extend(row.queued().into_iter().map(|id| (id, *send)));
            // An instance with as many sends as one look reads may have more.
            if send.is_last {
                sends(send.instance, send.ordinal, send.again + 1..=send.again + SENT_AGAIN, &mut more);
            }
        }
        log_of(conn, reach, &messages, &mut logs).await?;
        wanted = more;
    }
    for log in logs.values_mut() {
        log.sort_by_key(|entry| (entry.sent_at, entry.ordinal));
        for (number, entry) in (1..).zip(log.iter_mut()) {
            entry.attempt = number;
        }
    }
    Ok(logs)
}

/// A send that an instance may have: of the schedule, or once more by hand.
#[derive(Clone, Copy)]
struct Send<'i> {
    instance: &'i InstanceRow,
    ordinal: i64,
    /// 0 for the send of the schedule, and from 1 for those by hand.
    again: i64,
    is_last: bool,
}

/// The sends of an ordinal by their work keys.
fn sends<'i>(
    instance: &'i InstanceRow,
    ordinal: i64,
    which: std::ops::RangeInclusive<i64>,
    wanted: &mut HashMap<String, Send<'i>>,
) {
    let Ok(own) = WorkKey::survey_send(&instance.public_id, ordinal) else { return };
    let last = *which.end();
    for again in which {
        let key = if again == 0 { Ok(own.clone()) } else { WorkKey::support_retry(&own, again) };
        let Ok(key) = key else { return };
        wanted.insert(key.as_str().to_owned(), Send { instance, ordinal, again, is_last: again == last });
    }
}

/// Adds what is known of these messages to the logs.
async fn log_of(
    conn: &mut Conn<'_>,
    reach: &Reach,
    messages: &HashMap<String, Send<'_>>,
    logs: &mut HashMap<String, Vec<LogEntry>>,
) -> Result<(), StoreError> {
    let rows = notifications::by_ids(conn, reach, messages.keys().cloned().collect()).await?;
    let attempts_made = attempts::of(conn, rows.iter().map(|row| row.seq).collect()).await?;
    let mut by_seq: HashMap<i64, Vec<AttemptRow>> = HashMap::new();
    for one in attempts_made {
        by_seq.entry(one.notification_seq).or_default().push(one);
    }
    let mut purged: HashSet<&str> = messages.keys().map(String::as_str).collect();
    for row in rows {
        let id = row.id.to_string();
        let Some(send) = messages.get(&id) else { continue };
        purged.remove(id.as_str());
        let attempts_made = by_seq.remove(&row.seq).unwrap_or_default();
        logs.entry(send.instance.public_id.clone()).or_default().extend(entries(
            &row,
            send.ordinal,
            attempts_made,
        )?);
    }
    for one in survey_attempts::of(conn, purged.into_iter().map(str::to_owned).collect()).await? {
        let Some(send) = messages.get(&one.notification_id) else { continue };
        logs.entry(send.instance.public_id.clone()).or_default().push(LogEntry {
            attempt: 0,
            ordinal: send.ordinal,
            sent_at: one.attempted_at,
            status: one.status,
            message_id: one.provider_id,
            error: one.answer,
            notification_id: one.notification_id,
        });
    }
    Ok(())
}

fn entries(
    row: &NotificationRow,
    ordinal: i64,
    attempts_made: Vec<AttemptRow>,
) -> Result<Vec<LogEntry>, StoreError> {
    let entry = |at: Timestamp, status: &str| {
        Ok::<_, StoreError>(LogEntry {
            attempt: 0,
            ordinal,
            sent_at: at,
            status: status.to_owned(),
            message_id: None,
            error: None,
            notification_id: row.id.to_string(),
        })
    };
    // Given up without an attempt, and perhaps withdrawn since; what was withdrawn before an attempt leaves no entry.
    let is_given_up = row.status == NotificationStatus::Parked
        || (row.status == NotificationStatus::Withdrawn && row.last_error.is_some());
    if attempts_made.is_empty() && is_given_up {
        let at = row.finished_at.unwrap_or(row.created_at);
        let reason = row.reason_code.as_deref().unwrap_or("failed");
        return Ok(vec![LogEntry { error: row.last_error.clone(), ..entry(at, reason)? }]);
    }
    attempts_made
        .into_iter()
        .map(|one| {
            let status = match one.outcome {
                Some(AttemptOutcome::Delivered) => "delivered",
                Some(AttemptOutcome::Uncertain) => "uncertain",
                Some(AttemptOutcome::Transient | AttemptOutcome::Permanent) => "failed",
                None => "underway",
            };
            let at = one.finished_at.unwrap_or(one.started_at);
            Ok(LogEntry { message_id: one.provider_id, error: one.answer, ..entry(at, status)? })
        })
        .collect()
}

/// Takes a link back: nothing more is sent, its page is gone, and the same event may make a new one.
#[boxed]
pub async fn delete(
    engine: &Engine,
    catalogue: &Catalogue,
    by: &Actor,
    public_id: &str,
) -> Result<(), EngineError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let found = survey_instances::by_public_id(&mut tx.conn(), &by.reach(), public_id).await?;
    let found = found.filter(|instance| !instance.deleted).ok_or(EngineError::NotFound)?;
    let version = catalogue.version(&mut tx.conn(), found.version_id).await?.ok_or(EngineError::NotFound)?;
    let keys = live_keys(&mut tx.conn(), &found, &version).await?;
    let locked = work::lock_existing(&mut tx.conn(), keys.clone()).await?;
    survey_instances::lock(&mut tx.conn(), vec![public_id.to_owned()]).await?;
    if !survey_instances::delete(&mut tx.conn(), found.id).await? {
        return Err(EngineError::NotFound);
    }
    stop(&mut tx, now, ReasonCode::Deleted, keys, &locked).await?;
    let entry = audit::Entry {
        from: Some(found.status.as_str().to_owned()),
        ..audit::Entry::new(AuditAction::Delete, "survey-instance", public_id, found.business_unit.as_deref())
    };
    by.audit_entry(&mut tx, now, entry).await?;
    tx.commit().await?;
    Ok(())
}
