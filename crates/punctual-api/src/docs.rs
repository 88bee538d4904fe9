//! `/openapi.json`, and `/docs`: a page of our own for it that loads nothing from another host.

use axum::{
    Router,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};

use crate::Shared;

/// Nothing but what this server itself serves, and no script inside the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/openapi.json", get(document))
        .route("/docs", get(async || page("text/html; charset=utf-8", include_str!("docs/page.html"))))
        .route("/docs/page.css", get(async || page("text/css; charset=utf-8", include_str!("docs/page.css"))))
        .route(
            "/docs/page.js",
            get(async || page("text/javascript; charset=utf-8", include_str!("docs/page.js"))),
        )
}

async fn document(State(app): State<Shared>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], app.document.clone()).into_response()
}

fn page(content_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, text).into_response()
}
