//! Plans the next run; only one run is planned at a time. The next run is a pure function of the subscription, the run and the
//! present time; planning after an edit calls that function in a transaction.

use jiff::{SignedDuration, Timestamp};
use punctual_engine::{EnsureOutcome, effects, ensure_in};
use punctual_model::{
    Cause, InputHash, KeyError, KeyParts, NewWork, ReasonCode, Trigger, WorkKey, WorkStatus, local_time,
};
use punctual_store::{
    StoreError, Tx,
    report_subscriptions::{self, Reported},
};
use serde_json::json;

use super::{
    KIND, SOURCE_TYPE,
    subscription::{CatchUp, Planned, Subscription},
};

/// Runs that are made up for at most after a long silence, where all are wanted.
pub const CAUGHT_UP_AT_MOST: usize = 31;
/// A run that is later than this was missed, where nothing that was missed is wanted.
const LATE: SignedDuration = SignedDuration::from_hours(1);
/// Rules of a zone move days by hours.
const HALF_A_DAY: SignedDuration = SignedDuration::from_hours(12);
/// Occurrences that are checked for the next one whose period has had no run.
const LOOKED_AT: usize = 100;

/// What is to be done about a run when its turn comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// It was missed, and is not made.
    pub missed: bool,
    /// The one that is planned next.
    pub next: Option<Planned>,
}

/// What the turn of a run that became ready then means. `begun` says that it is under way: it is then not missed,
/// however long it took.
pub fn turn(
    subscription: &Subscription,
    key: &str,
    ready_at: Timestamp,
    now: Timestamp,
    begun: bool,
) -> Turn {
    let cadence = &subscription.cadence;
    let is_scheduled = key.contains(":scheduled:");
    let late = now.duration_since(ready_at);
    let latest = cadence.latest_until(now).filter(|latest| latest.at > ready_at);
    let (missed, made_up) = match (subscription.catch_up, latest) {
        (CatchUp::Skip, _) => (late > LATE, None),
        (CatchUp::Last, latest) => (latest.is_some(), latest),
        (CatchUp::All, None) => (false, None),
        (CatchUp::All, Some(_)) => {
            // The newest of those that were missed, and of them the one that follows this run.
            let mut waiting: Vec<_> = cadence.after(ready_at).take_while(|one| one.at <= now).collect();
            let left_out = waiting.len().saturating_sub(CAUGHT_UP_AT_MOST);
            let first = waiting.drain(left_out..).next();
            (left_out > 0, first)
        }
    };
    let next =
        made_up.and_then(|one| subscription.planned(one).ok()).filter(|planned| planned.key.as_str() != key);
    let next = next.or_else(|| next_after(subscription, now, Some(key)));
    Turn { missed: missed && is_scheduled && !begun, next }
}

/// The next run after an instant whose period is not that of `but`.
pub fn next_after(subscription: &Subscription, at: Timestamp, but: Option<&str>) -> Option<Planned> {
    let planned =
        subscription.cadence.after(at).take(LOOKED_AT).filter_map(|one| subscription.planned(one).ok());
    planned.into_iter().find(|planned| but.is_none_or(|but| !is_same_period(subscription, planned, but)))
}

/// Whether a run reports on the period of this key. By new rules of a zone the same days begin a little earlier or later.
fn is_same_period(subscription: &Subscription, planned: &Planned, key: &str) -> bool {
    if planned.key.as_str() == key {
        return true;
    }
    let start = period_start(key).filter(|_| !subscription.cadence.within_days);
    start.is_some_and(|start| planned.period.start.duration_since(start).abs() < HALF_A_DAY)
}

fn period_start(key: &str) -> Option<Timestamp> {
    match WorkKey::parse(key).ok()?.parts() {
        KeyParts::ReportScheduled { period_start, .. } => Some(period_start),
        _ => None,
    }
}

/// The work row of a planned run. Its identity is the subscription and the period; its moment is not.
pub fn work(subscription: &Subscription, planned: &Planned) -> NewWork {
    NewWork {
        key: planned.key.clone(),
        kind: KIND,
        trigger: Trigger::ScheduledRun,
        business_unit: subscription.business_unit.clone(),
        source: Some((SOURCE_TYPE.to_owned(), subscription.guid.clone())),
        setting_id: Some(subscription.guid.clone()),
        due_at: planned.occurrence.at,
        local: Some((
            subscription.cadence.date(planned.occurrence.at).to_string(),
            subscription.cadence.zone_name.clone(),
        )),
        input_hash: input_hash(&subscription.guid, planned.key.as_str()),
        input: json!({ "subscription": subscription.guid }).to_string(),
    }
}

/// The row of a run that a person asked for.
pub fn manual_work(
    subscription: &Subscription,
    manual_run: &str,
    now: Timestamp,
) -> Result<NewWork, KeyError> {
    let key = WorkKey::report_manual(&subscription.guid, manual_run)?;
    Ok(NewWork {
        input_hash: input_hash(&subscription.guid, key.as_str()),
        kind: KIND,
        trigger: Trigger::ManualRun,
        business_unit: subscription.business_unit.clone(),
        source: Some((SOURCE_TYPE.to_owned(), subscription.guid.clone())),
        setting_id: Some(subscription.guid.clone()),
        due_at: now,
        local: None,
        input: json!({ "subscription": subscription.guid, "manualRun": manual_run }).to_string(),
        key,
    })
}

fn input_hash(guid: &str, key: &str) -> InputHash {
    InputHash::of_fields(&[("subscription", guid.into()), ("run", key.into())])
}

