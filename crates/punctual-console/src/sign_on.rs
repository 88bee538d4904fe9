//! Signing in with a provider: off to it, and back with its answer.
//!
//! Nothing is stored when somebody leaves. One secret in a cookie stands for the request: what goes to the provider
//! (state, nonce, challenge) follows from it, so that an answer fits this browser and this request or none. An answer is
//! used once, which the database sees to.
//!
//! The cookie of a session is not sent on a way that began at another site. So the answer is a page of ours that goes on
//! by itself, and not a redirect; and people leave by a link, because forms may lead to this server alone.

use std::sync::Arc;

use askama::Template;
use axum::{
    Extension, Router,
    extract::State,
    http::{HeaderMap, HeaderValue, Uri, header},
    response::Response,
    routing::get,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{
    Peer,
    commands::{SignOn, SignedOn, SigningIn},
    keys::{digest, hex, secret_hash},
};
use punctual_model::{Secret, SignOnAnswer, SignOnFault, SignOnRequest};
use punctual_wire::{Code, Problem};
use subtle::ConstantTimeEq;

use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    assets, cookies, device,
    form::Fields,
    frame, links,
    sign_in::{refused, with_session},
};

/// Where the provider sends people back to.
const ANSWER: &str = "/sign-in/answer";
/// How long somebody may take at the provider.
const LASTS: SignedDuration = SignedDuration::from_mins(15);

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/sign-in/with", get(start))
        .route("/sign-in/answer", get(finish))
        .route("/sign-in/leave", get(leave))
}

/// A request that somebody is away with: what the cookie holds.
struct Request {
    secret: String,
    began: Timestamp,
    next: String,
}

impl Request {
    fn read(cookie: &str) -> Option<Self> {
        let mut parts = cookie.splitn(3, '.');
        let (secret, began, next) = (parts.next()?, parts.next()?, parts.next()?);
        let began = Timestamp::from_microsecond(began.parse().ok()?).ok()?;
        let next = URL_SAFE_NO_PAD.decode(next).ok().and_then(|bytes| String::from_utf8(bytes).ok())?;
        (secret.len() == 64).then(|| Self { secret: secret.to_owned(), began, next })
    }

    fn cookie(&self) -> String {
        let next = URL_SAFE_NO_PAD.encode(&self.next);
        format!("{}.{}.{next}", self.secret, self.began.as_microsecond())
    }

    /// A value that goes to the provider. The moment is in it, so that nobody makes an old request young.
    fn derived(&self, purpose: &str) -> String {
        secret_hash(&format!("{purpose}:{}:{}", self.secret, self.began.as_microsecond()))
    }

    fn verifier(&self) -> String {
        self.derived("verifier")
    }

    fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(self.verifier().as_bytes()))
    }
}

async fn configured(app: &App) -> Result<Arc<SignOn>, Refusal> {
    app.sign_on.current(&app.engine).await?.ok_or_else(|| Problem::not_found("single sign-on", "").into())
}

fn redirect_uri(app: &App) -> String {
    format!("{}{ANSWER}", app.engine.public_address())
}

/// Off to the provider.
async fn start(State(app): State<Shared>, headers: HeaderMap, uri: Uri) -> Page {
    let sign_on = configured(&app).await?;
    let fields = Fields::of_query(&uri);
    let mut bytes = [0; 32];
    app.engine.random.bytes(&mut bytes);
    let next = Some(fields.text("next")).filter(|next| links::is_own_path(next)).unwrap_or("/").to_owned();
    let request = Request { secret: hex(&bytes), began: app.wall.now(), next };
    let asked = SignOnRequest {
        state: request.derived("state"),
        nonce: request.derived("nonce"),
        challenge: request.challenge(),
        redirect_uri: redirect_uri(&app),
    };
    match sign_on.provider.start(asked).await {
        Ok(address) => {
            let mut response = see_other(&address)?;
            let cookie = cookies::set_sign_on(&headers, &request.cookie(), LASTS.as_secs());
            append(&mut response, cookie);
            Ok(response)
        }
        Err(fault) => failed(&app, &headers, &fields, &fault).await,
    }
}

