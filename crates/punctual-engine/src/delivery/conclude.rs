//! What the answers of all targets mean for the notification: one pure function.

use jiff::Timestamp;
use punctual_model::{NextTry, RetryPolicy, SendOutcome};
use punctual_store::notifications::Delivery;

use super::{ToSend, manners::deferred, parked, send::Answer};

pub(super) fn conclude(
    item: &ToSend,
    answers: &[Answer],
    retry: RetryPolicy,
    at_most_once: bool,
    now: Timestamp,
    unit_random: impl FnOnce() -> f64,
) -> Delivery {
    let row = &item.row;
    let tries = row.retry_count + 1;
    let (mut again, mut uncertain, mut permanent) = (None, None, None);
    let mut retry_after = None;
    for answer in answers {
        match &answer.outcome {
            SendOutcome::Delivered { .. } => {}
            SendOutcome::Transient { error, retry_after: asked } => {
                again = Some(named(answer, error, answers.len()));
                retry_after = retry_after.max(*asked);
            }
            SendOutcome::Uncertain { error } => uncertain = Some(named(answer, error, answers.len())),
            SendOutcome::Permanent { reason, error } => {
                permanent = Some((reason.as_str().to_owned(), named(answer, error, answers.len())));
            }
        }
    }
    if let (Some(error), true) = (&uncertain, at_most_once) {
        return Delivery { retry_count: tries, ..parked(row, "uncertain", error.clone()) };
    }
    if let Some(error) = again.or(uncertain) {
        let failures = u32::try_from(tries).unwrap_or(u32::MAX);
        return match retry.next(failures, now, unit_random(), retry_after) {
            NextTry::At(at) => Delivery {
                seq: row.seq,
                token: row.version,
                status: "retrying",
                retry_count: tries,
                last_error: Some(error),
                reason: None,
                retry_at: Some(at),
                channel: None,
            },
            NextTry::GiveUp => Delivery { retry_count: tries, ..parked(row, "retries-exhausted", error) },
        };
    }
    // Others wait for an hour or a place: it goes on, and what has failed for good is not tried again.
    if let Some((until, reason)) = item.later {
        return Delivery {
            status: if permanent.is_some() || row.retry_count > 0 { "retrying" } else { "pending" },
            retry_count: row.retry_count.max(1),
            last_error: permanent.map(|(_, error)| error),
            ..deferred(row, until, reason)
        };
    }
    let permanent =
        permanent.or_else(|| item.failed_before.clone().map(|error| ("permanent".to_owned(), error)));
    if let Some((reason, error)) = permanent {
        return Delivery { retry_count: tries, ..parked(row, &reason, error) };
    }
    Delivery {
        seq: row.seq,
        token: row.version,
        status: "delivered",
        retry_count: tries,
        last_error: None,
        reason: None,
        retry_at: None,
        channel: None,
    }
}

/// An error says whose it is where there are several.
fn named(answer: &Answer, error: &str, of: usize) -> String {
    if of > 1 { format!("{}: {error}", answer.target) } else { error.to_owned() }
}
