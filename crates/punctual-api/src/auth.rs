//! Authentication: Bearer keys, their scopes, and the business units they are limited to.
//!
//! A handler gets its caller only through a type that checks the scope in its signature and the reach of its route
//! (`RouteReach`).
//!
//! A key is found by the SHA-256 of its whole text. What was found is kept for at most five seconds, so that a key
//! revoked on any node is refused on every node within that time.

use std::{
    collections::HashMap,
    marker::PhantomData,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::{HeaderMap, header, request::Parts},
};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{
    Actor, OwnUnit, Peer, Units,
    keys::{hex, is_well_formed},
};
use punctual_store::api_keys;
use punctual_wire::{Code, Problem, RouteReach, keys::Scope};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{App, Shared, answer::Failure};

/// How long a key that was found is used without looking again.
const FRESH_FOR: SignedDuration = SignedDuration::from_secs(5);
/// How often the last use of a key is written down at most.
const TOUCH_EVERY: SignedDuration = SignedDuration::from_mins(1);
/// Keys that are remembered; more than any installation has live at once.
const REMEMBERED: usize = 10_000;

/// Who calls: a valid key with its rights.
pub struct Principal {
    pub id: String,
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Who it is as far as commands are concerned.
    pub by: Actor,
    /// The site whose token it is.
    pub site: Option<String>,
    expires_at: Option<Timestamp>,
}

type Hash = [u8; 32];

/// The keys seen in the last seconds.
#[derive(Default)]
pub struct KeyCache(Mutex<HashMap<Hash, Seen>>);

struct Seen {
    key: Arc<Principal>,
    read_at: Timestamp,
    touched_at: Option<Timestamp>,
}

impl KeyCache {
    /// The next request with any key reads the table again.
    pub fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Hash, Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self, hash: &Hash, now: Timestamp) -> Option<Arc<Principal>> {
        let seen = self.lock();
        let seen = seen.get(hash)?;
        let age = now.duration_since(seen.read_at);
        (!age.is_negative() && age < FRESH_FOR).then(|| seen.key.clone())
    }

    /// Keeps what was read; true when its use is to be written down.
    fn keep(&self, hash: Hash, key: Arc<Principal>, now: Timestamp) -> bool {
        let mut known = self.lock();
        let touched_at = known.get(&hash).and_then(|seen| seen.touched_at);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        let touch = touched_at.is_none_or(|at| now.duration_since(at) >= TOUCH_EVERY);
        let touched_at = if touch { Some(now) } else { touched_at };
        known.insert(hash, Seen { key, read_at: now, touched_at });
        touch
    }
}

/// The caller of a route that needs the scope `S`.
pub struct Caller<S>(Arc<Principal>, PhantomData<S>);

impl<S> Deref for Caller<S> {
    type Target = Principal;
    fn deref(&self) -> &Principal {
        &self.0
    }
}

/// Scopes as a type, so that a route says in its signature what it needs: any of these.
pub trait Needed: Send + Sync {
    const SCOPES: &'static [Scope];
}

macro_rules! needed {
    ($($name:ident: $($scope:ident)|+;)*) => { $(
        pub struct $name;
        impl Needed for $name {
            const SCOPES: &'static [Scope] = &[$(Scope::$scope),+];
        }
    )* };
}
needed! {
    Admin: Admin;
    Operate: Operate;
    Author: Author;
    Ingest: Ingest;
    Read: Read;
    SendNow: Ingest | Send;
    SendLater: Author | Send;
    // Whoever may only send sees what keys of the same client sent.
    ReadSent: Read | Send;
}

impl<S: Needed> FromRequestParts<Shared> for Caller<S> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Failure> {
        let reach = RouteReach::declared(parts.extensions.get())
            .inspect_err(|_| tracing::error!("a route has no reach; it is not in the table of routes"))?;
        let key = authenticate(app, peer(parts), &parts.headers).await?;
        key.need_any(S::SCOPES)?;
        reach.admit(key.by.units.as_deref())?;
        Ok(Self(key, PhantomData))
    }
}

/// The site that calls, by its token and never by what the request says.
pub struct SiteCaller(pub String);

impl FromRequestParts<Shared> for SiteCaller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Failure> {
        let key = authenticate(app, peer(parts), &parts.headers).await?;
        key.need(Scope::Site)?;
        let named = RawPathParams::from_request_parts(parts, app).await.ok();
        let named = named.as_ref().and_then(|path| {
            path.iter().find_map(|(name, value)| (name == "site").then(|| value.to_owned()))
        });
        match (&key.site, named) {
            (Some(own), Some(named)) if *own != named => Err(Problem::site_mismatch(&named).into()),
            (Some(own), _) => Ok(Self(own.clone())),
            (None, _) => {
                let detail = "The key belongs to no site; `POST /api/v1/sites` makes the token of one.";
                Err(Problem::new(Code::NotFound, detail).into())
            }
        }
    }
}

