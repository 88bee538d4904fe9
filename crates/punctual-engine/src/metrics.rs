//! Prometheus metrics of the engine.

mod figures;

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use prometheus_client::metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram};
use punctual_model::{SendOutcome, SpanCounts};

pub use figures::Figure;
use figures::{
    ByAsker, ByChannel, ByConsumer, ByKind, ByReason, ByState, ByTask, Figures, OfChannel, OfConsumer, OfUnit,
};

use crate::{DueReport, consumers::MessageTaken, events::Touched};

pub struct Metrics {
    figures: Figures,
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
    spans_exported: Counter<u64, AtomicU64>,
    spans_dropped: Counter<u64, AtomicU64>,
    consumed: Family<ByConsumer, Counter>,
    consumer_connected: Family<OfConsumer, Gauge>,
    consumer_lag: Family<OfConsumer, Gauge>,
    rows_left: Family<OfUnit, Gauge>,
    rows_refused: Family<OfUnit, Gauge>,
    waiting_for_share: Family<OfUnit, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    pub fn new() -> Self {
        let mut metrics = Self {
            figures: Figures::new(),
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
            spans_exported: Counter::default(),
            spans_dropped: Counter::default(),
            consumed: Family::default(),
            consumer_connected: Family::default(),
            consumer_lag: Family::default(),
            rows_left: Family::default(),
            rows_refused: Family::default(),
            waiting_for_share: Family::default(),
        };
        metrics.list();
        metrics
    }

    fn list(&mut self) {
        let figures = &mut self.figures;
        figures.add("notifications_accepted", "Notifications stored", &self.accepted);
        figures.add("work_settled", "Work rows settled, by kind and outcome", &self.work);
        figures.add(
            "work_planned",
            "Work rows created, updated and deactivated, by trigger and outcome",
            &self.planned,
        );
        figures.add("sends", "Calls to channels, by channel and outcome", &self.sent);
        figures.add("sends_uncertain", "Attempts with an uncertain result", &self.uncertain);
        figures.add("receipts", "Receipts from providers, by channel and state", &self.receipts);
        figures.add("receipts_unknown", "Receipts for messages that are not known", &self.receipts_unknown);
        figures.add("lateness_seconds", "Delay from the due time of a row to its handler", &self.lateness);
        figures.add("claim_rows", "Rows taken by one claim", &self.batches);
        figures.add("rows", "Rows by state, when last counted", &self.queue);
        figures.add("loop_failures", "Failed passes of a loop", &self.loop_failures);
        figures.add("task_panics", "Panics after which the task was restarted, by task", &self.panics);
        figures.add("rows_isolated", "Rows that failed and were isolated from their batch", &self.isolated);
        figures.add(
            "channel_circuit_open",
            "1 while the circuit of a channel is open or half open",
            &self.circuit_open,
        );
        figures.add(
            "held_back",
            "Messages that were deferred, failed over or withdrawn, by reason",
            &self.held_back,
        );
        figures.add("trace_spans_exported", "Spans that the trace collector accepted", &self.spans_exported);
        figures.add(
            "trace_spans_dropped",
            "Spans dropped because too many waited or the collector refused them",
            &self.spans_dropped,
        );
        figures.add("consumer_events", "Events from brokers, by consumer and outcome", &self.consumed);
        figures.add(
            "consumer_connected",
            "1 while a consumer of this node is connected to its broker",
            &self.consumer_connected,
        );
        figures.add(
            "consumer_lag",
            "Messages that wait at the broker, if it reports them",
            &self.consumer_lag,
        );
        figures.add(
            "quota_rows_left",
            "Rows left today in the quota of a business unit, at the last sweep",
            &self.rows_left,
        );
        figures.add(
            "quota_rows_refused",
            "Rows that this node refused since its start because the quota of the unit was used up",
            &self.rows_refused,
        );
        figures.add(
            "quota_messages_waiting",
            "Messages of a business unit with a channel share that are due and wait for a call, up to 10,000, at the last sweep",
            &self.waiting_for_share,
        );
    }

