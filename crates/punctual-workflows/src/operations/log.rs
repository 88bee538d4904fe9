//! Rows written with a decision or an outcome: the mark that an occurrence was sent, and the five log events.
//!
//! Decisions are pure and cannot log, so they return these rows, which are logged when written. The outcome of each delivery
//! attempt is logged once, when it is known.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::Attempted;
use punctual_model::{ReasonCode, SendOutcome};
use punctual_store::{Conn, StoreError, operations::rules};

use super::Payload;

/// One row that the workflow writes through `put`.
#[derive(Clone, Debug, PartialEq)]
pub enum Put {
    Skipped { reason: ReasonCode, why: Option<&'static str>, payload: Option<Payload>, key: String },
    Sent { payload: Payload, occurrence: String, recipients: usize },
}

/// Skips that point to a fault; the others are intended.
const WARNED: [ReasonCode; 4] = [
    ReasonCode::InvalidPayload,
    ReasonCode::RuleMissing,
    ReasonCode::SubjectMissing,
    ReasonCode::NoRecipients,
];

#[boxed]
pub async fn write(conn: &mut Conn<'_>, now: Timestamp, rows: &[Put]) -> Result<(), StoreError> {
    let sent: Vec<(String, String)> = rows
        .iter()
        .filter_map(|row| match row {
            Put::Sent { payload, occurrence, .. } => {
                Some((payload.notification_rule_id.clone(), occurrence.clone()))
            }
            _ => None,
        })
        .collect();
    if !sent.is_empty() {
        rules::mark_sent(conn, now, &sent).await?;
    }
    rows.iter().for_each(log);
    Ok(())
}

/// Names and fields are a contract with log consumers.
fn log(row: &Put) {
    match row {
        Put::Skipped { reason, why, payload, key } => {
            let rule = payload.as_ref().map(|payload| payload.notification_rule_id.as_str());
            let subject = payload.as_ref().map(|payload| payload.subject_id.as_str());
            let subject_type = payload.as_ref().map(|payload| payload.subject_type.as_str());
            let kind = payload.as_ref().map(|payload| payload.kind.as_str());
            if WARNED.contains(reason) {
                tracing::warn!(
                    reason = reason.as_str(),
                    why,
                    notificationRuleId = rule,
                    subjectType = subject_type,
                    subjectId = subject,
                    kind,
                    work.key = key,
                    "notifications.operations.skipped"
                );
            } else {
                tracing::info!(
                    reason = reason.as_str(),
                    why,
                    notificationRuleId = rule,
                    subjectType = subject_type,
                    subjectId = subject,
                    kind,
                    work.key = key,
                    "notifications.operations.skipped"
                );
            }
        }
        Put::Sent { payload, recipients, .. } => tracing::info!(
            recipientCount = recipients,
            notificationRuleId = payload.notification_rule_id,
            subjectType = payload.subject_type.as_str(),
            subjectId = payload.subject_id,
            kind = payload.kind.as_str(),
            "notifications.operations.sent"
        ),
    }
}

/// The lines of one attempt: one for each recipient that was called, and one for the rule where not everybody was reached.
pub fn attempted(attempt: &Attempted<'_>) {
    let template = attempt.origin.topic.as_str();
    for (recipient, outcome) in &attempt.answers {
        match outcome {
            SendOutcome::Delivered { .. } => {
                tracing::info!(templateKey = template, recipient, "notifications.sender.sent");
            }
            SendOutcome::Transient { .. } | SendOutcome::Permanent { .. } | SendOutcome::Uncertain { .. } => {
                tracing::error!(
                    templateKey = template,
                    recipient,
                    provider = attempt.channel,
                    "notifications.sender.failed"
                )
            }
        }
    }
    if let Some((name, message)) = attempt.failure {
        tracing::error!(
            errorName = name,
            errorMessage = message,
            notificationRuleId = attempt.origin.definition,
            "notifications.operations.failed"
        );
    }
}
