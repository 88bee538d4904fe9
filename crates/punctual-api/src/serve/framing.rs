//! Where requests begin and end on a connection, and whether that can be read in two ways.
//!
//! A request with both `Content-Length` and `Transfer-Encoding`, or with two lengths, ends in one place for us and maybe in
//! another for a proxy before us; what lies between would be a request of somebody else's making. The HTTP library drops
//! one of the two before a handler sees them, so the bytes are checked as they are received. There are two clear ways, one
//! length in digits or one encoding that is `chunked`; whatever else says where a request ends is refused, the same length
//! twice too, because whoever adds it does so in the hope that somebody reads it in another way.

/// Header lines of a head that are checked; the HTTP library refuses more.
const HEADERS: usize = 128;
/// The longest line of a chunk's size.
const SIZE_LINE: usize = 1 << 10;

/// Follows the requests of one connection.
pub(super) struct Framing {
    state: State,
    /// The head, or the line, as far as it has come.
    begun: Vec<u8>,
    head_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Body(u64),
    ChunkSize,
    /// With the line end after it.
    Chunk(u64),
    Trailers,
    /// Not HTTP as we know it: the library refuses it too.
    Lost,
    Ambiguous,
}

impl Framing {
    pub(super) fn new(head_bytes: usize) -> Self {
        Self { state: State::Head, begun: Vec::new(), head_bytes }
    }

    /// Takes what was received; true when a request was in it whose end is ambiguous.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match self.state {
                State::Lost | State::Ambiguous => break,
                State::Body(left) | State::Chunk(left) => {
                    let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = &bytes[taken..];
                    let left = left - taken as u64;
                    self.state = match (self.state, left) {
                        (State::Body(_), 0) => State::Head,
                        (State::Body(_), left) => State::Body(left),
                        (_, 0) => State::ChunkSize,
                        (_, left) => State::Chunk(left),
                    };
                }
                State::Head | State::ChunkSize | State::Trailers => {
                    // Nothing is over before the end of a line.
                    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                        self.begun.extend_from_slice(bytes);
                        self.bound();
                        break;
                    };
                    self.begun.extend_from_slice(&bytes[..=end]);
                    bytes = &bytes[end + 1..];
                    self.line();
                    self.bound();
                }
            }
        }
        self.state == State::Ambiguous
    }

    /// What is too long is refused by the library, and need not be kept.
    fn bound(&mut self) {
        let most = if self.state == State::Head { self.head_bytes } else { SIZE_LINE };
        if self.begun.len() > most {
            self.state = State::Lost;
            self.begun = Vec::new();
        }
    }

    /// A line has ended.
    fn line(&mut self) {
        match self.state {
            State::Head => self.head(),
            State::ChunkSize => {
                self.state = match chunk_size(&self.begun).map(|size| (size, size.checked_add(2))) {
                    Some((0, _)) => State::Trailers,
                    Some((_, Some(with_end))) => State::Chunk(with_end),
                    _ => State::Ambiguous,
                };
                self.begun.clear();
            }
            State::Trailers => {
                if matches!(self.begun.as_slice(), b"\r\n" | b"\n") {
                    self.state = State::Head;
                }
                self.begun.clear();
            }
            _ => {}
        }
    }

    fn head(&mut self) {
        // An empty line ends a head; until then it is not read.
        if !(self.begun.ends_with(b"\n\r\n") || self.begun.ends_with(b"\n\n")) {
            // Empty lines before a request are passed over.
            if matches!(self.begun.as_slice(), b"\r\n" | b"\n") {
                self.begun.clear();
            }
            return;
        }
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        self.state = match request.parse(&self.begun) {
            Ok(httparse::Status::Complete(_)) => after(request.headers),
            _ => State::Lost,
        };
        self.begun.clear();
    }
}

