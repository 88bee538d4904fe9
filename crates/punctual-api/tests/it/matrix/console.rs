//! The pages and forms of the console, for a viewer of one business unit against what another has.
//!
//! The routes are those that the console's sources declare: a new page is in it by itself, and one with a placeholder that
//! the table below does not know fails the test.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

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

use super::{Places, WORD};
use crate::client::Client;

/// What needs no session is opened by its link, whoever has it.
const WITHOUT_SESSION: [&str; 7] =
    ["/assets/", "/s/", "/p/", "/sign-in", "/sign-out", "/live", "/invitation"];

/// Forms that make something under a name of one's own choice: one that is taken cannot look as one that is free.
const NAMED: [&str; 2] = ["/operations/people/save", "/operations/organisations/save"];

/// Every route that the sources declare, with its methods.
fn routes() -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut found: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../punctual-console/src")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            for (route, method) in of_resource(&text) {
                found.entry(route).or_default().insert(method);
            }
            // The routes of a resource, which are found above by its home.
            let text = text.replace(".route(&at(", ".routes(&at(");
            for declared in text.split(".route(").skip(1) {
                let declared = declared.trim_start();
                let rest = declared.strip_prefix('"');
                let rest =
                    rest.unwrap_or_else(|| panic!("{}: write the path of a route as text", path.display()));
                let (route, rest) = rest.split_once('"').unwrap();
                let methods = found.entry(route.to_owned()).or_default();
                // What follows belongs to the next route of the file, if there is one.
                let rest = rest.split("\n}").next().unwrap();
                methods.extend(["get", "post"].into_iter().filter(|name| rest.contains(&format!("{name}("))));
                assert!(!methods.is_empty(), "{route} has no method");
            }
        }
    }
    assert!(found.len() > 60, "{found:?}");
    found
}

/// The pages of a kind of settings: what the editor declares below its home.
fn of_resource(source: &str) -> Vec<(String, &'static str)> {
    let home = source.split("impl Resource for").nth(1).and_then(|rest| rest.split("const HOME: ").nth(1));
    let Some(home) = home.and_then(|rest| rest.split('"').nth(1)) else { return Vec::new() };
    let pages = [("new", "get"), ("edit", "get"), ("save", "post"), ("delete", "post")];
    pages.into_iter().map(|(end, method)| (format!("{home}/{end}"), method)).collect()
}

/// What stands for the placeholder at the end of this path: the other unit's, and nobody's.
fn place(path: &str, places: &Places) -> (String, String) {
    let of = |name: &str| places[name].clone();
    let both = |text: &str| (text.to_owned(), text.to_owned());
    match path {
        "/notifications/{id}" => of("notifications/{id}"),
        "/operations/{kind}" => both("events"),
        "/operations/{kind}/{id}" => of("events/{id}"),
        "/operations/organisations/{id}" => of("organisations/{id}"),
        "/operations/people/{id}" => of("people/{id}"),
        "/reminders/{id}" => of("reminder-settings/{id}"),
        "/reports/rollouts/{scope}" => both("subscription"),
        "/reports/rollouts/{scope}/{id}" => of("{scope}/{id}"),
        "/reports/{guid}" => of("report-subscriptions/{guid}"),
        "/reports/{guid}/runs/{run}" => of("automation-runs/{run}"),
        "/reports/{guid}/runs/{run}/files/{name}" => of("artefacts/{name}"),
        // Of the whole installation: who is limited to a unit gets to neither.
        "/settings/users/{id}" => both("no-such"),
        "/surveys/subscribers/{key}" => both("webhook:crm"),
        "/sites/{id}" => ("plant-nz".to_owned(), "no-such".to_owned()),
        "/sources/{kind}" => both("document"),
        "/sources/{kind}/{id}" => of("{type}/{id}"),
        "/surveys/{id}" => of("surveys/{id}"),
        "/surveys/{id}/instances/{publicId}" => of("instances/{publicId}"),
        "/work/{id}" => of("work/{id}"),
        other => panic!("the matrix knows no place for {other}: add one"),
    }
}