/// Back from the provider.
async fn finish(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    uri: Uri,
) -> Page {
    let sign_on = configured(&app).await?;
    let fields = Fields::of_query(&uri);
    // Each answer that fails costs a row and calls to the provider, and anybody can make some up.
    let address = peer.map(|Extension(Peer(peer))| peer.ip().to_canonical());
    if let Some(seconds) = app.slow_down.wait(address, app.wall.now()) {
        return refused(&app, &headers, &fields, Problem::rate_limited(seconds)).await;
    }
    let mut response = match answered(&app, &sign_on, &headers, &fields).await? {
        Ok((user, next)) => {
            let device = device::of(&headers);
            let who = SigningIn::User(&user);
            let before = cookies::session(&headers);
            let secret = app.engine.start_session(app.wall.now(), who, before, Some(&device)).await?;
            let shown = page(&SignedInPage {
                version: assets::version(),
                theme: frame::theme_of(&headers),
                next: &next,
            })?;
            with_session(&headers, &secret, shown)?
        }
        Err(fault) => {
            app.slow_down.failed(address, app.wall.now());
            failed(&app, &headers, &fields, &fault).await?
        }
    };
    // Whatever came of it, this request is over.
    append(&mut response, cookies::set_sign_on(&headers, "", 0));
    Ok(response)
}

#[derive(Template)]
#[template(path = "signed_in.html")]
struct SignedInPage<'p> {
    version: &'static str,
    theme: &'static str,
    next: &'p str,
}

type Answered = Result<(punctual_store::users::UserRow, String), SignOnFault>;

async fn answered(
    app: &App,
    sign_on: &SignOn,
    headers: &HeaderMap,
    fields: &Fields,
) -> Result<Answered, Refusal> {
    let no = |why: &str| Ok(Err(SignOnFault::Refused(why.to_owned())));
    let now = app.wall.now();
    let Some(request) = cookies::sign_on(headers).and_then(Request::read) else {
        return no("this browser asked for nothing");
    };
    let state = request.derived("state");
    if !bool::from(state.as_bytes().ct_eq(fields.text("state").as_bytes())) {
        return no("the state is of another request");
    }
    // The moment comes from the browser: one far in the future is no reason to add to it.
    let until = request.began.checked_add(LASTS).unwrap_or(Timestamp::MAX);
    if until <= now || request.began > now {
        return no("it took too long");
    }
    // RFC 9207: which provider answers, where it says so.
    if !matches!(fields.text("iss"), "") && fields.text("iss") != sign_on.provider.issuer() {
        return no("another provider answers");
    }
    if !fields.text("error").is_empty() {
        return no(&format!("the provider says {}", fields.text("error").escape_default()));
    }
    if fields.text("code").is_empty() {
        return no("it has no code");
    }
    if !app.engine.use_sign_on_answer(now, &state, until).await? {
        return no("it was used before");
    }
    let answer = SignOnAnswer {
        code: Secret::new(fields.text("code")),
        verifier: Secret::new(request.verifier()),
        nonce: request.derived("nonce"),
        redirect_uri: redirect_uri(app),
        now,
    };
    let identity = match sign_on.provider.finish(answer).await {
        Ok(identity) => identity,
        Err(fault) => return Ok(Err(fault)),
    };
    match app.engine.sign_on(now, sign_on, &identity).await? {
        SignedOn::User(user) => Ok(Ok((*user, request.next))),
        SignedOn::Refused(why) => no(why),
    }
}

/// The sign-in page again. The log says why; the page says only that it did not work.
async fn failed(app: &App, headers: &HeaderMap, fields: &Fields, fault: &SignOnFault) -> Page {
    tracing::warn!(%fault, "a single sign-on failed");
    let problem = match fault {
        SignOnFault::Unreachable(_) => Problem::new(
            Code::AuthFailed,
            "The provider of the single sign-on does not answer; try again later.",
        ),
        SignOnFault::Refused(_) => Problem::new(
            Code::AuthFailed,
            "The single sign-on gave no access. Try again, or ask an administrator whether your account may.",
        ),
    };
    refused(app, headers, fields, problem).await
}

/// Signs out at the provider too. People come here by a link after they have signed out.
async fn leave(State(app): State<Shared>, headers: HeaderMap, uri: Uri) -> Page {
    let sign_on = configured(&app).await?;
    let back = format!("{}/sign-in", app.engine.public_address());
    match sign_on.provider.sign_out(&back).await {
        Ok(Some(address)) => see_other(&address),
        Ok(None) => see_other("/sign-in"),
        Err(fault) => failed(&app, &headers, &Fields::of_query(&uri), &fault).await,
    }
}

fn append(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}