/// What follows a head.
fn after(headers: &[httparse::Header<'_>]) -> State {
    let named = |name: &'static str| {
        headers
            .iter()
            .filter(move |one| one.name.eq_ignore_ascii_case(name))
            .map(|one| one.value.trim_ascii())
    };
    let (mut encodings, mut lengths) = (named("transfer-encoding"), named("content-length"));
    let (encoding, length) = (encodings.next(), lengths.next());
    if encodings.next().is_some() || lengths.next().is_some() {
        return State::Ambiguous;
    }
    match (encoding, length) {
        (None, None) => State::Head,
        (Some(encoding), None) if encoding.eq_ignore_ascii_case(b"chunked") => State::ChunkSize,
        (None, Some(length)) => match digits(length, 10) {
            Some(0) => State::Head,
            Some(length) => State::Body(length),
            None => State::Ambiguous,
        },
        _ => State::Ambiguous,
    }
}

/// The size in the first line of a chunk, whatever extensions follow it.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\r\n")?;
    let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
    digits(size.trim_ascii_end(), 16)
}

/// A number of digits alone: without a sign, blanks or a list.
fn digits(text: &[u8], radix: u32) -> Option<u64> {
    let is_plain = text.iter().all(|byte| char::from(*byte).is_digit(radix));
    let text = std::str::from_utf8(text).ok().filter(|text| is_plain && !text.is_empty())?;
    u64::from_str_radix(text, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it is ambiguous: whole, and byte by byte.
    fn is_ambiguous(text: &str) -> bool {
        let whole = Framing::new(1 << 15).take(text.as_bytes());
        let mut slowly = Framing::new(1 << 15);
        let slow = text.as_bytes().iter().any(|byte| slowly.take(std::slice::from_ref(byte)));
        assert_eq!(whole, slow, "{text}");
        whole
    }

    fn with(headers: &str) -> String {
        format!("POST / HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n")
    }

    const BOTH: &str = "POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";

    #[test]
    fn t15_a_request_that_ends_in_two_places_is_found() {
        for ambiguous in [
            BOTH.to_owned(),
            BOTH.replace("\r\n", "\n"),
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nCONTENT-LENGTH: 4\r\n\r\n".to_owned(),
            "POST / HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n".to_owned(),
            with("Content-Length: 4\r\nContent-Length: 4"),
            with("Content-Length: 4\r\ncontent-length: 04"),
            with("Content-Length: 4, 4"),
            with("Content-Length: 4,"),
            with("Content-Length: +4"),
            with("Content-Length: 0x4"),
            with("Content-Length: 4 4"),
            with("Content-Length:"),
            with("Content-Length: 99999999999999999999"),
            with("Transfer-Encoding: gzip, chunked"),
            with("Transfer-Encoding: chunked, identity"),
            with("Transfer-Encoding: identity"),
            with("Transfer-Encoding: xchunked"),
            with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            format!("{}x3\r\nabc\r\n0\r\n\r\n", with("Transfer-Encoding: chunked")),
            format!("{}0x3\r\nabc\r\n0\r\n\r\n", with("Transfer-Encoding: chunked")),
            format!("{}3\nabc\r\n0\r\n\r\n", with("Transfer-Encoding: chunked")),
            format!("{}ffffffffffffffff\r\n", with("Transfer-Encoding: chunked")),
            // After others on the same connection.
            format!("GET / HTTP/1.1\r\nHost: x\r\n\r\n{BOTH}"),
            format!("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc{BOTH}"),
            format!(
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n{BOTH}"
            ),
        ] {
            assert!(is_ambiguous(&ambiguous), "{ambiguous}");
        }
        for clear in [
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
            format!("{}abcd", with("Content-Length: 4")),
            format!("{}{}", with("Content-Length:  0 "), with("TRANSFER-ENCODING: Chunked")),
            format!("{}3 \r\nabc\r\n00\r\n\r\n", with("Transfer-Encoding: chunked")),
            // A body may look like anything.
            format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{BOTH}", BOTH.len()),
            format!(
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{BOTH}\r\n0\r\n\r\n",
                BOTH.len()
            ),
            "nonsense\r\n\r\n".to_owned(),
        ] {
            assert!(!is_ambiguous(&clear), "{clear}");
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut framing = Framing::new(100);
        assert!(!framing.take(&[b'a'; 10_000]));
        assert_eq!((framing.state, framing.begun.len()), (State::Lost, 0));
    }
}
