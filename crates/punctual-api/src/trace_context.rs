//! The trace that a request belongs to, as W3C Trace Context writes it.

use std::convert::Infallible;

use axum::{extract::FromRequestParts, http::request::Parts};

/// Taken from the header `traceparent`. One that is not valid counts as none, as the standard says.
#[derive(Clone, Debug, Default)]
pub struct TraceContext {
    pub traceparent: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for TraceContext {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let text = parts.headers.get("traceparent").and_then(|value| value.to_str().ok());
        Ok(Self { traceparent: text.filter(|text| is_valid(text)).map(str::to_owned) })
    }
}

/// Version 00: trace id and parent id in small hex digits, neither of them zero, and flags.
fn is_valid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags] = parts[..] else { return false };
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let is_zero = |text: &str| text.bytes().all(|b| b == b'0');
    version == "00"
        && is_hex(trace, 32)
        && is_hex(parent, 16)
        && is_hex(flags, 2)
        && !is_zero(trace)
        && !is_zero(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_traceparent_counts() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(is_valid(good));
        for bad in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nX: y",
        ] {
            assert!(!is_valid(bad), "{bad}");
        }
    }
}
