//! Crash points and injected faults: where the kill trials stop the process, and tests break the store.
//!
//! Every statement has a point before and one after it, named after the statement, and `commit` has both
//! too. Nothing is armed unless the process was started with one; then the check is a few nanoseconds.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::Write as _,
    str::FromStr,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use crate::{StoreError, error::DriverError};

/// A named place where the process ends at once, as if it were killed: `before:work.claim` or `after:commit`,
/// with an optional count of how often it is passed first (`after:commit:3`). `list:FILE` ends nowhere and writes the name
/// of each place that is passed to the file, a line for each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CrashPoint {
    At { before: bool, name: String, passes: u64 },
    List(String),
}

impl FromStr for CrashPoint {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || format!("`{text}` is no crash point; one looks like before:work.claim or after:commit:3");
        if let Some(file) = text.strip_prefix("list:").filter(|file| !file.is_empty()) {
            return Ok(Self::List(file.to_owned()));
        }
        let mut parts = text.split(':');
        let before = match parts.next() {
            Some("before") => true,
            Some("after") => false,
            _ => return Err(wrong()),
        };
        let name = parts.next().filter(|name| !name.is_empty()).ok_or_else(wrong)?.to_owned();
        let passes = parts.next().map_or(Ok(0), |count| count.parse().map_err(|_| wrong()))?;
        if parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Self::At { before, name, passes })
    }
}

/// What goes wrong, if anything. Cloned handles share their state.
#[derive(Clone, Default)]
pub struct Faults {
    crash: Option<Arc<Crash>>,
    armed: Arc<AtomicBool>,
    failures: Arc<Mutex<Vec<Failure>>>,
    explained: Arc<Mutex<HashMap<String, Vec<String>>>>,
}

enum Crash {
    At { before: bool, name: String, passes: u64, passed: AtomicU64 },
    List(Option<Mutex<File>>),
}

impl Crash {
    fn pass(&self, passing: &str, is_before: bool) {
        match self {
            Self::At { before, name, passes, passed } => {
                if *before == is_before && name == passing && passed.fetch_add(1, Ordering::AcqRel) >= *passes
                {
                    // abort, not exit: no destructor may tidy up, as none does when the power goes.
                    std::process::abort();
                }
            }
            Self::List(Some(file)) if is_before => {
                let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if let Err(error) = writeln!(file, "{passing}") {
                    tracing::error!(%error, "the list of crash points could not be written");
                }
            }
            Self::List(_) => {}
        }
    }
}

struct Failure {
    name: String,
    /// Whether the statement runs before it reports failure ("execute and then report failure").
    executes: bool,
    /// Whether the server is gone, and not the statement refused.
    outage: bool,
    times: u64,
    /// Fails only every so many runs.
    every: u64,
    runs: u64,
}

impl Faults {
    pub fn crash_at(point: CrashPoint) -> Self {
        let crash = match point {
            CrashPoint::At { before, name, passes } => {
                Crash::At { before, name, passes, passed: AtomicU64::new(0) }
            }
            CrashPoint::List(path) => {
                let file = OpenOptions::new().create(true).append(true).open(&path);
                let file = file.inspect_err(|error| tracing::error!(%error, path, "no list of crash points"));
                Crash::List(file.ok().map(Mutex::new))
            }
        };
        Self { crash: Some(Arc::new(crash)), ..Self::default() }
    }

    /// The next `times` runs of this statement fail; with `executes`, after they have run.
    pub fn fail(&self, name: &str, executes: bool, times: u64) {
        let mut failures = self.failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        failures.push(Failure { name: name.to_owned(), executes, outage: false, times, every: 1, runs: 0 });
        self.armed.store(true, Ordering::Release);
    }

    /// The server is gone the next `times` that this statement is to run.
    pub fn lose_server(&self, name: &str, times: u64) {
        let mut failures = self.failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let name = name.to_owned();
        failures.push(Failure { name, executes: false, outage: true, times, every: 1, runs: 0 });
        self.armed.store(true, Ordering::Release);
    }

    /// From now on every so many runs of this statement fail, the first of them at once.
    pub fn fail_every(&self, name: &str, executes: bool, every: u64) {
        let mut failures = self.failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        failures.push(Failure {
            name: name.to_owned(),
            executes,
            outage: false,
            times: u64::MAX,
            every,
            runs: 0,
        });
        self.armed.store(true, Ordering::Release);
    }

    /// Nothing fails any more.
    pub fn heal(&self) {
        self.failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    }

    /// From now on the plan of this statement is kept whenever it runs: for tests of the hot ones.
    #[doc(hidden)]
    pub fn explain(&self, name: &str) {
        self.explained().insert(name.to_owned(), Vec::new());
        self.armed.store(true, Ordering::Release);
    }

    /// The last plan of a statement, line by line; empty if it has not run.
    #[doc(hidden)]
    pub fn plan(&self, name: &str) -> Vec<String> {
        self.explained().get(name).cloned().unwrap_or_default()
    }

    pub(super) fn wants_plan(&self, name: &'static str) -> bool {
        self.armed.load(Ordering::Acquire) && self.explained().contains_key(name)
    }

    pub(super) fn keep_plan(&self, name: &'static str, plan: Vec<String>) {
        self.explained().insert(name.to_owned(), plan);
    }

    fn explained(&self) -> MutexGuard<'_, HashMap<String, Vec<String>>> {
        self.explained.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn before(&self, name: &'static str) -> Result<(), StoreError> {
        self.pass(name, true)
    }

    pub(crate) fn after(&self, name: &'static str) -> Result<(), StoreError> {
        self.pass(name, false)
    }

    fn pass(&self, name: &'static str, before: bool) -> Result<(), StoreError> {
        if let Some(crash) = &self.crash {
            crash.pass(name, before);
        }
        if self.armed.load(Ordering::Acquire) {
            let mut failures = self.failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let hit = failures.iter_mut().find(|f| f.name == name && f.executes != before && f.times > 0);
            if let Some(failure) = hit {
                failure.runs += 1;
                if (failure.runs - 1).is_multiple_of(failure.every) {
                    failure.times -= 1;
                    return Err(match failure.outage {
                        true => StoreError::statement(name, DriverError::Closed),
                        false => StoreError::Injected(name),
                    });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crash_points_are_read_and_nonsense_is_refused() {
        let point: CrashPoint = "after:commit:3".parse().unwrap();
        assert_eq!(point, CrashPoint::At { before: false, name: "commit".into(), passes: 3 });
        assert_eq!("list:/tmp/a:b".parse(), Ok(CrashPoint::List("/tmp/a:b".into())));
        for bad in ["", "list:", "commit", "during:commit", "before:", "after:commit:x", "after:a:1:2"] {
            assert!(bad.parse::<CrashPoint>().is_err(), "{bad} was accepted");
        }
    }
}
