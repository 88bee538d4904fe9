//! A stream that keeps a small content back until the dot that ends it, so that both go in one write.
//!
//! The library writes content and dot one after the other. The relay would be woken by the first, and have nothing to do.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Content up to this size is kept back; a larger one is written as it comes.
const SMALL: usize = 16 * 1024;

/// Says whether what is written is kept back.
#[derive(Clone, Debug, Default)]
pub(super) struct Cork(Arc<AtomicBool>);

impl Cork {
    /// Keeps content of this size back until the release, if it is small.
    pub(super) fn keep_back(&self, size: usize) {
        self.0.store(size <= SMALL, Ordering::Relaxed);
    }

    /// What was kept back goes with the next write.
    pub(super) fn release(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    fn is_closed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub(super) struct Corked<S> {
    stream: S,
    cork: Cork,
    kept_back: Vec<u8>,
}

impl<S> Corked<S> {
    pub(super) fn new(stream: S, cork: Cork) -> Self {
        Self { stream, cork, kept_back: Vec::new() }
    }
}

impl<S: AsyncTokioStream> AsyncTokioStream for Corked<S> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Corked<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> Corked<S> {
    /// Writes what was kept back.
    fn poll_written(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.kept_back.is_empty() {
            let count = ready!(Pin::new(&mut self.stream).poll_write(context, &self.kept_back))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.kept_back.drain(..count);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Corked<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.cork.is_closed() || !self.kept_back.is_empty() {
            self.kept_back.extend_from_slice(buffer);
            return Poll::Ready(Ok(buffer.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.cork.is_closed() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_written(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_written(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn small_content_goes_with_its_dot_and_large_content_as_it_comes() {
        for (size, is_kept_back) in [(5, true), (SMALL, true), (SMALL + 1, false)] {
            let (near, mut far) = tokio::io::duplex(64);
            let cork = Cork::default();
            let mut stream = Corked::new(near, cork.clone());
            cork.keep_back(size);
            stream.write_all(b"hello").await.unwrap();
            stream.flush().await.unwrap();
            let mut first = [0; 64];
            let early = tokio::time::timeout(std::time::Duration::ZERO, far.read(&mut first)).await;
            assert_eq!(early.is_err(), is_kept_back, "{size}");
            cork.release();
            stream.write_all(b".").await.unwrap();
            stream.flush().await.unwrap();
            let count = far.read(&mut first).await.unwrap();
            let expected: &[u8] = if is_kept_back { b"hello." } else { b"." };
            assert_eq!(&first[..count], expected, "{size}");
        }
    }

    #[tokio::test]
    async fn what_was_kept_back_is_written_whole_over_a_slow_stream() {
        let (near, mut far) = tokio::io::duplex(3);
        let cork = Cork::default();
        let mut stream = Corked::new(near, cork.clone());
        cork.keep_back(10);
        stream.write_all(b"0123456789").await.unwrap();
        stream.flush().await.unwrap();
        cork.release();
        let write = async {
            stream.write_all(b"!").await.unwrap();
            stream.flush().await.unwrap();
            drop(stream);
        };
        let mut all = Vec::new();
        let ((), read) = tokio::join!(write, far.read_to_end(&mut all));
        read.unwrap();
        assert_eq!(all, b"0123456789!");
    }
}
