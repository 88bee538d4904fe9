//! Single sign-on: forged, wrong and repeated answers are refused, and groups give rights. The provider here is a small
//! one of the tests' own, which says whatever a test asks for.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::HeaderMap,
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::SignedDuration;
use punctual_channels::{
    Guard,
    oidc::{OidcProvider, OidcSettings},
    trust::Trust,
};
use punctual_engine::commands::{GroupMapping, OpensSignOn, SignOn, SignOnSettings};
use punctual_model::{Clock, Fault, IdentityProvider, Role, Secret};
use punctual_store::users::{self, UserRow};
use punctual_testkit::{TestBed, on_both};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::client::{Client, Reply};

on_both! {
    the_first_sign_on_makes_an_account_where_a_group_has_a_role;
    t02_a_wrong_answer_of_the_provider_signs_nobody_in;
    t02_an_answer_fits_one_browser_one_request_and_one_use;
    t02_made_up_answers_are_slowed_down;
    groups_are_taken_anew_at_each_sign_on;
    an_account_made_by_hand_is_linked_by_a_verified_email_alone;
    a_provider_that_does_not_answer_is_no_way_in;
}

/// A provider that signs what a test asks for.
struct Forger {
    issuer: Mutex<String>,
    key: EcdsaKeyPair,
    /// What the next token says, and whether another key signs it.
    claims: Mutex<Value>,
    other_key: Mutex<bool>,
    /// What was sent to the token endpoint.
    asked: Mutex<Vec<String>>,
}

fn new_key() -> EcdsaKeyPair {
    let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
    let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap()
}

type Shared = Arc<Forger>;

async fn discovery(State(forger): State<Shared>) -> Json<Value> {
    let issuer = forger.issuer.lock().unwrap().clone();
    let at = |path: &str| format!("{issuer}/{path}");
    Json(json!({ "issuer": issuer, "authorization_endpoint": at("auth"), "token_endpoint": at("token"),
                 "jwks_uri": at("keys") }))
}

async fn keys(State(forger): State<Shared>) -> Json<Value> {
    let point = forger.key.public_key().as_ref();
    let part = |range: std::ops::Range<usize>| URL_SAFE_NO_PAD.encode(&point[range]);
    Json(
        json!({ "keys": [{ "kty": "EC", "crv": "P-256", "kid": "k", "x": part(1..33), "y": part(33..65) }] }),
    )
}

async fn token(State(forger): State<Shared>, headers: HeaderMap, body: Bytes) -> Json<Value> {
    let authorization = headers.get("authorization").map_or("", |value| value.to_str().unwrap());
    let asked = format!("{authorization} {}", String::from_utf8_lossy(&body));
    forger.asked.lock().unwrap().push(asked);
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({ "alg": "ES256", "kid": "k" });
    let message = format!("{}.{}", part(&header), part(&forger.claims.lock().unwrap()));
    let other = new_key();
    let key = if *forger.other_key.lock().unwrap() { &other } else { &forger.key };
    let signature = key.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
    let id_token = format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature));
    Json(json!({ "access_token": "a", "token_type": "Bearer", "id_token": id_token }))
}

/// A console whose people come from the forger.
pub struct Stage {
    pub client: Client,
    forger: Shared,
}

/// Somebody at the provider, on the way back.
struct Away {
    state: String,
    nonce: String,
}

fn parameter(address: &str, name: &str) -> String {
    let rest = address.split(&format!("{name}=")).nth(1).unwrap_or_else(|| panic!("no {name} in {address}"));
    rest.split('&').next().unwrap().to_owned()
}

