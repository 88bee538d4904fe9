//! The page behind the link of an invitation: somebody sets their password, once, and is signed in.
//!
//! The link is used up by the form and not by opening it: programs that look at links in passing must not spend it.

use std::net::IpAddr;

use askama::Template;
use axum::{
    Extension, Router,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::Response,
    routing::get,
};
use punctual_engine::{CommandError, Peer, commands::SigningIn, passwords};
use punctual_model::Secret;
use punctual_wire::Problem;

use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    assets, cookies, device,
    form::{Fields, Sent},
    frame, guard,
    sign_in::with_session,
    words,
};

pub fn routes() -> Router<Shared> {
    Router::new().route("/invitation", get(show).post(accept))
}

#[derive(Template)]
#[template(path = "invitation.html")]
struct InvitationPage<'p> {
    version: &'static str,
    theme: &'static str,
    sandbox: bool,
    link: &'p str,
    /// Whose link it is; nobody's where it is not good (any more).
    email: Option<&'p str>,
    shortest: usize,
    fault: Option<&'p str>,
}

async fn show(State(app): State<Shared>, headers: HeaderMap, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    shown(&app, &headers, fields.text("token"), None).await
}

async fn shown(app: &App, headers: &HeaderMap, link: &str, fault: Option<&str>) -> Page {
    let user = app.engine.invited(app.wall.now(), link).await?;
    let shown = page(&InvitationPage {
        version: assets::version(),
        theme: frame::theme_of(headers),
        sandbox: app.sandbox.is_some(),
        link,
        email: user.as_ref().map(|user| user.email.as_str()),
        shortest: passwords::SHORTEST,
        fault,
    })?;
    let status = match (&user, fault) {
        (None, _) => StatusCode::NOT_FOUND,
        (Some(_), Some(_)) => StatusCode::UNPROCESSABLE_ENTITY,
        (Some(_), None) => StatusCode::OK,
    };
    Ok(with_status(shown, status))
}

fn with_status(mut response: Response, status: StatusCode) -> Response {
    *response.status_mut() = status;
    response
}

async fn accept(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Sent(fields): Sent,
) -> Page {
    if !guard::is_own_form(&headers) {
        return Err(Problem::csrf().into());
    }
    let address: Option<IpAddr> = peer.map(|Extension(Peer(peer))| peer.ip().to_canonical());
    let now = app.wall.now();
    let (link, password) = (fields.text("link"), fields.text("password"));
    if app.engine.invited(now, link).await?.is_none() {
        app.slow_down.failed(address, now);
        return shown(&app, &headers, link, None).await;
    }
    if password != fields.text("again") {
        return shown(&app, &headers, link, Some("The two passwords differ.")).await;
    }
    let user = match app.engine.accept_invitation(now, link, &Secret::new(password)).await {
        Ok(Some(user)) => user,
        Ok(None) => return shown(&app, &headers, link, None).await,
        Err(CommandError::Invalid(faults)) => {
            let said = faults.first().map(|fault| words::said(&fault.pointer, &fault.detail));
            return shown(&app, &headers, link, said.as_deref()).await;
        }
        Err(error) => return Err(Refusal::from(error)),
    };
    let (before, device) = (cookies::session(&headers), device::of(&headers));
    let secret = app.engine.start_session(now, SigningIn::User(&user), before, Some(&device)).await?;
    with_session(&headers, &secret, see_other("/")?)
}
