//! Every page that the sources declare, with samples: how much each weighs, and whether everybody can read and use it. A new page is in it
//! by itself.
//!
//! On SQLite alone: neither depends on the database.

use axum::http::Method;
use punctual_store::sites;
use punctual_testkit::console_routes;
use serde_json::json;

use crate::{
    browser::{Stage, on_sqlite},
    client::Client,
    editors_browser::{forgive_refusals, open_all},
    every_figure::{count, full_day, pages},
    samples::{Samples, is_page},
    settings::with_adapters,
    settings_browser::axe,
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
        // A day with more rows of most things than a page shows.
        let (bed, samples) = full_day(&bed).await;
        let mut tx = bed.begin().await;
        for n in 0..600 {
            sites::insert(&mut tx.conn(), bed.now(), &format!("warehouse-{n}"), None).await.unwrap();
        }
        tx.commit().await.unwrap();
        let client = Client::admin(&bed).await;
        assert_eq!(count(&client, "/sites").await, 601, "the list goes on after a page");
        let weight = async |path: &str| {
            let takes = [("accept-encoding", "gzip, br"), ("accept", "text/html")];
            let reply = client.send(Method::GET, path, &takes, String::new()).await;
            assert_eq!(reply.status, 200, "the samples have nothing at {path}");
            assert_eq!(
                reply.headers.get("content-encoding").map(|value| value.to_str().unwrap()),
                Some("gzip"),
                "{path}"
            );
            assert_eq!(reply.headers["vary"], "accept-encoding", "{path}");
            reply.headers["content-length"].to_str().unwrap().parse::<usize>().unwrap()
        };
        let assets = weight("/assets/console.css").await + weight("/assets/console.js").await;
        let mut heaviest = (0, String::new());
        for path in pages(&client, &samples).await.into_keys() {
            let bytes = weight(&path).await + assets;
            assert!(bytes < HEAVIEST, "{path} weighs {bytes}");
            heaviest = heaviest.max((bytes, path));
        }
        println!("the heaviest page: {heaviest:?}");
        assert!(heaviest.0 > 20 << 10, "no page has anything on it: {heaviest:?}");
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
            assert!(!reply.text.contains("not known here"), "{route} finds fault with what it begins with");
            assert!(!reply.text.contains("curl"), "{route}: {}", reply.text);
            assert!(!reply.text.contains("/api/v1"), "{route}: {}", reply.text);
        }
        assert!(seen > 40, "{seen}");
    });
}

/// One page in light, in dark and on a phone: what axe-core finds, and whether it fits.
async fn look(stage: &mut Stage, axe: &str, name: &str, findings: &mut Vec<String>) {
    let pictures = std::env::var_os("PUNCTUAL_TEST_PICTURES").is_some();
    // The choice of the zone hangs over the page.
    let open = "document.querySelectorAll('details:not(.zones)').forEach((one) => { one.open = true; })";
    stage.browser.eval(open).await;
    stage.browser.eval(&format!("{axe}; true")).await;
    let file = name.trim_matches('/').replace(['/', '{', '}', '.'], "-");
    // In the dark colours alone are another matter, on a phone everything else; the frame is the same around every page.
    let whole = if name == "/" { "document" } else { "document.querySelector('main') ?? document" };
    let looks = [
        (1440, "light", "document", "{}"),
        (1440, "dark", whole, "{ runOnly: ['color-contrast'] }"),
        (360, "light", whole, "{ rules: { 'color-contrast': { enabled: false } } }"),
    ];
    for (width, scheme, part, options) in looks {
        stage.browser.size(width, if width > 600 { 1000 } else { 780 }).await;
        stage.browser.prefer(scheme).await;
        let run = format!(
            "axe.run({part}, {{ resultTypes: ['violations'], ...{options} }}).then((found) => found.violations.flatMap((one) => \
             one.nodes.map((node) => `${{one.id}}: ${{node.target.join(' ')}} ${{node.failureSummary ?? ''}}`)))"
        );
        let found: Vec<String> = serde_json::from_value(stage.browser.eval(&run).await).unwrap();
        findings.extend(found.into_iter().map(|one| format!("{name} {width} {scheme}: {one}")));
        let wide = stage.browser.eval("document.documentElement.scrollWidth").await;
        if wide != json!(width) {
            findings.push(format!("{name} is {wide} wide in {width}"));
        }
        // Text over text, and buttons that touch the field above them.
        let crowded = "(() => { const box = (e) => e.getBoundingClientRect(), seen = (e) => e && box(e).height > 0; \
            const over = [...document.querySelectorAll('main h2')].filter((e) => seen(e.nextElementSibling) \
              && box(e.nextElementSibling).left < box(e).right && box(e.nextElementSibling).top < box(e).bottom - 3).map((e) => `over ${e.textContent}`); \
            const near = [...document.querySelectorAll('main .acts')].filter((e) => seen(e) && seen(e.previousElementSibling) \
              && !e.closest('.entry-head, .panel-head, li') && e.previousElementSibling.matches('.field, .fields, label, textarea, .scroll, table') \
              && box(e).top - box(e.previousElementSibling).bottom < 4).map((e) => `touched by ${e.textContent.trim()}`); \
            return [...over, ...near]; })()";
        let found: Vec<String> = serde_json::from_value(stage.browser.eval(crowded).await).unwrap();
        findings.extend(found.into_iter().map(|one| format!("{name} {width}: {one}")));
        if pictures {
            stage.browser.picture(&format!("all-{file}-{width}-{scheme}")).await;
        }
    }
    if pictures {
        stage.browser.prefer("dark").await;
        stage.browser.picture(&format!("all-{file}-360-dark")).await;
    }
    stage.browser.size(1440, 1000).await;
    stage.browser.prefer("light").await;
}

#[test]
fn every_page_has_no_finding_of_axe_in_a_browser() {
    on_sqlite(async |bed| {
        let bed = with_adapters(&bed);
        let samples = Samples::make(&bed).await;
        let mut stage = Stage::on(&bed).await;
        let (open, pages): (Vec<_>, Vec<_>) = routes().into_iter().partition(|route| is_for_strangers(route));
        let (axe, mut findings) = (axe(), Vec::new());
        for route in &open {
            stage.open(&samples.fill(route)).await;
            look(&mut stage, &axe, route, &mut findings).await;
        }
        stage.sign_in().await;
        for route in &pages {
            stage.open(&samples.fill(route)).await;
            look(&mut stage, &axe, route, &mut findings).await;
            // The same form sent as it is, refused where that is not enough.
            let send = "(() => { const form = document.querySelector('form#edit'); if (form) form.noValidate = true; return !!form; })()";
            if route.ends_with("/new") && stage.browser.eval(send).await == json!(true) {
                stage.browser.follow("#edit .primary").await;
                look(&mut stage, &axe, &format!("{route} sent"), &mut findings).await;
            }
        }
        stage.open("/no-such-page").await;
        open_all(&mut stage).await;
        look(&mut stage, &axe, "no such page", &mut findings).await;
        assert!(findings.is_empty(), "{} findings: {findings:#?}", findings.len());
        forgive_refusals(&mut stage);
        // The page that is not there.
        stage.browser.events.retain(|message| {
            !message["params"]["entry"]["text"].as_str().unwrap_or_default().contains("status of 404")
        });
        stage.finish();
    });
}
