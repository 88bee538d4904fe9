//! Throttles failed sign-ins and keys, counted by address and by account, without affecting other callers.
//!
//! There is no global count, because an attacker with many addresses could then lock everybody out. `passwords` bounds the cost
//! of hashing.

use std::{
    collections::HashMap,
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::{SignedDuration, Timestamp};

use crate::keys::secret_hash;

/// Failures from one address, and for one account, within the interval.
const PER_ADDRESS: u32 = 10;
const PER_ACCOUNT: u32 = 10;
/// Failures from where clients cannot be distinguished: through a proxy on this machine that is not listed.
const PER_CROWD: u32 = 200;
const INTERVAL: SignedDuration = SignedDuration::from_mins(10);
/// Addresses and accounts that are remembered at once.
const REMEMBERED: usize = 10_000;

#[derive(Default)]
pub struct SlowDown(Mutex<Known>);

#[derive(Default)]
struct Known {
    failures: HashMap<Counted, Failures>,
    /// From which addresses each account was signed in to, and when last: failures of others do not lock its owner out
    /// there.
    good: HashMap<(String, IpAddr), Timestamp>,
}

/// Under what a failure is counted.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Counted {
    Crowd,
    Address(IpAddr),
    /// The hash of what was given as an account, whether there is one or not: a wait reveals nothing about that.
    Account(String),
}

impl Counted {
    fn limit(&self) -> u32 {
        match self {
            Self::Crowd => PER_CROWD,
            Self::Address(_) => PER_ADDRESS,
            Self::Account(_) => PER_ACCOUNT,
        }
    }
}

struct Failures {
    since: Timestamp,
    count: u32,
}

impl SlowDown {
    /// How many seconds this address has to wait, if it has to.
    pub fn wait(&self, address: Option<IpAddr>, now: Timestamp) -> Option<u64> {
        self.lock().wait(&from(address), now)
    }

    pub fn failed(&self, address: Option<IpAddr>, now: Timestamp) {
        self.lock().count(from(address), now);
    }

    /// One attempt with a password, which takes its time: it is counted as failed before it is made, so that many at
    /// once are no more than many one after the other. Returns how many seconds to wait instead, if one has to.
    pub fn attempt(&self, address: Option<IpAddr>, account: &str, now: Timestamp) -> Result<(), u64> {
        let (place, hash) = (from(address), secret_hash(account));
        let mut known = self.lock();
        let is_good = matches!(&place, Counted::Address(at) if known.good.contains_key(&(hash.clone(), *at)));
        let account = Some(Counted::Account(hash)).filter(|_| !is_good);
        let waits = known.wait(&place, now).max(account.as_ref().and_then(|own| known.wait(own, now)));
        if let Some(seconds) = waits {
            return Err(seconds);
        }
        known.count(place, now);
        if let Some(account) = account {
            known.count(account, now);
        }
        Ok(())
    }

