//! Somebody who looks at the console, with the session of a client's key: pages beside the API, on one database.

use axum::{
    Extension, Router,
    body::{Body, to_bytes},
    http::{Method, Request, header},
};
use punctual_console::{ConsoleState, router};
use punctual_engine::Peer;
use punctual_reports::Sources;
use punctual_testkit::TestBed;
use punctual_workflows::reports::with_built_ins;
use serde_json::json;

use crate::client::Client;

/// The status, the cookie that was set, and where it leads with what it says.
pub type Answered = (u16, Option<String>, String);

/// Somebody who is signed in.
pub struct Viewer {
    router: Router,
    cookie: String,
    pub token: String,
}

impl Viewer {
    fn stranger(bed: &TestBed, client: &Client) -> Self {
        let state = ConsoleState {
            engine: bed.engine.clone(),
            wall: client.wall.clone(),
            sandbox: Some(bed.clock.clone()),
            surveys: Default::default(),
            public: Default::default(),
            reports: with_built_ins(Sources::default()),
            sign_on: Default::default(),
            stop: Default::default(),
        };
        let router = router(state).layer(Extension(Peer(([10, 0, 0, 1], 4000).into())));
        Self { router, cookie: String::new(), token: String::new() }
    }

    /// With the session of a key.
    pub async fn signed_in(bed: &TestBed, client: &Client) -> Self {
        let key = client.key.clone().unwrap();
        Self::stranger(bed, client).entering("/sign-in", &[("key", &key)]).await
    }

    /// Somebody with an account of this role for the unit `nz`; `client` is without a limit.
    pub async fn person(bed: &TestBed, client: &Client, role: &str) -> Self {
        let email = format!("{role}@nz.example");
        let user = json!({ "email": email, "name": role, "role": role, "businessUnits": ["nz"] });
        let made = client.post("/api/v1/users", user).await.expect(201);
        let link = made["invitation"]["link"].as_str().unwrap_or_else(|| panic!("no link in {made}"));
        let secret = link.rsplit(['=', '/']).next().unwrap();
        let fields =
            [("link", secret), ("password", "correct horse battery"), ("again", "correct horse battery")];
        Self::stranger(bed, client).entering("/invitation", &fields).await
    }

    async fn entering(self, path: &str, fields: &[(&str, &str)]) -> Self {
        let (status, cookie, text) = self.send(Method::POST, path, fields).await;
        assert_eq!(status, 303, "{text}");
        let mut viewer = Self { cookie: cookie.unwrap(), ..self };
        let (_, _, page) = viewer.send(Method::GET, "/channels", &[]).await;
        let token =
            page.split("name=\"token\" value=\"").nth(1).unwrap_or_else(|| panic!("no token in {page}"));
        viewer.token = token.split('"').next().unwrap().to_owned();
        viewer
    }

    pub async fn send(&self, method: Method, path: &str, fields: &[(&str, &str)]) -> Answered {
        let text = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let body: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}={}", text(name), text(value))).collect();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "punctual.example")
            .header("sec-fetch-site", "same-origin")
            .header(header::COOKIE, &self.cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(body.join("&")))
            .unwrap();
        let answer = tower::ServiceExt::oneshot(self.router.clone(), request).await.unwrap();
        let status = answer.status().as_u16();
        let cookie = answer.headers().get(header::SET_COOKIE);
        let cookie = cookie.map(|set| set.to_str().unwrap().split(';').next().unwrap().to_owned());
        let location = answer.headers().get(header::LOCATION).map(|value| value.to_str().unwrap().to_owned());
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (status, cookie, format!("{}{text}", location.unwrap_or_default()))
    }

    /// A page that must be there.
    pub async fn page(&self, path: &str) -> String {
        let (status, _, text) = self.send(Method::GET, path, &[]).await;
        assert_eq!(status, 200, "{path}: {text}");
        text
    }
}
