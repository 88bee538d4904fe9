//! Around every page: the headers that harden a browser, and where a form may come from.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use punctual_wire::{Problem, names};

use crate::{answer::Refusal, session::LIVE_HEADER};

/// Nothing but what this server itself serves, and no script or style inside a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Adds what every answer has. A page that needs another policy has set it already.
pub async fn harden(request: Request, next: Next) -> Response {
    let is_live = request.headers().contains_key(LIVE_HEADER);
    let mut response = next.run(request).await;
    // A page that answered a form cannot be asked for again, and has nothing that changes.
    if is_live && response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response = StatusCode::NO_CONTENT.into_response();
    }
    hardened(response)
}

/// Nothing is named with NUL, which PostgreSQL takes in no text.
pub async fn without_nul(request: Request, next: Next) -> Response {
    if names::has_nul(request.uri().path()) {
        return Refusal::from(Problem::route_not_found()).into_response();
    }
    next.run(request).await
}

/// The same answer with the headers that harden a browser.
pub fn hardened(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whether a form was sent by a page of ours. Browsers say so themselves; over plain HTTP some say only the origin, and
/// ours say `null` there because pages send no referrer: then the token alone decides.
pub fn is_own_form(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return site == "same-origin";
    }
    match (text("origin"), text("host")) {
        (Some("null"), _) => true,
        (Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, from)| from == host),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_other_sites_are_recognised() {
        let check = |pairs: &[(&'static str, &'static str)]| {
            let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            is_own_form(&headers.collect())
        };
        assert!(check(&[("sec-fetch-site", "same-origin")]));
        assert!(check(&[("origin", "http://a.example:81"), ("host", "a.example:81")]));
        assert!(check(&[("origin", "null"), ("host", "a.example")]));
        for foreign in ["cross-site", "same-site", "none"] {
            assert!(!check(&[("sec-fetch-site", foreign), ("origin", "http://a"), ("host", "a")]));
        }
        assert!(!check(&[("origin", "http://evil.example"), ("host", "a.example")]));
        assert!(!check(&[("host", "a.example")]) && !check(&[]));
    }
}
