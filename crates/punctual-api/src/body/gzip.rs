//! Detects and decompresses gzip bodies, with a size limit.

use std::io::Read;

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use punctual_wire::Problem;

/// Whether the body is compressed; refuses what the route does not take.
pub fn is_gzip(headers: &HeaderMap, may_be: bool) -> Result<bool, Problem> {
    let Some(found) = headers.get(header::CONTENT_ENCODING) else { return Ok(false) };
    let found = found.to_str().unwrap_or("something unreadable").trim();
    if found.is_empty() || found.eq_ignore_ascii_case("identity") {
        return Ok(false);
    }
    if may_be && (found.eq_ignore_ascii_case("gzip") || found.eq_ignore_ascii_case("x-gzip")) {
        return Ok(true);
    }
    let accepted = if may_be { "`gzip` or no encoding" } else { "no content encoding" };
    Err(Problem::content_encoding(found, accepted))
}

/// The body as it was before it was compressed, unless that is larger than `limit`: a few bytes can become gigabytes.
pub async fn inflated(bytes: Bytes, limit: usize) -> Result<Bytes, Problem> {
    // Some ten milliseconds for a large one, which others need not wait for.
    let work = tokio::task::spawn_blocking(move || {
        let mut whole = Vec::with_capacity((bytes.len() * 4).min(limit));
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let read = MultiGzDecoder::new(&bytes[..]).take(most).read_to_end(&mut whole);
        match read {
            Ok(_) if whole.len() > limit => Err(Problem::body_too_large(limit)),
            Ok(_) => Ok(Bytes::from(whole)),
            Err(_) => Err(Problem::content_encoding("something else, or cut off", "a whole `gzip` stream")),
        }
    });
    work.await.unwrap_or_else(|_| Err(Problem::internal()))
}
