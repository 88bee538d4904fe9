//! A stream that reads the replies of a relay as the standard allows them and relays write them, for a library that takes
//! only the usual form.
//!
//! A code may stand without a text (RFC 5321, 4.2), texts are in whatever encoding the relay was set up with, and some end a line
//! with LF alone. The library takes none of these for an answer, and after the content an answer that is not understood
//! is an uncertain one: a mail that the relay has taken would be sent again.

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

/// Bytes of a line that are kept until it ends; a longer one is passed on as it is.
const LONGEST_LINE: usize = 4096;

/// Ends the reading of replies, before the stream carries TLS.
#[derive(Clone, Debug, Default)]
pub(super) struct Encrypting(Arc<AtomicBool>);

impl Encrypting {
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub(super) struct Replies<S> {
    stream: S,
    encrypting: Encrypting,
    /// The beginning of a line.
    line: Vec<u8>,
    /// Whole lines that nobody has taken yet.
    lines: Vec<u8>,
}

impl<S> Replies<S> {
    pub(super) fn new(stream: S, encrypting: Encrypting) -> Self {
        Self { stream, encrypting, line: Vec::new(), lines: Vec::new() }
    }

    fn receive(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.line.push(byte);
            if byte == b'\n' {
                self.end_line();
            } else if self.line.len() >= LONGEST_LINE {
                self.pass_on();
            }
        }
    }

    fn end_line(&mut self) {
        let text = String::from_utf8_lossy(self.line.trim_ascii_end());
        let is_code_alone = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        self.lines.extend_from_slice(text.as_bytes());
        self.lines.extend_from_slice(if is_code_alone { b" \r\n" } else { b"\r\n" });
        self.line.clear();
    }

    /// What has come of a line, without its end.
    fn pass_on(&mut self) {
        self.lines.extend_from_slice(String::from_utf8_lossy(&self.line).as_bytes());
        self.line.clear();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Replies<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.lines.is_empty() {
            if this.encrypting.has_begun() && this.line.is_empty() {
                return Pin::new(&mut this.stream).poll_read(context, buffer);
            }
            let mut space = [0; 1024];
            let mut received = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut received))?;
            if received.filled().is_empty() {
                if this.line.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                this.pass_on();
            }
            this.receive(received.filled());
        }
        let count = this.lines.len().min(buffer.remaining());
        buffer.put_slice(&this.lines[..count]);
        this.lines.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncTokioStream> AsyncTokioStream for Replies<S> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replies<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn replies_are_read_as_relays_write_them() {
        let cases: [(&[u8], &[u8]); 6] = [
            (b"250 2.0.0 ok\r\n", b"250 2.0.0 ok\r\n"),
            (b"250-a\r\n250 b\r\n", b"250-a\r\n250 b\r\n"),
            (b"250\r\n", b"250 \r\n"),
            (b"250-a\n250\n", b"250-a\r\n250 \r\n"),
            (b"550 Postfach \xfcberf\xfcllt\r\n", "550 Postfach \u{fffd}berf\u{fffd}llt\r\n".as_bytes()),
            (b"250 cut o", b"250 cut o"),
        ];
        for (sent, expected) in cases {
            // Byte for byte, so that every line arrives in pieces.
            let (near, mut far) = tokio::io::duplex(1);
            let mut replies = Replies::new(near, Encrypting::default());
            let mut read = Vec::new();
            let write = async move {
                far.write_all(sent).await.unwrap();
            };
            let ((), count) = tokio::join!(write, replies.read_to_end(&mut read));
            count.unwrap();
            assert_eq!(read, expected, "{}", String::from_utf8_lossy(sent));
        }
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_not_kept() {
        let (near, mut far) = tokio::io::duplex(64);
        let mut replies = Replies::new(near, Encrypting::default());
        let write = async move {
            for _ in 0..LONGEST_LINE {
                far.write_all(b"xy").await.unwrap();
            }
            far
        };
        let mut read = vec![0; 2 * LONGEST_LINE];
        let (_far, count) = tokio::join!(write, replies.read_exact(&mut read));
        count.unwrap();
        assert!(replies.line.is_empty());
    }

    #[tokio::test]
    async fn nothing_of_an_encrypted_stream_is_changed() {
        let (near, mut far) = tokio::io::duplex(64);
        let encrypting = Encrypting::default();
        let mut replies = Replies::new(near, encrypting.clone());
        encrypting.begin();
        far.write_all(b"250\n\xff\xfe").await.unwrap();
        drop(far);
        let mut read = Vec::new();
        replies.read_to_end(&mut read).await.unwrap();
        assert_eq!(read, b"250\n\xff\xfe");
    }
}
