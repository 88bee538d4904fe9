//! Single sign-on against a certified provider from npm, step by step as a browser takes them. What a provider should never
//! say is in `sign_on.rs`, where one is made that says it.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::Arc,
};

use axum::http::header;
use jiff::Timestamp;
use punctual_store::users;
use punctual_testkit::{TestBed, on_both};
use reqwest::{Response, redirect::Policy};
use serde_json::Value;

use crate::{
    client::{Client, Reply},
    sign_on::sign_on_with,
};

on_both! {
    t02_people_sign_in_and_out_with_a_certified_provider;
    t02_an_answer_of_a_certified_provider_is_used_once_and_by_one_browser;
}

/// A provider in a process of its own, which ends with this.
pub struct Provider {
    process: Child,
    /// It writes warnings there later, and would end if nobody had the other end.
    _output: BufReader<ChildStdout>,
    pub issuer: String,
    now: Timestamp,
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The folder with the packages of `xtask/node`.
fn node_modules() -> PathBuf {
    let chosen = std::env::var_os("PUNCTUAL_TEST_NODE_MODULES").map(PathBuf::from);
    chosen
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/xtask/node/node_modules"))
}

impl Provider {
    pub fn start(address: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oidc/provider.mjs");
        let mut process = Command::new("node")
            .arg(script)
            .arg(node_modules())
            .args([format!("{address}/sign-in/answer"), format!("{address}/sign-in")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("`cargo xtask test` brings Node.js");
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            panic!("the provider of xtask/node did not start; `cargo xtask test` installs it: {line:?}")
        });
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        Self { process, _output: output, issuer: text("issuer"), now: text("now").parse().unwrap() }
    }
}

/// As much of a browser as the provider needs: it keeps cookies by their paths and follows forms and redirects.
struct Browser {
    http: reqwest::Client,
    issuer: String,
    cookies: BTreeMap<(String, String), String>,
}

impl Browser {
    fn new(issuer: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().redirect(Policy::none()).no_proxy().build().unwrap();
        Self { http, issuer: issuer.to_owned(), cookies: BTreeMap::new() }
    }

    async fn ask(&mut self, address: &str, form: Option<String>) -> Response {
        let path = address.strip_prefix(&self.issuer).unwrap().split('?').next().unwrap().to_owned();
        let own = self.cookies.iter().filter(|((_, at), _)| path.starts_with(at.as_str()));
        let cookies: Vec<String> = own.map(|((name, _), value)| format!("{name}={value}")).collect();
        let mut request = match form {
            None => self.http.get(address),
            Some(form) => self
                .http
                .post(address)
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form),
        };
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        let answer = request.send().await.unwrap();
        for set in answer.headers().get_all(header::SET_COOKIE) {
            let text = set.to_str().unwrap();
            let (name, value) = text.split(';').next().unwrap().split_once('=').unwrap();
            let at = text.split("path=").nth(1).map_or("/", |rest| rest.split(';').next().unwrap());
            self.cookies.insert((name.to_owned(), at.to_owned()), value.to_owned());
        }
        answer
    }

    /// Signs in at the provider from this address on; returns the path at Punctual that it sends the browser back to.
    async fn sign_in(&mut self, from: &str, as_whom: &str, back_to: &str) -> String {
        let (mut address, mut form) = (from.to_owned(), None);
        for _ in 0..12 {
            let answer = self.ask(&address, form.take()).await;
            if answer.status().is_redirection() {
                let to = answer.headers()[header::LOCATION].to_str().unwrap();
                if let Some(path) = to.strip_prefix(back_to) {
                    return path.to_owned();
                }
                address = if to.starts_with('/') { format!("{}{to}", self.issuer) } else { to.to_owned() };
                continue;
            }
            assert_eq!(answer.status(), 200, "{address}");
            let page = answer.text().await.unwrap();
            let filled = if page.contains("name=\"login\"") {
                format!("prompt=login&login={}&password=x", as_whom.replace('@', "%40"))
            } else {
                assert!(page.contains("value=\"consent\""), "{page}");
                "prompt=consent".to_owned()
            };
            form = Some(filled);
        }
        panic!("the provider does not come to an end: {address}");
    }
}

