//! Accepting connections: bounded, without delay, with a limit on how long a request's head may take.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use punctual_engine::Peer;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::CancellationToken;
use tower::Service;

/// Connections at once; the next ones wait in the system's queue.
const CONNECTIONS: usize = 2_048;
/// How long the head of a request may take, and how long a connection may idle.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long requests that are under way may take when the server stops.
const GRACE: Duration = Duration::from_secs(15);

/// How long to wait when the system gives no connection.
const REST_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Serves what arrives at the listener, until `shutdown`; then what is under way is finished.
pub async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &connections) => accepted,
            () = shutdown.cancelled() => break,
        };
        let Some((stream, peer, permit)) = accepted else { continue };
        let router = router.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let mut router = router.clone();
            async move {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(Peer(peer));
                let answer: Result<_, Infallible> = router.call(request).await;
                answer
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A connection that breaks is the client's affair.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    if tokio::time::timeout(GRACE, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time and were cut off");
    }
}

/// The next connection, when there is room for it.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = connections.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Without it small answers wait for the client's acknowledgement.
            let _ = stream.set_nodelay(true);
            Some((stream, peer, permit))
        }
        Err(error) => {
            // Out of descriptors, most likely: others must end before there is room.
            tracing::warn!(%error, "a connection was not accepted");
            let _ = tokio::time::timeout(REST_AFTER_FAILURE, std::future::pending::<()>()).await;
            None
        }
    }
}
