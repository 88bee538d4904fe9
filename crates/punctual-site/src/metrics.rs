//! Prometheus metrics of the agent: accepted and forwarded rows, and the backlog.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};
use punctual_wire::site_agent::AgentHealth;

use crate::ForwardReport;

pub struct Metrics {
    registry: Registry,
    taken_in: Counter,
    stored: Counter,
    duplicates: Counter,
    refused: Counter,
    failures: Counter,
    backlog: Gauge,
    backlog_bytes: Gauge,
    oldest: Gauge,
    refused_rows: Gauge,
    central_reached: Gauge,
}

impl Metrics {
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("punctual_site");
        let metrics = Self {
            registry: Registry::default(),
            taken_in: Counter::default(),
            stored: Counter::default(),
            duplicates: Counter::default(),
            refused: Counter::default(),
            failures: Counter::default(),
            backlog: Gauge::default(),
            backlog_bytes: Gauge::default(),
            oldest: Gauge::default(),
            refused_rows: Gauge::default(),
            central_reached: Gauge::default(),
        };
        registry.register("taken_in", "Notifications accepted from scripts", metrics.taken_in.clone());
        registry.register("stored", "Rows that the central server stored", metrics.stored.clone());
        registry.register(
            "duplicates",
            "Rows that the central server already had",
            metrics.duplicates.clone(),
        );
        registry.register(
            "refused",
            "Rows that the central server refused permanently",
            metrics.refused.clone(),
        );
        registry.register("forward_failures", "Attempts to forward that failed", metrics.failures.clone());
        registry.register("backlog_rows", "Rows that wait", metrics.backlog.clone());
        registry.register("backlog_bytes", "Bytes that wait", metrics.backlog_bytes.clone());
        registry.register("oldest_buffered_seconds", "How long the oldest row waits", metrics.oldest.clone());
        registry.register("refused_rows", "Refused rows that are kept", metrics.refused_rows.clone());
        registry.register(
            "central_reached",
            "1 unless the last contact failed",
            metrics.central_reached.clone(),
        );
        Self { registry, ..metrics }
    }

    pub fn taken_in(&self) {
        self.taken_in.inc();
    }

    pub fn forwarded(&self, report: &ForwardReport) {
        self.stored.inc_by(report.stored as u64);
        self.duplicates.inc_by(report.duplicates as u64);
        self.refused.inc_by(report.refused as u64);
        if report.failure.is_some() {
            self.failures.inc();
        }
    }

    /// The Prometheus text, with the gauges at present.
    pub fn encode(&self, health: &AgentHealth) -> String {
        self.backlog.set(health.backlog);
        self.backlog_bytes.set(health.backlog_bytes);
        self.oldest.set(health.oldest_buffered_age_seconds.unwrap_or(0));
        self.refused_rows.set(health.refused);
        self.central_reached.set(i64::from(health.last_failure.is_none()));
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_has_every_figure() {
        let text = Metrics::new().encode(&AgentHealth::default());
        let (mut rows, mut help) = (Vec::new(), "");
        for line in text.lines() {
            if let Some((_, meaning)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
                help = meaning.trim_end_matches('.');
            } else if let Some((name, kind)) =
                line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
            {
                let total = if kind == "counter" { "_total" } else { "" };
                rows.push(format!("| `{name}{total}` | {kind} |  | {help} |"));
            }
        }
        let page = include_str!("../../../docs/metrics.md");
        let (_, section) = page.split_once("## The site agent").expect("the section of the site agent");
        let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(found, rows, "docs/metrics.md must say:\n{}\n", rows.join("\n"));
    }
}
