//! What the server bears, with the defaults that ship: connections, requests under way, and how long each part of a
//! request may take. API, console, public pages and probes have budgets of their own, so that none starves another.

use std::time::Duration;

use crate::TrustedProxies;

/// Bounds of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once, whatever they ask for.
    pub connections: usize,
    /// Connections at once from one address; those of listed proxies are not counted.
    pub connections_per_address: usize,
    /// Requests under way for one client in one part, by the address that listed proxies say; never more than half of
    /// what the part may have.
    pub requests_per_address: usize,
    /// How long the head of a request may take, and how long a connection may idle.
    pub head_time: Duration,
    /// Bytes of the head of a request; more are 431.
    pub head_bytes: usize,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// How long a client may leave an answer unread.
    pub write_time: Duration,
    pub api: Budget,
    pub console: Budget,
    pub public: Budget,
    pub probes: Budget,
    /// Whose word about the client's address is believed.
    pub proxies: TrustedProxies,
}

/// What one part of the server may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Connections whose last request was for this part.
    pub connections: usize,
    /// Requests under way at once; more are refused for now.
    pub in_flight: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4_096,
            connections_per_address: 1_024,
            requests_per_address: 512,
            head_time: Duration::from_secs(30),
            head_bytes: 32 << 10,
            body_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
            api: Budget { connections: 2_048, in_flight: 1_024 },
            console: Budget { connections: 512, in_flight: 64 },
            public: Budget { connections: 1_024, in_flight: 256 },
            probes: Budget { connections: 256, in_flight: 64 },
            proxies: TrustedProxies::default(),
        }
    }
}

impl Limits {
    pub(super) fn budget(&self, part: Part) -> Budget {
        match part {
            Part::Api => self.api,
            Part::Console => self.console,
            Part::Public => self.public,
            Part::Probes => self.probes,
        }
    }
}

/// A part of the server with a budget of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Api,
    Console,
    /// What needs no key: survey pages, preferences, calendars, calls of providers.
    Public,
    /// Health, readiness and figures.
    Probes,
}

const PUBLIC: [&str; 7] = [
    "/s/",
    "/p/",
    "/preferences",
    "/calendars/",
    "/SurveyInstances/",
    "/api/v1/public/",
    "/api/v1/callbacks/",
];
/// With the local API of a site.
const API: [&str; 5] = ["/api/", "/docs", "/openapi.json", "/report-subscriptions/", "/notify"];

impl Part {
    pub(super) const ALL: [Self; 4] = [Self::Api, Self::Console, Self::Public, Self::Probes];

    /// Which part a path is for; what is nobody's is the console's.
    pub(super) fn of(path: &str) -> Self {
        let is_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| path.starts_with(prefix));
        match path {
            "/healthz" | "/readyz" | "/metrics" => Self::Probes,
            "/assets/survey.css" | "/assets/survey.js" => Self::Public,
            _ if is_of(&PUBLIC) => Self::Public,
            _ if is_of(&API) => Self::Api,
            _ => Self::Console,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_document_has_the_budget_of_its_reach() {
        let document = serde_json::to_value(crate::document()).unwrap();
        for (path, item) in document["paths"].as_object().unwrap() {
            for operation in item.as_object().unwrap().values() {
                let expected = match (path.as_str(), operation["x-reach"].as_str()) {
                    ("/healthz" | "/readyz" | "/metrics", _) => Part::Probes,
                    (_, Some("public")) => Part::Public,
                    _ => Part::Api,
                };
                assert_eq!(Part::of(path), expected, "{path}");
            }
        }
        for (path, expected) in [
            ("/", Part::Console),
            ("/outbox", Part::Console),
            ("/s/abc", Part::Public),
            ("/docs/page.css", Part::Api),
            ("/healthz/", Part::Console),
        ] {
            assert_eq!(Part::of(path), expected, "{path}");
        }
    }
}
