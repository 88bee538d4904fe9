//! Deciding, before anything is sent, who gets a notification: pure, on what was loaded for the whole batch.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use punctual_model::{
    AttemptOutcome, ChannelKey, Json, NotificationEvent, ReasonCode, Targets, address::comparable,
};
use punctual_store::{
    Named,
    attempts::AttemptRow,
    lists::ListRow,
    notifications::{Delivery, NotificationRow},
};

use super::{ToSend, parked, policy::postponed};
use crate::channels::Broken;

/// What is to be done with one claimed notification.
pub(super) enum Plan {
    Send(ToSend),
    Settle(NotificationRow, Delivery),
}

/// What earlier attempts of these notifications came to, by notification and target, in comparable form: a list whose
/// spelling has changed names the same people.
pub(super) struct Ledger(HashMap<i64, BTreeMap<String, Past>>);

#[derive(Clone, PartialEq)]
enum Past {
    Delivered,
    /// Refused for good over this channel.
    Permanent {
        channel: String,
        answer: String,
    },
    /// Failed in a way that may pass, or with no certain end.
    Open,
}

impl Ledger {
    pub(super) fn new(attempts: Vec<AttemptRow>) -> Self {
        let mut ledger: HashMap<i64, BTreeMap<String, Past>> = HashMap::new();
        for attempt in attempts {
            let past = match attempt.outcome {
                Some(AttemptOutcome::Delivered) => Past::Delivered,
                Some(AttemptOutcome::Permanent) => {
                    Past::Permanent { channel: attempt.channel, answer: attempt.answer.unwrap_or_default() }
                }
                Some(AttemptOutcome::Transient | AttemptOutcome::Uncertain) | None => Past::Open,
            };
            let entry = ledger
                .entry(attempt.notification_seq)
                .or_default()
                .entry(comparable(&attempt.target))
                .or_insert(Past::Open);
            // A recorded yes is never undone by a later line.
            if *entry != Past::Delivered {
                *entry = past;
            }
        }
        Self(ledger)
    }

    fn past(&self, seq: i64, target: &str) -> Option<&Past> {
        self.0.get(&seq)?.get(&comparable(target))
    }

    /// Whether this target has said yes.
    pub(super) fn has_it(&self, seq: i64, target: &str) -> bool {
        self.past(seq, target) == Some(&Past::Delivered)
    }

    /// Whether anybody has.
    pub(super) fn is_known_to_some(&self, seq: i64) -> bool {
        self.0.get(&seq).is_some_and(|targets| targets.values().any(|past| *past == Past::Delivered))
    }

    pub(super) fn was_attempted(&self, seq: i64, target: &str) -> bool {
        self.past(seq, target).is_some()
    }

    /// Whether this target has refused it for good over this channel.
    pub(super) fn is_refused(&self, seq: i64, target: &str, over: &str) -> bool {
        matches!(self.past(seq, target), Some(Past::Permanent { channel, .. }) if channel == over)
    }
}

pub(super) fn plan(
    row: NotificationRow,
    channel_is_open: bool,
    broken: Option<&Broken>,
    lists: &Named<ListRow>,
    ledger: &Ledger,
    now: Timestamp,
) -> Plan {
    if row.not_after.is_some_and(|latest| now > latest) {
        let delivery = too_late(&row, ledger);
        return Plan::Settle(row, delivery);
    }
    let list = row.list_name.as_ref().map(|name| (name, lists.get(row.business_unit.as_deref(), name)));
    if let Some((name, None)) = list {
        let error = format!("there is no list `{name}`");
        let delivery = parked(&row, ReasonCode::ListUnknown, error);
        return Plan::Settle(row, delivery);
    }
    // Its list has moved since it was queued.
    if let Some((_, Some(list))) = list
        && row.follows_list
        && list.channel != row.channel.as_str()
    {
        let delivery = row.moved_to(&ChannelKey::stored(&list.channel), postponed(&row, now));
        return Plan::Settle(row, delivery);
    }
    if !channel_is_open {
        let (reason, error) = match broken {
            Some(Broken { reason, why }) => {
                (*reason, format!("the channel `{}` cannot be opened: {why}", row.channel))
            }
            None => (ReasonCode::NoChannel, format!("there is no channel `{}`", row.channel)),
        };
        let delivery = parked(&row, reason, error);
        return Plan::Settle(row, delivery);
    }
    let targets = match list {
        Some((_, Some(list))) => Json::<Vec<String>>::stored(&*list.targets).read(),
        _ => row.targets.as_ref().map_or_else(|| Ok(Vec::new()), Json::read),
    };
    let targets: Targets = match targets {
        Ok(targets) => targets.into_iter().collect(),
        Err(error) => {
            let delivery = parked(&row, ReasonCode::InputUnreadable, error.to_string());
            return Plan::Settle(row, delivery);
        }
    };
    if targets.is_empty() {
        let delivery = parked(&row, ReasonCode::NoRecipients, "there is nobody to send it to".into());
        return Plan::Settle(row, delivery);
    }
    choose(row, targets, ledger)
}

/// It is checked when it leaves: it may have waited for a retry, an hour or a slot since it was decided.
fn too_late(row: &NotificationRow, ledger: &Ledger) -> Delivery {
    if ledger.is_known_to_some(row.seq) {
        return row.after(NotificationEvent::Deliver);
    }
    Delivery { reason: Some(ReasonCode::TooLate), ..row.after(NotificationEvent::Withdraw) }
}

/// Leaves out who already has it, and who cannot be reached.
fn choose(row: NotificationRow, targets: Targets, ledger: &Ledger) -> Plan {
    let mut failed_before = None;
    // An operator's retry resets the count, and targets that had failed for good are attempted again.
    let attempts_all_failed = row.retry_count == 0;
    let mut open = Targets::default();
    for target in targets {
        match ledger.past(row.seq, &target) {
            Some(Past::Delivered) => {}
            Some(Past::Permanent { channel, answer }) if *channel == row.channel.as_str() => {
                failed_before = failed_before.or_else(|| Some(format!("{target}: {answer}")));
                if attempts_all_failed {
                    open.add(target);
                }
            }
            Some(Past::Permanent { .. } | Past::Open) | None => {
                open.add(target);
            }
        }
    }
    if !open.is_empty() {
        let failed_before = if attempts_all_failed { None } else { failed_before };
        return Plan::Send(ToSend { failed_before, ..ToSend::new(row, open) });
    }
    let delivery = match failed_before {
        Some(error) => parked(&row, ReasonCode::Permanent, error),
        None => row.after(NotificationEvent::Deliver),
    };
    Plan::Settle(row, delivery)
}