struct Stage {
    provider: Provider,
    client: Client,
    address: String,
}

impl Stage {
    async fn new(bed: &TestBed) -> Self {
        let address = bed.engine.public_address().to_owned();
        let provider = Provider::start(&address);
        let client = Client::with_sign_on(bed, Some(Arc::new(sign_on_with(&provider.issuer)))).await;
        client.wall.set(provider.now);
        Self { provider, client, address }
    }

    /// Off to the provider and to the path that it sends back to.
    async fn answer(&self, client: &Client, as_whom: &str) -> String {
        let reply = client.get("/sign-in/with?next=%2Foutbox").await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let from = reply.headers["location"].to_str().unwrap();
        Browser::new(&self.provider.issuer).sign_in(from, as_whom, &self.address).await
    }
}

fn is_in(reply: &Reply) -> bool {
    reply.status == 200 && reply.text.contains("content=\"0;url=/outbox\"")
}

async fn t02_people_sign_in_and_out_with_a_certified_provider(bed: TestBed) {
    let stage = Stage::new(&bed).await;
    let answer = stage.answer(&stage.client, "ops@example.org").await;
    assert!(answer.contains("code=") && answer.contains("iss="), "{answer}");
    let reply = stage.client.get(&answer).await;
    assert!(is_in(&reply), "{}", reply.text);
    stage.client.page("/outbox").await;
    let row = users::by_email(&mut bed.read().await.conn(), "ops@example.org").await.unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.role.as_str()), ("Ada", "operator"), "the group gave the role");
    assert_eq!(
        (row.business_units.as_deref(), row.subject.as_deref()),
        (Some("[\"nz\"]"), Some("ops@example.org"))
    );
    assert_eq!(row.issuer.as_deref(), Some(stage.provider.issuer.as_str()));
    // Whose groups have no role gets no account.
    let visitor = stage.client.nobody();
    let answer = stage.answer(&visitor, "visitors@example.org").await;
    visitor.get(&answer).await.refused(401, "auth_failed");
    assert!(users::by_email(&mut bed.read().await.conn(), "visitors@example.org").await.unwrap().is_none());
    // Out here, and then there.
    stage.client.act("/sign-out", &[]).await.leads_to("/sign-in?out=1");
    stage.client.get("/outbox").await.leads_to("/sign-in?next=%2Foutbox");
    let leave = stage.client.get("/sign-in/leave").await;
    let there = leave.headers["location"].to_str().unwrap();
    assert!(there.starts_with(&format!("{}/session/end?", stage.provider.issuer)), "{there}");
    let page = Browser::new(&stage.provider.issuer).ask(there, None).await;
    assert_eq!(page.status(), 200, "the provider takes the request: {}", page.text().await.unwrap());
}

async fn t02_an_answer_of_a_certified_provider_is_used_once_and_by_one_browser(bed: TestBed) {
    let stage = Stage::new(&bed).await;
    let answer = stage.answer(&stage.client, "ops@example.org").await;
    stage.client.nobody().get(&answer).await.refused(401, "auth_failed");
    let cookie = stage.client.cookie();
    assert!(is_in(&stage.client.get(&answer).await));
    let replay = stage.client.nobody();
    replay.set_cookie(cookie);
    replay.get(&answer).await.refused(401, "auth_failed");
    // A code that the provider never gave is refused by the provider.
    let other = stage.client.nobody();
    let answer = stage.answer(&other, "ops@example.org").await;
    let code = answer.split("code=").nth(1).unwrap().split('&').next().unwrap();
    other.get(&answer.replace(code, "made-up")).await.refused(401, "auth_failed");
}