/// Plans the next run of a subscription whose row is locked, and stops what it had planned otherwise. A period that has had its
/// run, also in another zone, or whose run a person has cancelled or has to look at, is passed over. Returns the run that this
/// planned, or planned again.
pub(super) async fn plan_next(
    tx: &mut Tx,
    now: Timestamp,
    subscription: &Subscription,
) -> Result<Option<Planned>, StoreError> {
    let (mut next, mut is_new) = (None, false);
    let unit = subscription.business_unit.as_deref();
    report_subscriptions::move_runs(&mut tx.conn(), now, &subscription.guid, unit).await?;
    if subscription.is_active() {
        let reported = report_subscriptions::last_reported(&mut tx.conn(), &subscription.guid).await?;
        let held: Vec<String> =
            report_subscriptions::live_runs(&mut tx.conn(), vec![subscription.guid.clone()])
                .await?
                .into_iter()
                .filter(|row| row.on_hold)
                .map(|row| row.key)
                .collect();
        for occurrence in subscription.cadence.after(now).take(LOOKED_AT) {
            let planned = subscription
                .planned(occurrence)
                .map_err(|_| StoreError::Stored("report_subscriptions.guid"))?;
            let was_reported =
                reported.as_ref().is_some_and(|last| was_reported(subscription, &planned, last));
            if was_reported || held.iter().any(|key| key == planned.key.as_str()) {
                continue;
            }
            let wanted = work(subscription, &planned);
            let ensured = ensure_in(tx, now, std::slice::from_ref(&wanted), Cause::Machine).await?;
            let Some(outcome) = ensured.into_iter().next().map(|one| one.outcome) else { break };
            if matches!(outcome, EnsureOutcome::Completed | EnsureOutcome::LeftCancelled) {
                continue;
            }
            is_new = !matches!(outcome, EnsureOutcome::Unchanged | EnsureOutcome::InProgress);
            next = Some(planned);
            break;
        }
    }
    stop_others(tx, now, subscription, next.as_ref()).await?;
    Ok(next.filter(|_| is_new))
}

/// Whether the period of a run was reported in another zone, or by other rules of its zone: the same local days are not reported again because they begin
/// at another instant now.
fn was_reported(subscription: &Subscription, planned: &Planned, last: &Reported) -> bool {
    let cadence = &subscription.cadence;
    let Some(zone) = last.time_zone.as_deref() else { return false };
    let Some(period_start) = period_start(&last.key) else { return false };
    if zone == cadence.zone_name {
        // The very same key is found by its row.
        return planned.key.as_str() != last.key && is_same_period(subscription, planned, &last.key);
    }
    let Ok(zone) = local_time::zone(zone) else { return false };
    if cadence.within_days {
        return planned.period.start <= period_start;
    }
    cadence.date(planned.period.start) <= zone.to_datetime(period_start).date()
}

/// What is planned for later and no longer wanted is ended; on a subscription that is paused or gone, all that waits.
async fn stop_others(
    tx: &mut Tx,
    now: Timestamp,
    subscription: &Subscription,
    next: Option<&Planned>,
) -> Result<(), StoreError> {
    let reason = match (subscription.deleted, subscription.paused) {
        (true, _) => ReasonCode::SubscriptionDeleted,
        (false, true) => ReasonCode::SubscriptionPaused,
        (false, false) => ReasonCode::NoLongerWanted,
    };
    let live = report_subscriptions::live_runs(&mut tx.conn(), vec![subscription.guid.clone()]).await?;
    let gone = live.into_iter().filter(|row| {
        let is_next = next.is_some_and(|next| next.key.as_str() == row.key);
        let is_planned = row.trigger_type == Trigger::ScheduledRun.as_str() && row.due_at > now;
        let ends = (is_planned && !row.on_hold) || !subscription.is_active();
        !is_next && row.status != WorkStatus::Processing && ends
    });
    let keys: Vec<String> = gone.map(|row| row.key).collect();
    if !keys.is_empty() {
        effects::deactivate(tx, now, reason, keys).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use punctual_store::report_subscriptions::SubscriptionRow;

    use super::*;

    fn weekly() -> Subscription {
        let definition = json!({ "name": "Weekly", "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" },
            "report": { "source": { "builtin": "delivery-kpis" }, "format": ["csv"] },
            "recipients": { "addresses": ["a@b.example"] } });
        let row = SubscriptionRow {
            guid: "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071".into(),
            name: "Weekly".into(),
            business_unit: None,
            owner: None,
            list_name: None,
            paused: false,
            deleted: false,
            definition: definition.to_string(),
            version: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            unit_time_zone: None,
        };
        Subscription::read(&row).unwrap()
    }

    /// The same run as a program called it whose rules begin the week this much earlier or later.
    fn by_other_rules(own: &Subscription, planned: &Planned, hours: i64) -> String {
        let start = planned.period.start + SignedDuration::from_hours(hours);
        WorkKey::report_scheduled(&own.guid, start).unwrap().to_string()
    }

    #[test]
    fn s2_32_new_rules_of_a_zone_repeat_no_period() {
        let own = weekly();
        let at: Timestamp = "2026-05-14T05:00:00Z".parse().unwrap();
        let first = next_after(&own, at, None).unwrap();
        let second = next_after(&own, first.occurrence.at, None).unwrap();
        assert_eq!(second.occurrence.at.duration_since(first.occurrence.at), SignedDuration::from_hours(168));
        for hours in [-2, -1, 0, 1, 2] {
            let key = by_other_rules(&own, &first, hours);
            // It ran by the old rules shortly before it is due by the new ones.
            assert_eq!(next_after(&own, at, Some(&key)).as_ref(), Some(&second), "{hours}");
            let last = Reported { key, time_zone: Some("Europe/Berlin".into()) };
            assert_eq!(was_reported(&own, &first, &last), hours != 0, "{hours}: else its row says so");
            assert!(!was_reported(&own, &second, &last), "{hours}");
        }
    }
}
