//! Traces: the spans of one request, row and call, across processes and days.
//!
//! A span is a value that collects data during an operation and is passed to a [`SpanSink`] at the end. Time and ids are
//! injected. Without a sink there is no overhead: [`Traces::is_on`] is one load, and a [`Span`] that is not recorded is a null
//! pointer. Spans carry ids, keys and counts, and never an address or a text of a message.

mod parent;

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use jiff::{SignedDuration, Timestamp};

use crate::{Clock, Random};
pub use parent::TraceParent;

/// An operation that starts later than this after its cause gets its own trace, linked to the cause: a trace that is open for
/// days is shown by no tool.
pub const ONE_TRACE_FOR: SignedDuration = SignedDuration::from_hours(1);

/// Links of one span; of a larger batch the first.
const LINKS_MAX: usize = 64;

/// How a span stands to what is outside the process, as OpenTelemetry names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    Internal,
    /// A request that was answered.
    Server,
    /// A call that was made.
    Client,
    /// Something that was queued before.
    Consumer,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    Text(Cow<'static, str>),
    Number(i64),
}

impl From<&'static str> for Attribute {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<i64> for Attribute {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Attribute {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A span that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedSpan {
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub context: TraceParent,
    /// The span that it is a part of; one of another process where that says so.
    pub parent: Option<TraceParent>,
    pub parent_is_remote: bool,
    pub links: Vec<TraceParent>,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub attributes: Vec<(&'static str, Attribute)>,
    pub error: Option<Cow<'static, str>>,
}

/// How many spans were exported, and how many were not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanCounts {
    pub exported: u64,
    pub dropped: u64,
}

/// Where spans go. It never waits and never fails: what it cannot take it drops and counts.
pub trait SpanSink: Send + Sync {
    fn take(&self, span: FinishedSpan);
    fn counts(&self) -> SpanCounts;
}

struct Recorder {
    sink: Arc<dyn SpanSink>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    /// The share of new traces that are recorded, of 2⁶³.
    sampled_below: u64,
}

/// The maker of spans. Off until [`Traces::record`] is called.
#[derive(Default)]
pub struct Traces(OnceLock<Arc<Recorder>>);

impl Traces {
    /// Records from now on; `ratio` of the traces that begin here. Those that began elsewhere are recorded where their
    /// beginning was.
    pub fn record(
        &self,
        sink: Arc<dyn SpanSink>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        ratio: f64,
    ) {
        let sampled_below = (ratio.clamp(0.0, 1.0) * (1_u64 << 63) as f64) as u64;
        // A second call changes nothing.
        let _ = self.0.set(Arc::new(Recorder { sink, clock, random, sampled_below }));
    }

    pub fn is_on(&self) -> bool {
        self.0.get().is_some()
    }

    pub fn counts(&self) -> SpanCounts {
        self.0.get().map_or_else(SpanCounts::default, |recorder| recorder.sink.counts())
    }

    /// A span that begins a trace, in as many cases as are sampled.
    pub fn root(&self, name: impl Into<Cow<'static, str>>, kind: SpanKind) -> Span {
        let Some(recorder) = self.0.get() else { return Span::none() };
        let context = recorder.new_trace();
        if !recorder.samples(&context) {
            return Span::none();
        }
        Span::open(recorder, name.into(), kind, context, None)
    }

    /// A part of a span; nothing where that is not recorded.
    pub fn child(&self, name: impl Into<Cow<'static, str>>, kind: SpanKind, parent: TraceParent) -> Span {
        let Some(recorder) = self.0.get().filter(|_| parent.is_sampled()) else { return Span::none() };
        let context = parent.with_span(recorder.span_id());
        Span::open(recorder, name.into(), kind, context, Some(parent))
    }

    /// A span for a request: a part of its caller's trace where it names one, else the beginning of a trace.
    pub fn request(&self, name: impl Into<Cow<'static, str>>, caller: Option<TraceParent>) -> Span {
        let mut span = match caller {
            Some(caller) => self.child(name, SpanKind::Server, caller),
            None => self.root(name, SpanKind::Server),
        };
        if let Some(open) = &mut span.0 {
            open.span.parent_is_remote = caller.is_some();
        }
        span
    }

