//! Signing in with a password, a key or a link that works once, and signing out. With a provider: `sign_on.rs`.
//!
//! A link is used up by a form and not by opening it: programs that look at links in passing must not spend it.

use std::net::IpAddr;

use askama::Template;
use axum::{
    Extension, Router,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode, Uri, header},
    response::Response,
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_engine::{
    Peer,
    commands::{SigningIn, normal_email},
    keys::is_well_formed,
};
use punctual_model::Secret;
use punctual_store::users;
use punctual_wire::{Code, Problem};

use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    assets, cookies, device,
    form::{Fields, Sent, Signed},
    frame, guard,
    kept::{self, Kept},
    links, session,
};

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/sign-in", get(show).post(sign_in))
        .route("/sign-out", post(sign_out))
        .merge(kept::routes())
        .layer(DefaultBodyLimit::max(kept::FORM))
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
    /// There are people with accounts: most sign in with a password, and a key is for emergencies.
    has_people: bool,
    /// What was entered stays.
    email: &'p str,
    /// The same as parameters of an address.
    with_next: String,
    /// What the provider is called that people sign in with.
    provider: Option<&'p str>,
    /// They have just signed out here, and may want to there.
    is_out: bool,
    fault: Option<&'p Problem>,
    /// A form that was sent without a session.
    kept: Option<Kept>,
    sandbox: bool,
}

impl SignIn<'_> {
    /// What every form of the page carries along.
    fn along(&self) -> Vec<(String, &str)> {
        self.kept.as_ref().map(Kept::hidden).unwrap_or_default()
    }
}

async fn show(State(app): State<Shared>, headers: HeaderMap, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    if fields.text("token").is_empty() && session::find(&app, &headers, true).await?.is_some() {
        return see_other("/");
    }
    shown(&app, &headers, &fields, None, None).await
}

/// The page in answer to a form without a session: why, and the form itself where it is carried along.
pub async fn asked_again(app: &App, headers: &HeaderMap, kept: Option<Kept>, why: &'static str) -> Page {
    let ended = Problem { title: "Please sign in".into(), ..Problem::new(Code::AuthFailed, why) };
    shown(app, headers, &Fields::read(b""), Some(&ended), kept).await
}

async fn shown(
    app: &App,
    headers: &HeaderMap,
    fields: &Fields,
    fault: Option<&Problem>,
    kept: Option<Kept>,
) -> Page {
    let mut reader = app.engine.store.read_for_people().await?;
    let has_people = !users::page(&mut reader.conn(), "", 1).await?.is_empty();
    drop(reader);
    let sign_on = app.sign_on.current(&app.engine).await?;
    page(&SignIn {
        version: assets::version(),
        theme: frame::theme_of(headers),
        link: fields.text("token"),
        next: fields.text("next"),
        has_people,
        email: fields.text("email"),
        with_next: links::query([("next", fields.text("next"))]),
        provider: sign_on.as_deref().map(|sign_on| sign_on.provider.name()),
        is_out: sign_on.is_some() && !fields.text("out").is_empty(),
        fault,
        kept: kept.or_else(|| Kept::read(fields)),
        sandbox: app.sandbox.is_some(),
    })
}

pub async fn refused(app: &App, headers: &HeaderMap, fields: &Fields, problem: Problem) -> Page {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::UNAUTHORIZED);
    let mut response: Response = shown(app, headers, fields, Some(&problem), None).await?;
    *response.status_mut() = status;
    if let Some(seconds) = problem.retry_after_seconds() {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    Ok(response)
}

