//! The timeline of one notification, read from stored rows: event → work → claim → each attempt → settled.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AttemptOutcome, Reach, ReceiptState, SuppressionReason};
use punctual_store::{attempts, audit, notifications, receipts, skipped_targets, work};
use serde_json::{Value, json};

use crate::{Engine, EngineError, titles::Step};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    pub at: Timestamp,
    pub what: &'static str,
    /// What it is called for people.
    pub title: String,
    /// A plain sentence.
    pub detail: String,
    pub data: Value,
}

impl Engine {
    /// What happened to a notification that is within reach.
    #[boxed]
    pub async fn timeline(&self, reach: &Reach, id: &str) -> Result<Vec<Moment>, EngineError> {
        let mut reader = self.store.read().await?;
        let row = notifications::by_id(&mut reader.conn(), reach, id).await?.ok_or(EngineError::NotFound)?;
        let mut moments = Vec::new();
        if let Some(work_id) = row.work_id
            && let Some(origin) = work::by_id(&mut reader.conn(), reach, work_id.0).await?
        {
            let title = self.title(&mut reader.conn(), reach, &origin.kind, &origin.key).await?;
            moments.push(moment(
                origin.created_at,
                Step::Planned,
                format!("{title} was planned for {}", origin.due_at),
                json!({ "workId": origin.id.to_string(), "title": title, "key": origin.key, "kind": origin.kind,
                        "dueAt": origin.due_at.to_string(), "localDate": origin.local_date, "timeZone": origin.time_zone }),
            ));
            moments.push(moment(
                row.created_at,
                Step::Due,
                format!(
                    "{title} was due and decided {} ms after its moment",
                    row.created_at.duration_since(origin.due_at).as_millis()
                ),
                json!({ "workId": origin.id.to_string(), "status": origin.status, "version": origin.version,
                        "retryCount": origin.retry_count, "earlierAttempts": origin.earlier_attempts,
                        "earlierReasonCode": origin.earlier_reason }),
            ));
            moments
                .extend(audited(audit::of(&mut reader.conn(), reach, "work", &work_id.to_string()).await?));
        }
        if let Some(enqueued) = row.site_enqueued_at {
            let site = row.source_site.clone().unwrap_or_default();
            moments.push(moment(
                enqueued,
                Step::EnqueuedAtSite { site: &site },
                format!("it was enqueued at site {site}"),
                json!({ "site": site }),
            ));
        }
        moments.push(moment(
            row.created_at,
            Step::Queued,
            format!("it was queued for {}", row.channel),
            json!({ "channel": row.channel, "list": row.list_name, "source": { "site": row.source_site,
                    "instance": row.source_instance, "script": row.source_script } }),
        ));
        for attempt in attempts::of(&mut reader.conn(), vec![row.seq]).await? {
            moments.push(moment(
                attempt.started_at,
                Step::AttemptStarted { n: attempt.n, target: &attempt.target },
                format!("attempt {} to {} was claimed by {} and recorded", attempt.n, attempt.target, attempt.node),
                json!({ "target": attempt.target, "attempt": attempt.n, "node": attempt.node, "channel": attempt.channel }),
            ));
            if let (Some(finished), Some(outcome)) = (attempt.finished_at, attempt.outcome) {
                moments.push(moment(
                    finished,
                    Step::AttemptEnded { n: attempt.n, target: &attempt.target, outcome },
                    ended(outcome, &attempt),
                    json!({ "target": attempt.target, "attempt": attempt.n, "outcome": outcome.as_str(),
                            "messageId": attempt.provider_id, "answer": attempt.answer,
                            "durationMs": finished.duration_since(attempt.started_at).as_millis() as i64 }),
                ));
            }
        }
        for skipped in skipped_targets::of(&mut reader.conn(), vec![row.seq]).await? {
            moments.push(left_out(&skipped));
        }
        for receipt in receipts::of(&mut reader.conn(), vec![row.seq]).await? {
            moments.extend(reported(&receipt));
        }
        moments.extend(audited(audit::of(&mut reader.conn(), reach, "notification", id).await?));
        if let Some(delivered) = row.delivered_at {
            moments.push(moment(
                delivered,
                Step::Delivered,
                "it was delivered".into(),
                json!({ "retryCount": row.retry_count }),
            ));
        }
        drop(reader);
        if let Some((reason, until)) = self.waits_for(&row).await? {
            moments.push(moment(
                self.clock.now(),
                Step::Waiting,
                format!("it is ready and waits for its channel ({reason})"),
                json!({ "reason": reason, "until": until.to_string() }),
            ));
        }
        moments.sort_by_key(|moment| moment.at);
        Ok(moments)
    }
}

