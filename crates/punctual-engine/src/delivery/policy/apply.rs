//! Applies the delivery policy to each recipient just before the send: left out, later, in a digest, or now.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use punctual_model::{
    AuditAction, ChannelKey, Json, NotificationEvent, ReasonCode, Targets,
    address::comparable,
    delivery_policy::{DeliveryPolicy, Priority, hours},
};
use punctual_store::{
    StoreError, Tx, audit,
    delivery_policy::days::{self, Day},
    notifications::{Delivery, NotificationRow},
};

use super::{deferred, digest, failover::order_of, people::People};
use crate::{
    Engine, Opened,
    channels::SUBSCRIBERS,
    delivery::{
        ToSend, parked,
        plan::{Ledger, Plan},
    },
};

/// What becomes of one recipient.
#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    Go,
    Later(Timestamp, ReasonCode),
    LeaveOut(ReasonCode),
}

/// One message with its recipients sorted.
struct Sorted {
    item: ToSend,
    go: Targets,
    later: Option<(Timestamp, ReasonCode)>,
    left_out: Vec<(String, ReasonCode)>,
    digest: Vec<(Day, String)>,
    is_known_to_some: bool,
}

/// A message of a batch: its recipients sorted, or settled by the plan already.
enum Checked {
    Open(Sorted),
    Settled(Plan),
}

impl Checked {
    fn open(&mut self) -> Option<&mut Sorted> {
        match self {
            Self::Open(sorted) => Some(sorted),
            Self::Settled(_) => None,
        }
    }

    fn plan(self) -> Plan {
        match self {
            Self::Open(sorted) => sorted.plan(),
            Self::Settled(plan) => plan,
        }
    }
}

impl Engine {
    /// Applies the delivery policy to the recipients of a batch. Where nothing is configured, nothing is read.
    pub(in crate::delivery) async fn apply_policy(
        &self,
        tx: &mut Tx,
        opened: Option<&Opened>,
        plans: Vec<Plan>,
        ledger: &Ledger,
        now: Timestamp,
    ) -> Result<Vec<Plan>, StoreError> {
        let Some(opened) = opened.filter(|opened| !opened.key.as_str().starts_with(SUBSCRIBERS)) else {
            return Ok(plans);
        };
        let settings = self.policy.settings();
        let everyone = self.policy.concerns_everyone() || opened.policy.has_hours();
        if !everyone && !plans.iter().any(has_own_policy) {
            return Ok(plans);
        }
        let (mut targets, mut units) = (HashSet::new(), HashSet::new());
        for plan in &plans {
            if let Plan::Send(item) = plan {
                targets.extend(item.targets.iter().cloned());
                units.extend(item.row.business_unit.clone());
            }
        }
        let people = People::load(tx, targets, units, opened, settings.daily_cap.is_some()).await?;
        let mut checked: Vec<Checked> = plans
            .into_iter()
            .map(|plan| match plan {
                Plan::Send(item) => Checked::Open(self.sort(item, opened, &people, ledger, now)),
                settled => Checked::Settled(settled),
            })
            .collect();
        let mut sorted: Vec<&mut Sorted> = checked.iter_mut().filter_map(Checked::open).collect();
        self.cap(tx, &mut sorted, opened, &people, ledger, settings.daily_cap, now).await?;
        self.keep_for_digest(tx, &sorted, opened, &people, &settings, now).await?;
        audit::append(&mut tx.conn(), now, &left_out(&sorted)).await?;
        Ok(checked.into_iter().map(Checked::plan).collect())
    }

