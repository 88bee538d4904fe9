//! `[limits]`: what the server bears. Whatever is left out is as it ships.

use std::time::Duration;

use anyhow::{Result, ensure};
use punctual_api::{Budget, Limits, TrustedProxies};
use serde::Deserialize;

use super::duration;

/// The HTTP library reads at least this much of a head.
const SMALLEST_HEAD: usize = 8 << 10;
const LARGEST_HEAD: usize = 256 << 10;
/// More connections than a process has descriptors for, nearly everywhere.
const MOST: usize = 1_000_000;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct LimitsFile {
    connections: Option<usize>,
    connections_per_address: Option<usize>,
    requests_per_address: Option<usize>,
    head_time: Option<String>,
    head_bytes: Option<usize>,
    body_time: Option<String>,
    write_time: Option<String>,
    api: Option<BudgetFile>,
    console: Option<BudgetFile>,
    public: Option<BudgetFile>,
    probes: Option<BudgetFile>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct BudgetFile {
    connections: Option<usize>,
    in_flight: Option<usize>,
}

pub fn read(file: Option<LimitsFile>, proxies: &TrustedProxies) -> Result<Limits> {
    let file = file.unwrap_or_default();
    let usual = Limits::default();
    let time = |name: &str, given: Option<String>, usual: Duration| match given {
        None => Ok(usual),
        given => duration(&format!("limits.{name}"), given, ""),
    };
    let limits = Limits {
        connections: count("connections", file.connections, usual.connections)?,
        connections_per_address: count(
            "connections_per_address",
            file.connections_per_address,
            usual.connections_per_address,
        )?,
        requests_per_address: count(
            "requests_per_address",
            file.requests_per_address,
            usual.requests_per_address,
        )?,
        head_time: time("head_time", file.head_time, usual.head_time)?,
        head_bytes: file.head_bytes.unwrap_or(usual.head_bytes),
        body_time: time("body_time", file.body_time, usual.body_time)?,
        write_time: time("write_time", file.write_time, usual.write_time)?,
        api: budget("api", file.api, usual.api)?,
        console: budget("console", file.console, usual.console)?,
        public: budget("public", file.public, usual.public)?,
        probes: budget("probes", file.probes, usual.probes)?,
        proxies: proxies.clone(),
    };
    ensure!(
        (SMALLEST_HEAD..=LARGEST_HEAD).contains(&limits.head_bytes),
        "limits.head_bytes = {} must be between {SMALLEST_HEAD} and {LARGEST_HEAD}",
        limits.head_bytes
    );
    Ok(limits)
}

fn budget(name: &str, file: Option<BudgetFile>, usual: Budget) -> Result<Budget> {
    let file = file.unwrap_or_default();
    Ok(Budget {
        connections: count(&format!("{name}.connections"), file.connections, usual.connections)?,
        in_flight: count(&format!("{name}.in_flight"), file.in_flight, usual.in_flight)?,
    })
}

fn count(name: &str, given: Option<usize>, usual: usize) -> Result<usize> {
    let count = given.unwrap_or(usual);
    ensure!((1..=MOST).contains(&count), "limits.{name} = {count} must be between 1 and {MOST}");
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(text: &str) -> Result<Limits> {
        read(Some(toml::from_str(text)?), &TrustedProxies::default())
    }

    #[test]
    fn what_is_given_counts_and_the_rest_is_as_it_ships() {
        assert_eq!(limits("").unwrap(), Limits::default());
        let given = limits("head_time = \"5s\"\nconnections = 9\n[public]\nin_flight = 3").unwrap();
        let usual = Limits::default();
        let expected = Limits {
            head_time: Duration::from_secs(5),
            connections: 9,
            public: Budget { in_flight: 3, ..usual.public },
            ..usual
        };
        assert_eq!(given, expected);
    }

    #[test]
    fn a_limit_that_cannot_be_is_named() {
        for (text, named) in [
            ("connections = 0", "limits.connections = 0"),
            ("head_bytes = 100", "limits.head_bytes = 100"),
            ("write_time = \"soon\"", "limits.write_time"),
            ("[api]\nin_flight = 0", "limits.api.in_flight = 0"),
            ("[api]\ninflight = 1", "inflight"),
        ] {
            let said = format!("{:#}", limits(text).unwrap_err());
            assert!(said.contains(named), "{text}: {said}");
        }
    }
}
