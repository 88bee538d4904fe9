//! Sessions: who looks at a page, with the rights of the key that signed in, as it is stored at this moment.
//!
//! The cookie has 256 random bits and the table has their hash. A session ends when it was not used for half an hour,
//! after twelve hours, at sign-out, or with its key.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use jiff::{SignedDuration, Timestamp};
use punctual_api::{RouteReach, secret_hash};
use punctual_model::Random;
use punctual_store::{Lane, StoreError, api_keys, audit, sessions};
use punctual_wire::{Problem, keys::Scope};

use crate::{App, Shared, answer::Refusal, cookies, links};

const IDLE: SignedDuration = SignedDuration::from_mins(30);
const ABSOLUTE: SignedDuration = SignedDuration::from_hours(12);
/// How often the last use is written down at most.
const TOUCH_EVERY: SignedDuration = SignedDuration::from_mins(1);
/// Set by the script on requests that nobody made: they show what is new and keep no session alive.
pub const LIVE_HEADER: &str = "x-punctual-live";

/// Who looks.
#[derive(Clone, Debug)]
pub struct Viewer {
    pub name: String,
    scopes: Vec<Scope>,
    /// The business units the key is limited to.
    pub units: Option<Vec<String>>,
    /// What every form of this session carries.
    pub token: String,
}

impl Viewer {
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    pub fn may_act(&self) -> bool {
        self.has(Scope::Operate)
    }

    /// Whether they may change channels, and so try one out.
    pub fn may_define(&self) -> bool {
        self.has(Scope::Admin) && self.sees_all()
    }

    /// Whether they may change definitions.
    pub fn may_author(&self) -> bool {
        self.has(Scope::Author)
    }

    /// Whether figures of the whole installation are for them.
    pub fn sees_all(&self) -> bool {
        self.units.is_none()
    }

    /// Rows of their units, and those that belong to none.
    pub fn may_see(&self, unit: Option<&str>) -> bool {
        unit.is_none() || self.may_touch(unit)
    }

    /// Only rows of their units.
    pub fn may_touch(&self, unit: Option<&str>) -> bool {
        match &self.units {
            None => true,
            Some(units) => unit.is_some_and(|unit| units.iter().any(|own| own == unit)),
        }
    }

    /// Who it is, for the audit; the same as for the key itself.
    pub fn actor(&self) -> String {
        format!("key:{}", self.name)
    }
}

impl FromRequestParts<Shared> for Viewer {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Response> {
        let refused = |problem: Problem| Refusal::from(problem).into_response();
        let reach = RouteReach::of(&parts.extensions).map_err(refused)?;
        let seen = parts.headers.contains_key(LIVE_HEADER);
        match find(app, &parts.headers, !seen).await {
            Ok(Some(viewer)) => {
                reach.admit(viewer.units.as_deref()).map_err(refused)?;
                Ok(viewer)
            }
            Ok(None) if seen => Err(StatusCode::UNAUTHORIZED.into_response()),
            Ok(None) => Err(to_sign_in(parts)),
            Err(refusal) => Err(refusal.into_response()),
        }
    }
}

/// The sign-in page, which leads back to where they wanted to go.
fn to_sign_in(parts: &Parts) -> Response {
    let wanted = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let place = if parts.method == axum::http::Method::GET && wanted != "/" {
        format!("/sign-in?next={}", links::encoded(wanted))
    } else {
        "/sign-in".to_owned()
    };
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}

/// The viewer of a request, if its session and its key are good.
pub async fn find(app: &Arc<App>, headers: &HeaderMap, is_use: bool) -> Result<Option<Viewer>, Refusal> {
    let Some(secret) = cookies::session(headers) else { return Ok(None) };
    let (hash, now) = (secret_hash(secret), app.wall.now());
    let mut reader = app.engine.store.read().await?;
    let row = sessions::by_hash(&mut reader.conn(), &hash).await?;
    drop(reader);
    let Some(row) = row else { return Ok(None) };
    let used = Timestamp::from_microsecond(row.last_used_at).unwrap_or(Timestamp::MIN);
    let over = |at: Option<i64>| at.is_some_and(|at| at <= now.as_microsecond());
    if row.key_revoked_at.is_some()
        || over(row.key_expires_at)
        || over(Some(row.expires_at))
        || now.duration_since(used) >= IDLE
    {
        return Ok(None);
    }
    if is_use && now.duration_since(used) >= TOUCH_EVERY {
        let mut tx = app.engine.store.begin(Lane::Intake).await?;
        sessions::touch(&mut tx.conn(), now, &hash).await?;
        tx.commit().await?;
    }
    let viewer = Viewer {
        name: row.key_name,
        scopes: scopes(&row.scopes),
        units: row.business_units.as_deref().map(|text| serde_json::from_str(text).unwrap_or_default()),
        token: token(secret),
    };
    // A key may lose the right to read while its session lives.
    Ok(Some(viewer).filter(|viewer| viewer.has(Scope::Read)))
}

/// What forms carry: bound to the session, and of no use without its cookie.
fn token(secret: &str) -> String {
    secret_hash(&format!("form:{secret}"))
}

fn scopes(text: &str) -> Vec<Scope> {
    text.split(' ').filter_map(Scope::parse).collect()
}

/// Whether a key with these scopes may look at the console.
pub fn may_look(scopes_text: &str) -> Result<(), Problem> {
    let found = scopes(scopes_text);
    if found.contains(&Scope::Read) || found.contains(&Scope::Admin) {
        return Ok(());
    }
    Err(Problem::scope_missing(Scope::Read.as_str()))
}

/// Starts a session for a key, with its entry in the audit; the secret for the cookie.
pub async fn start(app: &App, key: &api_keys::ApiKeyRow) -> Result<String, StoreError> {
    let secret = secret(app.engine.random.as_ref());
    let now = app.wall.now();
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    sessions::forget(&mut tx.conn(), now).await?;
    sessions::insert(&mut tx.conn(), now, &secret_hash(&secret), &key.id, now + ABSOLUTE).await?;
    let entry = audit::Entry {
        actor: format!("key:{}", key.name),
        action: "sign-in",
        subject_kind: "key",
        subject_id: key.id.clone(),
        ..Default::default()
    };
    audit::append(&mut tx.conn(), now, &[entry]).await?;
    tx.commit().await?;
    Ok(secret)
}

/// Ends the session of a request.
pub async fn end(app: &App, headers: &HeaderMap) -> Result<(), StoreError> {
    let Some(secret) = cookies::session(headers) else { return Ok(()) };
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    sessions::delete(&mut tx.conn(), &secret_hash(secret)).await?;
    tx.commit().await
}

/// 256 random bits, in letters that a cookie and an address can carry.
pub fn secret(random: &dyn Random) -> String {
    let mut bytes = [0; 32];
    random.bytes(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
