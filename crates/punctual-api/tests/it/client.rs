//! A client of the API on a bed: short words for requests, and answers as JSON.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Method, Request},
};
use bytes::Bytes;
use punctual_api::{ApiState, Sandbox, router};
use punctual_engine::{EnsureOutcome, keys::ensure_admin_key};
use punctual_model::{Cause, Clock, InputHash, ManualClock, NewWork, Trigger};
use punctual_testkit::TestBed;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::contract::{self, Exchange};

/// The key for everything, as an operator would give it.
pub const ADMIN: &str = "an-operator-s-own-key";

/// The business units that every test has.
const UNITS: [&str; 2] = ["de", "nz"];

/// A client with a key.
#[derive(Clone)]
pub struct Client {
    /// The time that keys go by.
    pub wall: Arc<ManualClock>,
    pub router: Router,
    pub key: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
    pub text: String,
}

impl Client {
    /// On a sandbox, with the key for everything.
    pub async fn new(bed: &TestBed) -> Self {
        Self::with(bed, |_| {}).await
    }

    pub async fn with(bed: &TestBed, change: impl FnOnce(&mut ApiState)) -> Self {
        let wall = Arc::new(ManualClock::new("2030-01-01T00:00:00Z".parse().unwrap()));
        Self::on_node(bed, wall, change).await
    }

    /// Another node that shares the wall clock.
    pub async fn on_node(bed: &TestBed, wall: Arc<ManualClock>, change: impl FnOnce(&mut ApiState)) -> Self {
        ensure_admin_key(&bed.store, wall.now(), ADMIN).await.unwrap();
        for unit in UNITS {
            bed.has_unit(unit).await;
        }
        let mut state = ApiState::new(bed.engine.clone(), wall.clone());
        state.sandbox =
            Some(Sandbox { clock: bed.clock.clone(), captured: bed.captured.clone(), flowing: false });
        change(&mut state);
        Self { wall, router: router(state), key: Some(ADMIN.to_owned()) }
    }

    /// The same client with another key.
    pub fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }

    /// A new key with these scopes and business units.
    pub async fn new_key(&self, scopes: &[&str], units: Option<&[&str]>) -> Self {
        let mut body = json!({ "name": format!("for {}", scopes.join(" ")), "scopes": scopes });
        if let Some(units) = units {
            for unit in units {
                self.has_unit(unit).await;
            }
            body["businessUnits"] = json!(units);
        }
        let made = self.post("/api/v1/keys", body).await.expect(201);
        self.with_key(made["key"].as_str().unwrap())
    }

    /// Defines a business unit, unless it is there.
    pub async fn has_unit(&self, unit: &str) {
        let path = format!("/api/v1/business-units/{unit}");
        if self.get(&path).await.status == 404 {
            self.put(&path, json!({ "name": unit, "timeZone": "UTC" })).await.expect(200);
        }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.call(Method::POST, path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.call(Method::PUT, path, Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.call(Method::PATCH, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.call(Method::DELETE, path, None).await
    }

    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        let headers: &[(&str, &str)] =
            if body.is_some() { &[("content-type", "application/json")] } else { &[] };
        let body = body.map_or(Vec::new(), |body| body.to_string().into_bytes());
        self.send(method, path, headers, body).await
    }

    /// A request with exactly these headers, besides the key.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let sent: Bytes = body.into();
        let mut request = Request::builder().method(method.clone()).uri(path);
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer =
            self.router.clone().oneshot(request.body(Body::from(sent.clone())).unwrap()).await.unwrap();
        let request_type = headers.iter().find(|(name, _)| *name == "content-type").map(|(_, value)| *value);
        // The event itself is then in the headers, and the body is its data alone, whatever that is.
        let is_binary = headers.iter().any(|(name, _)| name.starts_with("ce-"));
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        contract::check(&Exchange {
            method: method.as_str(),
            path,
            request_type,
            request: if is_binary { &[] } else { &sent },
            status,
            response_type: headers.get("content-type").and_then(|value| value.to_str().ok()),
            response: &body,
        });
        Reply { status, headers, body, text }
    }

    /// Moves the sandbox's clock.
    pub async fn advance(&self, by: &str) {
        self.put("/api/v1/sandbox/clock", json!({ "advance": by })).await.expect(200);
    }
}

impl Reply {
    /// The body, if the status is this one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.body
    }

    /// The body of a problem with this status and code, checked for what every problem has.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Value {
        assert_eq!((self.status, self.body["code"].as_str()), (status, Some(code)), "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(self.body["requestId"].as_str(), Some(self.headers["x-request-id"].to_str().unwrap()));
        for member in ["title", "detail"] {
            assert!(
                self.body[member].as_str().is_some_and(|text| !text.is_empty()),
                "{member}: {}",
                self.text
            );
        }
        assert_eq!(self.body["status"], status);
        self.body
    }

    /// The pointers at fault, in order.
    pub fn pointers(body: &Value) -> Vec<&str> {
        body["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|fault| fault["pointer"].as_str())
            .collect()
    }
}

/// Puts a pending row on hold, as a conflict between two producers inside the engine does.
pub async fn put_on_hold(bed: &TestBed, key: &str) {
    let row = bed.work(key).await;
    let other = NewWork {
        key: row.key().unwrap(),
        kind: "schedule",
        trigger: Trigger::At,
        business_unit: None,
        source: None,
        setting_id: None,
        due_at: bed.now(),
        local: None,
        input_hash: InputHash::of_fields(&[("other", true.into())]),
        input: "{}".to_owned(),
    };
    let ensured = bed.engine.ensure(&[other], Cause::Machine).await.unwrap();
    assert!(matches!(ensured[0].outcome, EnsureOutcome::Conflict { .. }), "{ensured:?}");
}