fn ended(outcome: AttemptOutcome, attempt: &attempts::AttemptRow) -> String {
    let to = &attempt.target;
    match outcome {
        AttemptOutcome::Delivered => {
            format!("{to}: taken over, message id {}", attempt.provider_id.as_deref().unwrap_or("none"))
        }
        AttemptOutcome::Uncertain => format!("{to}: no answer; it may or may not have arrived"),
        AttemptOutcome::Transient => {
            format!("{to}: failed for now: {}", attempt.answer.as_deref().unwrap_or("no text"))
        }
        AttemptOutcome::Permanent => {
            format!("{to}: refused: {}", attempt.answer.as_deref().unwrap_or("no text"))
        }
    }
}

fn left_out(skipped: &skipped_targets::SkippedTarget) -> Moment {
    let why = skipped.detail.as_deref().and_then(SuppressionReason::parse);
    let why = why.map_or(skipped.reason.as_str(), |why| why.in_words());
    moment(
        skipped.at,
        Step::TargetSkipped { target: &skipped.target },
        format!("{} was left out: it is on the suppression list, because {why}", skipped.target),
        json!({ "target": skipped.target, "reason": skipped.reason, "detail": skipped.detail }),
    )
}

/// What a provider reported about one message: that it arrived, and that it did not, each with its own time.
fn reported(receipt: &receipts::ReceiptRow) -> Vec<Moment> {
    let target = receipt.target.as_deref().unwrap_or_default();
    let state = ReceiptState::of_rank(receipt.rank).map_or("unknown", ReceiptState::as_str);
    let data = json!({ "target": target, "attempt": receipt.attempt, "messageId": receipt.provider_id,
                       "receipt": state, "code": receipt.code, "detail": receipt.detail });
    let mut moments = Vec::new();
    if let Some(at) = receipt.confirmed_at {
        let detail = format!("{target}: the provider says that it arrived");
        moments.push(moment(at, Step::Confirmed { target }, detail, data.clone()));
    }
    if let Some(at) = receipt.failed_at {
        let said = receipt.detail.as_deref().or(receipt.code.as_deref()).unwrap_or("no text");
        let detail = format!("{target}: the provider says that it did not arrive: {said}");
        moments.push(moment(at, Step::NotDelivered { target }, detail, data.clone()));
    }
    if receipt.rank == ReceiptState::Complained.rank() {
        let at = receipt.received_at.unwrap_or_default();
        moments.push(moment(
            at,
            Step::Complained { target },
            format!("{target}: its reader called it spam"),
            data,
        ));
    }
    moments
}

fn audited(rows: Vec<audit::AuditRow>) -> impl Iterator<Item = Moment> {
    rows.into_iter().map(|row| {
        let because = row.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
        let data =
            row.data.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
        moment(
            row.at,
            Step::Audited { action: &row.action, data: &data },
            format!("{} by {}{because}", row.action, row.actor),
            json!({ "action": row.action, "actor": row.actor, "from": row.from_status, "to": row.to_status,
                    "version": row.version, "reason": row.reason, "data": data }),
        )
    })
}

fn moment(at: Timestamp, step: Step<'_>, detail: String, data: Value) -> Moment {
    Moment { at, what: step.what(), title: step.title(), detail, data }
}