    /// A span that continues with what was stored at `since`: a part of that trace while it is young, else its own trace with a
    /// link to it.
    pub fn follow(
        &self,
        name: impl Into<Cow<'static, str>>,
        kind: SpanKind,
        earlier: TraceParent,
        since: Timestamp,
    ) -> Span {
        let Some(recorder) = self.0.get().filter(|_| earlier.is_sampled()) else { return Span::none() };
        let now = recorder.clock.now();
        let mut span = if now.duration_since(since) <= ONE_TRACE_FOR {
            self.child(name, kind, earlier)
        } else {
            let mut span = Span::open(recorder, name.into(), kind, recorder.new_trace(), None);
            span.link(earlier);
            span
        };
        if let Some(open) = &mut span.0 {
            open.span.parent_is_remote = open.span.parent.is_some();
        }
        span
    }

    /// A span for a batch, with a link to each of its parts that is recorded; nothing where none is.
    pub fn batch(
        &self,
        name: impl Into<Cow<'static, str>>,
        parts: impl IntoIterator<Item = TraceParent>,
    ) -> Span {
        let Some(recorder) = self.0.get() else { return Span::none() };
        let links: Vec<TraceParent> =
            parts.into_iter().filter(TraceParent::is_sampled).take(LINKS_MAX).collect();
        if links.is_empty() {
            return Span::none();
        }
        let mut span = Span::open(recorder, name.into(), SpanKind::Consumer, recorder.new_trace(), None);
        links.into_iter().for_each(|link| span.link(link));
        span
    }
}

impl Recorder {
    fn new_trace(&self) -> TraceParent {
        let mut trace = [0; 16];
        self.random.bytes(&mut trace);
        TraceParent::new(trace, self.span_id())
    }

    fn span_id(&self) -> [u8; 8] {
        let mut span = [0; 8];
        self.random.bytes(&mut span);
        span
    }

    /// As other programs decide it too: by the trace id alone, so that one ratio samples one set of traces.
    fn samples(&self, context: &TraceParent) -> bool {
        context.dice() < self.sampled_below
    }
}

struct Open {
    recorder: Arc<Recorder>,
    span: FinishedSpan,
}

/// A span under way; it ends when it is dropped. One that is not recorded costs nothing.
#[derive(Default)]
pub struct Span(Option<Box<Open>>);

impl Span {
    pub const fn none() -> Self {
        Self(None)
    }

    fn open(
        recorder: &Arc<Recorder>,
        name: Cow<'static, str>,
        kind: SpanKind,
        context: TraceParent,
        parent: Option<TraceParent>,
    ) -> Self {
        let now = recorder.clock.now();
        let span = FinishedSpan {
            name,
            kind,
            context,
            parent,
            parent_is_remote: false,
            links: Vec::new(),
            started_at: now,
            ended_at: now,
            attributes: Vec::new(),
            error: None,
        };
        Self(Some(Box::new(Open { recorder: recorder.clone(), span })))
    }

    /// Where it is, for what follows from it; nothing where it is not recorded.
    pub fn context(&self) -> Option<TraceParent> {
        self.0.as_ref().map(|open| open.span.context)
    }

    pub fn set(&mut self, name: &'static str, value: impl Into<Attribute>) {
        if let Some(open) = &mut self.0 {
            open.span.attributes.push((name, value.into()));
        }
    }

    pub fn link(&mut self, to: TraceParent) {
        if let Some(open) = self.0.as_mut().filter(|open| open.span.links.len() < LINKS_MAX) {
            open.span.links.push(to);
        }
    }

    /// It began before it could be recorded.
    pub fn began(&mut self, at: Timestamp) {
        if let Some(open) = &mut self.0 {
            open.span.started_at = at.min(open.span.started_at);
        }
    }

    pub fn failed(&mut self, why: impl Into<Cow<'static, str>>) {
        if let Some(open) = &mut self.0 {
            open.span.error = Some(why.into());
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            let Open { recorder, mut span } = *open;
            span.ended_at = recorder.clock.now().max(span.started_at);
            recorder.sink.take(span);
        }
    }
}

#[cfg(test)]
mod tests;
