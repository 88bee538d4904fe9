//! Every page that the sources declare, with samples: how much each weighs. A new page is in it by itself.
//!
//! On SQLite alone: what a page weighs does not depend on the database.

use axum::http::Method;
use punctual_testkit::console_routes;

use crate::{
    browser::on_sqlite,
    client::Client,
    samples::{Samples, is_page},
    settings::with_adapters,
};

/// What a page may weigh when it is compressed, with its style and script.
const HEAVIEST: usize = 150 << 10;

/// The routes of every page.
pub fn routes() -> Vec<String> {
    let read = console_routes().into_iter().filter(|(_, methods)| methods.contains("get"));
    read.map(|(route, _)| route).filter(|route| is_page(route)).collect()
}

/// What the start of a session leads away from.
pub fn is_for_strangers(route: &str) -> bool {
    ["/sign-in", "/invitation"].contains(&route)
}

#[test]
fn every_page_is_light() {
    on_sqlite(async |bed| {
        let bed = with_adapters(&bed);
        let samples = Samples::make(&bed).await;
        let client = Client::admin(&bed).await;
        let weight = async |path: &str| {
            let takes = [("accept-encoding", "gzip, br"), ("accept", "text/html")];
            let reply = client.send(Method::GET, path, &takes, String::new()).await;
            assert_eq!(
                reply.headers.get("content-encoding").map(|value| value.to_str().unwrap()),
                Some("gzip"),
                "{path}"
            );
            assert_eq!(reply.headers["vary"], "accept-encoding", "{path}");
            reply.headers["content-length"].to_str().unwrap().parse::<usize>().unwrap()
        };
        let assets = weight("/assets/console.css").await + weight("/assets/console.js").await;
        for route in routes().iter().filter(|route| !is_for_strangers(route)) {
            let bytes = weight(&samples.fill(route)).await + assets;
            assert!(bytes < HEAVIEST, "{route} weighs {bytes}");
        }
        let plain = client.send(Method::GET, "/outbox", &[], String::new()).await;
        assert!(plain.headers.get("content-encoding").is_none() && plain.text.contains("Outbox"));
    });
}

#[test]
fn nothing_is_typed_in_a_terminal_on_an_empty_installation() {
    on_sqlite(async |bed| {
        let bed = with_adapters(&bed);
        let client = Client::admin(&bed).await;
        let routes = routes();
        let mut seen = 0;
        for route in routes.iter().filter(|route| !route.contains('{') && !is_for_strangers(route)) {
            // Without what their addresses name, some are not there.
            let reply = client.get(route).await;
            if reply.status != 200 {
                continue;
            }
            seen += 1;
            // The state of sources comes from programs.
            let by_programs = *route == "/sources";
            assert!(by_programs || !reply.text.contains("curl"), "{route}: {}", reply.text);
            assert!(by_programs || !reply.text.contains("/api/v1"), "{route}: {}", reply.text);
        }
        assert!(seen > 40, "{seen}");
    });
}
