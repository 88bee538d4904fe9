//! Intake of notifications: concurrent requests are gathered into one commit.
//!
//! The first request that finds the commit slot free commits everything that is waiting; the other requests get their results
//! from that commit. No request waits for more than one commit under way. A failed group is retried one by one, so that a bad
//! request affects only itself; where the database is at fault, all of the group get the error at once.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_model::{Audience, ChannelKey, InputHash, NewNotification, NotificationId, NotificationStatus};
use punctual_store::{
    Lane, Stage, StoreError, Tx, lists,
    notifications::{self, InsertedNotification, NotificationRow},
};
use tokio::sync::{Semaphore, oneshot};

use crate::{
    Engine, EngineError, OwnUnit, QuotaReached, confine::guarded, delivery::EVENT, error::Outage,
    quotas::Short,
};

/// Items one group holds at most: about 5 ms of SQLite's writer.
const GROUP: usize = 500;

/// How long the requests of a failed group are retried one by one while the database fails. Each may take as long as the
/// deadline of a statement, and the last of hundreds would wait for all of them.
const PATIENCE: SignedDuration = SignedDuration::from_secs(2);

/// The channel of a notification whose list is not known (yet); delivery looks again.
pub const UNROUTED: &str = "unrouted:list";

/// The outcome of one notification that was handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    Created,
    /// The same id with the same content: this is its state.
    Duplicate {
        status: NotificationStatus,
    },
    /// The same, and what is stored as its state is no word of this version.
    Unreadable,
    /// The id is known with other content; nothing was changed.
    IdReused,
    /// Its business unit has been given all rows of its day; nothing was stored.
    OverQuota(QuotaReached),
}

/// A submitted notification, with a business unit that was checked for its caller. Nothing else is accepted, so that no intake
/// can forget it.
#[derive(Clone, Debug)]
pub struct Handed(NewNotification);

impl Handed {
    /// One of a request, in this unit.
    pub fn new(unit: OwnUnit, new: NewNotification) -> Self {
        Self(NewNotification { business_unit: unit.into_name(), ..new })
    }

    /// One whose unit no request names: it is stored already, or comes from a sample.
    pub fn stored(new: NewNotification) -> Self {
        Self(new)
    }

    /// The same with something else different than its unit.
    #[must_use]
    pub fn with(self, change: impl FnOnce(&mut NewNotification)) -> Self {
        let Self(mut new) = self;
        let unit = OwnUnit::stored(new.business_unit.clone());
        change(&mut new);
        Self::new(unit, new)
    }
}

impl Deref for Handed {
    type Target = NewNotification;

    fn deref(&self) -> &NewNotification {
        &self.0
    }
}

/// Requests that wait for a commit.
pub(crate) struct Queue {
    waiting: Mutex<VecDeque<Job>>,
    slots: Arc<Semaphore>,
}

struct Job {
    items: Vec<Handed>,
    reply: oneshot::Sender<Result<Vec<Accepted>, EngineError>>,
}

impl Queue {
    pub(crate) fn new(commits_at_once: usize) -> Self {
        Self { waiting: Mutex::default(), slots: Arc::new(Semaphore::new(commits_at_once)) }
    }

    fn push(&self, job: Job) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(job);
    }

    fn take_group(&self) -> Vec<Job> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut group, mut items) = (Vec::new(), 0);
        while let Some(job) = waiting.front() {
            if !group.is_empty() && items + job.items.len() > GROUP {
                break;
            }
            items += job.items.len();
            group.extend(waiting.pop_front());
        }
        group
    }
}

impl Engine {
    /// Stores notifications if their ids are new; the answer comes after they are on disk.
    #[boxed]
    pub async fn accept(&self, items: Vec<Handed>) -> Result<Vec<Accepted>, EngineError> {
        let _span = self.trace_intake(&items);
        let (reply, mut answer) = oneshot::channel();
        self.intake.push(Job { items, reply });
        loop {
            tokio::select! {
                biased;
                answered = &mut answer => return answered.unwrap_or(Err(EngineError::Stopping)),
                slot = self.intake.slots.clone().acquire_owned() => {
                    let group = self.intake.take_group();
                    if group.is_empty() {
                        drop(slot);
                        // Someone has taken our job into a group; its answer comes.
                        return answer.await.unwrap_or(Err(EngineError::Stopping));
                    }
                    let engine = self.clone();
                    // On its own, because the request that leads a group may be cancelled and the others may not suffer.
                    tokio::spawn(async move {
                        engine.commit_group(group).await;
                        drop(slot);
                    });
                }
            }
        }
    }

