//! Rate limits for requests without a key: per link, per address and in total, each per minute.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};

/// The other end of a connection, behind proxies that are trusted; every request carries it.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

const INTERVAL: SignedDuration = SignedDuration::from_mins(1);
/// A person opens a page, answers, and looks again; more is a program.
const PER_LINK: u32 = 60;
/// A whole office may sit behind one address.
const PER_ADDRESS: u32 = 600;
/// What a node serves in all, over the API and the public pages together.
const IN_ALL: u32 = 60_000;
/// Links and addresses that are remembered at once.
const REMEMBERED: usize = 100_000;

#[derive(PartialEq, Eq, Hash)]
enum Whose {
    Link(String),
    Address(IpAddr),
    Everybody,
}

#[derive(Default)]
struct Counted {
    since: Timestamp,
    count: u32,
}

/// What was asked in the last minute.
#[derive(Default)]
pub struct PublicLimits(Mutex<HashMap<Whose, Counted>>);

impl PublicLimits {
    /// Counts a request; returns how many seconds to wait where it is one too many. A proxy on this machine speaks for many
    /// people, so its address is not counted.
    pub fn wait(&self, link: &str, address: Option<IpAddr>, now: Timestamp) -> Option<u64> {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= REMEMBERED {
            counted.retain(|_, one| now.duration_since(one.since) < INTERVAL);
            if counted.len() >= REMEMBERED {
                counted.clear();
            }
        }
        let address = address.filter(|address| !address.is_loopback()).map(Whose::Address);
        let whose = [
            (Some(Whose::Link(link.to_owned())), PER_LINK),
            (address, PER_ADDRESS),
            (Some(Whose::Everybody), IN_ALL),
        ];
        let mut wait = None;
        for (whose, limit) in whose {
            let Some(whose) = whose else { continue };
            let one = counted.entry(whose).or_insert(Counted { since: now, count: 0 });
            let age = now.duration_since(one.since);
            if age >= INTERVAL || age.is_negative() {
                *one = Counted { since: now, count: 0 };
            }
            one.count = one.count.saturating_add(1);
            if one.count > limit {
                let rest = (INTERVAL - now.duration_since(one.since)).as_secs();
                wait = wait.max(Some(u64::try_from(rest).unwrap_or(0) + 1));
            }
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_and_an_address_have_their_limits() {
        let (limits, now) = (PublicLimits::default(), Timestamp::UNIX_EPOCH);
        let (one, other) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 2].into()));
        for _ in 0..PER_LINK {
            assert_eq!(limits.wait("a", one, now), None);
        }
        assert_eq!((limits.wait("a", other, now), limits.wait("b", one, now)), (Some(61), None));
        assert_eq!(limits.wait("a", one, now + INTERVAL), None);
        let limits = PublicLimits::default();
        for n in 0..PER_ADDRESS {
            assert_eq!(limits.wait(&n.to_string(), one, now), None);
        }
        assert!(limits.wait("x", one, now).is_some() && limits.wait("x", other, now).is_none());
        let proxy = Some([127, 0, 0, 1].into());
        assert!((0..2 * PER_ADDRESS).all(|n| limits.wait(&n.to_string(), proxy, now).is_none()));
    }
}
