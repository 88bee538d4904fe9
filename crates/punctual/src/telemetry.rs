//! Traces leave over OTLP (HTTP with protobuf), to the collector that the operator names.
//!
//! The pipeline never waits for it: spans go into a bounded queue, and what does not fit or is not taken is dropped and
//! counted. The guard for outgoing addresses is for what users of the API name; a collector is the operator's own word.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use opentelemetry::{
    InstrumentationScope, KeyValue, Value,
    trace::{Link, SpanContext, SpanId, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{SpanData, SpanExporter as _, SpanLinks},
};
use punctual_engine::Engine;
use punctual_model::{Clock, FinishedSpan, SpanCounts, SpanKind, SpanSink, TraceParent, trace::Attribute};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::config::{Config, TraceConfig};

/// Spans that wait; about 2 MB.
const WAITING: usize = 4_096;
/// Spans of one request.
const TOGETHER: usize = 512;
/// How long spans are gathered before they are sent.
const GATHERED_FOR: Duration = Duration::from_millis(500);
/// A collector that does not answer by then has not taken them.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is left at the end of the process has this long.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// The export of traces, while it runs.
pub struct Exporting {
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// Begins to export, where an endpoint is configured.
pub fn start(config: &Config, engine: &Engine, wall: Arc<dyn Clock>) -> Result<Option<Exporting>> {
    let Some(wanted) = &config.traces else { return Ok(None) };
    let exporter = exporter(wanted, &config.node).with_context(|| format!("traces to {}", wanted.url))?;
    let (send, spans) = mpsc::channel(WAITING);
    let queue = Arc::new(Queue { send, exported: AtomicU64::new(0), dropped: AtomicU64::new(0) });
    engine.traces.record(queue.clone(), engine.clock.clone(), engine.random.clone(), wanted.ratio);
    let exporting = Exporting { stop: CancellationToken::new(), tasks: TaskTracker::new() };
    let task = Task { queue, exporter, wall, stop: exporting.stop.clone(), is_failing: false };
    exporting.tasks.spawn(task.run(spans));
    tracing::info!(url = wanted.url, ratio = wanted.ratio, "traces are exported");
    Ok(Some(exporting))
}

impl Exporting {
    /// Sends what is left, if the collector takes it soon.
    pub async fn finish(&self) {
        self.stop.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(LAST_PATIENCE, self.tasks.wait()).await;
    }
}

fn exporter(wanted: &TraceConfig, node: &str) -> Result<SpanExporter> {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
    let builder = SpanExporter::builder().with_http().with_http_client(client);
    let built = builder.with_protocol(Protocol::HttpBinary).with_endpoint(&wanted.url).build();
    let mut exporter = built?;
    // `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` are read by the library.
    let mut resource = Resource::builder().with_attributes([
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", node.to_owned()),
    ]);
    if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("punctual");
    }
    exporter.set_resource(&resource.build());
    Ok(exporter)
}

/// Where the engine puts spans.
struct Queue {
    send: Sender<FinishedSpan>,
    exported: AtomicU64,
    dropped: AtomicU64,
}

impl SpanSink for Queue {
    fn take(&self, span: FinishedSpan) {
        if self.send.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counts(&self) -> SpanCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SpanCounts { exported: read(&self.exported), dropped: read(&self.dropped) }
    }
}

struct Task {
    queue: Arc<Queue>,
    exporter: SpanExporter,
    wall: Arc<dyn Clock>,
    stop: CancellationToken,
    /// Whether the last request failed: an outage is logged once.
    is_failing: bool,
}

impl Task {
    async fn run(mut self, mut spans: Receiver<FinishedSpan>) {
        let mut batch = Vec::with_capacity(TOGETHER);
        loop {
            let is_open = !self.stop.is_cancelled();
            tokio::select! {
                biased;
                count = spans.recv_many(&mut batch, TOGETHER) => if count == 0 { return },
                () = self.stop.cancelled(), if is_open => {
                    spans.close();
                    continue;
                }
            }
            if batch.len() < TOGETHER {
                tokio::select! {
                    () = self.wall.sleep_until(self.wall.now() + GATHERED_FOR) => {}
                    () = self.stop.cancelled() => spans.close(),
                }
                while batch.len() < TOGETHER
                    && let Ok(span) = spans.try_recv()
                {
                    batch.push(span);
                }
            }
            self.export(batch.drain(..).map(span_data).collect()).await;
        }
    }

    async fn export(&mut self, batch: Vec<SpanData>) {
        let count = batch.len() as u64;
        let error = match tokio::time::timeout(PATIENCE, self.exporter.export(batch)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the collector did not answer in time".to_owned()),
        };
        let counted = if error.is_none() { &self.queue.exported } else { &self.queue.dropped };
        counted.fetch_add(count, Ordering::Relaxed);
        match &error {
            Some(error) if !self.is_failing => {
                tracing::warn!(error, "traces cannot be exported; spans are dropped until they can");
            }
            None if self.is_failing => tracing::info!("traces are exported again"),
            _ => {}
        }
        self.is_failing = error.is_some();
    }
}

fn span_data(span: FinishedSpan) -> SpanData {
    let mut links = SpanLinks::default();
    links.links = span.links.iter().map(|link| Link::new(context(link, true), Vec::new(), 0)).collect();
    SpanData {
        span_context: context(&span.context, false),
        parent_span_id: span.parent.map_or(SpanId::INVALID, |parent| SpanId::from_bytes(parent.span_id())),
        parent_span_is_remote: span.parent_is_remote,
        span_kind: match span.kind {
            SpanKind::Internal => opentelemetry::trace::SpanKind::Internal,
            SpanKind::Server => opentelemetry::trace::SpanKind::Server,
            SpanKind::Client => opentelemetry::trace::SpanKind::Client,
            SpanKind::Consumer => opentelemetry::trace::SpanKind::Consumer,
        },
        name: span.name,
        start_time: SystemTime::from(span.started_at),
        end_time: SystemTime::from(span.ended_at),
        attributes: span.attributes.into_iter().map(|(key, value)| attribute(key, value)).collect(),
        dropped_attributes_count: 0,
        events: Default::default(),
        links,
        status: span.error.map_or(Status::Unset, Status::error),
        instrumentation_scope: InstrumentationScope::builder("punctual").build(),
    }
}

fn context(at: &TraceParent, is_remote: bool) -> SpanContext {
    let (trace, span) = (TraceId::from_bytes(at.trace_id()), SpanId::from_bytes(at.span_id()));
    SpanContext::new(trace, span, TraceFlags::SAMPLED, is_remote, TraceState::default())
}

fn attribute(key: &'static str, value: Attribute) -> KeyValue {
    let value = match value {
        Attribute::Text(text) => Value::from(text),
        Attribute::Number(number) => Value::from(number),
    };
    KeyValue::new(key, value)
}
