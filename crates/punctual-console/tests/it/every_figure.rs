//! Every figure that links opens exactly the rows that it counts: found on the pages themselves, followed and counted.

use std::collections::{BTreeMap, BTreeSet};

use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;
use serde_json::json;

use crate::{
    browser::{Stage, on_sqlite},
    charts::hours,
    client::Client,
    every_page::{is_for_strangers, routes},
    reminders::put_source,
    samples::Samples,
    settings::with_adapters,
    surveys::{answered, asked},
};

on_both! {
    every_figure_opens_exactly_the_rows_that_it_counts;
}

/// A link as a page has it.
#[derive(Debug)]
pub struct Anchor {
    attributes: String,
    /// What it shows, without elements.
    pub text: String,
    /// Where it leads.
    pub to: String,
    is_drawn: bool,
}

/// The links of a page.
pub fn anchors(page: &str) -> Vec<Anchor> {
    let opened = page.split("<a ").skip(1).filter_map(|rest| {
        let (attributes, rest) = rest.split_once('>')?;
        let inside = rest.split("</a>").next()?;
        let mut pieces = inside.split('<');
        let first = pieces.next().unwrap_or_default().to_owned();
        let text = pieces.fold(first, |text, piece| text + piece.split_once('>').map_or("", |(_, own)| own));
        let to = attributes.split("href=\"").nth(1)?.split('"').next()?;
        Some(Anchor {
            to: to.replace("&#38;", "&").replace("&amp;", "&"),
            attributes: attributes.to_owned(),
            text: text.trim().to_owned(),
            is_drawn: inside.contains("<rect"),
        })
    });
    opened.collect()
}

impl Anchor {
    pub fn has_class(&self, name: &str) -> bool {
        let classes = self.attributes.split("class=\"").nth(1).and_then(|rest| rest.split('"').next());
        classes.is_some_and(|classes| classes.split(' ').any(|class| class == name))
    }

    /// How many rows it says that it opens.
    pub fn figure(&self) -> Option<i64> {
        self.attributes.split("data-figure=\"").nth(1)?.split('"').next()?.parse().ok()
    }

    /// Whether people take it for a figure: a tile, a part of a chart, or a number that is no name of the place.
    fn looks_like_a_figure(&self) -> bool {
        let digits = self.text.replace([',', '+'], "");
        let is_number = !digits.is_empty() && digits.chars().all(|letter| letter.is_ascii_digit());
        self.has_class("tile") || self.is_drawn || (is_number && !self.to.ends_with(&digits))
    }

    fn is_measure(&self) -> bool {
        self.attributes.contains("data-measure")
    }
}

/// A day with something of every state, and more than a page holds of some.
pub async fn full_day(bed: &TestBed) -> (TestBed, Samples) {
    let bed = with_adapters(bed);
    let samples = Samples::make(&bed).await;
    // More reminders on one day than a list names.
    for n in 0..120 {
        let state = json!({ "expiresOn": "2026-06-28", "email": format!("p{n}@example.org") });
        put_source(&bed, "document", &format!("more-{n}"), &state).await;
    }
    // Answers of every kind, over several days; more of one than a page has.
    for n in 0..60 {
        let id = asked(&bed, &format!("visit-{n}"), "en").await;
        if n % 25 == 0 {
            bed.run_for(86_400).await;
        }
        if n % 10 == 9 {
            continue;
        }
        let mut all =
            json!({ "rate": if n < 55 { 10 } else { n % 5 }, "complaint": "No", "when": "2026-05-02" });
        match n % 3 {
            0 => all["parts"] = json!(["People", "Place"]),
            1 => all["parts"] = json!(["Place"]),
            _ => all["complaint"] = json!("Yes"),
        }
        if n % 3 == 2 {
            all["what"] = json!("It was late");
        }
        answered(&bed, &id, all).await;
    }
    let bed = hours(&bed).await;
    for _ in 0..3 {
        bed.accept_one(bed.message_over("email:default", &["a@example.org"])).await;
    }
    bed.tick().await;
    for _ in 0..4 {
        bed.accept_one(bed.message_over("email:default", &["late@example.org"])).await;
    }
    bed.wait(1_200);
    for _ in 0..2 {
        bed.accept_one(bed.message_over("sms:default", &["+64215550199"])).await;
    }
    bed.tick().await;
    for _ in 0..70 {
        bed.accept_one(bed.message_over("email:default", &["a@example.org"])).await;
    }
    bed.wait(5);
    bed.leaves_open("some wait");
    (bed, samples)
}

