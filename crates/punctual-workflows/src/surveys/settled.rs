//! Decides the next step after a message has arrived or failed: pure, on locked instances.

use jiff::Timestamp;
use punctual_engine::{Settled, SettledWork};
use punctual_model::{
    Effect, Followed, NotificationStatus, ReasonCode, WorkKey,
    survey::{InstanceEvent, SurveyTrigger, advance, expires_at},
};
use punctual_store::survey_instances::{Change, InstanceRow};

use super::{
    Held, Put, Step,
    fan_out::{Happened, INSTANCE_SENT},
    read_key,
    send::as_it_stands,
    triggered_at, work_of,
};

/// What was loaded for rows whose messages have settled.
pub struct Loaded {
    pub(super) held: Held,
}

impl Settled<Put> for Loaded {
    fn settled(&self, settled: &SettledWork, now: Timestamp) -> Followed<Put> {
        let Some((public_id, Step::Send(ordinal), is_again)) = read_key(&settled.key) else {
            return Followed::default();
        };
        let Some((instance, Some(version))) = self.held.instances.get(&public_id) else {
            return Followed::default();
        };
        let Some(trigger) = version.schema.trigger(&instance.trigger_id) else { return Followed::default() };
        let arrived = settled.outcomes.iter().any(|(_, status)| *status == NotificationStatus::Delivered);
        if is_again && (ordinal != instance.sends + 1 || !arrived) {
            return sent_again(instance, trigger, arrived, now);
        }
        if ordinal != instance.sends + 1 || instance.deleted {
            return Followed::default();
        }
        if !arrived {
            let is_open = instance.status.is_active();
            return if is_open { given_up(instance, trigger) } else { Followed::default() };
        }
        let mut followed = sent(instance, trigger, ordinal, now);
        if is_again {
            // It had been given up, and a person sent it again: the one that waits is then not sent.
            let origin = WorkKey::survey_send(&public_id, ordinal).ok();
            let reason = ReasonCode::AlreadySent;
            followed.effects.extend(origin.map(|origin| Effect::Withdraw { origin, reason }));
        }
        followed
    }
}

/// A message has arrived: the next one is planned from now, or the end where it was the last.
fn sent(instance: &InstanceRow, trigger: &SurveyTrigger, ordinal: i64, now: Timestamp) -> Followed<Put> {
    let change = Change { sends: ordinal, last_sent_at: Some(now), ..as_it_stands(instance) };
    let Some(after) = instance.status.after(InstanceEvent::Deliver) else {
        // Answered or expired while it was on its way: it is recorded, and nothing follows.
        return changed(change);
    };
    let next = advance(&trigger.schedule, ordinal, now);
    let change = Change {
        status: after,
        next_send_at: next.next_send_at,
        reminders_remaining: next.reminders_remaining,
        ..change
    };
    let mut followed = changed(change);
    if ordinal == 1 {
        followed.rows.push(Put::Happened(Happened::new(INSTANCE_SENT, instance)));
    }
    match next.next_send_at {
        Some(at) => {
            followed.effects.extend(ensure(instance, Step::Send(ordinal + 1), at));
            // Planned where the message had been given up, and a person sent it all the same.
            if let (None, Ok(key)) = (instance.next_send_at, WorkKey::survey_expire(&instance.public_id)) {
                followed
                    .effects
                    .push(Effect::Deactivate { keys: vec![key], reason: ReasonCode::ScheduleResumed });
            }
        }
        None => followed.effects.extend(ensure(
            instance,
            Step::Expire,
            expires_at(trigger, triggered_at(instance), Some(now)),
        )),
    }
    followed
}

/// A message sent once more by hand is no step of the schedule. The end counts from it, where nothing else is planned.
fn sent_again(
    instance: &InstanceRow,
    trigger: &SurveyTrigger,
    arrived: bool,
    now: Timestamp,
) -> Followed<Put> {
    let mut followed = Followed::default();
    let before = instance.last_sent_at;
    let last = if arrived { Some(now) } else { before };
    if arrived {
        let sent = Change { last_sent_at: Some(now), ..as_it_stands(instance) };
        followed.rows.push(Put::Change(sent));
    }
    let is_open = instance.status.is_active();
    if is_open && !instance.deleted && instance.next_send_at.is_none() {
        let ends = expires_at(trigger, triggered_at(instance), last);
        followed.effects.extend(ensure(instance, Step::Expire, ends));
    }
    followed
}

/// A message was given up: nothing more is planned until a person sends it, and the instance ends in its time.
fn given_up(instance: &InstanceRow, trigger: &SurveyTrigger) -> Followed<Put> {
    let last = instance.last_sent_at;
    let ends = expires_at(trigger, triggered_at(instance), last);
    let mut followed = changed(Change { next_send_at: None, ..as_it_stands(instance) });
    followed.effects.extend(ensure(instance, Step::Expire, ends));
    followed
}

fn changed(change: Change) -> Followed<Put> {
    Followed { effects: Vec::new(), rows: vec![Put::Change(change)] }
}

fn ensure(instance: &InstanceRow, step: Step, at: Timestamp) -> Option<Effect> {
    let row = work_of(&instance.public_id, step, instance.survey_id, instance.business_unit.clone(), at);
    row.ok().map(|row| Effect::Ensure(Box::new(row)))
}
