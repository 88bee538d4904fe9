//! Every figure of a page that leads somewhere is clicked, and what it opens is counted. Which figures there are, the pages say themselves.
//!
//! On SQLite alone: the browser sees no database, and the figures of charts are counted on both through the router.

use std::collections::BTreeMap;

use punctual_testkit::TestBed;
use serde_json::json;

use crate::{
    browser::{Stage, on_sqlite},
    charts::hours,
    surveys::{asked, schema, survey},
};

/// Each link of the page that shows a count: a tile, a bar with its title, a number alone, a cause with its messages, a button with a number.
const FIGURES: &str = r"(() => {
    document.querySelectorAll('main details').forEach((one) => { one.open = true; });
    const count = (text, shape) => { const found = text?.trim().match(shape); return found ? Number(found[1].replaceAll(',', '')) : null; };
    const found = {};
    document.querySelectorAll('main a[href]').forEach((link) => {
        const text = link.textContent;
        const figure = link.querySelector('.tile-value')
            ? count(link.querySelector('.tile-value').textContent, /^([\d,]+)$/)
            : link.matches('.bar')
            ? count(link.querySelector('title')?.textContent, /: ([\d,]+)(?: |$)/)
            : count(text, /^([\d,]+)$/) ?? count(text, /: ([\d,]+) messages?\.$/) ?? count(text, /\(([\d,]+)\)$/);
        if (figure !== null) (found[link.getAttribute('href')] ??= []).push(figure);
    });
    return found;
})()";

async fn more(bed: &TestBed) {
    bed.leaves_open("some wait, and a survey is out");
    for _ in 0..3 {
        bed.accept_one(bed.message_to_list("no-such-list")).await;
    }
    bed.accept_one(bed.message_to_list("another-list")).await;
    bed.tick().await;
    survey(bed, schema()).await;
    for wip in ["1", "2"] {
        asked(bed, wip, "en").await;
    }
    bed.accept_one(bed.message_over("email:default", &["just-now@example.org"])).await;
    bed.tick().await;
    for _ in 0..2 {
        bed.accept_one(bed.message("waits@example.org")).await;
    }
}

#[test]
fn every_figure_opens_its_rows_in_a_browser() {
    on_sqlite(async |bed| {
        let bed = hours(&bed).await;
        more(&bed).await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        let pages = [
            ("/", 12),
            ("/?range=7d&by=channel", 5),
            ("/outbox", 4),
            ("/attention", 4),
            ("/surveys", 1),
            ("/surveys/1", 1),
            ("/channels/edit?key=email:default", 4),
            ("/reports", 0),
            ("/sites", 0),
        ];
        for (page, least) in pages {
            stage.open(page).await;
            let found: BTreeMap<String, Vec<usize>> =
                serde_json::from_value(stage.browser.eval(FIGURES).await).unwrap();
            assert!(found.len() >= least, "{page}: {found:?}");
            for (link, figures) in found {
                assert!(figures.iter().all(|figure| *figure == figures[0]), "{page} {link}: {figures:?}");
                stage.open(page).await;
                stage.browser.eval(FIGURES).await;
                let aim = format!(
                    "(() => {{ const one = [...document.querySelectorAll('main a[href]')].find((one) => one.getAttribute('href') === {} && one.getClientRects().length); \
                     one.setAttribute('data-aim', ''); }})()",
                    json!(link)
                );
                stage.browser.eval(&aim).await;
                stage.browser.follow("[data-aim]").await;
                let shown = stage.texts("main tr[data-row]").await;
                assert_eq!(shown.len(), figures[0], "{page} {link}: {shown:?}");
            }
        }
        stage.finish();
    });
}
