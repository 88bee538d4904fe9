//! The description of a metric: name, type, labels and meaning. The reference page is generated from it.

use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry},
};

/// One figure as `/metrics` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// As the samples are named, without what a histogram appends.
    pub name: String,
    pub kind: &'static str,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

/// A registry that knows what is in it.
pub(super) struct Figures {
    pub(super) registry: Registry,
    pub(super) listed: Vec<Figure>,
}

const PREFIX: &str = "punctual";

impl Figures {
    pub(super) fn new() -> Self {
        Self { registry: Registry::with_prefix(PREFIX), listed: Vec::new() }
    }

    /// The only way in, so that nothing is shown that is not listed. The meaning has no full stop: the encoder adds it.
    pub(super) fn add<M: Metric + Kind + Clone>(
        &mut self,
        name: &'static str,
        help: &'static str,
        metric: &M,
    ) {
        let shown = if M::KIND == "counter" { "_total" } else { "" };
        let name_shown = format!("{PREFIX}_{name}{shown}");
        self.listed.push(Figure { name: name_shown, kind: M::KIND, labels: M::LABELS, help });
        self.registry.register(name, help, metric.clone());
    }
}

/// What the type of a metric says about it.
pub(super) trait Kind {
    const KIND: &'static str;
    const LABELS: &'static [&'static str] = &[];
}

impl<N, A> Kind for Counter<N, A> {
    const KIND: &'static str = "counter";
}

impl<N, A> Kind for Gauge<N, A> {
    const KIND: &'static str = "gauge";
}

impl Kind for Histogram {
    const KIND: &'static str = "histogram";
}

impl<L: Labels, M: Kind> Kind for Family<L, M> {
    const KIND: &'static str = M::KIND;
    const LABELS: &'static [&'static str] = L::NAMES;
}

/// The labels of a family, by name.
pub(super) trait Labels {
    const NAMES: &'static [&'static str];
}

/// Declares a set of labels; each is a text.
macro_rules! labels {
    ($($name:ident { $($label:ident),+ })+) => {$(
        #[derive(Clone, Debug, Hash, PartialEq, Eq, prometheus_client::encoding::EncodeLabelSet)]
        pub(super) struct $name { $(pub(super) $label: String),+ }

        impl Labels for $name {
            const NAMES: &'static [&'static str] = &[$(stringify!($label)),+];
        }
    )+};
}

labels! {
    ByKind { kind, outcome }
    ByAsker { by, outcome }
    ByChannel { channel, outcome }
    ByState { state }
    OfChannel { channel }
    OfConsumer { consumer }
    ByConsumer { consumer, outcome }
    ByReason { reason }
    ByTask { task }
    OfUnit { unit }
}
