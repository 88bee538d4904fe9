//! Style and script, from the binary itself. Their addresses carry a digest, so that browsers may keep them.

use axum::{
    Router,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};

use crate::Shared;

const CSS: &str = include_str!("../assets/console.css");
const JS: &str = include_str!("../assets/console.js");
const SURVEY_CSS: &str = include_str!("../assets/survey.css");
const SURVEY_JS: &str = include_str!("../assets/survey.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// What pages put behind `?v=`: a short digest of all of them.
pub fn version() -> &'static str {
    static VERSION: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    VERSION.get_or_init(|| {
        punctual_engine::keys::secret_hash(&[CSS, JS, SURVEY_CSS, SURVEY_JS].concat())[..12].to_owned()
    })
}

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/assets/console.css", get(async || asset("text/css; charset=utf-8", CSS)))
        .route("/assets/console.js", get(async || asset("text/javascript; charset=utf-8", JS)))
        .route("/assets/survey.css", get(async || asset("text/css; charset=utf-8", SURVEY_CSS)))
        .route("/assets/survey.js", get(async || asset("text/javascript; charset=utf-8", SURVEY_JS)))
        .route("/assets/icon.svg", get(async || asset("image/svg+xml", ICON)))
}

fn asset(content_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, text).into_response()
}
