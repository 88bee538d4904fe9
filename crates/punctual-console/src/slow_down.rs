//! Failed sign-ins, counted by address and in all: guessing is slow, and the rest goes on.

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
        let known = self.lock();
        let wait = |address, limit| {
            let failures: &Failures = known.get(&address)?;
            let rest = INTERVAL - now.duration_since(failures.since);
            (failures.count >= limit && rest.is_positive())
                .then(|| u64::try_from(rest.as_secs()).unwrap_or(0) + 1)
        };
        let own = address.and_then(|address| wait(Some(address), PER_ADDRESS));
        own.max(wait(EVERYBODY, IN_ALL))
    }

    pub fn failed(&self, address: Option<IpAddr>, now: Timestamp) {
        let mut known = self.lock();
        known.retain(|_, failures| now.duration_since(failures.since) < INTERVAL);
        if known.len() >= REMEMBERED {
            known.retain(|address, _| *address == EVERYBODY);
        }
        for address in [EVERYBODY].into_iter().chain(address.map(Some)) {
            known.entry(address).or_insert(Failures { since: now, count: 0 }).count += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, Failures>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
}
