//! The one place where channels open connections.
//!
//! Every socket has `TCP_NODELAY`. Without it the second of two small writes waits until the peer has acknowledged the first,
//! and a peer delays that by 40 ms while it has nothing to send: a mail, whose final dot is its own write, took 45 ms to a
//! relay on the same machine. `cargo xtask tidy` finds connections of this crate that are opened elsewhere. One library cannot
//! be given a socket: `async-nats`, which sets the option itself.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use rustls::{ClientConfig, pki_types::ServerName};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Connects to an address that the guard has checked.
pub(crate) async fn tcp(address: SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let stream = match tokio::time::timeout(timeout, TcpStream::connect(address)).await {
        Ok(connected) => connected?,
        Err(_) => return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer")),
    };
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Encrypts a connection; the certificate must be that of `name`.
pub(crate) async fn tls(
    stream: TcpStream,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
) -> io::Result<TlsStream<TcpStream>> {
    TlsConnector::from(config).connect(name, stream).await
}

/// The start of an HTTP client, which opens its own connections.
pub(crate) fn http() -> reqwest::ClientBuilder {
    reqwest::Client::builder().tcp_nodelay(true)
}
