//! The pages and forms of the console, for people of one business unit against what another has.
//!
//! The routes are those that the console's sources declare, and so are the fields of queries and forms: a new page is in it by
//! itself, and one with a placeholder that the table below does not know fails the test. Every role looks; the forms are sent by
//! whoever may do most.

use std::collections::BTreeSet;

use axum::http::Method;
use punctual_testkit::{TestBed, console_routes, console_sources};

use super::{Places, WORD};
use crate::{
    client::Client,
    viewer::{Answered, Viewer},
};

/// What needs no session is opened by its link, whoever has it.
const WITHOUT_SESSION: [&str; 7] =
    ["/assets/", "/s/", "/p/", "/sign-in", "/sign-out", "/live", "/invitation"];

/// Forms that make something under a name of one's own choice: one that is taken cannot look as one that is free.
fn takes_a_name(route: &str) -> bool {
    route.ends_with("/save")
}

/// What people may be, beside the holder of a key. The last may do everything that a unit's people may.
const ROLES: [&str; 4] = ["viewer", "operator", "author", "admin"];

/// Fields that say what is to be done and how it is shown, and name nothing.
const CONTROL: [&str; 12] = [
    "token", "version", "stage", "kind", "then", "action", "do", "reason", "scope", "cursor", "before",
    "after",
];

/// Every field of a query or a form that the console's sources ask for, so that a new one is tried by itself.
fn fields_of_the_console() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, text) in console_sources() {
        for call in [".text(\"", ".all(\"", ".get(\""] {
            let names = text.split(call).skip(1).filter_map(|rest| rest.split('"').next());
            found.extend(names.filter(|name| name.chars().all(char::is_alphanumeric)).map(str::to_owned));
        }
        // Those of an editor are named by their place in what is edited.
        for call in ["Field::text(\"/", "Field::new(\"/", "person(\"/"] {
            let names = text.split(call).skip(1).filter_map(|rest| rest.split('"').next());
            found.extend(names.map(|name| format!("/{name}")));
        }
    }
    found.retain(|name| !CONTROL.contains(&name.as_str()));
    for known in ["address", "/organisation", "/creator"] {
        assert!(found.contains(known), "{known}: {found:?}");
    }
    assert!(found.len() > 80, "{found:?}");
    found
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

/// What shows the other unit, or distinguishes it from nobody, on any page and in the answer to any form.
pub async fn leaks(bed: &TestBed, client: &Client, key: &Client, places: &Places) -> Vec<String> {
    let mut leaks = Vec::new();
    let mut viewers = vec![("key", Viewer::signed_in(bed, key).await)];
    for role in ROLES {
        viewers.push((role, Viewer::person(bed, client, role).await));
    }
    let routes = console_routes();
    let routes =
        routes.iter().filter(|(route, _)| !WITHOUT_SESSION.iter().any(|prefix| route.starts_with(prefix)));
    for (route, methods) in routes {
        let (path, nobody) = (filled(route, places, false), filled(route, places, true));
        for (who, viewer) in viewers.iter().filter(|_| methods.contains("get")) {
            for query in
                ["", "?q=de-list&list=de-list&view=all", "?businessUnit=de&from=2026-05-20&to=2026-08-01"]
            {
                let one = viewer.send(Method::GET, &format!("{path}{query}"), &[]).await;
                let other = viewer.send(Method::GET, &format!("{nobody}{query}"), &[]).await;
                compare(&format!("get {route}{query} as {who}"), one, other, &mut leaks);
            }
        }
        let (_, admin) = viewers.last().unwrap();
        if methods.contains("get") {
            named_in_queries(admin, route, &nobody, &mut leaks).await;
        }
        if methods.contains("post") {
            named_in_forms(admin, route, (&path, &nobody), places, &mut leaks).await;
        }
    }
    for (who, viewer) in &viewers {
        assert_eq!(
            viewer.send(Method::GET, "/", &[]).await.0,
            200,
            "the session of the {who} has ended on the way"
        );
    }
    leaks
}

/// Each thing of the other unit under every name that a query of the console has. A page says again what was asked for; what it
/// says more often for what the other unit has, it knows.
async fn named_in_queries(viewer: &Viewer, route: &str, path: &str, leaks: &mut Vec<String>) {
    let fields = fields_of_the_console();
    let query = |value: &str| {
        let pairs: Vec<String> = fields.iter().map(|name| format!("{name}={value}")).collect();
        format!("{path}?{}", pairs.join("&"))
    };
    for (one, nobodys) in [
        (WORD.to_owned(), "nowhere0"),
        (format!("{WORD}%40de.example"), "nowhere0%40de.example"),
        ("de-person".to_owned(), "no-person"),
        ("de-list".to_owned(), "no-list"),
        ("de-source".to_owned(), "no-source"),
        ("de".to_owned(), "qq"),
    ] {
        let of_de = viewer.send(Method::GET, &query(&one), &[]).await;
        let of_nobody = viewer.send(Method::GET, &query(nobodys), &[]).await;
        let what = format!("get {route} with {one} in its query");
        assert!(of_de.0 < 500, "{what}: {}", of_de.2);
        let says_more = of_de.2.matches(WORD).count()
            != match one.contains(WORD) {
                true => of_nobody.2.matches("nowhere0").count(),
                false => 0,
            };
        if of_de.0 != of_nobody.0 || says_more {
            leaks.push(format!("{what}: {} and {}: {}", of_de.0, of_nobody.0, of_de.2));
        }
    }
}

/// Whatever the form calls it: each thing of the other unit under each name.
async fn named_in_forms(
    viewer: &Viewer,
    route: &str,
    (path, nobody): (&str, &str),
    places: &Places,
    leaks: &mut Vec<String>,
) {
    let names = fields_of_the_console();
    let differ = places.values().filter(|(one, other)| one != other);
    let plain = differ.map(|(one, other)| (one.replace("%2F", "/"), other.replace("%2F", "/")));
    // An event is named with its type where it is one of two sorts.
    let (event, nobodys) = &places["events/{id}"];
    let typed = [(format!("events/{event}"), format!("events/{nobodys}"))];
    for (one_id, nobodys_id) in plain.chain(typed) {
        let one = viewer.send(Method::POST, path, &form(&names, &viewer.token, &one_id)).await;
        let other = match takes_a_name(route) {
            true => one.clone(),
            false => viewer.send(Method::POST, nobody, &form(&names, &viewer.token, &nobodys_id)).await,
        };
        compare(&format!("post {route} with {one_id}"), one, other, leaks);
    }
}

fn form<'a>(names: &'a BTreeSet<String>, token: &'a str, id: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut fields =
        vec![("token", token), ("version", "1"), ("stage", "0"), ("kind", "event"), ("then", "save")];
    fields.extend([("action", "retry"), ("do", "retry"), ("reason", "r"), ("scope", "subscription")]);
    fields.extend(names.iter().map(|name| (name.as_str(), id)));
    fields
}

fn compare(what: &str, one: Answered, other: Answered, leaks: &mut Vec<String>) {
    assert!(one.0 < 500, "{what}: {}", one.2);
    if one.2.contains(WORD) {
        leaks.push(format!("{what}: {}", one.2));
    }
    // What a refusal says is compared over the API; here it names what was asked for, cut where it is long.
    // Passwords that are wrong again and again are slowed down, whoever's they are.
    if one.0 != other.0 && one.0 != 429 && other.0 != 429 {
        leaks.push(format!("{what} differs: {} and {}", one.0, other.0));
    }
}