/// Every page with the samples, and the ways that its tabs offer to look at it.
pub async fn pages(client: &Client, samples: &Samples) -> BTreeMap<String, String> {
    let mut open: Vec<String> =
        routes().iter().filter(|route| !is_for_strangers(route)).map(|route| samples.fill(route)).collect();
    let mut found = BTreeMap::new();
    while let Some(path) = open.pop() {
        if found.contains_key(&path) {
            continue;
        }
        let reply = client.get(&path).await;
        if reply.status != 200 {
            continue;
        }
        // Every range and every division, but not each with each.
        let is_base = !path.contains("range=") && !path.contains("by=");
        let tabs = reply.text.split("class=\"tabs\"").skip(1).filter(|_| is_base);
        for part in tabs.filter_map(|rest| rest.split("</div>").next()?.split("</nav>").next()) {
            open.extend(anchors(part).into_iter().map(|link| link.to.split('#').next().unwrap().to_owned()));
        }
        found.insert(path, reply.text);
    }
    found
}

/// The rows behind a link, over all of its pages.
pub async fn count(client: &Client, link: &str) -> i64 {
    let (mut count, mut next) = (0, Some(link.to_owned()));
    while let Some(link) = next {
        let page = client.page(&link).await;
        count += i64::try_from(page.matches(" data-row").count()).unwrap();
        next = anchors(&page)
            .into_iter()
            .find(|link| link.attributes.contains("rel=\"next\""))
            .map(|link| link.to);
    }
    count
}

async fn every_figure_opens_exactly_the_rows_that_it_counts(bed: TestBed) {
    let (bed, samples) = full_day(&bed).await;
    let admin = Client::admin(&bed).await;
    let limited = admin.with_key(&[Scope::Read], Some(&["nz"])).await;
    for (client, at_least) in [(&admin, 60), (&limited, 0)] {
        let mut counted: BTreeMap<String, i64> = BTreeMap::new();
        let mut wrong = BTreeSet::new();
        for (path, page) in pages(client, &samples).await {
            let mut nothing = 0;
            for link in anchors(&page) {
                let Some(figure) = link.figure() else {
                    assert!(link.is_measure() || !link.looks_like_a_figure(), "{path}: {link:?}");
                    continue;
                };
                // Most intervals of a chart are empty: some of them stand for all.
                nothing += i64::from(figure == 0);
                if figure == 0 && nothing > 5 {
                    continue;
                }
                let rows = match counted.get(&link.to) {
                    Some(rows) => *rows,
                    None => count(client, &link.to).await,
                };
                counted.insert(link.to.clone(), rows);
                if rows != figure {
                    wrong.insert(format!("{path}: {figure}, but {} has {rows}", link.to));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(counted.len() >= at_least, "{}", counted.len());
        let most = counted.values().max().copied().unwrap_or(0);
        assert!(at_least == 0 || most > 100, "no figure has more than a page: {most}");
        for of in
            ["question=parts&answer=", "question=rate&answer=", "answered=2026-", "day=2026-", "trigger="]
        {
            assert!(at_least == 0 || counted.keys().any(|link| link.contains(of)), "no figure with {of}");
        }
    }
}

/// On SQLite alone: the browser sees no database.
#[test]
fn every_figure_is_clicked_in_a_browser() {
    on_sqlite(async |bed| {
        let (bed, samples) = full_day(&bed).await;
        let client = Client::admin(&bed).await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        let mut clicked = BTreeSet::new();
        for (path, page) in pages(&client, &samples).await {
            // One range and one division of each chart: what a link holds is counted through the router.
            if path.contains("range=") || !page.contains("data-figure=") {
                continue;
            }
            // What stands behind the bars of an interval is met beside them alone.
            let figures = "[...document.querySelectorAll('a[data-figure]')].filter((one) => one.dataset.figure !== '0' && (one.matches('.bar') || !one.querySelector('.hit')))";
            loop {
                stage.open(&path).await;
                stage
                    .browser
                    .eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                    .await;
                let aim = format!(
                    "(() => {{ const known = new Set({}); const one = {figures}.find((one) => !known.has(one.getAttribute('href')) && one.checkVisibility()); \
                     return one ? [one.getAttribute('href'), Number(one.dataset.figure)] : null; }})()",
                    json!(clicked)
                );
                let aimed = stage.browser.eval(&aim).await;
                let (Some(link), Some(figure)) = (aimed[0].as_str(), aimed[1].as_u64()) else { break };
                let find = format!(
                    "{figures}.find((one) => one.getAttribute('href') === {} && one.checkVisibility())",
                    json!(link)
                );
                stage.browser.follow_on(&find).await;
                let mut shown = 0;
                loop {
                    shown += stage
                        .browser
                        .eval("document.querySelectorAll('main [data-row]').length")
                        .await
                        .as_u64()
                        .unwrap();
                    if stage.browser.eval("!!document.querySelector('a[rel=next]')").await == json!(false) {
                        break;
                    }
                    stage.browser.follow("a[rel=next]").await;
                }
                assert_eq!(shown, figure, "{path}: {link}");
                clicked.insert(link.to_owned());
            }
        }
        assert!(clicked.len() > 25, "{clicked:?}");
        stage.finish();
    });
}
