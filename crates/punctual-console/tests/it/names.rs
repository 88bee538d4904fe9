//! Names everywhere, keys nowhere: no page shows the key of a work row or an id that nobody can read where a name belongs. The pages are
//! those that the sources declare.

use std::collections::BTreeSet;

use punctual_model::Reach;
use punctual_store::work::{self, WorkFilter};
use punctual_testkit::{TestBed, on_both};

use crate::{
    client::{Client, rows},
    every_page::{is_for_strangers, routes},
    samples::Samples,
    settings::with_adapters,
};

on_both! {
    no_page_shows_a_key_where_a_name_belongs;
}

/// Where a key may stand: what is for copying, folded, typed or the raw data of a row.
const FOR_KEYS: [(&str, &str); 7] = [
    ("<code", "</code>"),
    ("<pre", "</pre>"),
    ("<textarea", "</textarea>"),
    ("<script", "</script>"),
    ("<style", "</style>"),
    ("<dl class=\"details\"", "</dl>"),
    ("<details", "</details>"),
];

/// What people read of a page, without what is meant to hold keys.
fn read(page: &str) -> String {
    let mut page = page.to_owned();
    for (start, end) in FOR_KEYS {
        while let Some(at) = page.find(start) {
            let to = page[at..].find(end).map_or(page.len(), |to| at + to + end.len());
            page.replace_range(at..to, " ");
        }
    }
    let texts = page.split('<').skip(1).filter_map(|piece| piece.split_once('>').map(|(_, text)| text));
    texts.collect::<Vec<_>>().join(" ")
}

fn is_uuid(word: &str) -> bool {
    let groups: Vec<usize> = word.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && word.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

async fn no_page_shows_a_key_where_a_name_belongs(bed: TestBed) {
    let bed = with_adapters(&bed);
    let samples = Samples::make(&bed).await;
    let client = Client::admin(&bed).await;
    let all = WorkFilter { limit: 500, ..WorkFilter::default() };
    let found = work::page(&mut bed.read().await.conn(), &Reach::Everything, &all).await.unwrap();
    let keys: Vec<String> = found.rows.into_iter().map(|row| row.key).collect();
    assert!(keys.len() > 3, "{keys:?}");
    // One work row of every kind, and every message that is listed, besides one page of each route.
    let mut paths: BTreeSet<String> =
        routes().iter().filter(|route| !is_for_strangers(route)).map(|route| samples.fill(route)).collect();
    let listed = rows(&client.page("/work?list=all").await);
    paths.extend(listed.into_iter().map(|id| format!("/work/{id}")));
    let listed = rows(&client.page("/outbox").await);
    paths.extend(listed.into_iter().map(|id| format!("/notifications/{id}")));
    let mut faults = BTreeSet::new();
    for path in paths {
        let text = read(&client.page(&path).await);
        for key in keys.iter().filter(|key| text.contains(key.as_str())) {
            faults.insert(format!("{path} shows {key}"));
        }
        if let Some((before, _)) = text.split_once('`') {
            let start: Vec<&str> = before.split_whitespace().rev().take(6).collect();
            faults.insert(format!("{path} shows a mark of code after {start:?}"));
        }
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        faults.extend(words.filter(|word| is_uuid(word)).map(|word| format!("{path} shows {word}")));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