/// Where a request comes from, as far as is known.
fn peer(parts: &Parts) -> Option<Peer> {
    parts.extensions.get().copied()
}

/// The key of a request, or one and the same refusal. Guessing at a text that an operator chose is slowed down; keys
/// that Punctual made cannot be guessed.
pub async fn authenticate(
    app: &App,
    peer: Option<Peer>,
    headers: &HeaderMap,
) -> Result<Arc<Principal>, Failure> {
    let refused = || Failure::from(Problem::auth_failed());
    let text =
        headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).ok_or_else(refused)?;
    let (scheme, key) = text.split_once(' ').ok_or_else(refused)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(refused());
    }
    let hash: Hash = Sha256::digest(key.trim().as_bytes()).into();
    let now = app.wall.now();
    let key = match app.keys.fresh(&hash, now) {
        Some(key) => key,
        None => {
            let address = peer.map(|Peer(peer)| peer.ip().to_canonical());
            let is_guessable = !is_well_formed(key.trim());
            if let Some(seconds) = app.guesses.wait(address, now).filter(|_| is_guessable) {
                return Err(Problem::rate_limited(seconds).into());
            }
            let found = look_up(app, hash, now).await?;
            if found.is_none() && is_guessable {
                app.guesses.failed(address, now);
            }
            found.ok_or_else(refused)?
        }
    };
    if key.expires_at.is_some_and(|at| at <= now) {
        return Err(refused());
    }
    Ok(key)
}

async fn look_up(app: &App, hash: Hash, now: Timestamp) -> Result<Option<Arc<Principal>>, Failure> {
    let hex = hex(&hash);
    let mut reader = app.engine.store.read_for_people().await?;
    let row = api_keys::by_hash(&mut reader.conn(), &hex).await?;
    drop(reader);
    let Some(row) = row.filter(|row| bool::from(row.secret_hash.as_bytes().ct_eq(hex.as_bytes()))) else {
        return Ok(None);
    };
    if row.revoked_at.is_some() {
        return Ok(None);
    }
    let units = row.business_units.as_deref().map(|text| serde_json::from_str(text).unwrap_or_default());
    let key = Arc::new(Principal {
        scopes: Scope::read_all(&row.scopes),
        by: Actor::key(&row.name, units),
        expires_at: row.expires_at,
        id: row.id,
        name: row.name,
        site: row.site,
    });
    if app.keys.keep(hash, key.clone(), now) {
        touch(app, key.id.clone(), now);
    }
    Ok(Some(key))
}

/// Writes down that a key was used, beside the request: it is no reason to keep the caller waiting.
fn touch(app: &App, id: String, now: Timestamp) {
    let engine = app.engine.clone();
    tokio::spawn(async move {
        if let Err(error) = engine.touch_key(now, &id).await {
            tracing::debug!(key.id = id, %error, "the last use of a key could not be recorded");
        }
    });
}

impl Principal {
    pub fn need(&self, scope: Scope) -> Result<(), Failure> {
        self.need_any(&[scope])
    }

    /// Refuses a key that has none of these.
    fn need_any(&self, scopes: &[Scope]) -> Result<(), Failure> {
        if self.scopes.contains(&Scope::Admin) || scopes.iter().any(|scope| self.scopes.contains(scope)) {
            return Ok(());
        }
        let scopes: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        Err(Problem::any_scope_missing(&scopes).into())
    }

    /// The client that is kept with what a key sends, so that keys of the same name may look at it.
    pub fn client(&self) -> Option<String> {
        self.scopes.contains(&Scope::Send).then(|| self.name.clone())
    }

    /// The client whose messages alone a key may see, where it may not read everything.
    pub fn only_client(&self) -> Option<&str> {
        let reads = self.scopes.contains(&Scope::Read) || self.scopes.contains(&Scope::Admin);
        (!reads).then_some(self.name.as_str())
    }

    /// Whether a key may see what this client sent.
    pub fn may_see_sent(&self, client: Option<&str>) -> bool {
        self.only_client().is_none_or(|only| client == Some(only))
    }
}

/// The business unit of one item of a request.
pub fn unit_for(units: &Units, given: Option<String>, pointer: &str) -> Result<OwnUnit, Problem> {
    units.unit_for(given, pointer).map_err(|refused| *Failure::from(refused).problem)
}
