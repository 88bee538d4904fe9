//! The judge of a trial: four logs in, one verdict out. It knows nothing of the engine.
//!
//! Messages are distinguished by a key that the clients chose and that everybody along the way keeps (the subject), so that
//! the same rules hold whatever id a message got on its way.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};

/// A call and its intent are read off clocks that may differ by this much.
const SLACK: SignedDuration = SignedDuration::from_millis(200);

/// A message as a client asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asked {
    pub key: String,
    pub targets: Vec<String>,
    /// When it may leave, if it is for later.
    pub not_before: Option<Timestamp>,
}

/// What the clients were answered.
#[derive(Clone, Debug, Default)]
pub struct Replies {
    /// Answered with a success.
    pub acknowledged: Vec<Asked>,
    /// Asked for and not answered, or answered that it is not known: wholly there or wholly absent.
    pub unanswered: Vec<Asked>,
}

/// A message as the database has it.
#[derive(Clone, Debug)]
pub struct StoredMessage {
    pub key: String,
    pub status: String,
    /// Why it is parked or waits.
    pub reason: Option<String>,
    /// How many calls were recorded as uncertain.
    pub uncertain: usize,
    pub attempts: Vec<StoredAttempt>,
}

/// An intent as the database has it.
#[derive(Clone, Debug)]
pub struct StoredAttempt {
    pub target: String,
    pub node: String,
    pub started_at: Timestamp,
    pub outcome: Option<String>,
}

/// A call as a receiver got it.
#[derive(Clone, Debug)]
pub struct Call {
    pub key: String,
    pub target: String,
    /// What a receiver goes by that drops repeats.
    pub message_id: String,
    /// When the sender started it, by what it says itself.
    pub started_at: Timestamp,
    /// When it arrived, by the clock of the trial.
    pub arrived_at: Timestamp,
}

/// All that is known about a trial.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub replies: Replies,
    pub stored: Vec<StoredMessage>,
    pub received: Vec<Call>,
    /// What was done to the system, by kind.
    pub injected: BTreeMap<String, u64>,
    /// What was not at its end when the trial had waited long enough.
    pub unsettled: Vec<String>,
    /// How long after its intent a call may start: the lease.
    pub call_within: Option<Duration>,
}

/// What a history comes to. Everything from `lost` on must be none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    pub acknowledged: usize,
    /// Calls of a target after its first one.
    pub repeated: usize,
    /// Calls that were recorded as uncertain.
    pub marked: usize,
    /// Acknowledged, and not stored, not delivered, or never received by one of its targets.
    pub lost: Vec<String>,
    /// Unanswered, and stored for some of its targets only.
    pub half: Vec<String>,
    /// Stored or received, and nobody asked for it; or received and not stored.
    pub unknown: Vec<String>,
    /// Stored more than once.
    pub doubled: Vec<String>,
    /// Repeated more often than it was recorded as uncertain.
    pub unmarked: Vec<String>,
    /// Called more often than calls were intended.
    pub unintended: Vec<String>,
    /// Another message id in another attempt.
    pub changed_id: Vec<String>,
    /// Called later after its intent than a lease lasts.
    pub late: Vec<String>,
    /// Received before its time.
    pub early: Vec<String>,
    /// Not at its end long after the faults were over.
    pub unsettled: Vec<String>,
}

impl Judgement {
    /// Whether every promise was kept.
    pub fn holds(&self) -> bool {
        self.broken().is_empty()
    }

    /// What was broken: the rule, how often, and the first few.
    pub fn broken(&self) -> Vec<String> {
        let rules = [
            ("lost", &self.lost),
            ("half there", &self.half),
            ("unknown", &self.unknown),
            ("stored twice", &self.doubled),
            ("repeated without a mark", &self.unmarked),
            ("called without an intent", &self.unintended),
            ("sent with another id", &self.changed_id),
            ("called after the lease", &self.late),
            ("received before its time", &self.early),
            ("not at its end", &self.unsettled),
        ];
        let broken = rules.into_iter().filter(|(_, keys)| !keys.is_empty());
        broken
            .map(|(rule, keys)| format!("{rule}: {} {:?}", keys.len(), &keys[..keys.len().min(5)]))
            .collect()
    }
}

