//! Names everywhere, keys nowhere: no page shows the key of a work row or an id that nobody can read where a name belongs. The pages are
//! those that the sources declare.

use std::collections::BTreeSet;

use punctual_model::Reach;
use punctual_store::work::{self, WorkFilter};
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;
use serde_json::json;

use crate::{
    client::{Client, rows},
    every_page::{is_for_strangers, routes},
    reminders::{as_json, definition, put_source, save},
    samples::Samples,
    settings::with_adapters,
    surveys::{asked, schema, survey},
};

on_both! {
    no_page_shows_a_key_where_a_name_belongs;
    what_is_planned_for_an_address_stands_on_its_page;
    a_work_row_leads_to_what_it_comes_of;
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

/// A reminder to Ann, with one source.
async fn reminder(bed: &TestBed, client: &Client) -> String {
    let state = json!({ "expiresOn": "2026-06-20", "email": "ann@example.org" });
    put_source(bed, "document", "1", &state).await;
    let saved = save(client, &as_json(&definition().to_string())).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    rows(&client.page("/reminders").await).remove(0)
}

async fn what_is_planned_for_an_address_stands_on_its_page(bed: TestBed) {
    bed.leaves_open("all of it is planned");
    let client = Client::admin(&bed).await;
    let ann = "/recipients?address=ann%40example.org";
    assert!(client.page(ann).await.contains("Nothing is planned for this address."));
    reminder(&bed, &client).await;
    let message = |to| {
        [
            ("version", ""),
            ("/to", "targets"),
            ("/targets", to),
            ("/from", "text"),
            ("/subject", "Water is off"),
            ("/body", "Until noon."),
            ("/sendAt", "2026-05-20T09:00"),
        ]
    };
    assert_eq!(client.act("/outbox/save", &message("ann@example.org")).await.status, 303);
    assert_eq!(client.act("/outbox/save", &message("ben@example.org")).await.status, 303);
    survey(&bed, schema()).await;
    asked(&bed, "1", "en").await;
    bed.run_for(60).await;
    let page = client.page(ann).await;
    assert!(page.contains("href=\"/sources/document/1\">document 1</a>"), "{page}");
    assert!(page.contains("document 1: 7 days before 20 Jun"), "{page}");
    assert_eq!(page.matches("Water is off").count(), 1, "{page}");
    assert!(!page.contains("CSI-GR") && !page.contains("Nothing is planned"), "{page}");
    let asked = client.page("/recipients?address=%2B964%20770%20000%200001").await;
    assert!(asked.contains("CSI-GR: reminder 1 to +964 770 000 0001"), "{asked}");
    // Who sees one unit alone sees nothing of the others.
    let other = client.with_key(&[Scope::Read], Some(&["nz"])).await;
    assert!(other.page(ann).await.contains("Nothing is planned for this address."));
}

async fn a_work_row_leads_to_what_it_comes_of(bed: TestBed) {
    bed.leaves_open("a reminder is planned");
    let client = Client::admin(&bed).await;
    let setting = reminder(&bed, &client).await;
    bed.run_for(60).await;
    let work = rows(&client.page("/work?kind=reminder").await).remove(0);
    let page = client.page(&format!("/work/{work}")).await;
    assert!(page.contains(&format!("<dt>Reminder</dt><dd><a href=\"/reminders/{setting}\">")), "{page}");
    assert!(page.contains("<dt>Source</dt><dd><a href=\"/sources/document/1\">document 1</a>"), "{page}");
    // The audit calls it what everything else does.
    let version = bed.work_by_id(work.parse().unwrap()).await.version.to_string();
    let fields = [("action", "cancel"), ("id", work.as_str()), ("version", version.as_str())];
    client.act("/work/act", &fields).await.leads_to(&format!("/work/{work}?done=cancel.1.0"));
    let audit = client.page(&format!("/audit?subject=work/{work}")).await;
    assert!(audit.contains(">work: ") && audit.contains("document 1: 30 days before 20 Jun"), "{audit}");
    assert!(client.page("/audit?action=sign-in").await.contains("key: "));
}
