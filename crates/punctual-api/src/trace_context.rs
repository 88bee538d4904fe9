//! The trace that a request belongs to, as W3C Trace Context writes it.

use std::convert::Infallible;

use axum::{
    extract::{FromRequestParts, MatchedPath, Request},
    http::{HeaderMap, StatusCode, request::Parts},
};
use jiff::Timestamp;
use punctual_model::{Envelope, Span, TraceParent};
use punctual_store::work::Asked;

use crate::App;

/// Items of one request that are followed to their end; the others belong to the trace of the request and no further, or a
/// batch of a thousand would be one trace of thousands of spans.
const FOLLOWED_ITEMS: usize = 16;

/// What is asked every few seconds gets no trace.
const NOT_TRACED: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// The span of the request where it is recorded, else the caller's word, to be passed on.
#[derive(Clone, Debug, Default)]
pub struct TraceContext {
    traceparent: Option<String>,
    traced_at: Option<Timestamp>,
}

impl TraceContext {
    /// One that is not valid counts as none.
    fn of_caller(headers: &HeaderMap) -> Option<TraceParent> {
        headers.get("traceparent").and_then(|value| value.to_str().ok()).and_then(TraceParent::parse)
    }

    /// What the events of the request go on with, where its span is recorded.
    pub fn asked(&self) -> Option<Asked> {
        let at = self.traced_at?;
        Some(Asked { by: TraceParent::parse(self.traceparent.as_deref()?)?, at })
    }

    /// What an item of the request goes on with.
    pub fn give(&self, envelope: &mut Envelope, index: usize) {
        envelope.traceparent = self.traceparent.clone();
        envelope.traced_at = self.traced_at.filter(|_| index < FOLLOWED_ITEMS);
    }
}

impl<S: Send + Sync> FromRequestParts<S> for TraceContext {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let passed_on = || {
            let caller = Self::of_caller(&parts.headers);
            Self { traceparent: caller.map(|caller| caller.to_string()), traced_at: None }
        };
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_else(passed_on))
    }
}

/// Begins the span of a request and passes it to its handler.
pub fn begin(app: &App, request: &mut Request) -> Span {
    let traces = &app.engine.traces;
    if !traces.is_on() {
        return Span::none();
    }
    // The route and not the path: that of a calendar, a survey link or a callback is a secret.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    if NOT_TRACED.contains(&route) {
        return Span::none();
    }
    let caller = TraceContext::of_caller(request.headers());
    let mut span = traces.request(format!("{} {route}", request.method()), caller);
    span.set("http.request.method", request.method().to_string());
    span.set("http.route", route.to_owned());
    if let Some(context) = span.context() {
        let traced_at = Some(app.engine.clock.now());
        let own = TraceContext { traceparent: Some(context.to_string()), traced_at };
        request.extensions_mut().insert(own);
    }
    span
}

/// Ends the span of a request.
pub fn end(mut span: Span, status: StatusCode) {
    span.set("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.failed(status.as_str().to_owned());
    }
}
