//! Figures for Prometheus: what was received, claimed, worked, sent, and how late.

use std::sync::atomic::AtomicU64;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use punctual_model::SendOutcome;

use crate::{DueReport, consumers::MessageTaken, events::Touched};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByKind {
    kind: String,
    outcome: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByAsker {
    by: String,
    outcome: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByChannel {
    channel: String,
    outcome: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByState {
    state: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfChannel {
    channel: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfConsumer {
    consumer: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByConsumer {
    consumer: String,
    outcome: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByReason {
    reason: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByTask {
    task: String,
}

pub struct Metrics {
    registry: Registry,
    accepted: Counter,
    work: Family<ByKind, Counter>,
    planned: Family<ByAsker, Counter>,
    sent: Family<ByChannel, Counter>,
    uncertain: Counter,
    receipts: Family<ByChannel, Counter>,
    receipts_unknown: Counter,
    lateness: Histogram,
    batches: Histogram,
    queue: Family<ByState, Gauge>,
    loop_failures: Counter<u64, AtomicU64>,
    panics: Family<ByTask, Counter>,
    isolated: Counter,
    circuit_open: Family<OfChannel, Gauge>,
    held_back: Family<ByReason, Counter>,
    consumed: Family<ByConsumer, Counter>,
    consumer_connected: Family<OfConsumer, Gauge>,
    consumer_lag: Family<OfConsumer, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("punctual");
        let metrics = Self {
            accepted: Counter::default(),
            work: Family::default(),
            planned: Family::default(),
            sent: Family::default(),
            uncertain: Counter::default(),
            receipts: Family::default(),
            receipts_unknown: Counter::default(),
            lateness: Histogram::new([
                0.0005, 0.001, 0.002, 0.004, 0.01, 0.05, 0.25, 1.0, 5.0, 30.0, 300.0, 3600.0,
            ]),
            batches: Histogram::new([1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 250.0, 500.0, 1000.0]),
            queue: Family::default(),
            loop_failures: Counter::default(),
            panics: Family::default(),
            isolated: Counter::default(),
            circuit_open: Family::default(),
            held_back: Family::default(),
            consumed: Family::default(),
            consumer_connected: Family::default(),
            consumer_lag: Family::default(),
            registry: Registry::default(),
        };
        registry.register("notifications_accepted", "Notifications stored", metrics.accepted.clone());
        registry.register("work_settled", "Work rows settled, by kind and outcome", metrics.work.clone());
        registry.register(
            "work_planned",
            "Work rows planned, moved and taken back, by what asked for it and how",
            metrics.planned.clone(),
        );
        registry.register("sends", "Calls to channels, by channel and outcome", metrics.sent.clone());
        registry.register("sends_uncertain", "Attempts with no certain end", metrics.uncertain.clone());
        registry.register(
            "receipts",
            "What providers reported about messages, by channel and state",
            metrics.receipts.clone(),
        );
        registry.register(
            "receipts_unknown",
            "Receipts for messages that are not known",
            metrics.receipts_unknown.clone(),
        );
        registry.register("lateness_seconds", "From a row's moment to its handler", metrics.lateness.clone());
        registry.register("claim_rows", "Rows taken by one claim", metrics.batches.clone());
        registry.register("rows", "Rows by state, when last counted", metrics.queue.clone());
        registry.register("loop_failures", "Passes of a loop that failed", metrics.loop_failures.clone());
        registry.register("task_panics", "Panics that were survived, by task", metrics.panics.clone());
        registry.register(
            "rows_isolated",
            "Rows that failed alone and were taken out of their batch",
            metrics.isolated.clone(),
        );
        registry.register(
            "channel_circuit_open",
            "1 while the circuit of a channel is open or half open",
            metrics.circuit_open.clone(),
        );
        registry.register(
            "held_back",
            "Messages that were deferred, failed over or withdrawn, by reason",
            metrics.held_back.clone(),
        );
        registry.register(
            "consumer_events",
            "Events from brokers, by consumer and outcome",
            metrics.consumed.clone(),
        );
        registry.register(
            "consumer_connected",
            "1 while a consumer of this node is connected to its broker",
            metrics.consumer_connected.clone(),
        );
        registry.register(
            "consumer_lag",
            "Messages that wait at the broker, where it says so",
            metrics.consumer_lag.clone(),
        );
        Self { registry, ..metrics }
    }

    pub(crate) fn accepted(&self, count: usize) {
        self.accepted.inc_by(count as u64);
    }

    pub(crate) fn claimed(&self, rows: usize) {
        self.batches.observe(rows as f64);
    }

    pub(crate) fn lateness(&self, micros: i64) {
        self.lateness.observe(micros.max(0) as f64 / 1_000_000.0);
    }

    pub(crate) fn worked(&self, kind: &str, report: &DueReport) {
        let outcomes = [
            ("completed", report.completed),
            ("deactivated", report.deactivated),
            ("failed", report.failed),
            ("held", report.held),
            ("retried", report.retried),
            ("deferred", report.deferred),
            ("lost", report.lost),
        ];
        for (outcome, count) in outcomes.into_iter().filter(|(_, count)| *count > 0) {
            let labels = ByKind { kind: kind.to_owned(), outcome: outcome.to_owned() };
            self.work.get_or_create(&labels).inc_by(count as u64);
        }
    }

    /// What an event, a change or a decision did to what is planned.
    pub fn planned(&self, by: &str, touched: &Touched) {
        let Touched { created, updated, deactivated, unchanged } = *touched;
        let outcomes = [
            ("created", created),
            ("updated", updated),
            ("deactivated", deactivated),
            ("unchanged", unchanged),
        ];
        for (outcome, count) in outcomes.into_iter().filter(|(_, count)| *count > 0) {
            let labels = ByAsker { by: by.to_owned(), outcome: outcome.to_owned() };
            self.planned.get_or_create(&labels).inc_by(count);
        }
    }

    pub(crate) fn sent(&self, channel: &str, outcome: &SendOutcome) {
        let outcome = match outcome {
            SendOutcome::Delivered { .. } => "delivered",
            SendOutcome::Transient { .. } => "transient",
            SendOutcome::Permanent { .. } => "permanent",
            SendOutcome::Uncertain { .. } => "uncertain",
        };
        let labels = ByChannel { channel: channel.to_owned(), outcome: outcome.to_owned() };
        self.sent.get_or_create(&labels).inc();
    }

    pub(crate) fn uncertain(&self, count: usize) {
        self.uncertain.inc_by(count as u64);
    }

    pub(crate) fn receipt(&self, channel: &str, outcome: &str) {
        let labels = ByChannel { channel: channel.to_owned(), outcome: outcome.to_owned() };
        self.receipts.get_or_create(&labels).inc();
    }

    /// A call whose signature was wrong, or that could not be read.
    pub(crate) fn callback_refused(&self, channel: &str) {
        self.receipt(channel, "refused");
    }

    pub(crate) fn receipts_unknown(&self, count: usize) {
        self.receipts_unknown.inc_by(count as u64);
    }

    pub(crate) fn loop_failed(&self) {
        self.loop_failures.inc();
    }

    pub(crate) fn panicked(&self, task: &str) {
        self.panics.get_or_create(&ByTask { task: task.to_owned() }).inc();
    }

    pub(crate) fn row_isolated(&self) {
        self.isolated.inc();
    }

    pub(crate) fn circuit_open(&self, channel: &str, is_open: bool) {
        self.circuit_open.get_or_create(&OfChannel { channel: channel.to_owned() }).set(i64::from(is_open));
    }

    pub(crate) fn held_back(&self, reason: &str) {
        self.held_back.get_or_create(&ByReason { reason: reason.to_owned() }).inc();
    }

    pub(crate) fn consumed(&self, consumer: &str, taken: &[MessageTaken]) {
        let sum = |of: fn(&MessageTaken) -> u64| taken.iter().map(of).sum::<u64>();
        let outcomes = [
            ("accepted", sum(|one| one.accepted)),
            ("duplicate", sum(|one| one.duplicates)),
            ("refused", sum(|one| one.refused.len() as u64)),
        ];
        for (outcome, count) in outcomes.into_iter().filter(|(_, count)| *count > 0) {
            let labels = ByConsumer { consumer: consumer.to_owned(), outcome: outcome.to_owned() };
            self.consumed.get_or_create(&labels).inc_by(count);
        }
    }

    pub(crate) fn consumer_state(&self, consumer: &str, is_connected: bool, lag: Option<i64>) {
        let labels = OfConsumer { consumer: consumer.to_owned() };
        self.consumer_connected.get_or_create(&labels).set(i64::from(is_connected));
        match lag {
            Some(lag) => {
                self.consumer_lag.get_or_create(&labels).set(lag);
            }
            None => {
                self.consumer_lag.remove(&labels);
            }
        }
    }

    /// A consumer that does not run here any more has no figures.
    pub(crate) fn consumer_gone(&self, consumer: &str) {
        let labels = OfConsumer { consumer: consumer.to_owned() };
        self.consumer_connected.remove(&labels);
        self.consumer_lag.remove(&labels);
    }

    /// Sets the gauges that are read from the tables when somebody asks.
    pub fn set_rows(&self, state: &str, count: i64) {
        self.queue.get_or_create(&ByState { state: state.to_owned() }).set(count);
    }

    /// The Prometheus text.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    const SOURCE: &str = include_str!("metrics.rs");
    const MONITORING: [(&str, &str); 2] = [
        ("alerts.yaml", include_str!("../../../deploy/monitoring/alerts.yaml")),
        ("grafana-dashboard.json", include_str!("../../../deploy/monitoring/grafana-dashboard.json")),
    ];

    /// Names as Prometheus shows them, without what it appends for the type.
    fn names(text: &str) -> Vec<&str> {
        let found = text.split("punctual_").skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
            &rest[..end]
        });
        let plain = |name: &'static str| move |text| str::strip_suffix(text, name).unwrap_or(text);
        found.map(plain("_bucket")).map(plain("_total")).collect()
    }

    #[test]
    fn alerts_and_dashboard_ask_for_figures_that_exist() {
        for (file, text) in MONITORING {
            let asked = names(text);
            assert!(asked.len() > 5, "{file} asks for nothing");
            for name in asked {
                assert!(SOURCE.contains(&format!("\"{name}\",")), "{file}: there is no punctual_{name}");
            }
        }
    }
}
