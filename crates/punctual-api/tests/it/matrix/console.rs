//! The pages and forms of the console, for a viewer of one business unit against what another has.
//!
//! The routes are those that the console's sources declare: a new page is in it by itself, and one with a placeholder that
//! the table below does not know fails the test.

use axum::http::Method;
use punctual_testkit::{TestBed, console_routes};

use super::{Places, WORD};
use crate::{
    client::Client,
    viewer::{Answered, Viewer},
};

/// What needs no session is opened by its link, whoever has it.
const WITHOUT_SESSION: [&str; 7] =
    ["/assets/", "/s/", "/p/", "/sign-in", "/sign-out", "/live", "/invitation"];

/// Forms that make something under a name of one's own choice: one that is taken cannot look as one that is free.
const NAMED: [&str; 2] = ["/operations/people/save", "/operations/organisations/save"];

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

/// What tells of the other unit, or tells it from nobody, on any page and in the answer to any form.
pub async fn told(bed: &TestBed, client: &Client, places: &Places) -> Vec<String> {
    let viewer = Viewer::signed_in(bed, client).await;
    let mut told = Vec::new();
    for (route, methods) in console_routes() {
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
            let differ = places.values().filter(|(one, other)| one != other);
            let plain = differ.map(|(one, other)| (one.replace("%2F", "/"), other.replace("%2F", "/")));
            // An event is named with its type where it is one of two sorts.
            let (event, nobodys) = &places["events/{id}"];
            let typed = [(format!("events/{event}"), format!("events/{nobodys}"))];
            for (one_id, nobodys_id) in plain.chain(typed) {
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