impl History {
    /// Judges what happened.
    pub fn judge(&self) -> Judgement {
        let mut verdict = Judgement {
            acknowledged: self.replies.acknowledged.len(),
            unsettled: self.unsettled.clone(),
            ..Judgement::default()
        };
        let mut stored: HashMap<&str, Vec<&StoredMessage>> = HashMap::new();
        for message in &self.stored {
            stored.entry(&message.key).or_default().push(message);
        }
        let mut received: HashMap<(&str, &str), Vec<&Call>> = HashMap::new();
        for call in &self.received {
            received.entry((&call.key, &call.target)).or_default().push(call);
        }
        let everybody: HashSet<&str> = self
            .replies
            .acknowledged
            .iter()
            .chain(&self.replies.unanswered)
            .map(|asked| &*asked.key)
            .collect();
        let foreign = |key: &&str| !everybody.contains(key) || !stored.contains_key(key);
        let seen: HashSet<&str> =
            stored.keys().copied().chain(received.keys().map(|(key, _)| *key)).collect();
        verdict.unknown = sorted(seen.into_iter().filter(foreign));
        verdict.doubled = sorted(stored.iter().filter(|(_, rows)| rows.len() > 1).map(|(key, _)| *key));
        let arrived = |asked: &&Asked| {
            let is_delivered = |rows: &Vec<&StoredMessage>| rows.iter().any(|row| row.status == "delivered");
            stored.get(&*asked.key).is_some_and(is_delivered)
                && asked.targets.iter().all(|target| received.contains_key(&(&*asked.key, &**target)))
        };
        let lost = self.replies.acknowledged.iter().filter(|asked| !arrived(asked));
        verdict.lost = lost.map(|asked| state(&asked.key, stored.get(&*asked.key))).collect();
        let whole_or_absent = |asked: &&Asked| !stored.contains_key(&*asked.key) || arrived(asked);
        verdict.half =
            sorted(self.replies.unanswered.iter().filter(|a| !whole_or_absent(a)).map(|a| &*a.key));
        let is_early = |asked: &&Asked| {
            let calls = asked.targets.iter().filter_map(|target| received.get(&(&*asked.key, &**target)));
            let mut calls = calls.flatten();
            asked.not_before.is_some_and(|at| calls.any(|call| call.arrived_at + SLACK < at))
        };
        verdict.early = sorted(self.replies.acknowledged.iter().filter(is_early).map(|asked| &*asked.key));
        let mut by_key: HashMap<&str, Vec<(&str, &[&Call])>> = HashMap::new();
        for ((key, target), calls) in &received {
            by_key.entry(key).or_default().push((target, calls));
        }
        for (key, rows) in &stored {
            let calls = by_key.remove(key).unwrap_or_default();
            self.judge_calls(key, rows, &calls, &mut verdict);
        }
        verdict
    }

    /// The calls of one message against what was intended and recorded.
    fn judge_calls(
        &self,
        key: &str,
        rows: &[&StoredMessage],
        received: &[(&str, &[&Call])],
        verdict: &mut Judgement,
    ) {
        let marked: usize = rows.iter().map(|row| row.uncertain).sum();
        verdict.marked += marked;
        let mut attempts: HashMap<&str, Vec<Timestamp>> = HashMap::new();
        for attempt in rows.iter().flat_map(|row| &row.attempts) {
            attempts.entry(&attempt.target).or_default().push(attempt.started_at);
        }
        let mut repeated = 0;
        for (target, calls) in received {
            repeated += calls.len() - 1;
            let mut intents = attempts.remove(target).unwrap_or_default();
            if calls.len() > intents.len() {
                verdict.unintended.push(key.to_owned());
            }
            if calls.iter().any(|call| call.message_id != calls[0].message_id) {
                verdict.changed_id.push(key.to_owned());
            }
            if let Some(within) = self.call_within
                && has_late(calls, &mut intents, within)
            {
                verdict.late.push(key.to_owned());
            }
        }
        verdict.repeated += repeated;
        if repeated > marked {
            verdict.unmarked.push(key.to_owned());
        }
    }
}

/// Gives each call, earliest first, the latest intent before it; one that is left with an old intent is late.
fn has_late(calls: &[&Call], intents: &mut Vec<Timestamp>, within: Duration) -> bool {
    let mut started: Vec<Timestamp> = calls.iter().map(|call| call.started_at).collect();
    started.sort_unstable();
    intents.sort_unstable();
    started.into_iter().any(|at| {
        let Some(own) = intents.iter().rposition(|intent| *intent <= at + SLACK) else { return false };
        at.duration_since(intents.remove(own)).unsigned_abs() > within
    })
}

/// A message that did not arrive, and where it is instead.
fn state(key: &str, rows: Option<&Vec<&StoredMessage>>) -> String {
    match rows.and_then(|rows| rows.first()) {
        None => format!("{key}, not stored"),
        Some(row) => format!("{key}, {} {}", row.status, row.reason.as_deref().unwrap_or_default()),
    }
}

fn sorted<'a>(keys: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut keys: Vec<String> = keys.map(str::to_owned).collect();
    keys.sort_unstable();
    keys
}

#[cfg(test)]
mod tests;
