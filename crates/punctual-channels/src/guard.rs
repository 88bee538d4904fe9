//! The addresses that outgoing calls must not reach.
//!
//! Users choose where webhooks go. Without a guard that would let them reach what only this machine can see: its
//! own ports, the company's network, the cloud's metadata service. So a URL is checked when it is saved
//! ([`check_url`]), and when it is called the name is looked up once, every address is checked ([`check_ip`]) and the
//! connection goes to a checked address ([`Guard::resolve`]): an answer that changes between two look-ups changes
//! nothing. An admin opens internal targets by network and port in an [`AllowList`].
//!
//! The refusal is the same text for every forbidden address, and says nothing about what a name resolved to.

mod ranges;
mod resolve;
mod url;

use std::{net::IpAddr, str::FromStr};

use ipnet::IpNet;

pub use resolve::{Guard, GuardedResolver, Lookup, ResolveFault, SystemLookup};
pub use url::{CheckedUrl, Scheme, UrlFault, check_broker_url, check_provider_url, check_url};

/// The most networks that a list may have.
const MOST_NETWORKS: usize = 1_000;

/// An address that must not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this address is not allowed as a target; an admin can allow its network")]
pub struct Refused;

/// Whether a connection to this address may be made.
pub fn check_ip(ip: IpAddr, port: u16, allow: &AllowList) -> Result<(), Refused> {
    if allow.allows(ip, port) || ranges::is_public(ip) { Ok(()) } else { Err(Refused) }
}

/// What a start with an address allowed would say, such as `--outgoing-allow 10.1.2.3:25`.
pub fn allowing(ip: IpAddr, port: u16) -> String {
    match ip {
        IpAddr::V4(ip) => format!("--outgoing-allow {ip}:{port}"),
        IpAddr::V6(ip) => format!("--outgoing-allow [{ip}]:{port}"),
    }
}

/// The internal networks that an admin opened, such as `127.0.0.0/8,10.1.0.0/16:8443,[fd00::/8]:443`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList(Vec<(IpNet, Option<u16>)>);

impl AllowList {
    /// Whether the list names this address. A port in an entry limits it to that port.
    pub fn allows(&self, ip: IpAddr, port: u16) -> bool {
        self.0.iter().any(|(network, only)| network.contains(&ip) && only.is_none_or(|only| only == port))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An entry that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}` is no network; write 10.1.0.0/16, 10.1.0.0/16:8443, fd00::/8 or [fd00::/8]:8443")]
pub struct InvalidNetwork {
    pub entry: String,
}

impl FromStr for AllowList {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let entries: Vec<&str> = text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
        if entries.len() > MOST_NETWORKS {
            return Err(InvalidNetwork { entry: format!("a list of {} entries", entries.len()) });
        }
        entries
            .into_iter()
            .map(|entry| parse_entry(entry).ok_or_else(|| InvalidNetwork { entry: entry.to_owned() }))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn parse_entry(entry: &str) -> Option<(IpNet, Option<u16>)> {
    let (network, port) = match entry.strip_prefix('[') {
        Some(rest) => {
            let (network, after) = rest.split_once(']')?;
            (network, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        // A colon of an IPv6 network is no port's.
        None if entry.matches(':').count() > 1 => (entry, None),
        None => match entry.split_once(':') {
            Some((network, port)) => (network, Some(port)),
            None => (entry, None),
        },
    };
    let network = match network.parse::<IpNet>() {
        Ok(network) => network.trunc(),
        Err(_) => IpNet::from(network.parse::<IpAddr>().ok()?),
    };
    let port = match port {
        None => None,
        Some(port) => Some(port.parse::<u16>().ok().filter(|port| *port > 0)?),
    };
    Some((network, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_networks_and_ports_of_both_families() {
        let allow: AllowList =
            "127.0.0.0/8, 10.1.0.0/16:8443,192.168.7.9,fd00::/8,[fe80::/10]:443,[::1]".parse().unwrap();
        for (ip, port, expected) in [
            ("127.0.0.1", 1, true),
            ("127.255.255.255", 65535, true),
            ("128.0.0.1", 1, false),
            ("10.1.2.3", 8443, true),
            ("10.1.2.3", 443, false),
            ("10.2.2.3", 8443, false),
            ("192.168.7.9", 80, true),
            ("192.168.7.8", 80, false),
            ("fd12::1", 80, true),
            ("fe80::1", 443, true),
            ("fe80::1", 80, false),
            ("::1", 80, true),
            ("::2", 80, false),
            // The IPv4 network does not open its spellings in IPv6.
            ("::ffff:127.0.0.1", 80, false),
        ] {
            assert_eq!(allow.allows(ip.parse().unwrap(), port), expected, "{ip} {port}");
        }
        assert!("".parse::<AllowList>().unwrap().is_empty());
    }

    #[test]
    fn a_wrong_entry_is_named() {
        for wrong in [
            "localhost",
            "10.0.0.0/33",
            "10.0.0.0/8:0",
            "10.0.0.0/8:x",
            "[fd00::/8",
            "[fd00::/8]443",
            "10.0/8",
            "::/129",
        ] {
            let fault = format!("127.0.0.1,{wrong}").parse::<AllowList>().unwrap_err();
            assert_eq!(fault.entry, wrong);
        }
    }
}