    /// Every figure, for the reference page.
    pub fn figures(&self) -> &[Figure] {
        &self.figures.listed
    }

    /// How many spans were exported and dropped until now.
    pub fn set_spans(&self, counts: SpanCounts) {
        self.spans_exported.inner().store(counts.exported, Ordering::Relaxed);
        self.spans_dropped.inner().store(counts.dropped, Ordering::Relaxed);
    }

    pub(crate) fn accepted(&self, count: usize) {
        self.accepted.inc_by(count as u64);
    }

    pub(crate) fn rows_left(&self, unit: &str, left: i64) {
        self.rows_left.get_or_create(&OfUnit { unit: unit.to_owned() }).set(left);
    }

    pub(crate) fn rows_refused(&self, refused: HashMap<String, u64>) {
        for (unit, count) in refused {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.rows_refused.get_or_create(&OfUnit { unit }).set(count);
        }
    }

    /// A unit that has no share any more has no figure.
    pub(crate) fn waiting_for_share(&self, units: Vec<(String, i64)>) {
        self.waiting_for_share.clear();
        for (unit, count) in units {
            self.waiting_for_share.get_or_create(&OfUnit { unit }).set(count);
        }
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
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.figures.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONITORING: [(&str, &str); 2] = [
        ("alerts.yaml", include_str!("../../../deploy/monitoring/alerts.yaml")),
        ("grafana-dashboard.json", include_str!("../../../deploy/monitoring/grafana-dashboard.json")),
    ];

    /// What a histogram is asked by.
    const PARTS: [&str; 3] = ["_bucket", "_sum", "_count"];

    /// Every name of ours in a text, with the labels that it is asked by where some are given in braces.
    fn asked(text: &str) -> Vec<(String, Vec<String>)> {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        text.match_indices("punctual_")
            .map(|(at, _)| {
                let name: String = text[at..].chars().take_while(|c| is_name(*c)).collect();
                let rest = &text[at + name.len()..];
                let braces = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
                let labels = braces.map_or("", |(labels, _)| labels).split(',');
                let labels = labels.filter_map(|one| Some(one.split_once('=')?.0.trim().to_owned()));
                (name, labels.collect())
            })
            .collect()
    }

    #[test]
    fn alerts_and_dashboard_ask_for_figures_and_labels_that_exist() {
        let metrics = Metrics::new();
        for (file, text) in MONITORING {
            let asked = asked(text);
            assert!(asked.len() > 5, "{file} asks for nothing");
            for (name, labels) in asked {
                let is_it = |figure: &&Figure| {
                    let part = name.strip_prefix(&figure.name);
                    part.is_some_and(|part| match figure.kind {
                        "histogram" => PARTS.contains(&part),
                        _ => part.is_empty(),
                    })
                };
                let figure = metrics.figures().iter().find(is_it);
                let figure = figure.unwrap_or_else(|| panic!("{file}: there is no {name}"));
                for label in labels {
                    assert!(figure.labels.contains(&label.as_str()), "{file}: {name} has no label {label}");
                }
            }
        }
    }

    #[test]
    fn the_reference_has_every_figure() {
        let code = |text: &str| format!("`{text}`");
        let rows: Vec<String> = Metrics::new()
            .figures()
            .iter()
            .map(|Figure { name, kind, labels, help }| {
                let labels = labels.iter().map(|label| code(label)).collect::<Vec<_>>().join(", ");
                format!("| `{name}` | {kind} | {labels} | {help} |")
            })
            .collect();
        let page = include_str!("../../../docs/metrics.md");
        let (_, rest) = page.split_once("## The server").expect("the section of the server");
        let (section, _) = rest.split_once("\n## ").expect("a section after it");
        let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(found, rows, "docs/metrics.md must say:\n{}\n", rows.join("\n"));
    }
}
