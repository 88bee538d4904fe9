//! The two ends of a request: bytes that are received and followed, an answer that a client may not leave unread for long,
//! and bodies that know when they are over.

use std::{
    future::Pending,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{BoxError, body::Body};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Timeout, timeout},
};

use super::{connections::Busy, framing::Framing};

/// A deadline that is set when somebody begins to wait.
struct Patience {
    time: Duration,
    waiting: Option<Pin<Box<Timeout<Pending<()>>>>>,
}

impl Patience {
    fn new(time: Duration) -> Self {
        Self { time, waiting: None }
    }

    /// Whether it is over; it begins with the first call.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let time = self.time;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(timeout(time, std::future::pending())));
        waiting.as_mut().poll(context).is_ready()
    }

    fn renew(&mut self) {
        self.waiting = None;
    }
}

/// A client's connection.
pub(super) struct Stream {
    inner: TcpStream,
    framing: Framing,
    is_ambiguous: Arc<AtomicBool>,
    unread: Patience,
}

impl Stream {
    pub(super) fn new(
        inner: TcpStream,
        head_bytes: usize,
        write_time: Duration,
        is_ambiguous: Arc<AtomicBool>,
    ) -> Self {
        Self { inner, framing: Framing::new(head_bytes), is_ambiguous, unread: Patience::new(write_time) }
    }

    /// Whatever was written is progress; what is not for too long ends the connection.
    fn patient<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.unread.renew();
            return written;
        }
        if self.unread.is_over(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        if self.framing.take(&buffer.filled()[before..]) {
            self.is_ambiguous.store(true, Ordering::Release);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.patient(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.patient(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.patient(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Bytes of a body that nobody wanted and that are read all the same.
const UNWANTED_BYTES: usize = 64 << 20;
/// How long they may take.
const UNWANTED_TIME: Duration = Duration::from_secs(10);

/// The body of a request: an error where it does not arrive in time.
///
/// What is left of it when a request is refused is read and thrown away. A connection that closes on unread bytes is reset,
/// and a client that still writes would see that in place of the refusal.
struct Arriving {
    /// Until the end, or until this is dropped.
    inner: Option<Incoming>,
    patience: Patience,
    /// The client waits for the server before it sends the body, and the first read lets it begin.
    waits_for_word: bool,
}

/// A body that ends with an error when it takes longer than this.
pub(super) fn arriving(inner: Incoming, time: Duration, waits_for_word: bool) -> Body {
    Body::new(Arriving { inner: Some(inner), patience: Patience::new(time), waits_for_word })
}

impl Drop for Arriving {
    fn drop(&mut self) {
        use hyper::body::Body as _;

        let Some(inner) = self.inner.take() else { return };
        let is_too_much = inner.size_hint().lower() > UNWANTED_BYTES as u64;
        if inner.is_end_stream() || self.waits_for_word || is_too_much {
            return;
        }
        // Without a runtime the server is gone.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(timeout(UNWANTED_TIME, thrown_away(inner)));
        }
    }
}

async fn thrown_away(mut body: Incoming) {
    let mut left = UNWANTED_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let count = frame.data_ref().map_or(0, Bytes::len);
        let Some(rest) = left.checked_sub(count) else { return };
        left = rest;
    }
}

impl hyper::body::Body for Arriving {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.waits_for_word = false;
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        match Pin::new(inner).poll_frame(context) {
            Poll::Ready(Some(frame)) => Poll::Ready(Some(frame.map_err(Into::into))),
            Poll::Ready(None) => {
                self.inner = None;
                Poll::Ready(None)
            }
            // Counted from the first wait to the end: single bytes are no progress.
            Poll::Pending if self.patience.is_over(context) => {
                self.inner = None;
                Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::TimedOut).into())))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map(Incoming::size_hint).unwrap_or_default()
    }
}

/// The body of an answer; its connection is busy until it is sent.
struct Leaving {
    inner: Body,
    _busy: Busy,
}

pub(super) fn leaving(inner: Body, busy: Busy) -> Body {
    Body::new(Leaving { inner, _busy: busy })
}

impl hyper::body::Body for Leaving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