    fn sort(
        &self,
        mut item: ToSend,
        opened: &Opened,
        people: &People,
        ledger: &Ledger,
        now: Timestamp,
    ) -> Sorted {
        let channel = opened.key.as_str();
        item.failover = order_of(&item.row);
        if let [only] = &item.targets[..] {
            let preference = people.preference(only);
            if item.failover.is_empty() && !preference.failover.is_empty() {
                item.failover = preference.failover.iter().map(ChannelKey::stored).collect();
                // Whatever ends this message here finds the order with it.
                item.row.failover = Some(Json::of(&item.failover));
            }
            if item.row.locale.is_none() {
                item.row.locale = preference.locale.clone();
            }
        }
        let mut sorted = Sorted {
            is_known_to_some: ledger.is_known_to_some(item.row.seq),
            go: Targets::default(),
            later: None,
            left_out: Vec::new(),
            digest: Vec::new(),
            item,
        };
        for target in std::mem::take(&mut sorted.item.targets) {
            let address = match self.reached_at(&sorted.item, &target, channel, people, ledger) {
                Reached::Has => {
                    sorted.is_known_to_some = true;
                    continue;
                }
                Reached::Nowhere => {
                    sorted.left_out.push((target, ReasonCode::RecipientUnreachable));
                    continue;
                }
                Reached::At(address) => address,
            };
            match judge(&sorted.item.row, opened, people, &target, now) {
                // Two people may share an address: it gets one message.
                Verdict::Go => drop(sorted.go.add(address)),
                Verdict::Later(until, why) => {
                    sorted.later = Some(sorted.later.map_or((until, why), |first| first.min((until, why))));
                }
                Verdict::LeaveOut(why) => sorted.left_out.push((target, why)),
            }
        }
        sorted
    }

    /// The address of a recipient for this channel. A message without an order of channels goes where it is addressed.
    fn reached_at(
        &self,
        item: &ToSend,
        target: &str,
        channel: &str,
        people: &People,
        ledger: &Ledger,
    ) -> Reached {
        let preference = people.preference(target);
        let seq = item.row.seq;
        // Also where its list has moved to another channel in the meantime.
        if ledger.has_it(seq, target)
            || preference.addresses.values().any(|address| ledger.has_it(seq, address))
        {
            return Reached::Has;
        }
        if item.failover.is_empty() {
            return Reached::At(target.to_owned());
        }
        let kind = channel.split(':').next().unwrap_or(channel);
        let same = |address: &String| comparable(address) == comparable(target);
        let is_elsewhere = preference.addresses.iter().any(|(of, address)| of != kind && same(address));
        let address = match preference.address(kind) {
            Some(own) if is_elsewhere => own.to_owned(),
            _ => target.to_owned(),
        };
        let fits = !matches!(self.channels.check_address(channel, &address), Some(Err(_)));
        let is_refused = item.row.retry_count > 0 && ledger.is_refused(seq, &address, channel);
        if fits && !is_refused { Reached::At(address) } else { Reached::Nowhere }
    }