async fn sign_in(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Sent(fields): Sent,
) -> Page {
    if !guard::is_own_form(&headers) {
        return refused(&app, &headers, &fields, Problem::csrf()).await;
    }
    let address = peer.map(|Extension(Peer(peer))| peer.ip().to_canonical());
    let now = app.wall.now();
    let signed_in = if fields.text("email").is_empty() {
        with_key(&app, &headers, &fields, address, now).await?
    } else {
        with_password(&app, &headers, &fields, address, now).await?
    };
    match signed_in {
        Ok(secret) => {
            let next = Some(fields.text("next")).filter(|next| links::is_own_path(next)).unwrap_or("/");
            let answer = match Kept::read(&fields) {
                Some(kept) => {
                    let token = session::first_token(&secret, app.engine.random.as_ref());
                    kept::shown(&headers, token, &kept)?
                }
                None => see_other(next)?,
            };
            with_session(&headers, &secret, answer)
        }
        Err(problem) => {
            if problem.code == Code::AuthFailed {
                tracing::warn!(address = ?address, "a sign-in to the console failed");
            }
            refused(&app, &headers, &fields, problem).await
        }
    }
}

/// The answer, with the cookie of a new session.
pub fn with_session(headers: &HeaderMap, secret: &str, mut response: Response) -> Page {
    if let Some(cookie) = cookies::set_session(headers, secret) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The secret of a new session, or why there is none.
type SessionSecret = Result<Result<String, Problem>, Refusal>;

async fn with_password(
    app: &App,
    headers: &HeaderMap,
    fields: &Fields,
    address: Option<IpAddr>,
    now: Timestamp,
) -> SessionSecret {
    let account = normal_email(fields.text("email"));
    if let Err(seconds) = app.slow_down.attempt(address, &account, now) {
        return Ok(Err(Problem::rate_limited(seconds)));
    }
    let password = Secret::new(fields.text("password"));
    let Some(user) = app.engine.user_with_password(&account, &password).await? else {
        // One sentence, whatever is wrong: nobody learns here who has an account.
        let detail = "The email or the password is wrong, or the account is not active.";
        return Ok(Err(Problem::new(Code::AuthFailed, detail)));
    };
    app.slow_down.succeeded(address, &account, now);
    let (before, device) = (cookies::session(headers), device::of(headers));
    Ok(Ok(app.engine.start_session(now, SigningIn::User(&user), before, Some(&device)).await?))
}

async fn with_key(
    app: &App,
    headers: &HeaderMap,
    fields: &Fields,
    address: Option<IpAddr>,
    now: Timestamp,
) -> SessionSecret {
    // Links and keys that Punctual made cannot be guessed, so that nobody is locked out by somebody else's failures;
    // a text that an operator chose can.
    let is_guessable = fields.text("link").is_empty() && !is_well_formed(fields.text("key"));
    if let Some(seconds) = app.slow_down.wait(address, now).filter(|_| is_guessable) {
        return Ok(Err(Problem::rate_limited(seconds)));
    }
    let found = match fields.text("link") {
        "" => app.engine.good_key(now, fields.text("key")).await?,
        link => app.engine.use_sign_in_link(now, link).await?,
    };
    let Some(key) = found else {
        app.slow_down.failed(address, now);
        return Ok(Err(Problem::auth_failed()));
    };
    if let Err(problem) = session::may_look(&key.scopes) {
        return Ok(Err(problem));
    }
    let (before, device) = (cookies::session(headers), device::of(headers));
    let secret = app.engine.start_session(now, SigningIn::Key(&key), before, Some(&device)).await?;
    // A link needs no key; whoever typed one uses it, and the list of keys says so.
    if fields.text("link").is_empty() {
        app.engine.touch_key(now, &key.id).await?;
    }
    Ok(Ok(secret))
}

async fn sign_out(State(app): State<Shared>, headers: HeaderMap, _form: Signed) -> Page {
    if let Some(secret) = cookies::session(&headers) {
        app.engine.end_session(secret).await?;
    }
    let with_provider = app.sign_on.current(&app.engine).await?.is_some();
    let mut response = see_other(if with_provider { "/sign-in?out=1" } else { "/sign-in" })?;
    if let Some(cookie) = cookies::clear_session(&headers) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
