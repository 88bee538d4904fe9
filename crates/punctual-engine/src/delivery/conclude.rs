//! What the answers of all targets mean for the notification: one pure function.

use std::time::Duration;

use jiff::Timestamp;
use punctual_model::{NextAttempt, NotificationEvent, ReasonCode, RetryPolicy, SendOutcome};
use punctual_store::notifications::Delivery;

use super::{
    ToSend, parked,
    policy::{deferred, failover, postponed},
    send::Answer,
};

/// What the answers of a notification come to so far. The answers themselves are recorded and gone.
#[derive(Default)]
pub(super) struct Tally {
    transient: Option<String>,
    uncertain: Option<String>,
    /// Reason and error.
    permanent: Option<(ReasonCode, String)>,
    retry_after: Option<Duration>,
}

impl Tally {
    /// Whether nothing speaks against it.
    pub(super) fn is_empty(&self) -> bool {
        self.transient.is_none() && self.uncertain.is_none() && self.permanent.is_none()
    }

    /// Counts one answer; an error says whose it is where there are several targets.
    pub(super) fn add(&mut self, answer: &Answer, targets: usize) {
        let named =
            |error: &str| if targets > 1 { format!("{}: {error}", answer.target) } else { error.to_owned() };
        match &answer.outcome {
            SendOutcome::Delivered { .. } => {}
            SendOutcome::Transient { error, retry_after } => {
                self.transient = Some(named(error));
                self.retry_after = self.retry_after.max(*retry_after);
            }
            SendOutcome::Uncertain { error } => self.uncertain = Some(named(error)),
            SendOutcome::Permanent { reason, error } => {
                self.permanent = Some((*reason, named(error)));
            }
        }
    }
}

/// What becomes of a notification whose calls have all ended. `unfinished` where some of its targets were not called,
/// because the node stops or may not start calls any more.
pub(super) fn conclude(
    item: &ToSend,
    tally: Tally,
    unfinished: bool,
    retry: &RetryPolicy,
    at_most_once: bool,
    now: Timestamp,
    unit_random: impl FnOnce() -> f64,
) -> Delivery {
    let row = &item.row;
    let attempts = row.retry_count + 1;
    let Tally { transient, uncertain, permanent, retry_after } = tally;
    if let (Some(error), true) = (&uncertain, at_most_once) {
        return Delivery { retry_count: attempts, ..parked(row, ReasonCode::Uncertain, error.clone()) };
    }
    if let Some(error) = transient.or(uncertain) {
        let failures = u32::try_from(attempts).unwrap_or(u32::MAX);
        let next = match failover::attempts_before_next_channel(item) {
            Some(enough) if attempts >= enough => NextAttempt::GiveUp,
            _ => retry.next(failures, now, unit_random(), retry_after),
        };
        return match next {
            NextAttempt::At(at) => Delivery {
                retry_count: attempts,
                last_error: Some(error),
                retry_at: Some(at),
                ..row.after(NotificationEvent::FailTransient)
            },
            // Those that were not called have their attempts before them.
            NextAttempt::GiveUp if unfinished => Delivery { last_error: Some(error), ..postponed(row, now) },
            NextAttempt::GiveUp => {
                Delivery { retry_count: attempts, ..parked(row, ReasonCode::RetriesExhausted, error) }
            }
        };
    }
    // Some were not called, or wait for an hour or a slot: it goes on, and what has failed for good is not retried.
    let rest = match item.later {
        _ if unfinished => Some(postponed(row, now)),
        Some((until, reason)) => Some(deferred(row, until, reason)),
        None => None,
    };
    if let Some(rest) = rest {
        let event =
            if permanent.is_some() { NotificationEvent::FailTransient } else { NotificationEvent::Requeue };
        return Delivery {
            retry_count: row.retry_count.max(1),
            last_error: permanent.map(|(_, error)| error),
            reason: rest.reason,
            retry_at: rest.retry_at,
            ..row.after(event)
        };
    }
    let permanent =
        permanent.or_else(|| item.failed_before.clone().map(|error| (ReasonCode::Permanent, error)));
    if let Some((reason, error)) = permanent {
        return Delivery { retry_count: attempts, ..parked(row, reason, error) };
    }
    Delivery { retry_count: attempts, ..row.after(NotificationEvent::Deliver) }
}
