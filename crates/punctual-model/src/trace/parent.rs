//! One span of one trace, as W3C Trace Context writes it.

use std::fmt;

const SAMPLED: u8 = 1;

/// The value of the header `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace: [u8; 16],
    span: [u8; 8],
    flags: u8,
}

impl TraceParent {
    /// A span that is recorded. An id of zeros would mean that there is none.
    pub fn new(mut trace: [u8; 16], mut span: [u8; 8]) -> Self {
        if trace == [0; 16] {
            trace[15] = 1;
        }
        if span == [0; 8] {
            span[7] = 1;
        }
        Self { trace, span, flags: SAMPLED }
    }

    /// Version 00: trace id and parent id in small hex digits, neither of them zero, and flags. What is not valid counts as
    /// none, as the standard says.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let version = parts.next()?;
        let trace = bytes(parts.next()?)?;
        let span = bytes(parts.next()?)?;
        let [flags] = bytes(parts.next()?)?;
        let is_whole = version == "00" && parts.next().is_none();
        (is_whole && trace != [0; 16] && span != [0; 8]).then_some(Self { trace, span, flags })
    }

    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    pub fn trace_id(&self) -> [u8; 16] {
        self.trace
    }

    pub fn span_id(&self) -> [u8; 8] {
        self.span
    }

    /// Another span of the same trace.
    pub(super) fn with_span(self, span: [u8; 8]) -> Self {
        Self { flags: self.flags, ..Self::new(self.trace, span) }
    }

    /// A number below 2⁶³ that is the same wherever this trace is seen.
    pub(super) fn dice(&self) -> u64 {
        let [.., a, b, c, d, e, f, g, h] = self.trace;
        u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("00-")?;
        self.trace.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("-")?;
        self.span.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, "-{:02x}", self.flags)
    }
}

/// Exactly so many bytes in small hex digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_traceparent_counts() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(TraceParent::parse(good).unwrap().to_string(), good);
        for bad in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-1",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nX: y",
            "00-0af7651916cd43dd8448eb211c80319é-b7ad6b7169203331-01",
        ] {
            assert!(TraceParent::parse(bad).is_none(), "{bad}");
        }
    }
}
