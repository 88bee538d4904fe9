//! Leaving out who is on the suppression list, and finding out who belongs there.
//!
//! Whoever is left out is written down with the reason; no attempt is made. A notification goes to its other targets as
//! usual. Where it has an order of channels it then goes on over the next one to those who were left out; else one that is
//! for nobody else is parked, and not retried by itself.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_model::{
    NotificationEvent, ReasonCode, SendOutcome, SuppressionReason, Targets,
    address::comparable,
    suppression::{after_refusal, channel_type},
};
use punctual_store::{
    StoreError, Tx,
    notifications::{Delivery, NotificationRow},
    skipped_targets::{self, SkippedTarget},
    suppressions::{self, SuppressionRow},
};

use super::{
    ToSend, parked,
    plan::{Ledger, Plan},
    policy::{deferred, failover},
    send::Answer,
};
use crate::{Engine, channels::SUBSCRIBERS, suppressions::found_out};

impl Engine {
    /// Takes whoever is on the list out of what is about to be sent, with one statement for the batch and none where
    /// nobody can be.
    pub(super) async fn leave_out_suppressed(
        &self,
        tx: &mut Tx,
        planned: Vec<Plan>,
        ledger: &Ledger,
        now: Timestamp,
    ) -> Result<Vec<Plan>, StoreError> {
        let mut doubtful: Vec<(String, String)> = planned
            .iter()
            .flat_map(|plan| match plan {
                Plan::Send(item) => {
                    self.suppressions.doubtful(item.row.channel.as_str(), item.targets.iter())
                }
                Plan::Settle(..) => Vec::new(),
            })
            .collect();
        if doubtful.is_empty() {
            return Ok(planned);
        }
        doubtful.sort_unstable();
        doubtful.dedup();
        let found = suppressions::among(&mut tx.conn(), now, &doubtful).await?;
        if found.is_empty() {
            return Ok(planned);
        }
        let found: HashMap<(&str, &str), &SuppressionRow> =
            found.iter().map(|row| ((row.channel_type.as_str(), row.address.as_str()), row)).collect();
        let mut skipped = Vec::new();
        let planned = planned
            .into_iter()
            .map(|plan| match plan {
                Plan::Send(item) => leave_out(item, &found, ledger, now, &mut skipped),
                settled @ Plan::Settle(..) => settled,
            })
            .collect();
        if !skipped.is_empty() {
            skipped_targets::put(&mut tx.conn(), now, &skipped).await?;
        }
        Ok(planned)
    }
}

fn leave_out(
    mut item: ToSend,
    found: &HashMap<(&str, &str), &SuppressionRow>,
    ledger: &Ledger,
    now: Timestamp,
    skipped: &mut Vec<SkippedTarget>,
) -> Plan {
    if item.row.channel.starts_with(SUBSCRIBERS) {
        return Plan::Send(item);
    }
    let kind = channel_type(&item.row.channel).to_owned();
    let (mut open, mut last) = (Targets::default(), None);
    for target in std::mem::take(&mut item.targets) {
        let address = comparable(&target);
        let Some(row) = found.get(&(kind.as_str(), address.as_str())) else {
            open.add(target);
            continue;
        };
        skipped.push(SkippedTarget {
            notification_seq: item.row.seq,
            target: target.clone(),
            reason: ReasonCode::Suppressed.into(),
            detail: Some(row.reason.clone()),
            at: now,
        });
        last = Some((target, row.reason.clone()));
    }
    item.targets = open;
    if !item.targets.is_empty() {
        item.left_out = last.map(|last| in_words(Some(last)));
        return Plan::Send(item);
    }
    // Others of its targets wait for an hour; it goes on with them then.
    if let Some((until, why)) = item.later {
        let delivery = deferred(&item.row, until, why);
        return Plan::Settle(item.row, delivery);
    }
    let delivery = match (&item.failed_before, last) {
        (Some(error), _) => parked(&item.row, ReasonCode::Permanent, error.clone()),
        // Somebody else of this notification has it, and no other channel is left: what could be done is done.
        (None, _) if ledger.is_known_to_some(item.row.seq) && !failover::has_next(&item) => done(&item.row),
        (None, last) => parked(&item.row, ReasonCode::Suppressed, in_words(last)),
    };
    Plan::Settle(item.row, delivery)
}

fn done(row: &NotificationRow) -> Delivery {
    row.after(NotificationEvent::Deliver)
}

fn in_words(last: Option<(String, String)>) -> String {
    match last.map(|(target, reason)| (target, SuppressionReason::parse(&reason))) {
        Some((target, Some(reason))) => format!("{target} is on the suppression list: {}", reason.in_words()),
        _ => "everybody it is for is on the suppression list".to_owned(),
    }
}

/// The address that a permanent refusal puts on the suppression list.
pub(super) fn refused(row: &NotificationRow, answer: &Answer) -> Option<SuppressionRow> {
    let SendOutcome::Permanent { reason, error } = &answer.outcome else { return None };
    if row.channel.starts_with(SUBSCRIBERS) {
        return None;
    }
    let why = after_refusal(*reason, error)?;
    let source = format!("notification:{}", row.id);
    Some(found_out(&row.channel, &answer.target, why, source, Some(error.clone()), answer.at))
}
