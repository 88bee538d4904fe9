//! Signing in with a key or a link that works once, and signing out.
//!
//! A link is used up by a form and not by opening it: programs that look at links in passing must not spend it.

use askama::Template;
use axum::{
    Extension, Router,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use punctual_engine::{Peer, keys::is_well_formed};
use punctual_wire::Problem;

use crate::{
    Shared,
    answer::{Page, page, see_other},
    assets, cookies,
    form::{Fields, Sent, Signed},
    frame, guard, links, session,
};

pub fn routes() -> Router<Shared> {
    Router::new().route("/sign-in", get(show).post(sign_in)).route("/sign-out", post(sign_out))
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn<'p> {
    version: &'static str,
    theme: &'static str,
    /// The secret of a link that signs in.
    link: &'p str,
    /// Where to go afterwards.
    next: &'p str,
    fault: Option<&'p Problem>,
    sandbox: bool,
}

async fn show(State(app): State<Shared>, headers: HeaderMap, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    if fields.text("token").is_empty() && session::find(&app, &headers, true).await?.is_some() {
        return see_other("/");
    }
    page(&SignIn {
        version: assets::version(),
        theme: frame::theme_of(&headers),
        link: fields.text("token"),
        next: fields.text("next"),
        fault: None,
        sandbox: app.sandbox.is_some(),
    })
}

async fn sign_in(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Sent(fields): Sent,
) -> Page {
    let refused = |problem: Problem| -> Page {
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::UNAUTHORIZED);
        let retry_after = problem.retry_after_seconds();
        let shown = page(&SignIn {
            version: assets::version(),
            theme: frame::theme_of(&headers),
            link: "",
            next: fields.text("next"),
            fault: Some(&problem),
            sandbox: app.sandbox.is_some(),
        })?;
        let mut response: Response = (status, shown).into_response();
        *response.status_mut() = status;
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        Ok(response)
    };
    if !guard::is_own_form(&headers) {
        return refused(Problem::csrf());
    }
    let address = peer.map(|Extension(Peer(peer))| peer.ip().to_canonical());
    let now = app.wall.now();
    // Links and keys that Punctual made cannot be guessed, so that nobody is locked out by somebody else's failures;
    // a text that an operator chose can.
    let is_guessable = fields.text("link").is_empty() && !is_well_formed(fields.text("key"));
    if let Some(seconds) = app.slow_down.wait(address, now).filter(|_| is_guessable) {
        return refused(Problem::rate_limited(seconds));
    }
    let found = match fields.text("link") {
        "" => app.engine.good_key(now, fields.text("key")).await?,
        link => app.engine.use_sign_in_link(now, link).await?,
    };
    let key = match found {
        Some(key) => key,
        None => {
            app.slow_down.failed(address, now);
            tracing::warn!(address = ?address, "a sign-in to the console failed");
            return refused(Problem::auth_failed());
        }
    };
    if let Err(problem) = session::may_look(&key.scopes) {
        return refused(problem);
    }
    let secret = app.engine.start_session(now, &key, cookies::session(&headers)).await?;
    let next = Some(fields.text("next")).filter(|next| links::is_own_path(next)).unwrap_or("/");
    let mut response = see_other(next)?;
    if let Some(cookie) = cookies::set_session(&headers, &secret) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

async fn sign_out(State(app): State<Shared>, headers: HeaderMap, _form: Signed) -> Page {
    if let Some(secret) = cookies::session(&headers) {
        app.engine.end_session(secret).await?;
    }
    let mut response = see_other("/sign-in")?;
    if let Some(cookie) = cookies::clear_session(&headers) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
