//! Failed sign-ins and keys, counted by address and in all: guessing is slow, and the rest goes on.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::{SignedDuration, Timestamp};

/// Failures from one address, and from all together, within the interval.
const PER_ADDRESS: u32 = 10;
const IN_ALL: u32 = 200;
const INTERVAL: SignedDuration = SignedDuration::from_mins(10);
/// Addresses that are remembered at once.
const REMEMBERED: usize = 10_000;

#[derive(Default)]
pub struct SlowDown(Mutex<HashMap<Option<IpAddr>, Failures>>);

struct Failures {
    since: Timestamp,
    count: u32,
}

/// Counts what failed in all under no address; requests without one share it.
const EVERYBODY: Option<IpAddr> = None;

impl SlowDown {
    /// How many seconds this address has to wait, if it has to.
    pub fn wait(&self, address: Option<IpAddr>, now: Timestamp) -> Option<u64> {
        let own = address.and_then(|address| self.wait_of(Some(address), PER_ADDRESS, now));
        own.max(self.wait_of(EVERYBODY, IN_ALL, now))
    }

    pub fn failed(&self, address: Option<IpAddr>, now: Timestamp) {
        self.count([EVERYBODY].into_iter().chain(address.map(Some)), now);
    }

    /// The same for a key of the API. Addresses are counted apart, so that nobody keeps somebody else's programs out;
    /// a proxy on this machine speaks for many, and so has the limit of all together.
    pub fn wait_with_key(&self, address: Option<IpAddr>, now: Timestamp) -> Option<u64> {
        let address = apart(address);
        self.wait_of(address, if address == EVERYBODY { IN_ALL } else { PER_ADDRESS }, now)
    }

    pub fn failed_with_key(&self, address: Option<IpAddr>, now: Timestamp) {
        self.count([apart(address)], now);
    }

    fn wait_of(&self, address: Option<IpAddr>, limit: u32, now: Timestamp) -> Option<u64> {
        let known = self.lock();
        let failures = known.get(&address)?;
        let rest = INTERVAL - now.duration_since(failures.since);
        (failures.count >= limit && rest.is_positive())
            .then(|| u64::try_from(rest.as_secs()).unwrap_or(0) + 1)
    }

    fn count(&self, addresses: impl IntoIterator<Item = Option<IpAddr>>, now: Timestamp) {
        let mut known = self.lock();
        known.retain(|_, failures| now.duration_since(failures.since) < INTERVAL);
        if known.len() >= REMEMBERED {
            known.retain(|address, _| *address == EVERYBODY);
        }
        for address in addresses {
            known.entry(address).or_insert(Failures { since: now, count: 0 }).count += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, Failures>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn apart(address: Option<IpAddr>) -> Option<IpAddr> {
    address.filter(|address| !address.is_loopback())
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
}
