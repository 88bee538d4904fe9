//! Every page that the sources declare, in a real browser: nothing that axe-core finds in light, in dark and on a phone, nothing wider
//! than a phone, no message of the browser and no request to another host. A new page is in it by itself.
//!
//! On SQLite alone: the browser sees no database.

use punctual_testkit::TestBed;
use serde_json::json;

use crate::{
    browser::{Stage, on_sqlite},
    client::Client,
    every_page::{is_for_strangers, routes},
    samples::Samples,
    settings::with_adapters,
    settings_browser::axe,
};

/// The findings of axe-core; in dark only what depends on colours, because the page is the same one.
const EVERYTHING: &str = "{}";
const COLOURS: &str = "{ runOnly: ['cat.color'] }";

/// What axe-core finds on the page.
async fn findings(stage: &mut Stage, options: &str) -> Vec<String> {
    let run = format!(
        "axe.run(document, {options}).then((found) => found.violations.flatMap((one) => one.nodes.map((node) => \
         `${{one.id}}: ${{node.target.join(' ')}} ${{node.failureSummary ?? ''}}`)))"
    );
    serde_json::from_value(stage.browser.eval(&run).await).unwrap()
}

/// Looks at one page as it is on a phone, on a desk and in the dark.
async fn look(stage: &mut Stage, route: &str, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    stage.browser.size(360, 780).await;
    stage.open(path).await;
    stage.browser.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })").await;
    for (width, height, scheme, options) in
        [(360, 780, "light", EVERYTHING), (1440, 1000, "light", EVERYTHING), (1440, 1000, "dark", COLOURS)]
    {
        stage.browser.size(width, height).await;
        stage.browser.prefer(scheme).await;
        let wide = stage.browser.eval("document.documentElement.scrollWidth").await;
        if wide != json!(width) {
            found.push(format!("{route} {width}: it is {wide} wide"));
        }
        let name = route.replace(['/', '{', '}'], "-");
        stage.browser.picture(&format!("every{name}-{width}-{scheme}")).await;
        let all = findings(stage, options).await;
        found.extend(all.into_iter().map(|one| format!("{route} {width} {scheme}: {one}")));
    }
    stage.browser.prefer("light").await;
    found
}

/// Walks over pages, those for strangers first.
async fn walk(bed: &TestBed, pages: Vec<(String, String)>) {
    let mut stage = Stage::on(bed).await;
    stage.browser.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": axe() })).await;
    let mut found = Vec::new();
    let (strangers, people): (Vec<_>, Vec<_>) =
        pages.into_iter().partition(|(route, _)| is_for_strangers(route));
    for (route, path) in strangers {
        found.extend(look(&mut stage, &route, &path).await);
    }
    stage.sign_in().await;
    for (route, path) in people {
        found.extend(look(&mut stage, &route, &path).await);
    }
    assert!(found.is_empty(), "{} findings: {found:#?}", found.len());
    stage.finish();
}

/// One of so many parts of the pages with one of everything on them.
fn part(number: usize, of: usize) {
    on_sqlite(async |bed| {
        let bed = with_adapters(&bed);
        let samples = Samples::make(&bed).await;
        let own = routes().into_iter().skip(number).step_by(of);
        walk(
            &bed,
            own.map(|route| (samples.fill(&route), route)).map(|(path, route)| (route, path)).collect(),
        )
        .await;
    });
}

/// The parts, each a test of its own so that none takes long.
macro_rules! parts {
    ($($name:ident),+) => {
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types, reason = "the names of the tests")]
        enum Part { $($name),+ }
        const PARTS: usize = [$(Part::$name),+].len();
        $(#[test]
        fn $name() {
            part(Part::$name as usize, PARTS);
        })+
    };
}

parts! {
    every_page_has_no_finding_first_part_in_a_browser,
    every_page_has_no_finding_second_part_in_a_browser,
    every_page_has_no_finding_third_part_in_a_browser
}

#[test]
fn every_page_has_no_finding_while_there_is_nothing_in_a_browser() {
    on_sqlite(async |bed| {
        let bed = with_adapters(&bed);
        let client = Client::admin(&bed).await;
        let mut pages = Vec::new();
        for route in routes().into_iter().filter(|route| !route.contains('{')) {
            if is_for_strangers(&route) || client.get(&route).await.status == 200 {
                pages.push((route.clone(), route));
            }
        }
        assert!(pages.len() > 30, "{pages:?}");
        walk(&bed, pages).await;
    });
}