    /// The attempt was good after all: nothing is held against the account, and one failure less against the address.
    pub fn succeeded(&self, address: Option<IpAddr>, account: &str, now: Timestamp) {
        let (place, hash) = (from(address), secret_hash(account));
        let mut known = self.lock();
        known.failures.remove(&Counted::Account(hash.clone()));
        if let Some(failures) = known.failures.get_mut(&place) {
            failures.count = failures.count.saturating_sub(1);
        }
        if let Counted::Address(at) = place {
            make_room(&mut known.good, |last| (last.as_microsecond(), 0));
            known.good.insert((hash, at), now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn wait(&self, counted: &Counted, now: Timestamp) -> Option<u64> {
        let failures = self.failures.get(counted)?;
        let rest = INTERVAL - now.duration_since(failures.since);
        (failures.count >= counted.limit() && rest.is_positive())
            .then(|| u64::try_from(rest.as_secs()).unwrap_or(0) + 1)
    }

    fn count(&mut self, what: Counted, now: Timestamp) {
        self.failures.retain(|_, failures| now.duration_since(failures.since) < INTERVAL);
        // An attacker who fills it with single failures of many names and addresses cannot evict the other counts.
        make_room(&mut self.failures, |one| (i64::from(one.count), one.since.as_microsecond()));
        self.failures.entry(what).or_insert(Failures { since: now, count: 0 }).count += 1;
    }
}

/// Forgets the lesser half of a map that is full.
fn make_room<K: Clone + Eq + Hash, V>(known: &mut HashMap<K, V>, worth: impl Fn(&V) -> (i64, i64)) {
    if known.len() < REMEMBERED {
        return;
    }
    let mut all: Vec<((i64, i64), K)> =
        known.iter().map(|(key, value)| (worth(value), key.clone())).collect();
    all.sort_unstable_by_key(|(worth, _)| *worth);
    for (_, key) in all.into_iter().take(REMEMBERED / 2) {
        known.remove(&key);
    }
}

/// Where a failure comes from. Who has one address of IPv6 has its whole /64; a proxy on this machine speaks for many.
fn from(address: Option<IpAddr>) -> Counted {
    match address.map(|address| address.to_canonical()) {
        Some(address) if address.is_loopback() => Counted::Crowd,
        Some(IpAddr::V6(address)) => {
            Counted::Address(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into())
        }
        Some(address) => Counted::Address(address),
        None => Counted::Crowd,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn at(n: u32) -> Option<IpAddr> {
        Some((0x0a00_0000 + n).to_be_bytes().into())
    }

    #[test]
    fn t02_one_address_is_slowed_down_and_others_are_not_however_many_fail() {
        let slow = SlowDown::default();
        for _ in 0..PER_ADDRESS {
            assert_eq!(slow.wait(at(1), NOW), None);
            slow.failed(at(1), NOW);
        }
        assert_eq!((slow.wait(at(1), NOW), slow.wait(at(2), NOW)), (Some(601), None));
        assert_eq!(slow.wait(at(1), NOW + INTERVAL), None);
        for n in 100..5_100 {
            slow.failed(at(n), NOW);
        }
        assert_eq!(slow.wait(at(2), NOW), None, "failures elsewhere keep nobody out");
        assert_eq!(slow.attempt(at(2), "ada@example.org", NOW), Ok(()));
    }

    #[test]
    fn t02_the_addresses_of_one_network_of_ipv6_are_one() {
        let slow = SlowDown::default();
        let host = |n: u128| Some(IpAddr::from((0x2001_0db8_u128 << 96 | n).to_be_bytes()));
        for n in 0..u128::from(PER_ADDRESS) {
            slow.failed(host(n), NOW);
        }
        assert!(slow.wait(host(77), NOW).is_some());
        assert_eq!(slow.wait(host(1 << 64), NOW), None);
    }

    #[test]
    fn t02_a_proxy_that_is_not_listed_has_the_limit_of_a_crowd() {
        let (slow, local) = (SlowDown::default(), Some([127, 0, 0, 1].into()));
        for _ in 0..PER_CROWD {
            assert_eq!((slow.wait(local, NOW), slow.wait(None, NOW)), (None, None));
            slow.failed(local, NOW);
        }
        assert!(slow.wait(local, NOW).is_some() && slow.wait(None, NOW).is_some());
        assert_eq!(slow.wait(at(1), NOW), None);
    }

    #[test]
    fn t02_guesses_at_one_account_are_slowed_down_wherever_they_come_from() {
        let slow = SlowDown::default();
        // An account that is not there waits as one that is: only what was typed is counted.
        for account in ["ada@example.org", "nobody@example.org"] {
            for n in 0..PER_ACCOUNT {
                assert_eq!(slow.attempt(at(n), account, NOW), Ok(()));
            }
            assert_eq!(slow.attempt(at(99), account, NOW), Err(601));
        }
        assert_eq!(slow.attempt(at(99), "bob@example.org", NOW), Ok(()));
        assert_eq!(slow.attempt(at(99), "ada@example.org", NOW + INTERVAL), Ok(()));
    }

    #[test]
    fn t02_others_failures_do_not_keep_a_person_out_where_they_signed_in_before() {
        let slow = SlowDown::default();
        assert_eq!(slow.attempt(at(7), "ada@example.org", NOW), Ok(()));
        slow.succeeded(at(7), "ada@example.org", NOW);
        for n in 100..100 + PER_ACCOUNT {
            assert_eq!(slow.attempt(at(n), "ada@example.org", NOW), Ok(()));
        }
        assert!(slow.attempt(at(8), "ada@example.org", NOW).is_err());
        for _ in 0..3 * PER_ADDRESS {
            assert_eq!(slow.attempt(at(7), "ada@example.org", NOW), Ok(()));
            slow.succeeded(at(7), "ada@example.org", NOW);
        }
        // A guesser at that address is slowed down as at any other.
        for _ in 0..PER_ADDRESS {
            assert_eq!(slow.attempt(at(7), "ada@example.org", NOW), Ok(()));
        }
        assert!(slow.attempt(at(7), "ada@example.org", NOW).is_err());
    }

    #[test]
    fn t15_what_is_remembered_has_a_bound_and_whoever_fills_it_frees_nobody() {
        let slow = SlowDown::default();
        for _ in 0..PER_ADDRESS {
            slow.failed(at(1), NOW);
        }
        for n in 0..u32::try_from(2 * REMEMBERED).unwrap() {
            slow.failed(at(1_000 + n), NOW);
            slow.succeeded(at(1_000 + n), &n.to_string(), NOW);
        }
        let known = slow.lock();
        assert!(known.failures.len() <= REMEMBERED && known.good.len() <= REMEMBERED);
        assert!(known.wait(&from(at(1)), NOW).is_some());
    }
}
