//! What follows when a message has arrived or was given up: pure, on instances that are held.

use jiff::Timestamp;
use punctual_engine::{Settled, SettledWork};
use punctual_model::{
    Effect, Followed, NotificationStatus, ReasonCode, WorkKey,
    survey::{InstanceEvent, InstanceStatus, SurveyTrigger, advance, expires_at},
};
use punctual_store::survey_instances::{Change, InstanceRow};

use super::{
    Held, Put, Step,
    fan_out::{Happened, INSTANCE_SENT},
    read_key,
    send::as_it_stands,
    work,
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
        if is_again {
            // A message sent once more by hand is no step of the schedule.
            let sent = Change { last_sent_at: Some(now.as_microsecond()), ..as_it_stands(instance) };
            return if arrived { changed(sent) } else { Followed::default() };
        }
        if ordinal != instance.sends + 1 || instance.deleted {
            return Followed::default();
        }
        let status = InstanceStatus::parse(&instance.status);
        match (arrived, status) {
            (true, Some(status)) => sent(instance, status, trigger, ordinal, now),
            (false, Some(status)) if status.is_active() => given_up(instance, trigger),
            _ => Followed::default(),
        }
    }
}

/// A message has arrived: the next one is planned from now, or the end where it was the last.
fn sent(
    instance: &InstanceRow,
    status: InstanceStatus,
    trigger: &SurveyTrigger,
    ordinal: i64,
    now: Timestamp,
) -> Followed<Put> {
    let change =
        Change { sends: ordinal, last_sent_at: Some(now.as_microsecond()), ..as_it_stands(instance) };
    let Some(after) = status.after(InstanceEvent::Deliver) else {
        // Answered or expired while it was on its way: it is recorded, and nothing follows.
        return changed(change);
    };
    let next = advance(&trigger.schedule, ordinal, now);
    let change = Change {
        status: after.as_str().to_owned(),
        next_send_at: next.next_send_at.map(|at| at.as_microsecond()),
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

/// A message was given up: nothing more is planned until a person sends it, and the instance ends in its time.
fn given_up(instance: &InstanceRow, trigger: &SurveyTrigger) -> Followed<Put> {
    let last = instance.last_sent_at.and_then(|at| Timestamp::from_microsecond(at).ok());
    let ends = expires_at(trigger, triggered_at(instance), last);
    let mut followed = changed(Change { next_send_at: None, ..as_it_stands(instance) });
    followed.effects.extend(ensure(instance, Step::Expire, ends));
    followed
}

fn changed(change: Change) -> Followed<Put> {
    Followed { effects: Vec::new(), rows: vec![Put::Change(change)] }
}

fn triggered_at(instance: &InstanceRow) -> Timestamp {
    Timestamp::from_microsecond(instance.triggered_at).unwrap_or_default()
}

fn ensure(instance: &InstanceRow, step: Step, at: Timestamp) -> Option<Effect> {
    let row = work(&instance.public_id, step, instance.survey_id, instance.business_unit.clone(), at);
    row.ok().map(|row| Effect::Ensure(Box::new(row)))
}