fn filled(route: &str, places: &Places, of_nobody: bool) -> String {
    let (mut pattern, mut path) = (String::new(), String::new());
    for segment in route.split('/').skip(1) {
        pattern = format!("{pattern}/{segment}");
        let text = if segment.starts_with('{') {
            let (one, nobody) = place(&pattern, places);
            if of_nobody { nobody } else { one }
        } else {
            segment.to_owned()
        };
        path = format!("{path}/{text}");
    }
    path
}

/// Somebody who is signed in.
struct Viewer {
    router: Router,
    cookie: String,
    token: String,
}

impl Viewer {
    async fn signed_in(bed: &TestBed, client: &Client) -> Self {
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
        let mut viewer = Self { router, cookie: String::new(), token: String::new() };
        let key = client.key.clone().unwrap();
        let (status, cookie, text) = viewer.send(Method::POST, "/sign-in", &[("key", &key)]).await;
        assert_eq!(status, 303, "{text}");
        viewer.cookie = cookie.unwrap();
        let (_, _, page) = viewer.send(Method::GET, "/channels", &[]).await;
        let token =
            page.split("name=\"token\" value=\"").nth(1).unwrap_or_else(|| panic!("no token in {page}"));
        viewer.token = token.split('"').next().unwrap().to_owned();
        viewer
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        fields: &[(&str, &str)],
    ) -> (u16, Option<String>, String) {
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
}

/// What tells of the other unit, or tells it from nobody, on any page and in the answer to any form.
pub async fn told(bed: &TestBed, client: &Client, places: &Places) -> Vec<String> {
    let viewer = Viewer::signed_in(bed, client).await;
    let mut told = Vec::new();
    for (route, methods) in routes() {
        if WITHOUT_SESSION.iter().any(|prefix| route.starts_with(prefix)) {
            continue;
        }
        let (path, nobody) = (filled(&route, places, false), filled(&route, places, true));
        if methods.contains("get") {
            for query in
                ["", "?q=de-list&list=de-list&view=all", "?businessUnit=de&from=2026-05-20&to=2026-08-01"]
            {
                let one = viewer.send(Method::GET, &format!("{path}{query}"), &[]).await;
                let other = viewer.send(Method::GET, &format!("{nobody}{query}"), &[]).await;
                compare(&format!("get {route}{query}"), one, other, &mut told);
            }
        }
        if methods.contains("post") {
            // Whatever the form calls it: each thing of the other unit under each name.
            for (one_id, nobodys_id) in places.values().filter(|(one, other)| one != other) {
                let (one_id, nobodys_id) = (one_id.replace("%2F", "/"), nobodys_id.replace("%2F", "/"));
                let one = viewer.send(Method::POST, &path, &form(&viewer.token, &one_id)).await;
                let other = match NAMED.contains(&route.as_str()) {
                    true => one.clone(),
                    false => viewer.send(Method::POST, &nobody, &form(&viewer.token, &nobodys_id)).await,
                };
                let what = format!("post {route} with {one_id}");
                compare(&what, one, other, &mut told);
            }
        }
    }
    told
}

fn form<'a>(token: &'a str, id: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut fields =
        vec![("token", token), ("version", "1"), ("stage", "0"), ("kind", "event"), ("then", "save")];
    fields.extend([("action", "retry"), ("do", "retry"), ("reason", "r"), ("scope", "subscription")]);
    fields.extend(
        ["id", "guid", "key", "known", "row", "on", "list", "rule", "run", "organisation"]
            .map(|name| (name, id)),
    );
    fields
}

type Answered = (u16, Option<String>, String);

fn compare(what: &str, one: Answered, other: Answered, told: &mut Vec<String>) {
    assert!(one.0 < 500, "{what}: {}", one.2);
    if one.2.contains(WORD) {
        told.push(format!("{what}: {}", one.2));
    }
    // What a refusal says is compared over the API; here it names what was asked for, cut where it is long.
    if one.0 != other.0 {
        told.push(format!("{what} differs: {} and {}", one.0, other.0));
    }
}
