//! A connection to a broker, made here: to a checked address, with our TLS, and ended from outside if need be.

use punctual_model::ReasonCode;
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};

use super::{Failure, Place};
use crate::{
    connect,
    trust::{Trust, certificate_fault},
};

/// How long one address may take to answer, so that the next one gets its turn.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// An open connection, encrypted or not. It ends when its guard is dropped: libraries have a task or a thread for each,
/// which would otherwise wait for ever for a broker that says nothing any more.
pub(crate) struct Stream {
    inner: Box<dyn Duplex>,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    is_cut: CancellationToken,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stream")
    }
}

/// Connects to a checked address of the broker.
pub(crate) async fn connect(place: &Place, trust: &Trust) -> Result<(Stream, DropGuard), Failure> {
    let mut last = Failure::Later("the broker's name has no address".to_owned());
    for address in place.addresses().await? {
        match connect::tcp(address, CONNECT_TIMEOUT).await {
            Ok(stream) => {
                let inner = encrypted(place, trust, stream).await?;
                let is_cut = CancellationToken::new();
                let cut = Box::pin(is_cut.clone().cancelled_owned());
                let guard = is_cut.clone().drop_guard();
                return Ok((Stream { inner, cut, is_cut }, guard));
            }
            Err(fault) => last = Failure::Later(format!("the broker cannot be reached: {fault}")),
        }
    }
    Err(last)
}

async fn encrypted(place: &Place, trust: &Trust, stream: TcpStream) -> Result<Box<dyn Duplex>, Failure> {
    if !place.secure {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(place.host.clone()).map_err(|_| {
        Failure::never(ReasonCode::UrlInvalid, "the broker's name is not valid in a certificate")
    })?;
    let config =
        trust.client_config().map_err(|fault| Failure::Later(format!("TLS cannot be set up: {fault}")))?;
    match connect::tls(stream, name, Arc::new(config)).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(fault) => Err(Failure::Later(
            certificate_fault(&fault).unwrap_or_else(|| format!("TLS with the broker failed: {fault}")),
        )),
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_cut.is_cancelled() || self.cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_cut.is_cancelled() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Pin::new(&mut self.inner).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_cut.is_cancelled() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_cut.is_cancelled() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