    async fn commit_group(&self, mut group: Vec<Job>) {
        let started = self.clock.now();
        let all: Vec<&NewNotification> = group.iter().flat_map(|job| &job.items).map(Deref::deref).collect();
        let error = match guarded(self.insert(&all)).await {
            Ok(answers) => {
                let mut answers = answers.into_iter();
                for job in group {
                    let own = answers.by_ref().take(job.items.len()).collect();
                    // A caller that went away needs no answer.
                    let _ = job.reply.send(Ok(own));
                }
                return;
            }
            Err(error) => error,
        };
        if let [_] = *group
            && let Some(job) = group.pop()
        {
            let _ = job.reply.send(Err(error));
            return;
        }
        let mut outage = self.outage(&error, started);
        for job in group {
            let answer = match &outage {
                Some(outage) => Err(outage.into()),
                None => {
                    let alone: Vec<&NewNotification> = job.items.iter().map(Deref::deref).collect();
                    let answer = guarded(self.insert(&alone)).await;
                    outage = answer.as_ref().err().and_then(|error| self.outage(error, started));
                    answer
                }
            };
            let _ = job.reply.send(answer);
        }
    }

    /// Set where the rest of a group, begun at `started`, would meet the same fault: the database is gone, or it has kept
    /// the group waiting for long.
    fn outage(&self, error: &EngineError, started: Timestamp) -> Option<Outage> {
        let lasts = || error.is_unavailable() && self.clock.now().duration_since(started) >= PATIENCE;
        (error.is_of_the_server() || lasts()).then(|| Outage::of(error))
    }

    async fn insert(&self, items: &[&NewNotification]) -> Result<Vec<Accepted>, EngineError> {
        let now = self.clock.now();
        self.refresh_quotas(now).await?;
        let mut tx = self.store.begin(Lane::Intake).await?;
        let refused = over_quota(&mut tx, items, now).await?;
        let allowed = || items.iter().copied().enumerate().filter(|(at, _)| !refused.contains_key(at));
        let channels = route(&mut tx, allowed().map(|(_, item)| item)).await?;
        let mut queued: Vec<NotificationRow> = allowed()
            .zip(channels)
            .map(|((_, item), channel)| NotificationRow::new(item.clone(), channel, now))
            .collect();
        self.store.quotas().place(&mut queued);
        let node = self.may_send();
        let reserved = if node.is_some() { self.reserve(&mut queued, now) } else { Vec::new() };
        let (answers, inserted) = insert_in(&mut tx, now, &queued, Numbered::ById).await?;
        let hand_over = self.intend_own(&mut tx, queued, inserted, reserved, now).await?;
        tx.commit().await?;
        if let Some(node) = node {
            hand_over.into_sendings().into_iter().for_each(|sending| node.spawn_sending(sending));
        }
        self.metrics.accepted(answers.iter().filter(|answer| **answer == Accepted::Created).count());
        let mut answers = answers.into_iter();
        let mut answer = |at| match refused.get(&at) {
            Some(reached) => Some(Accepted::OverQuota(reached.clone())),
            None => answers.next(),
        };
        Ok((0..items.len()).filter_map(&mut answer).collect())
    }
}

/// What the quotas of business units refuse, by place. An id that is known is answered as usual.
async fn over_quota(
    tx: &mut Tx,
    items: &[&NewNotification],
    now: Timestamp,
) -> Result<HashMap<usize, QuotaReached>, StoreError> {
    let unit = |item: &&NewNotification| item.business_unit.clone();
    let units: Vec<Option<String>> = items.iter().map(unit).collect();
    let Some(short) = Short::read(tx, units.iter().map(Option::as_deref), now).await? else {
        return Ok(HashMap::new());
    };
    let doubtful = items.iter().filter(|item| short.concerns(item.business_unit.as_deref()));
    let ids = doubtful.map(|item| item.id).collect();
    let present = notifications::present(&mut tx.conn(), ids).await?;
    let known: HashSet<NotificationId> = present.into_iter().map(|row| row.id).collect();
    let rows = items.iter().map(|item| (item.business_unit.as_deref(), item.id));
    let chosen = short.choose(rows, &known).into_iter().enumerate();
    Ok(chosen.filter_map(|(at, reached)| Some((at, reached?))).collect())
}

