//! A browser without a screen: it keeps its cookie, follows nothing by itself, and sends forms as pages do.

use std::sync::{Arc, Mutex};

use axum::{
    Extension, Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Method, Request, header},
};
use punctual_console::{ConsoleState, router};
use punctual_engine::keys::{NewKey, create_key, ensure_admin_key};
use punctual_engine::{
    Peer,
    commands::{SignOn, SignOns},
};
use punctual_model::{Clock, ManualClock};
use punctual_reports::Sources;
use punctual_testkit::TestBed;
use punctual_wire::keys::Scope;
use punctual_workflows::reports::with_built_ins;

use crate::acts;

/// The key for everything, as an operator would give it.
pub const ADMIN: &str = "an-operator-s-own-key";

/// The business units that every test has.
const UNITS: [&str; 3] = ["de", "emea", "nz"];

#[derive(Clone)]
pub struct Client {
    pub bed: TestBed,
    /// The time that sessions go by.
    pub wall: Arc<ManualClock>,
    pub router: Router,
    cookie: Arc<Mutex<Option<String>>>,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Client {
    /// Somebody who is not signed in.
    pub async fn stranger(bed: &TestBed) -> Self {
        Self::with_sign_on(bed, None).await
    }

    /// The same where people may come from a provider.
    pub async fn with_sign_on(bed: &TestBed, sign_on: Option<Arc<SignOn>>) -> Self {
        let wall = Arc::new(ManualClock::new("2030-01-01T00:00:00Z".parse().unwrap()));
        ensure_admin_key(&bed.store, wall.now(), ADMIN).await.unwrap();
        for unit in UNITS {
            bed.has_unit(unit).await;
        }
        let state = ConsoleState {
            engine: bed.engine.clone(),
            wall: wall.clone(),
            sandbox: Some(bed.clock.clone()),
            surveys: Default::default(),
            public: Default::default(),
            reports: with_built_ins(Sources::default()),
            sign_on: Arc::new(SignOns::new(sign_on, Some(Arc::new(crate::sign_on::Opener)))),
            stop: Default::default(),
        };
        let peer = Peer(([10, 0, 0, 1], 4000).into());
        let router = router(state).layer(Extension(peer));
        Self { bed: bed.clone(), wall, router, cookie: Arc::default() }
    }

    /// Somebody who may do everything.
    pub async fn admin(bed: &TestBed) -> Self {
        let client = Self::stranger(bed).await;
        client.sign_in(ADMIN).await.leads_to("/");
        client
    }

    /// Somebody else on the same server, with a key of these scopes and business units.
    pub async fn with_key(&self, scopes: &[Scope], units: Option<&[&str]>) -> Self {
        let client = self.nobody();
        client.sign_in(&self.new_key(scopes, units).await).await.leads_to("/");
        client
    }

    pub async fn new_key(&self, scopes: &[Scope], units: Option<&[&str]>) -> String {
        for unit in units.unwrap_or_default() {
            self.bed.has_unit(unit).await;
        }
        let business_units = units.map(|units| units.iter().map(|unit| (*unit).to_owned()).collect());
        let new =
            NewKey { name: "somebody".into(), scopes: scopes.to_vec(), business_units, expires_at: None };
        let random = self.bed.engine.random.as_ref();
        create_key(&self.bed.store, random, self.wall.now(), "test", &new).await.unwrap().text
    }

    /// The same server without a cookie.
    pub fn nobody(&self) -> Self {
        Self { cookie: Arc::default(), ..self.clone() }
    }

    pub fn cookie(&self) -> Option<String> {
        self.cookie.lock().unwrap().clone()
    }

    pub fn set_cookie(&self, cookie: Option<String>) {
        *self.cookie.lock().unwrap() = cookie;
    }

    pub async fn sign_in(&self, key: &str) -> Reply {
        self.post("/sign-in", &[("key", key)]).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, &[], String::new()).await
    }

    /// A page that must be there.
    pub async fn page(&self, path: &str) -> String {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        reply.text
    }

    /// Sends a form as a page of ours does, with exactly these fields.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.send(Method::POST, path, &[("sec-fetch-site", "same-origin")], encoded(fields)).await
    }

    /// Sends a form with the token of the session.
    pub async fn act(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let token = self.token().await;
        let fields: Vec<_> = [("token", token.as_str())].into_iter().chain(fields.iter().copied()).collect();
        self.post(path, &fields).await
    }

    /// What the forms of this session carry.
    pub async fn token(&self) -> String {
        attribute(&self.page("/channels").await, "name=\"token\" value=\"")
    }

    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: String) -> Reply {
        let mut request = Request::builder().method(&method).uri(path).header("host", "punctual.example");
        if method == Method::POST {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        if let Some(cookie) = self.cookie() {
            request = request.header(header::COOKIE, cookie);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).unwrap();
        let last = if method == Method::POST { acts::before(&self.bed).await } else { None };
        let answer = tower::ServiceExt::oneshot(self.router.clone(), request).await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        // The zone is no part of who somebody is.
        let set = headers.get(header::SET_COOKIE);
        if let Some(set) = set.filter(|set| !set.as_bytes().starts_with(b"punctual-zone")) {
            let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
            self.set_cookie(Some(pair).filter(|pair| !pair.ends_with('=')));
        }
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let reply = Reply { status, headers, text: String::from_utf8_lossy(&bytes).into_owned() };
        if method == Method::POST {
            acts::check(&self.bed, path, last, &reply).await;
        }
        reply
    }
}

impl Reply {
    /// That the browser is sent to this place.
    #[track_caller]
    pub fn leads_to(self, place: &str) -> Self {
        let location = self.headers.get(header::LOCATION).map(|value| value.to_str().unwrap());
        assert_eq!((self.status, location), (303, Some(place)), "{}", self.text);
        self
    }

    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(self.text.contains(&format!("<code>{code}</code>")), "{}", self.text);
        self
    }
}

/// The text between this and the next quote.
#[track_caller]
pub fn attribute(page: &str, before: &str) -> String {
    let rest = page.split(before).nth(1).unwrap_or_else(|| panic!("no {before} in {page}"));
    rest.split('"').next().unwrap().to_owned()
}

pub fn encoded(fields: &[(&str, &str)]) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    let text = |text: &str| text.bytes().map(byte).collect::<String>();
    fields.iter().map(|(name, value)| format!("{}={}", text(name), text(value))).collect::<Vec<_>>().join("&")
}

/// The ids of the rows that a page lists, in its order.
pub fn rows(page: &str) -> Vec<String> {
    page.split("data-row=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}
