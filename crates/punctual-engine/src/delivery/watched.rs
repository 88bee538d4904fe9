//! Reports attempts to workflows, for their logs: each once, by the node that made it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use punctual_model::{AttemptOutcome, NotificationStatus, SendOutcome};
use punctual_store::notifications::{Delivery, NotificationRow};

use super::send::Answer;
use crate::{Attempted, Engine};

impl Engine {
    /// Calls the workflow of a notification with what its calls returned and how the attempt ended. A workflow that panics
    /// loses its line; what is recorded stays.
    pub(super) fn report_attempt(
        &self,
        row: &NotificationRow,
        answers: &[Answer],
        delivery: Option<&Delivery>,
    ) {
        let envelope = row.envelope.as_ref().and_then(|envelope| envelope.read().ok());
        let Some(origin) = envelope.and_then(|envelope| envelope.origin) else { return };
        let Some(workflow) = self.workflows.get(&origin.kind) else { return };
        let Some(watches) = &workflow.watches else { return };
        let failure = delivery.and_then(|delivery| failure(delivery, answers));
        if answers.is_empty() && failure.is_none() {
            return;
        }
        let attempt = Attempted {
            origin: &origin,
            channel: row.channel.as_str(),
            answers: answers.iter().map(|answer| (answer.target.as_str(), &answer.outcome)).collect(),
            failure,
        };
        if catch_unwind(AssertUnwindSafe(|| watches.attempted(&attempt))).is_err() {
            tracing::error!(work.kind = origin.kind, "a workflow panicked while it handled an attempt");
        }
    }
}

/// Why an attempt failed, where it did: what waits by intention, or is not wanted any more, has not failed.
fn failure<'a>(delivery: &'a Delivery, answers: &[Answer]) -> Option<(&'a str, &'a str)> {
    let error = delivery.last_error.as_deref();
    match delivery.status {
        NotificationStatus::Parked => Some((
            delivery.reason.map_or(delivery.status.as_str(), |reason| reason.as_str()),
            error.unwrap_or_default(),
        )),
        NotificationStatus::Pending | NotificationStatus::Retrying => {
            let uncertain =
                answers.iter().any(|answer| matches!(answer.outcome, SendOutcome::Uncertain { .. }));
            let word = if uncertain { AttemptOutcome::Uncertain } else { AttemptOutcome::Transient };
            error.map(|error| (delivery.reason.map_or(word.as_str(), |reason| reason.as_str()), error))
        }
        NotificationStatus::Delivered | NotificationStatus::Withdrawn | NotificationStatus::Discarded => None,
    }
}
