//! Every page that the sources declare, with samples: how much each weighs. A new page is in it by itself.
//!
//! On SQLite alone: what a page weighs does not depend on the database.

use axum::http::Method;
use punctual_testkit::console_routes;

use crate::{browser::on_sqlite, client::Client, samples::Samples, settings::with_adapters};

/// What a page may weigh when it is compressed, with its style and script.
const HEAVIEST: usize = 150 << 10;

/// Every page, with its address.
pub fn pages(samples: &Samples) -> Vec<(String, String)> {
    let routes = console_routes().into_iter().filter(|(_, methods)| methods.contains("get"));
    routes
        .filter_map(|(route, _)| Some((samples.fill(&route)?, route)))
        .map(|(path, route)| (route, path))
        .collect()
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
        for (route, path) in pages(&samples) {
            // The start of a session leads away from these.
            if ["/sign-in", "/invitation"].contains(&route.as_str()) {
                continue;
            }
            let bytes = weight(&path).await + assets;
            assert!(bytes < HEAVIEST, "{route} weighs {bytes}");
        }
        let plain = client.send(Method::GET, "/outbox", &[], String::new()).await;
        assert!(plain.headers.get("content-encoding").is_none() && plain.text.contains("Outbox"));
    });
}
