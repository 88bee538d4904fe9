//! Failed sign-ins and keys, counted by address and in all: guessing is slow, and the rest goes on.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::{SignedDuration, Timestamp};

use crate::keys::secret_hash;

/// Failures from one address, for one account, and from all together, within the interval.
const PER_ADDRESS: u32 = 10;
const PER_ACCOUNT: u32 = 10;
const IN_ALL: u32 = 200;
const INTERVAL: SignedDuration = SignedDuration::from_mins(10);
/// Addresses and accounts that are remembered at once.
const REMEMBERED: usize = 10_000;

#[derive(Default)]
pub struct SlowDown(Mutex<HashMap<Counted, Failures>>);

/// Under what a failure is counted.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Counted {
    Everybody,
    Address(IpAddr),
    /// The hash of what was given as an account, whether there is one or not: a wait tells nothing about that.
    Account(String),
}

struct Failures {
    since: Timestamp,
    count: u32,
}

impl SlowDown {
    /// How many seconds this address has to wait, if it has to.
    pub fn wait(&self, address: Option<IpAddr>, now: Timestamp) -> Option<u64> {
        let own = address.and_then(|address| self.wait_of(&Counted::Address(address), PER_ADDRESS, now));
        own.max(self.wait_of(&Counted::Everybody, IN_ALL, now))
    }

    pub fn failed(&self, address: Option<IpAddr>, now: Timestamp) {
        self.count([Counted::Everybody].into_iter().chain(address.map(Counted::Address)), now);
    }

    /// One attempt with a password, which takes its time: it is counted as failed before it is made, so that many at
    /// once are no more than many one after the other. Returns how many seconds to wait instead, if one has to.
    pub fn attempt(&self, address: Option<IpAddr>, account: &str, now: Timestamp) -> Result<(), u64> {
        let account = account_of(account);
        match self.wait(address, now).max(self.wait_of(&account, PER_ACCOUNT, now)) {
            Some(seconds) => Err(seconds),
            None => {
                self.failed(address, now);
                self.count([account], now);
                Ok(())
            }
        }
    }

    /// The attempt was good after all: nothing is held against the account, and one failure less against the address.
    pub fn succeeded(&self, address: Option<IpAddr>, account: &str) {
        let mut known = self.lock();
        known.remove(&account_of(account));
        for counted in [Counted::Everybody].into_iter().chain(address.map(Counted::Address)) {
            if let Some(failures) = known.get_mut(&counted) {
                failures.count = failures.count.saturating_sub(1);
            }
        }
    }

    /// The same for a key of the API. Addresses are counted apart, so that nobody keeps somebody else's programs out;
    /// a proxy on this machine speaks for many, and so has the limit of all together.
    pub fn wait_with_key(&self, address: Option<IpAddr>, now: Timestamp) -> Option<u64> {
        let address = apart(address);
        let limit = if address == Counted::Everybody { IN_ALL } else { PER_ADDRESS };
        self.wait_of(&address, limit, now)
    }

    pub fn failed_with_key(&self, address: Option<IpAddr>, now: Timestamp) {
        self.count([apart(address)], now);
    }

    fn wait_of(&self, counted: &Counted, limit: u32, now: Timestamp) -> Option<u64> {
        let known = self.lock();
        let failures = known.get(counted)?;
        let rest = INTERVAL - now.duration_since(failures.since);
        (failures.count >= limit && rest.is_positive())
            .then(|| u64::try_from(rest.as_secs()).unwrap_or(0) + 1)
    }

    fn count(&self, what: impl IntoIterator<Item = Counted>, now: Timestamp) {
        let mut known = self.lock();
        known.retain(|_, failures| now.duration_since(failures.since) < INTERVAL);
        if known.len() >= REMEMBERED {
            known.retain(|counted, _| *counted == Counted::Everybody);
        }
        for counted in what {
            known.entry(counted).or_insert(Failures { since: now, count: 0 }).count += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Counted, Failures>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn apart(address: Option<IpAddr>) -> Counted {
    address.filter(|address| !address.is_loopback()).map_or(Counted::Everybody, Counted::Address)
}

fn account_of(account: &str) -> Counted {
    Counted::Account(secret_hash(account))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_is_slowed_down_and_others_are_not() {
        let (slow, now) = (SlowDown::default(), Timestamp::UNIX_EPOCH);
        let (one, other) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 2].into()));
        for _ in 0..PER_ADDRESS {
            assert_eq!(slow.wait(one, now), None);
            slow.failed(one, now);
        }
        assert_eq!((slow.wait(one, now), slow.wait(other, now)), (Some(601), None));
        assert_eq!(slow.wait(one, now + INTERVAL), None);
        for n in 0..IN_ALL {
            slow.failed(Some(n.to_be_bytes().into()), now);
        }
        assert!(slow.wait(other, now).is_some());
    }

    #[test]
    fn guesses_at_keys_are_counted_for_each_address_alone() {
        let (slow, now) = (SlowDown::default(), Timestamp::UNIX_EPOCH);
        let (one, other) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 2].into()));
        let local = Some([127, 0, 0, 1].into());
        for _ in 0..IN_ALL {
            slow.failed_with_key(one, now);
        }
        let waits = |address| slow.wait_with_key(address, now).is_some();
        assert_eq!((waits(one), waits(other), waits(local), waits(None)), (true, false, false, false));
        for _ in 0..IN_ALL {
            assert!(!waits(local));
            slow.failed_with_key(local, now);
        }
        assert_eq!((waits(local), waits(None), waits(other)), (true, true, false));
    }

    #[test]
    fn guesses_at_one_account_are_slowed_down_wherever_they_come_from() {
        let (slow, now) = (SlowDown::default(), Timestamp::UNIX_EPOCH);
        let from = |n: u32| Some(n.to_be_bytes().into());
        for n in 0..PER_ACCOUNT {
            assert_eq!(slow.attempt(from(n), "ada@example.org", now), Ok(()));
        }
        assert_eq!(slow.attempt(from(99), "ada@example.org", now), Err(601));
        assert_eq!(slow.attempt(from(99), "bob@example.org", now), Ok(()));
        assert_eq!(slow.attempt(from(99), "ada@example.org", now + INTERVAL), Ok(()));
        // Who knows the password is not slowed down by having used it.
        for _ in 0..3 * PER_ADDRESS {
            assert_eq!(slow.attempt(from(7), "eve@example.org", now + INTERVAL), Ok(()));
            slow.succeeded(from(7), "eve@example.org");
        }
    }
}