/// Queues notifications in a transaction that the caller commits; an id that is already there stays as it is.
#[boxed]
pub async fn accept_in(tx: &mut Tx, now: Timestamp, items: Vec<NewNotification>) -> Result<(), StoreError> {
    if items.is_empty() {
        return Ok(());
    }
    let channels = route(tx, items.iter()).await?;
    let queued: Vec<NotificationRow> = items
        .into_iter()
        .zip(channels)
        .map(|(item, channel)| NotificationRow::new(item, channel, now))
        .collect();
    insert_in(tx, now, &queued, Numbered::ById).await?;
    Ok(())
}

/// In which order new notifications get their numbers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Numbered {
    /// In that of the ids, so that two sets with the same ones cannot deadlock.
    ById,
    /// As they were given, by the one who brings them.
    AsGiven,
}

/// Inserts the first item of each id, in a transaction that the caller commits.
pub(crate) async fn insert_in(
    tx: &mut Tx,
    now: Timestamp,
    queued: &[NotificationRow],
    numbered: Numbered,
) -> Result<(Vec<Accepted>, Vec<InsertedNotification>), StoreError> {
    let mut seen = HashSet::with_capacity(queued.len());
    let mut unique: Vec<&NotificationRow> = queued.iter().filter(|item| seen.insert(item.id)).collect();
    if numbered == Numbered::ById {
        unique.sort_unstable_by_key(|item| item.id);
    }
    let inserted = notifications::insert_absent(&mut tx.conn(), &unique).await?;
    for item in unique.iter().filter(|item| item.lease_expires_at.is_none()) {
        tx.raise(Stage::Delivery, item.ready_at);
    }
    count(tx, now, &unique, &inserted);
    if inserted.len() == queued.len() {
        return Ok((vec![Accepted::Created; queued.len()], inserted));
    }
    let created: HashSet<NotificationId> = inserted.iter().map(|row| row.id).collect();
    let first: HashMap<NotificationId, InputHash> =
        unique.iter().map(|item| (item.id, item.digest)).collect();
    let known: Vec<NotificationId> =
        unique.iter().map(|item| item.id).filter(|id| !created.contains(id)).collect();
    let present: HashMap<NotificationId, (InputHash, Option<NotificationStatus>)> = if known.is_empty() {
        HashMap::new()
    } else {
        let rows = notifications::present(&mut tx.conn(), known).await?;
        rows.into_iter().map(|row| (row.id, (row.digest, row.status.known()))).collect()
    };
    let mut answered: HashSet<NotificationId> = HashSet::new();
    let answers = queued
        .iter()
        .map(|item| {
            let is_first = answered.insert(item.id);
            if let Some(&(digest, status)) = present.get(&item.id) {
                return match status {
                    _ if digest != item.digest => Accepted::IdReused,
                    Some(status) => Accepted::Duplicate { status },
                    None => Accepted::Unreadable,
                };
            }
            let same = first.get(&item.id) == Some(&item.digest);
            match (is_first, same) {
                (true, _) => Accepted::Created,
                (false, true) => Accepted::Duplicate { status: NotificationStatus::Pending },
                (false, false) => Accepted::IdReused,
            }
        })
        .collect();
    Ok((answers, inserted))
}

/// Counts what is new for units with a quota. An event for a subscriber is of the installation.
fn count(tx: &mut Tx, now: Timestamp, unique: &[&NotificationRow], inserted: &[InsertedNotification]) {
    if !tx.quotas().limits_rows() {
        return;
    }
    let new: HashSet<NotificationId> = inserted.iter().map(|row| row.id).collect();
    for row in unique.iter().filter(|row| row.kind != EVENT && new.contains(&row.id)) {
        tx.count_row(row.business_unit.as_deref(), now);
    }
}

/// Which channel each of these is sent over: the one it names, else its list's, else the default of its type.
pub(crate) async fn route<'a>(
    tx: &mut Tx,
    items: impl Iterator<Item = &'a NewNotification> + Clone,
) -> Result<Vec<ChannelKey>, StoreError> {
    let names = items.clone().filter_map(|item| match &item.audience {
        Audience::List(name) if item.channel.is_none() => Some(name.clone()),
        Audience::List(_) | Audience::Targets(_) => None,
    });
    let lists = lists::named(&mut tx.conn(), names.collect()).await?;
    let channel = |item: &NewNotification| match (&item.channel, &item.audience) {
        (Some(channel), _) => channel.clone(),
        (None, Audience::List(name)) => {
            let list = lists.get(item.business_unit.as_deref(), name);
            ChannelKey::stored(list.map_or(UNROUTED, |list| list.channel.as_str()))
        }
        (None, Audience::Targets(_)) => ChannelKey::for_targets(&item.kind),
    };
    Ok(items.map(channel).collect())
}