    /// Counts what goes to each person today; what is too much waits for the digest.
    #[expect(clippy::too_many_arguments, reason = "everything that was loaded for the batch")]
    async fn cap(
        &self,
        tx: &mut Tx,
        sorted: &mut [&mut Sorted],
        opened: &Opened,
        people: &People,
        ledger: &Ledger,
        everybody: Option<i64>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut wanted: BTreeMap<Day, (i64, i64)> = BTreeMap::new();
        let mut counted: Vec<(usize, Day, String)> = Vec::new();
        for (index, one) in sorted.iter().enumerate() {
            let row = &one.item.row;
            if is_alarm(row) || row.kind == digest::KIND {
                continue;
            }
            for target in one.go.iter() {
                let Some(cap) = people.preference(target).daily_cap.or(everybody) else { continue };
                // A second attempt is not a second message.
                if ledger.was_attempted(row.seq, target) {
                    continue;
                }
                let date = people.zone(target, row, opened).to_datetime(now).date().to_string();
                let day = Day { person: people.key(target), local_date: date };
                wanted.entry(day.clone()).or_insert((0, cap)).0 += 1;
                counted.push((index, day, target.clone()));
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let adding: Vec<(Day, i64)> = wanted.iter().map(|(day, (count, _))| (day.clone(), *count)).collect();
        let mut free: HashMap<Day, i64> = HashMap::new();
        let mut back: Vec<(Day, i64)> = Vec::new();
        for row in days::count(&mut tx.conn(), &adding).await? {
            let day = Day { person: row.person, local_date: row.local_date };
            let Some((count, cap)) = wanted.get(&day).copied() else { continue };
            let over = (row.sent - cap).clamp(0, count);
            if over > 0 {
                back.push((day.clone(), -over));
            }
            free.insert(day, count - over);
        }
        back.sort();
        days::count(&mut tx.conn(), &back).await?;
        for (index, day, target) in counted {
            let free = free.entry(day.clone()).or_insert(0);
            if *free > 0 {
                *free -= 1;
                continue;
            }
            if let Some(one) = sorted.get_mut(index) {
                one.go.remove(&target);
                one.digest.push((day, target));
            }
        }
        Ok(())
    }

    async fn keep_for_digest(
        &self,
        tx: &mut Tx,
        sorted: &[&mut Sorted],
        opened: &Opened,
        people: &People,
        settings: &DeliveryPolicy,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let held: Vec<digest::Held<'_>> = sorted
            .iter()
            .flat_map(|one| {
                one.digest.iter().map(move |(day, target)| digest::Held {
                    row: &one.item.row,
                    zone: people.zone(target, &one.item.row, opened),
                    day,
                    target,
                })
            })
            .collect();
        if held.is_empty() { Ok(()) } else { self.hold_for_digest(tx, &held, settings, now).await }
    }
}

enum Reached {
    At(String),
    /// They have it, at this address or another.
    Has,
    Nowhere,
}

fn has_own_policy(plan: &Plan) -> bool {
    matches!(plan, Plan::Send(item) if item.row.topic.is_some() || item.row.failover.is_some())
}

fn is_alarm(row: &NotificationRow) -> bool {
    Priority::of(row.priority) == Priority::Alarm
}

fn judge(row: &NotificationRow, opened: &Opened, people: &People, target: &str, now: Timestamp) -> Verdict {
    let preference = people.preference(target);
    if let Some(why) = preference.refuses(row.topic.as_deref(), opened.key.as_str()) {
        return Verdict::LeaveOut(why);
    }
    if is_alarm(row) {
        return Verdict::Go;
    }
    let quiet: Vec<_> = opened.policy.quiet_hours.into_iter().chain(preference.quiet_hours).collect();
    let window = opened.policy.send_window.as_ref();
    if quiet.is_empty() && window.is_none() {
        return Verdict::Go;
    }
    let zone = people.zone(target, row, opened);
    match hours::wait(now, &zone, &quiet, window) {
        Some((until, why)) => Verdict::Later(until, why),
        None => Verdict::Go,
    }
}

impl Sorted {
    fn plan(self) -> Plan {
        let Self { mut item, go, later, left_out, digest, is_known_to_some } = self;
        let unreached = left_out.iter().find(|(_, why)| *why == ReasonCode::RecipientUnreachable);
        let unreached = unreached.map(|(target, _)| format!("{target} cannot be reached over this channel"));
        if !go.is_empty() {
            item.targets = go;
            // A recipient who is not reached here is not finished with the others: the next channel is used, or the message
            // needs attention.
            item.failed_before = item.failed_before.or(unreached);
            if let Some((until, why)) = later {
                item.waits(until, why);
            }
            return Plan::Send(item);
        }
        let row = item.row;
        if let Some((until, why)) = later {
            let delivery = deferred(&row, until, why);
            return Plan::Settle(row, delivery);
        }
        let withdrawn = |reason| Delivery { reason: Some(reason), ..row.after(NotificationEvent::Withdraw) };
        let first = left_out.iter().map(|(_, why)| *why).find(|why| *why != ReasonCode::RecipientUnreachable);
        let delivery = match (is_known_to_some, unreached, digest.is_empty(), first) {
            (true, Some(who), ..) | (false, Some(who), true, Some(_)) => {
                parked(&row, ReasonCode::RecipientUnreachable, who)
            }
            (true, None, ..) => row.after(NotificationEvent::Deliver),
            (false, _, false, _) => withdrawn(ReasonCode::DailyCap),
            (false, _, true, Some(why)) => withdrawn(why),
            (false, _, true, None) => parked(
                &row,
                ReasonCode::RecipientUnreachable,
                "nobody can be reached over this channel".into(),
            ),
        };
        Plan::Settle(row, delivery)
    }
}

/// Who was left out of a message that goes to others, and why: it is part of its timeline.
fn left_out(sorted: &[&mut Sorted]) -> Vec<audit::Entry> {
    let entry = |row: &NotificationRow, target: &str, why: ReasonCode| audit::Entry {
        reason: Some(why.into()),
        data: Some(serde_json::json!({ "target": target }).to_string()),
        ..audit::Entry::new(AuditAction::LeaveOut, "notification", row.id, row.business_unit.as_deref())
    };
    sorted
        .iter()
        .flat_map(|one| {
            let held = one.digest.iter().map(|(_, target)| (target.as_str(), ReasonCode::DailyCap));
            let out = one.left_out.iter().map(|(target, why)| (target.as_str(), *why));
            held.chain(out).map(|(target, why)| entry(&one.item.row, target, why)).collect::<Vec<_>>()
        })
        .collect()
}
