//! Sessions: who views a page, with the rights of the key or the account that signed in, as it is stored at this moment.
//!
//! How long a session lasts is the engine's rule; here it is found by its cookie.

use std::sync::Arc;

use axum::{
    Extension,
    extract::FromRequestParts,
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use punctual_engine::{Actor, commands::SignedIn, keys::digest};
use punctual_model::Random;
use punctual_store::sessions::Owner;
use punctual_wire::{Problem, RouteReach, keys::Scope};
use subtle::ConstantTimeEq;

use crate::{App, Shared, answer::Refusal, cookies, links};

/// Set by the script on requests that nobody made: they show what is new and keep no session alive.
pub const LIVE_HEADER: &str = "x-punctual-live";

/// Who looks.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// The name of the key, or the email of the person: messages for the inbox are addressed to it.
    pub name: String,
    /// What people call them.
    pub shown: String,
    /// Whose session it is.
    pub owner: Owner,
    /// Who it is as far as commands are concerned; the same as for the key itself.
    pub by: Actor,
    scopes: Vec<Scope>,
    /// What every form of this session carries, in one of its many spellings.
    token: Token,
}

type Token = [u8; 32];

impl Viewer {
    /// The token for the forms of one page. It is hidden under random bytes, so that it looks different in each page and
    /// the length of a compressed one reveals nothing about it.
    pub fn form_token(&self, random: &dyn Random) -> String {
        hidden(self.token, random)
    }

    /// Whether a form carries the token of this session.
    pub fn has_token(&self, given: &str) -> bool {
        let Ok(mut bytes) = BASE64_URL_SAFE_NO_PAD.decode(given) else { return false };
        if bytes.len() != 64 {
            return false;
        }
        let (mask, hidden) = bytes.split_at_mut(32);
        hidden.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= *mask);
        (*hidden).ct_eq(&self.token[..]).into()
    }

    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    pub fn may_act(&self) -> bool {
        self.has(Scope::Operate)
    }

    /// Whether they may change what concerns the installation: channels, keys, people.
    pub fn may_define(&self) -> bool {
        self.has(Scope::Admin) && self.sees_all()
    }

    /// Whether they may change definitions.
    pub fn may_author(&self) -> bool {
        self.has(Scope::Author)
    }

    /// The business unit that something new gets: the one given, else the first that they are limited to.
    pub fn unit_or_first(&self, given: &str) -> Option<String> {
        match given {
            "" => self.by.units.as_ref().and_then(|units| units.first().cloned()),
            given => Some(given.to_owned()),
        }
    }

    /// Whether figures of the whole installation are for them.
    pub fn sees_all(&self) -> bool {
        self.by.units.is_none()
    }
}

impl FromRequestParts<Shared> for Viewer {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Response> {
        let refused = |problem: Problem| Refusal::from(problem).into_response();
        let reach = RouteReach::declared(parts.extensions.get())
            .inspect_err(|_| tracing::error!("a route has no reach; it is not in the table of routes"))
            .map_err(refused)?;
        let seen = parts.headers.contains_key(LIVE_HEADER);
        match find(app, &parts.headers, !seen).await {
            Ok(Some(viewer)) => {
                reach.admit(viewer.by.units.as_deref()).map_err(refused)?;
                Ok(viewer)
            }
            Ok(None) if seen => Err(StatusCode::UNAUTHORIZED.into_response()),
            Ok(None) => Err(to_sign_in(parts)),
            Err(refusal) => Err(refusal.into_response()),
        }
    }
}

/// In an answer that leads to the sign-in: there is no session, or none any more.
#[derive(Clone, Copy)]
pub struct Ended;

/// The sign-in page, which leads back to where they wanted to go.
fn to_sign_in(parts: &Parts) -> Response {
    let wanted = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let place = if parts.method == axum::http::Method::GET && wanted != "/" {
        format!("/sign-in?next={}", links::encoded(wanted))
    } else {
        "/sign-in".to_owned()
    };
    (StatusCode::SEE_OTHER, Extension(Ended), [(header::LOCATION, place)]).into_response()
}

fn hidden(token: Token, random: &dyn Random) -> String {
    let mut bytes = [0; 64];
    random.bytes(&mut bytes);
    let (mask, hidden) = bytes.split_at_mut(32);
    hidden.copy_from_slice(&token);
    hidden.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= *mask);
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// What the forms of a session carry that has only just begun.
pub fn first_token(secret: &str, random: &dyn Random) -> String {
    hidden(token(secret), random)
}

/// The viewer of a request, if its session and its key or account are good.
pub async fn find(app: &Arc<App>, headers: &HeaderMap, is_use: bool) -> Result<Option<Viewer>, Refusal> {
    let Some(secret) = cookies::session(headers) else { return Ok(None) };
    let signed_in = app.engine.session(app.wall.now(), secret, is_use).await?;
    let Some(SignedIn { owner, name, shown, by, scopes }) = signed_in else { return Ok(None) };
    let viewer = Viewer { name, shown, owner, by, scopes, token: token(secret) };
    // A key may lose the right to read while its session lives.
    Ok(Some(viewer).filter(|viewer| viewer.has(Scope::Read)))
}

/// What forms carry: bound to the session, and of no use without its cookie.
fn token(secret: &str) -> Token {
    digest(format!("form:{secret}").as_bytes())
}

/// Whether a key with these scopes may look at the console.
pub fn may_look(scopes_text: &str) -> Result<(), Problem> {
    let found = Scope::read_all(scopes_text);
    if found.contains(&Scope::Read) || found.contains(&Scope::Admin) {
        return Ok(());
    }
    Err(Problem::scope_missing(Scope::Read.as_str()))
}
