//! What is written with a decision or an outcome: the mark that an occurrence was sent, and the five log events.
//!
//! Decisions are pure and cannot log; they put these rows, and what is put is logged when it is written.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::ReasonCode;
use punctual_store::{Conn, StoreError, operations::rules};

use super::Payload;

/// One row that the workflow writes through `put`.
#[derive(Clone, Debug, PartialEq)]
pub enum Put {
    Skipped { reason: ReasonCode, why: Option<&'static str>, payload: Option<Payload>, key: String },
    Sent { payload: Payload, occurrence: String, recipients: usize },
    Failed { rule_id: String, error_name: String, error_message: String },
    Told { template: String, recipient: String },
    NotTold { template: String, recipient: String, provider: String },
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

/// The names and fields are a contract with whoever watches the log.
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
        Put::Failed { rule_id, error_name, error_message } => tracing::error!(
            errorName = error_name,
            errorMessage = error_message,
            notificationRuleId = rule_id,
            "notifications.operations.failed"
        ),
        Put::Told { template, recipient } => {
            tracing::info!(templateKey = template, recipient, "notifications.sender.sent");
        }
        Put::NotTold { template, recipient, provider } => {
            tracing::error!(templateKey = template, recipient, provider, "notifications.sender.failed");
        }
    }
}