async fn forger() -> Shared {
    let forger = Arc::new(Forger {
        issuer: Mutex::default(),
        key: new_key(),
        claims: Mutex::default(),
        other_key: Mutex::default(),
        asked: Mutex::default(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    *forger.issuer.lock().unwrap() = format!("http://{}", listener.local_addr().unwrap());
    let routes = Router::new()
        .route("/.well-known/openid-configuration", get(discovery))
        .route("/keys", get(keys))
        .route("/token", post(token))
        .with_state(forger.clone());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    forger
}

impl Stage {
    async fn new(bed: &TestBed) -> Self {
        let forger = forger().await;
        let issuer = forger.issuer.lock().unwrap().clone();
        Self { client: Client::with_sign_on(bed, Some(Arc::new(sign_on_with(&issuer)))).await, forger }
    }

    /// The same on a console where the sign-on is not in the file, and its issuer.
    pub async fn unset(bed: &TestBed) -> (Self, String) {
        let forger = forger().await;
        let issuer = forger.issuer.lock().unwrap().clone();
        (Self { client: Client::admin(bed).await, forger }, issuer)
    }

    /// Another browser.
    pub fn stranger(&self) -> Self {
        Self { client: self.client.nobody(), forger: self.forger.clone() }
    }

    async fn leave(&self) -> Away {
        let reply = self.client.get("/sign-in/with?next=%2Foutbox").await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let address = reply.headers["location"].to_str().unwrap();
        assert!(address.starts_with(&format!("{}/auth?", self.forger.issuer.lock().unwrap())), "{address}");
        assert_eq!(parameter(address, "code_challenge_method"), "S256");
        let cookie = reply.headers["set-cookie"].to_str().unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Lax") && cookie.contains("Max-Age=900"), "{cookie}");
        Away { state: parameter(address, "state"), nonce: parameter(address, "nonce") }
    }

    /// Good claims about somebody, with something different.
    fn says(&self, away: &Away, change: &dyn Fn(&mut Value)) {
        let now = self.client.wall.now().as_second();
        let mut claims = json!({ "iss": self.forger.issuer.lock().unwrap().clone(), "aud": "punctual", "sub": "7",
            "nonce": away.nonce, "iat": now, "exp": now + 300, "email": "Ada@example.org", "email_verified": true,
            "name": "Ada", "groups": ["ops"] });
        change(&mut claims);
        *self.forger.claims.lock().unwrap() = claims;
    }

    async fn back(&self, away: &Away) -> Reply {
        self.client.get(&format!("/sign-in/answer?code=c&state={}", away.state)).await
    }

    /// The whole way.
    pub async fn sign_on(&self, change: &dyn Fn(&mut Value)) -> Reply {
        let away = self.leave().await;
        self.says(&away, change);
        self.back(&away).await
    }
}

/// Opens providers on this machine; there is one secret, `env:OIDC`.
pub struct Opener;

impl OpensSignOn for Opener {
    fn open(&self, settings: &SignOnSettings) -> Result<Arc<dyn IdentityProvider>, Fault> {
        let missing = || Fault::new("/clientSecret", "secret_reference", "There is nothing there.");
        let client_secret = match settings.client_secret.as_deref() {
            None => None,
            Some("env:OIDC") => Some(Secret::new("a secret: with & and %")),
            Some(_) => return Err(missing()),
        };
        let settings = OidcSettings {
            name: settings.name.clone(),
            issuer: settings.issuer.clone(),
            client_id: settings.client_id.clone(),
            client_secret,
            scopes: settings.scopes.clone(),
            groups_claim: settings.groups_claim.clone(),
        };
        let guard = Guard::new("127.0.0.0/8".parse().unwrap());
        let opened = OidcProvider::open(settings, &guard, &Trust::platform());
        Ok(Arc::new(opened.map_err(|fault| Fault::new("/issuer", fault.code, fault.detail))?))
    }
}

pub fn sign_on_with(issuer: &str) -> SignOn {
    let settings = SignOnSettings {
        name: "Example ID".into(),
        issuer: issuer.to_owned(),
        client_id: "punctual".into(),
        client_secret: Some("env:OIDC".into()),
        scopes: ["email", "profile", "groups"].map(str::to_owned).to_vec(),
        groups_claim: "groups".into(),
        mappings: Vec::new(),
    };
    let provider = Opener.open(&settings).unwrap();
    let mapping = |group: &str, role, units: Option<&str>| GroupMapping {
        group: group.to_owned(),
        role,
        business_units: units.map(|unit| vec![unit.to_owned()]),
    };
    let mappings = vec![mapping("ops", Role::Operator, Some("nz")), mapping("chiefs", Role::Admin, None)];
    SignOn { provider, mappings }
}

pub fn is_in(reply: &Reply) -> bool {
    reply.status == 200 && reply.text.contains("content=\"0;url=/outbox\"")
}

pub async fn found(bed: &TestBed, email: &str) -> Option<UserRow> {
    users::by_email(&mut bed.read().await.conn(), email).await.unwrap()
}

async fn the_first_sign_on_makes_an_account_where_a_group_has_a_role(bed: TestBed) {
    let stage = Stage::new(&bed).await;
    assert!(stage.client.page("/sign-in").await.contains("Sign in with Example ID"));
    let refused = stage.stranger().sign_on(&|claims| claims["groups"] = json!(["visitors"])).await;
    refused.refused(401, "auth_failed");
    assert!(found(&bed, "ada@example.org").await.is_none(), "no role, no account");
    let reply = stage.sign_on(&|_| {}).await;
    assert!(is_in(&reply), "{}", reply.text);
    stage.client.page("/outbox").await;
    let ada = found(&bed, "ada@example.org").await.unwrap();
    assert_eq!(
        (ada.name.as_str(), ada.role.as_str(), ada.subject.as_deref()),
        ("Ada", "operator", Some("7"))
    );
    assert_eq!((ada.business_units.as_deref(), ada.rights_from_provider), (Some("[\"nz\"]"), true));
    assert_eq!(ada.password_hash, None);
    assert_eq!(bed.audit("user", &ada.id).await, ["create", "sign-in"]);
    stage.client.get("/nodes").await.refused(403, "scope_missing");
    // The secret and the verifier go to the token endpoint, and nowhere else.
    let asked = stage.forger.asked.lock().unwrap().last().unwrap().clone();
    assert!(asked.starts_with("Basic ") && asked.contains("code_verifier="), "{asked}");
    assert!(!asked.contains("client_secret"), "{asked}");
    // Without a password nobody signs in with one.
    let form = [("email", "ada@example.org"), ("password", "")];
    stage.client.nobody().post("/sign-in", &form).await.refused(401, "auth_failed");
}

async fn t02_a_wrong_answer_of_the_provider_signs_nobody_in(bed: TestBed) {
    let stage = Stage::new(&bed).await;
    type Wrong = fn(&mut Value, i64);
    let wrong: [(&str, Wrong); 8] = [
        ("nonce", |claims, _| claims["nonce"] = json!("another")),
        ("no nonce", |claims, _| claims["nonce"] = json!(null)),
        ("audience", |claims, _| claims["aud"] = json!("another-client")),
        ("party", |claims, _| claims["azp"] = json!("another-client")),
        ("issuer", |claims, _| claims["iss"] = json!("https://id.example")),
        ("expired", |claims, now| claims["exp"] = json!(now - 61)),
        ("future", |claims, now| claims["iat"] = json!(now + 61)),
        ("subject", |claims, _| claims["sub"] = json!("")),
    ];
    for (what, change) in wrong {
        // Ten failures from one address within ten minutes are too many.
        stage.client.wall.set(stage.client.wall.now() + SignedDuration::from_mins(5));
        let now = stage.client.wall.now().as_second();
        let change: &dyn Fn(&mut Value) = &|claims| change(claims, now);
        let stranger = stage.stranger();
        let reply = stranger.sign_on(change).await;
        assert_eq!(reply.status, 401, "{what}: {}", reply.text);
        assert!(stranger.client.cookie().is_none(), "{what}: the request is over and no session was made");
        stranger.client.get("/outbox").await.leads_to("/sign-in?next=%2Foutbox");
    }
    *stage.forger.other_key.lock().unwrap() = true;
    stage.stranger().sign_on(&|_| {}).await.refused(401, "auth_failed");
    assert!(found(&bed, "ada@example.org").await.is_none());
    *stage.forger.other_key.lock().unwrap() = false;
    assert!(is_in(&stage.sign_on(&|_| {}).await));
}

async fn t02_an_answer_fits_one_browser_one_request_and_one_use(bed: TestBed) {
    let stage = Stage::new(&bed).await;
    let away = stage.leave().await;
    stage.says(&away, &|_| {});
    // Somebody else's browser, and a state that nobody gave.
    stage.stranger().back(&away).await.refused(401, "auth_failed");
    let other = stage.stranger();
    other.leave().await;
    other.back(&away).await.refused(401, "auth_failed");
    let made_up = Away { state: "0".repeat(64), nonce: away.nonce.clone() };
    let third = stage.stranger();
    third.leave().await;
    third.back(&made_up).await.refused(401, "auth_failed");
    assert!(stage.forger.asked.lock().unwrap().is_empty(), "the code was not even redeemed");
    // Another provider answers in its place, or it reports an error.
    for more in ["&iss=https%3A%2F%2Fid.example", "&error=access_denied"] {
        let stranger = stage.stranger();
        let away = stranger.leave().await;
        let path = format!("/sign-in/answer?code=c&state={}{more}", away.state);
        stranger.client.get(&path).await.refused(401, "auth_failed");
    }
    let cookie = stage.client.cookie();
    let reply = stage.back(&away).await;
    assert!(is_in(&reply), "{}", reply.text);
    // The same answer again, with the cookie that the browser should have dropped.
    let replay = stage.stranger();
    replay.client.set_cookie(cookie);
    replay.back(&away).await.refused(401, "auth_failed");
    assert_eq!(stage.forger.asked.lock().unwrap().len(), 1);
    // Too late.
    let late = stage.stranger();
    let away = late.leave().await;
    late.says(&away, &|_| {});
    stage.client.wall.set(stage.client.wall.now() + SignedDuration::from_mins(15));
    late.back(&away).await.refused(401, "auth_failed");
}

async fn groups_are_taken_anew_at_each_sign_on(bed: TestBed) {
    let stage = Stage::new(&bed).await;
    stage.sign_on(&|_| {}).await;
    let again = stage.stranger();
    assert!(is_in(&again.sign_on(&|claims| claims["groups"] = json!(["chiefs"])).await));
    let ada = found(&bed, "ada@example.org").await.unwrap();
    assert_eq!((ada.role.as_str(), ada.business_units), ("admin", None));
    again.client.page("/settings/users").await;
    // The session that was open before is over: other rights come with another session.
    stage.client.get("/outbox").await.leads_to("/sign-in?next=%2Foutbox");
    let out = stage.stranger();
    out.sign_on(&|claims| claims["groups"] = json!([])).await.refused(401, "auth_failed");
    // And whoever has no role any more has none in an older session either.
    again.client.get("/outbox").await.leads_to("/sign-in?next=%2Foutbox");
    // A new email at the provider is the same person.
    assert!(is_in(
        &stage.stranger().sign_on(&|claims| claims["email"] = json!("lovelace@example.org")).await
    ));
    assert!(found(&bed, "lovelace@example.org").await.is_none());
    let id = found(&bed, "ada@example.org").await.unwrap().id;
    stage.client.nobody().get("/outbox").await.leads_to("/sign-in?next=%2Foutbox");
    let admin = Client::admin(&bed).await;
    admin.act("/settings/users/active", &[("id", &id), ("active", "no")]).await;
    stage.stranger().sign_on(&|_| {}).await.refused(401, "auth_failed");
}

async fn an_account_made_by_hand_is_linked_by_a_verified_email_alone(bed: TestBed) {
    let stage = Stage::new(&bed).await;
    let admin = Client::admin(&bed).await;
    let fields = [("name", "Ada"), ("email", "ada@example.org"), ("role", "author"), ("reach", "all")];
    assert_eq!(admin.act("/settings/users/save", &fields).await.status, 200);
    let unverified = |claims: &mut Value| claims["email_verified"] = json!(false);
    stage.stranger().sign_on(&unverified).await.refused(401, "auth_failed");
    let no_group = |claims: &mut Value| claims["groups"] = json!([]);
    assert!(is_in(&stage.sign_on(&no_group).await), "the role given by hand is enough");
    let ada = found(&bed, "ada@example.org").await.unwrap();
    assert_eq!((ada.role.as_str(), ada.subject.as_deref()), ("author", Some("7")));
    let somebody_else = |claims: &mut Value| claims["sub"] = json!("8");
    stage.stranger().sign_on(&somebody_else).await.refused(401, "auth_failed");
}

async fn t02_made_up_answers_are_slowed_down(bed: TestBed) {
    let stage = Stage::new(&bed).await;
    for _ in 0..10 {
        stage.stranger().client.get("/sign-in/answer?code=c&state=x").await.refused(401, "auth_failed");
    }
    let away = stage.leave().await;
    stage.says(&away, &|_| {});
    stage.back(&away).await.refused(429, "rate_limited");
    assert!(stage.forger.asked.lock().unwrap().is_empty());
    stage.client.wall.set(stage.client.wall.now() + SignedDuration::from_mins(10));
    assert!(is_in(&stage.sign_on(&|_| {}).await));
}

async fn a_provider_that_does_not_answer_is_no_way_in(bed: TestBed) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::with_sign_on(&bed, Some(Arc::new(sign_on_with(&issuer)))).await;
    let refused = client.get("/sign-in/with").await.refused(401, "auth_failed");
    assert!(refused.text.contains("does not answer"), "{}", refused.text);
    // The key for emergencies works all the same.
    client.sign_in(crate::client::ADMIN).await.leads_to("/");
    let without = Client::stranger(&bed).await;
    assert!(!without.page("/sign-in").await.contains("Sign in with Example"));
    without.get("/sign-in/with").await.refused(404, "not_found");
}
