//! Tracks connections and closes some when the limit is reached.
//!
//! Connections that wait for a request head, idle or slow, are closed first, starting with the one that has waited longest.
//! Slow clients can therefore not lock out others. If all connections are busy, a new one is accepted as a spare, which only
//! serves probes.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

use super::limits::{Limits, Part};

/// Connections beyond the limits, for probes.
const SPARE: usize = 64;

#[derive(Default)]
struct Inside {
    next: u64,
    open: HashMap<u64, Connection>,
    /// Requests under way by client and part.
    requests: HashMap<(IpAddr, Part), usize>,
    in_flight: [usize; Part::ALL.len()],
}

struct Connection {
    /// Nobody's where it is a listed proxy's: it stands for many clients.
    address: Option<IpAddr>,
    part: Option<Part>,
    /// Since when, in the order of events, it waits for a head; none while it is busy.
    waits_since: Option<u64>,
    is_spare: bool,
    end: CancellationToken,
}

pub(super) struct Connections {
    limits: Arc<Limits>,
    inside: Mutex<Inside>,
}

/// One connection; it is forgotten when this is dropped.
pub(super) struct Slot {
    connections: Arc<Connections>,
    id: u64,
    /// Cancelled when it has to make room.
    pub end: CancellationToken,
}

/// Why a request is not taken now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The connections of its part are all busy.
    Connections,
    /// Its part has as many requests under way as it may.
    InFlight,
    /// Its client has.
    Client,
}

/// A request under way.
pub(super) struct Request {
    connections: Arc<Connections>,
    part: Part,
    client: IpAddr,
}

/// A connection that is busy until the answer is sent.
pub(super) struct Busy {
    connections: Arc<Connections>,
    id: u64,
}

