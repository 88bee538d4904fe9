//! Decides due messages and the expiry of instances: pure, on locked instances.

use jiff::Timestamp;
use punctual_engine::{Claimed, Decide};
use punctual_model::{
    Decided, Decision, Effect, ReasonCode, WorkKey,
    survey::{InstanceEvent, InstanceStatus, latest_send},
};
use punctual_store::survey_instances::{Change, InstanceRow};

use super::{
    Held, Put, Sends, Step, SurveyLink, Version, ends_at,
    fan_out::{Happened, INSTANCE_EXPIRED},
    message::message,
    read_key,
};

/// What was loaded for a batch.
pub struct Loaded {
    pub(super) held: Held,
    pub(super) link: SurveyLink,
}

impl Decide<Put> for Loaded {
    fn decide(&self, row: &Claimed, now: Timestamp) -> Decided<Put> {
        let Some((public_id, step, is_again)) = read_key(&row.key) else {
            return Decision::Hold(ReasonCode::InputUnreadable).into();
        };
        let Some((instance, version)) = self.held.instances.get(&public_id) else {
            return Decision::Hold(ReasonCode::InstanceMissing).into();
        };
        if let Some(reason) = ended(instance) {
            return Decision::Skip(reason).into();
        }
        match (step, version) {
            (Step::Expire, version) => {
                let ends = version.as_ref().and_then(|version| ends_at(instance, version));
                expire(instance, self.held.sends.get(&public_id), ends, now)
            }
            (Step::Send(_), None) => Decision::Hold(ReasonCode::SurveyUnreadable).into(),
            (Step::Send(ordinal), Some(version)) => {
                let due_at = row.due_at;
                self.send(instance, version, ordinal, is_again, due_at, now)
            }
        }
    }
}

impl Loaded {
    fn send(
        &self,
        instance: &InstanceRow,
        version: &Version,
        ordinal: i64,
        is_again: bool,
        due_at: Timestamp,
        now: Timestamp,
    ) -> Decided<Put> {
        let Some(trigger) = version.schema.trigger(&instance.trigger_id) else {
            return Decision::Hold(ReasonCode::SurveyUnreadable).into();
        };
        if !is_again && ordinal != instance.sends + 1 {
            return Decision::Skip(ReasonCode::AlreadySent).into();
        }
        if now > latest_send(trigger, due_at) {
            return over(Decision::Skip(ReasonCode::TooLate), instance, ReasonCode::TooLate, now);
        }
        Decision::Deliver(vec![message(instance, version, trigger, ordinal, due_at, &self.link)]).into()
    }
}

/// Why nothing more happens to an instance.
fn ended(instance: &InstanceRow) -> Option<ReasonCode> {
    match instance.status {
        _ if instance.deleted => Some(ReasonCode::Deleted),
        InstanceStatus::Completed => Some(ReasonCode::Answered),
        InstanceStatus::Expired => Some(ReasonCode::Expired),
        InstanceStatus::Pending | InstanceStatus::Sent | InstanceStatus::Opened => None,
    }
}

/// The grace time is over. A message that may still be sent keeps the instance open; one that a person cancelled does not: the
/// instance expires as planned.
fn expire(
    instance: &InstanceRow,
    sends: Option<&Sends>,
    ends: Option<Timestamp>,
    now: Timestamp,
) -> Decided<Put> {
    if sends.is_some_and(|sends| sends.is_live) {
        return Decision::Skip(ReasonCode::ScheduleResumed).into();
    }
    if let Some(ends) = ends.filter(|ends| *ends > now) {
        let change = Change { next_send_at: None, ..as_it_stands(instance) };
        let decided = Decided::from(Decision::Defer(ends, ReasonCode::AwaitingAnswer));
        return decided.with_rows([Put::Change(change)]);
    }
    let reason =
        if instance.last_sent_at.is_some() { ReasonCode::NotAnswered } else { ReasonCode::NeverSent };
    let mut decided = over(Decision::Deliver(Vec::new()), instance, reason, now);
    // A message that waits for a person, an attempt or a digest would lead to a page that is gone.
    let keys = sends.map_or(&[][..], |sends| &sends.keys).iter().map(WorkKey::stored);
    decided.effects.extend(keys.map(|origin| Effect::Withdraw { origin, reason: ReasonCode::Expired }));
    decided
}

/// An instance is over without an answer.
fn over(decision: Decision, instance: &InstanceRow, reason: ReasonCode, now: Timestamp) -> Decided<Put> {
    let change = Put::Change(expired(instance, reason, now));
    let event = Put::Happened(Happened::new(INSTANCE_EXPIRED, instance));
    Decided::from(decision).with_rows([change, event]).with_effects([Effect::Noted("expired")])
}

fn expired(instance: &InstanceRow, reason: ReasonCode, now: Timestamp) -> Change {
    Change {
        status: instance.status.after(InstanceEvent::Expire).unwrap_or(instance.status),
        reason: Some(reason.into()),
        next_send_at: None,
        finished_at: Some(now),
        ..as_it_stands(instance)
    }
}

pub(super) fn as_it_stands(instance: &InstanceRow) -> Change {
    Change {
        public_id: instance.public_id.clone(),
        status: instance.status,
        reason: instance.reason_code.clone(),
        next_send_at: instance.next_send_at,
        last_sent_at: instance.last_sent_at,
        sends: instance.sends,
        reminders_remaining: instance.reminders_remaining,
        finished_at: instance.finished_at,
    }
}
