//! Answers in gzip for whoever takes it: pages, styles, scripts and documents, which shrink to about a fifth.
//!
//! A compressed page that repeats what was asked for can tell an attacker who sees its length about a secret in it
//! (BREACH). Two things stand against that here: cookies are sent to pages of ours alone (`SameSite=Strict`), so nobody
//! else can have a page made for somebody who is signed in; and the token of a form looks different in each page
//! (`session::Viewer::form_token`). What shows another secret says [`Plain`] and is left as it is.

use std::io::Write;

use axum::{
    body::{Body, Bytes, HttpBody, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};

/// Shorter answers fit a packet as they are.
const SHORTEST: u64 = 1 << 10;
/// Longer ones are files, which would be held in memory twice.
const LONGEST: u64 = 16 << 20;
/// What is longer is compressed beside the threads that serve: about a millisecond for each 50 KB.
const AT_ONCE: usize = 256 << 10;
/// Within a few per cent of the best, at half its price.
const LEVEL: u32 = 5;

/// An answer with a secret that was just made: it is not compressed.
#[derive(Clone, Copy)]
pub struct Plain;

/// The same answer, compressed if the browser takes that and it is a text of known length. Streams stay as they are.
pub async fn compressed(request: Request, next: Next) -> Response {
    let takes = takes_gzip(request.headers());
    let mut response = next.run(request).await;
    if !is_worth_it(&response) {
        return response;
    }
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
    if !takes {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    match gzip(bytes.clone()).await {
        Some(short) => {
            parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            parts.headers.insert(header::CONTENT_LENGTH, short.len().into());
            Response::from_parts(parts, Body::from(short))
        }
        None => Response::from_parts(parts, Body::from(bytes)),
    }
}

fn is_worth_it(response: &Response) -> bool {
    let length = response.body().size_hint().exact();
    let text = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let kind = text(header::CONTENT_TYPE).unwrap_or_default().split(';').next().unwrap_or_default();
    let is_text = kind.starts_with("text/")
        || ["application/json", "application/problem+json", "image/svg+xml"].contains(&kind);
    is_text
        && length.is_some_and(|length| (SHORTEST..LONGEST).contains(&length))
        && response.status() != StatusCode::PARTIAL_CONTENT
        && !response.headers().contains_key(header::CONTENT_ENCODING)
        && response.extensions().get::<Plain>().is_none()
}

/// Whether a browser takes gzip, as it says itself.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let said = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|value| value.to_str().ok());
    said.flat_map(|text| text.split(',')).any(|part| {
        let (name, weight) = part.split_once(';').unwrap_or((part, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0_f32));
        matches!(name.trim(), "gzip" | "*") && !refused
    })
}

async fn gzip(bytes: Bytes) -> Option<Vec<u8>> {
    if bytes.len() <= AT_ONCE {
        return deflated(&bytes);
    }
    tokio::task::spawn_blocking(move || deflated(&bytes)).await.ok().flatten()
}

fn deflated(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::new(LEVEL));
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_says_whether_it_takes_gzip() {
        let takes = |said: &'static str| {
            takes_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(said))]))
        };
        assert!(takes("gzip, deflate, br") && takes("br;q=1.0, gzip;q=0.8") && takes("*"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes("") && !takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn only_texts_of_some_length_are_compressed() {
        let answer = |kind: &'static str, length: usize| {
            ([(header::CONTENT_TYPE, kind)], "x".repeat(length)).into_response()
        };
        assert!(is_worth_it(&answer("text/html; charset=utf-8", 2_000)));
        assert!(is_worth_it(&answer("application/problem+json", 2_000)));
        assert!(!is_worth_it(&answer("text/html", 900)) && !is_worth_it(&answer("image/png", 2_000)));
        let mut secret = answer("text/html", 2_000);
        secret.extensions_mut().insert(Plain);
        assert!(!is_worth_it(&secret));
        let events =
            Body::from_stream(futures_util::stream::empty::<Result<Bytes, std::convert::Infallible>>());
        assert!(!is_worth_it(&([(header::CONTENT_TYPE, "text/event-stream")], events).into_response()));
    }
}
