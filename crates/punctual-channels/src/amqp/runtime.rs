//! The runtime as the library wants it, with connections that were made here: to checked addresses, with our TLS.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    os::fd::{AsFd, AsRawFd},
    time::{Duration, Instant},
};

use async_rs::{Runtime, Tokio, traits::Reactor, util::RuntimeParts};
use futures_io::{AsyncRead, AsyncWrite};
use tokio_util::compat::Compat;

use crate::broker::stream::Stream;

/// The runtime that this is called in.
pub(super) fn current() -> Runtime<RuntimeParts<Tokio, Connected>> {
    Runtime::new(RuntimeParts::new(Tokio::current(), Connected(Tokio::current())))
}

/// Timers of tokio, and no way to connect from here.
#[derive(Clone, Debug)]
pub(super) struct Connected(Tokio);

impl Reactor for Connected {
    type TcpStream = Compat<Stream>;
    type Sleep = <Tokio as Reactor>::Sleep;

    fn register<H: Read + Write + AsFd + AsRawFd + Send + 'static>(
        &self,
        _socket: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<Compat<Stream>, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(&self, duration: Duration) -> impl futures_util::Stream<Item = Instant> + Send + 'static {
        self.0.interval(duration)
    }

    fn tcp_connect_addr(
        &self,
        _address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        std::future::ready(Err(io::ErrorKind::Unsupported.into()))
    }
}
