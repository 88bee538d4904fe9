//! Accepting connections: bounded, without delay, with a limit on how long each part of a request may take.
//!
//! Probes always get through: waiting connections make room for them (`connections.rs`), and they have their own limits
//! (`limits.rs`).

mod connections;
mod framing;
mod limits;
mod stream;

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use punctual_engine::Peer;
use punctual_wire::{Problem, problem};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::Service;

pub use self::limits::{Budget, Limits};
use self::{
    connections::{Connections, Refused, Slot},
    limits::Part,
    stream::Stream,
};

/// How long requests that are under way may take when the server stops.
const GRACE: Duration = Duration::from_secs(15);

/// How long to wait when the system gives no connection.
const REST_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// A handler that reads a body in time of its own answers that it did not come, before the body breaks off here.
const HANDLER_FIRST: Duration = Duration::from_secs(1);

/// Serves what arrives at the listener, until `shutdown`; then what is under way is finished. With the limits that ship.
pub async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) {
    serve_within(Limits::default(), listener, router, shutdown).await;
}

/// As [`serve`], within these limits.
pub async fn serve_within(
    limits: Limits,
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
) {
    let limits = Arc::new(limits);
    let connections = Connections::new(limits.clone());
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = shutdown.cancelled() => break,
        };
        let Some((stream, peer)) = accepted else { continue };
        let slot = connections.open(peer.ip());
        let end = slot.end.clone();
        let is_ambiguous = Arc::new(AtomicBool::new(false));
        let stream = Stream::new(stream, limits.head_bytes, limits.write_time, is_ambiguous.clone());
        let client = Arc::new(Client { limits: limits.clone(), slot, peer, is_ambiguous });
        let router = router.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let (client, router) = (client.clone(), router.clone());
            async move { Ok::<_, Infallible>(client.answer(request, router).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_time)
            .max_header_size(limits.head_bytes)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A connection that breaks is the client's affair.
            tokio::select! {
                _ = connection => {}
                () = end.cancelled() => {}
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(GRACE, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish within the grace time and were aborted");
    }
}

/// One connection, as its requests see it.
struct Client {
    limits: Arc<Limits>,
    slot: Slot,
    peer: SocketAddr,
    is_ambiguous: Arc<AtomicBool>,
}

impl Client {
    async fn answer(&self, request: Request<Incoming>, mut router: Router) -> Response {
        let part = Part::of(request.uri().path());
        if self.is_ambiguous.load(Ordering::Acquire) {
            return refused(part, &Problem::framing_ambiguous(), true);
        }
        let client = self.limits.proxies.client(self.peer.ip(), request.headers());
        let (under_way, busy) = match self.slot.admit(part, client) {
            Ok(begun) => begun,
            Err(why) => return refused(part, &Problem::rate_limited(1), why == Refused::Connections),
        };
        let body_time = self.limits.body_time + HANDLER_FIRST;
        let waits_for_word = request.headers().contains_key(header::EXPECT);
        let mut request = request.map(|body| stream::arriving(body, body_time, waits_for_word));
        request.extensions_mut().insert(Peer(self.peer));
        let Ok(answer) = router.call(request).await;
        drop(under_way);
        answer.map(|body| stream::leaving(body, busy))
    }
}

/// A refusal before the request was read: in JSON for programs, in plain words for people.
fn refused(part: Part, problem: &Problem, closes: bool) -> Response {
    let (kind, text) = match part {
        Part::Console | Part::Public => ("text/plain; charset=utf-8", problem.detail.clone()),
        _ => (problem::CONTENT_TYPE, serde_json::to_string(problem).unwrap_or_default()),
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = problem.retry_after_seconds() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if closes {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The next connection.
async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Without it small answers wait for the client's acknowledgement.
            let _ = stream.set_nodelay(true);
            Some((stream, peer))
        }
        Err(error) => {
            // Out of descriptors, most likely: others must end before there is room.
            tracing::warn!(%error, "a connection could not be accepted");
            let _ = tokio::time::timeout(REST_AFTER_FAILURE, std::future::pending::<()>()).await;
            None
        }
    }
}