impl Connections {
    pub(super) fn new(limits: Arc<Limits>) -> Arc<Self> {
        Arc::new(Self { limits, inside: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection in; another that waits may have to go for it.
    pub(super) fn open(self: &Arc<Self>, peer: IpAddr) -> Slot {
        let peer = peer.to_canonical();
        let address = (!self.limits.proxies.has(peer)).then_some(peer);
        let mut inside = self.lock();
        let of_address = |one: &Connection| address.is_some() && one.address == address && !one.is_spare;
        let counted = |one: &Connection| !one.is_spare;
        let is_spare = !inside.room(self.limits.connections_per_address, of_address)
            || !inside.room(self.limits.connections, counted);
        let end = CancellationToken::new();
        if is_spare && !inside.room(SPARE, |one| one.is_spare) {
            end.cancel();
        }
        let id = inside.tick();
        let connection =
            Connection { address, part: None, waits_since: Some(id), is_spare, end: end.clone() };
        inside.open.insert(id, connection);
        drop(inside);
        Slot { connections: self.clone(), id, end }
    }
}

impl Inside {
    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Whether one more of these fits, if need be in the place of the one that has waited longest.
    fn room(&mut self, most: usize, is_one: impl Fn(&Connection) -> bool) -> bool {
        if self.open.values().filter(|one| is_one(one)).count() < most {
            return true;
        }
        let waiting = self.open.iter().filter(|(_, one)| is_one(one));
        let oldest = waiting.filter_map(|(id, one)| Some((one.waits_since?, *id))).min();
        let Some(connection) = oldest.and_then(|(_, id)| self.open.remove(&id)) else { return false };
        connection.end.cancel();
        true
    }
}

impl Slot {
    /// Takes a request of this client on this connection.
    pub(super) fn admit(&self, part: Part, client: IpAddr) -> Result<(Request, Busy), Refused> {
        let limits = &self.connections.limits;
        let mut inside = self.connections.lock();
        let inside = &mut *inside;
        let Some(own) = inside.open.get_mut(&self.id) else { return Err(Refused::Connections) };
        let (before, is_spare) = (own.part, own.is_spare);
        if is_spare && part != Part::Probes {
            return Err(Refused::Connections);
        }
        // Busy from here on, so that it does not make room for itself.
        own.waits_since = None;
        let of_part = |one: &Connection| one.part == Some(part);
        let fits = before == Some(part) || inside.room(limits.budget(part).connections, of_part);
        let requests = inside.requests.get(&(client, part)).copied().unwrap_or_default();
        // Half a part stays for others, whoever comes.
        let share = limits.budget(part).in_flight.div_ceil(2).min(limits.requests_per_address);
        let is_proxy = limits.proxies.has(client);
        let refused = if !fits {
            Some(Refused::Connections)
        } else if inside.in_flight[part as usize] >= limits.budget(part).in_flight {
            Some(Refused::InFlight)
        } else if part != Part::Probes && !is_proxy && requests >= share {
            Some(Refused::Client)
        } else {
            None
        };
        if let Some(refused) = refused {
            let now = inside.tick();
            if let Some(own) = inside.open.get_mut(&self.id) {
                own.waits_since = Some(now);
            }
            return Err(refused);
        }
        if let Some(own) = inside.open.get_mut(&self.id) {
            own.part = Some(part);
        }
        inside.in_flight[part as usize] += 1;
        *inside.requests.entry((client, part)).or_default() += 1;
        let request = Request { connections: self.connections.clone(), part, client };
        Ok((request, Busy { connections: self.connections.clone(), id: self.id }))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.connections.lock().open.remove(&self.id);
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut inside = self.connections.lock();
        inside.in_flight[self.part as usize] -= 1;
        let own = (self.client, self.part);
        if let Some(count) = inside.requests.get_mut(&own) {
            *count -= 1;
            if *count == 0 {
                inside.requests.remove(&own);
            }
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut inside = self.connections.lock();
        let now = inside.tick();
        if let Some(own) = inside.open.get_mut(&self.id) {
            own.waits_since = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::Budget;

    fn connections(change: impl FnOnce(&mut Limits)) -> Arc<Connections> {
        let mut limits = Limits::default();
        change(&mut limits);
        Connections::new(Arc::new(limits))
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    const ANN: &str = "198.51.100.1";
    const BEN: &str = "198.51.100.2";

    #[test]
    fn t15_who_waits_longest_makes_room_and_who_is_busy_stays() {
        let all = connections(|limits| limits.connections = 2);
        let first = all.open(address(ANN));
        let busy = first.admit(Part::Api, address(ANN)).unwrap();
        let second = all.open(address(ANN));
        let third = all.open(address(BEN));
        assert!(second.end.is_cancelled() && !first.end.is_cancelled() && !third.end.is_cancelled());
        // Now both are busy: the next one gets probes alone.
        let other = third.admit(Part::Console, address(BEN)).unwrap();
        let spare = all.open(address(BEN));
        assert_eq!(spare.admit(Part::Api, address(BEN)).err(), Some(Refused::Connections));
        assert!(spare.admit(Part::Probes, address(BEN)).is_ok());
        drop(busy);
        let fifth = all.open(address(BEN));
        assert!(first.end.is_cancelled() && fifth.admit(Part::Api, address(BEN)).is_ok());
        drop(other);
        assert_eq!(all.lock().in_flight, [0; 4]);
    }

    #[test]
    fn t15_one_address_keeps_nobody_else_out() {
        let all = connections(|limits| {
            limits.connections_per_address = 2;
            limits.requests_per_address = 1;
            limits.proxies = "10.0.0.1".parse().unwrap();
        });
        let anns: Vec<Slot> = (0..3).map(|_| all.open(address(ANN))).collect();
        let bens = all.open(address(BEN));
        let ended: Vec<bool> = anns.iter().map(|one| one.end.is_cancelled()).collect();
        assert_eq!((ended, bens.end.is_cancelled()), (vec![true, false, false], false));
        let _request = anns[1].admit(Part::Api, address(ANN)).unwrap();
        assert_eq!(anns[2].admit(Part::Api, address(ANN)).err(), Some(Refused::Client));
        assert!(anns[2].admit(Part::Probes, address(ANN)).is_ok());
        assert!(bens.admit(Part::Api, address(BEN)).is_ok());
        // A proxy stands for many.
        let proxied: Vec<Slot> = (0..5).map(|_| all.open(address("10.0.0.1"))).collect();
        assert!(proxied.iter().all(|one| !one.end.is_cancelled()));
    }

    #[test]
    fn t15_each_part_has_its_own_budget() {
        let all = connections(|limits| {
            limits.public = Budget { connections: 1, in_flight: 1 };
            limits.api = Budget { connections: 9, in_flight: 1 };
        });
        let slots: Vec<Slot> = (0..4).map(|_| all.open(address(ANN))).collect();
        let client = address(ANN);
        let public = slots[0].admit(Part::Public, client).unwrap();
        assert_eq!(slots[1].admit(Part::Public, client).err(), Some(Refused::Connections));
        let api = slots[1].admit(Part::Api, client).unwrap();
        assert_eq!(slots[2].admit(Part::Api, client).err(), Some(Refused::InFlight));
        assert!(slots[3].admit(Part::Probes, client).is_ok());
        drop((public, api));
        // The connection that was for the part and waits now makes room.
        assert!(slots[2].admit(Part::Public, client).is_ok());
        assert!(slots[0].end.is_cancelled());
    }
}
