//! A long trial: how often, from which seed, for how long, and the records that it leaves.
//!
//! A trial is a loop over rounds. Each round is judged by itself and appends one record, so that a trial can be stopped at any
//! moment and continues where it was: what is recorded for this commit counts towards its number.

use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::history::judge::Judgement;

/// The folder to which records are appended; without it, none are.
const RECORDS: &str = "PUNCTUAL_RIG_RECORDS";
/// How many faults instead of the trial's own number.
const COUNT: &str = "PUNCTUAL_RIG_COUNT";
/// After how many minutes no further round is begun.
const MINUTES: &str = "PUNCTUAL_RIG_MINUTES";
/// The seed of the first round.
const SEED: &str = "PUNCTUAL_RIG_SEED";
/// What is tried.
const COMMIT: &str = "PUNCTUAL_RIG_COMMIT";

/// A trial that is running.
#[derive(Debug)]
pub struct Rig {
    name: &'static str,
    database: &'static str,
    wanted: u64,
    done: u64,
    rounds: u64,
    seed: u64,
    ends: Option<Instant>,
    commit: String,
    records: Option<PathBuf>,
}

/// One round of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    pub seed: u64,
    /// How many faults are still to be injected, in this round and later ones.
    pub left: u64,
}

impl Rig {
    /// A trial with this many faults in every test run, and this many at full scale.
    ///
    /// # Panics
    /// When a variable is set and makes no sense.
    #[expect(clippy::disallowed_methods, reason = "a trial ends after a real time")]
    pub fn new(name: &'static str, database: &'static str, smoke: usize, full: usize) -> Self {
        let wanted = number(COUNT).unwrap_or(crate::scale(smoke, full) as u64);
        let commit = std::env::var(COMMIT).unwrap_or_else(|_| "unknown".into());
        let records = std::env::var_os(RECORDS).map(PathBuf::from);
        let (rounds, done) =
            records.as_deref().map_or((0, 0), |folder| recorded(folder, name, database, &commit));
        let ends = number(MINUTES).map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
        let seed = number(SEED).unwrap_or(1);
        Self { name, database, wanted, done, rounds, seed, ends, commit, records }
    }

    /// The next round, or `None` when there were enough faults or the time is up.
    #[expect(clippy::disallowed_methods, reason = "a trial ends after a real time")]
    pub fn next_round(&mut self) -> Option<Round> {
        if self.done >= self.wanted || self.ends.is_some_and(|ends| Instant::now() >= ends) {
            return None;
        }
        self.rounds += 1;
        Some(Round { seed: self.seed + self.rounds, left: self.wanted - self.done })
    }

    /// Appends the record of a round. A promise that was broken is recorded too, and then ends the trial.
    ///
    /// # Panics
    /// When a promise was broken, when no fault was injected, or when the record cannot be written.
    pub fn judged(&mut self, round: Round, of: &Outcome) {
        let faults: u64 = of.injected.values().sum();
        assert!(faults > 0, "{}: a round without a fault says nothing", self.name);
        self.done += faults;
        let record = of.record(self.name, self.database, &self.commit, round.seed);
        println!("{record}");
        if let Some(folder) = &self.records {
            append(&folder.join(format!("{}-{}.jsonl", self.name, self.database)), &record);
        }
        let broken = of.judgement.broken();
        assert!(broken.is_empty(), "{} on {}, seed {}: {broken:#?}", self.name, self.database, round.seed);
        assert!(of.judgement.acknowledged > 0, "{}: nothing was acknowledged", self.name);
    }
}

/// What a round came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub injected: BTreeMap<String, u64>,
    pub judgement: Judgement,
    /// From the end of each fault to the next acknowledged request and the next delivery.
    pub recovered_in: Vec<Duration>,
    /// From the end of the load until every message was at its end.
    pub settled_in: Duration,
}

impl Outcome {
    fn record(&self, rig: &str, database: &str, commit: &str, seed: u64) -> Value {
        let millis = |time: &Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut times: Vec<u64> = self.recovered_in.iter().map(millis).collect();
        times.sort_unstable();
        let verdict = &self.judgement;
        json!({
            "rig": rig,
            "database": database,
            "commit": commit,
            "seed": seed,
            "faults": self.injected,
            "acknowledged": verdict.acknowledged,
            "lost": verdict.lost.len(),
            "repeated": verdict.repeated,
            "marked": verdict.marked,
            "broken": verdict.broken(),
            "recoveredMs": times,
            "settledMs": millis(&self.settled_in),
        })
    }
}

/// Shows what a trial measured, and appends it to the records. Figures of a smoke run are not recorded: they say nothing.
///
/// # Panics
/// When it cannot be written.
pub fn measured(name: &str, database: &str, figures: &Value) {
    let commit = std::env::var(COMMIT).unwrap_or_else(|_| "unknown".into());
    let record = json!({ "measure": name, "database": database, "commit": commit, "figures": figures });
    println!("{record}");
    if let Some(folder) = std::env::var_os(RECORDS).filter(|_| crate::scale(0, 1) == 1) {
        append(&Path::new(&folder).join(format!("{name}-{database}.figures.jsonl")), &record);
    }
}

/// How many rounds and faults are recorded for this commit.
fn recorded(folder: &Path, name: &str, database: &str, commit: &str) -> (u64, u64) {
    let text = std::fs::read_to_string(folder.join(format!("{name}-{database}.jsonl"))).unwrap_or_default();
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    records.filter(|record| record["commit"] == commit).fold((0, 0), |(rounds, faults), record| {
        let of_kinds = record["faults"].as_object().into_iter().flat_map(|kinds| kinds.values());
        (rounds + 1, faults + of_kinds.filter_map(Value::as_u64).sum::<u64>())
    })
}

fn append(file: &Path, record: &Value) {
    let written = std::fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).and_then(|()| {
        let mut open = std::fs::File::options().create(true).append(true).open(file)?;
        // One write, so that a trial that is killed leaves whole lines.
        open.write_all(format!("{record}\n").as_bytes())
    });
    written.unwrap_or_else(|error| panic!("{} cannot be written: {error}", file.display()));
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} is a whole number, not {value:?}")))
}

/// What the servers of trials log: what goes wrong, unless a trial that is recorded makes it go wrong all the time.
pub fn log_level() -> &'static str {
    if std::env::var_os(RECORDS).is_some() { "off" } else { "error" }
}

/// Randomness that repeats with its seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds are to have nothing in common.
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.below(2);
        }
        random
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.below(from.len() as u64)).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_counts_and_other_commits_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = Outcome {
            injected: BTreeMap::from([("SIGKILL".to_owned(), 3)]),
            recovered_in: vec![Duration::from_millis(20), Duration::from_millis(10)],
            ..Outcome::default()
        };
        let file = folder.path().join("kill-sqlite.jsonl");
        for (commit, seed) in [("old", 1), ("new", 1), ("new", 2)] {
            append(&file, &outcome.record("kill", "sqlite", commit, seed));
        }
        assert_eq!(recorded(folder.path(), "kill", "sqlite", "new"), (2, 6));
        assert_eq!(recorded(folder.path(), "kill", "postgres", "new"), (0, 0));
        let record = outcome.record("kill", "sqlite", "new", 2);
        assert_eq!(record["recoveredMs"], json!([10, 20]));
    }

    #[test]
    fn random_numbers_repeat_with_their_seed_and_not_with_the_next() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..10).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
