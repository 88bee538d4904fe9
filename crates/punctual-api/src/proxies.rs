//! The client address: `X-Forwarded-For` is trusted only from listed proxies.
//!
//! A proxy appends the address that it saw to `X-Forwarded-For`; everything before it comes from others. The list is therefore
//! read from its end, as long as the sender is a listed proxy.

use std::{
    net::{IpAddr, SocketAddr},
    str::FromStr,
    sync::Arc,
};

use axum::{
    Router,
    extract::{Request, State},
    http::HeaderMap,
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use ipnet::IpNet;
use punctual_engine::Peer;

const HEADER: &str = "x-forwarded-for";
/// More hops than anybody has; the rest of a longer list is not read.
const MOST_HOPS: usize = 32;

/// The networks of proxies that are believed, such as `127.0.0.1,10.0.0.0/8`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

/// An entry that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address or network; write 127.0.0.1 or 10.0.0.0/8")]
pub struct InvalidProxy(pub String);

impl FromStr for TrustedProxies {
    type Err = InvalidProxy;

    fn from_str(text: &str) -> Result<Self, InvalidProxy> {
        let network = |entry: &str| match entry.parse::<IpNet>() {
            Ok(network) => Ok(network.trunc()),
            Err(_) => entry.parse::<IpAddr>().map(IpNet::from).map_err(|_| InvalidProxy(entry.to_owned())),
        };
        text.split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
            .map(network)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl TrustedProxies {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The address that a request came from, as far as anybody we believe knows.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let entries = headers.get_all(HEADER).iter().rev().flat_map(|value| {
            let text = value.to_str().unwrap_or_default();
            text.rsplit(',').map(str::trim).collect::<Vec<_>>()
        });
        for entry in entries.take(MOST_HOPS) {
            if !self.has(client) {
                break;
            }
            // A word that is no address was not written by a proxy that does its work.
            let Some(address) = address(entry) else { break };
            client = address;
        }
        client
    }
}

/// An address with or without its port.
fn address(entry: &str) -> Option<IpAddr> {
    let plain = entry.trim_start_matches('[').trim_end_matches(']');
    let address = plain.parse::<IpAddr>().or_else(|_| entry.parse::<SocketAddr>().map(|both| both.ip()));
    address.ok().map(|address| address.to_canonical())
}

/// The routes behind proxies: whoever asks for the other end of a connection gets the client's address.
pub fn behind_proxies(router: Router, trusted: TrustedProxies) -> Router {
    if trusted.is_empty() {
        return router;
    }
    router.layer(from_fn_with_state(Arc::new(trusted), look_through))
}

async fn look_through(
    State(trusted): State<Arc<TrustedProxies>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(Peer(peer)) = request.extensions().get::<Peer>().copied() {
        let client = trusted.client(peer.ip(), request.headers());
        request.extensions_mut().insert(Peer(SocketAddr::new(client, peer.port())));
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &str, peer: &str, lines: &[&str]) -> String {
        let trusted: TrustedProxies = trusted.parse().unwrap();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(HEADER, line.parse().unwrap());
        }
        trusted.client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn t15_only_a_listed_proxy_says_who_the_client_is() {
        let ours = "127.0.0.1,10.0.0.0/8,fd00::/8";
        for (peer, lines, expected) in [
            // Nobody says anything.
            ("127.0.0.1", &[][..], "127.0.0.1"),
            ("203.0.113.9", &[], "203.0.113.9"),
            // Anybody can send this header: it is ignored.
            ("203.0.113.9", &["198.51.100.1"], "203.0.113.9"),
            ("127.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            ("::ffff:127.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            // What the client wrote itself is in front, and is not believed.
            ("127.0.0.1", &["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
            ("127.0.0.1", &["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
            // Two proxies of ours behind each other.
            ("127.0.0.1", &["198.51.100.1, 10.1.2.3"], "198.51.100.1"),
            ("fd00::1", &["198.51.100.1, 10.1.2.3"], "198.51.100.1"),
            ("127.0.0.1", &["10.9.9.9"], "10.9.9.9"),
            // With ports, in brackets, and nonsense.
            ("127.0.0.1", &["198.51.100.1:4711"], "198.51.100.1"),
            ("127.0.0.1", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("127.0.0.1", &["[2001:db8::1]"], "2001:db8::1"),
            ("127.0.0.1", &["198.51.100.1, unknown"], "127.0.0.1"),
            ("127.0.0.1", &[""], "127.0.0.1"),
        ] {
            assert_eq!(client(ours, peer, lines), expected, "{peer} {lines:?}");
        }
        assert_eq!(client("", "127.0.0.1", &["198.51.100.1"]), "127.0.0.1");
        let long = vec!["10.0.0.1"; 10_000].join(",");
        assert_eq!(client(ours, "127.0.0.1", &[&long]), "10.0.0.1");
    }

    #[test]
    fn a_wrong_entry_is_named() {
        for wrong in ["localhost", "10.0.0.0/33", "10.0.0.1:80"] {
            let fault = format!("127.0.0.1, {wrong}").parse::<TrustedProxies>().unwrap_err();
            assert_eq!(fault.0, wrong);
        }
        assert!("".parse::<TrustedProxies>().unwrap().is_empty());
    }
}
