//! What is said in two places is the same in both: figures, keys, reasons and paths, over the API, the console and the
//! metrics.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, put_on_hold},
    matrix::everything_of_de,
    reminders::{document, first_aid, put_source, setting, unit},
    surveys::{csi_gr, instance, published, visit},
    viewer::Viewer,
};

on_both! {
    s1_112_the_rate_of_a_survey_is_the_same_in_the_list_on_its_page_and_over_the_api;
    s4_67_a_figure_of_the_outbox_is_the_same_wherever_it_is_said;
    what_needs_attention_is_counted_once;
    s0_31_a_key_is_the_same_wherever_it_is_said;
    s4_46_a_reason_is_the_same_wherever_it_is_said;
    every_path_that_is_offered_leads_somewhere;
}

/// Eight are asked, five are reached, four of them answer.
async fn s1_112_the_rate_of_a_survey_is_the_same_in_the_list_on_its_page_and_over_the_api(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(instance(&client, visit(&number.to_string())).await);
    }
    bed.tick().await;
    for id in &ids[..4] {
        let body = json!({ "answers": { "rate": 9, "has-a-complaint": "No" } });
        client.post(&format!("/api/v1/public/surveys/{id}/responses"), body).await.expect(200);
    }
    for number in 5..8 {
        instance(&client, visit(&number.to_string())).await;
    }
    bed.leaves_open("three are not reached yet");
    let viewer = Viewer::signed_in(&bed, &client).await;
    let results = format!("/api/v1/surveys/{survey}/results");
    // By a field that all of them have, results are counted one by one instead of by the database.
    for (query, on_page) in [("", ""), ("?candidate.dealerId=1", "?field=dealerId&value=1")] {
        let reported = client.get(&format!("{results}{query}")).await.expect(200);
        assert_eq!(
            (&reported["instances"], &reported["sent"], &reported["answered"], &reported["responseRate"]),
            (&json!(8), &json!(5), &json!(4), &json!(0.8)),
            "{query}"
        );
        let page = viewer.page(&format!("/surveys/{survey}{on_page}")).await;
        assert!(page.contains("8 asked, 4 answered: 80 %."), "{query}: {page}");
    }
    let list = viewer.page("/surveys").await;
    assert!(list.contains("1 survey, 8 asked, 4 answered.") && list.contains("80 %"), "{list}");
    assert!(!list.contains("50 %") && !list.contains("100 %"), "{list}");
}

/// Two delivered, three parked, one that waits for its turn, and one that is stuck.
async fn a_busy_outbox(bed: &TestBed, client: &Client) {
    let post = async |subject: &str, more: Value| {
        let mut body =
            json!({ "targets": ["x"], "channel": "memory:default", "subject": subject, "body": "B" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.post("/api/v1/notifications", body).await.expect(201);
    };
    post("stuck", json!({})).await;
    bed.wait(3_600);
    for subject in ["parked 1", "parked 2"] {
        let body = json!({ "list": "cold-chain", "subject": subject, "body": "B" });
        client.post("/api/v1/notifications", body).await.expect(201);
    }
    post("parked 3", json!({ "channel": "pager:none" })).await;
}

fn figure<'p>(page: &'p str, tile: &str) -> (&'p str, String) {
    let place = page.find(&format!("data-live=\"tile-{tile}\"")).unwrap_or_else(|| panic!("{tile}: {page}"));
    let (before, after) = page.split_at(place);
    let link =
        before[before.rfind("href=\"").unwrap() + 6..].split('"').next().unwrap().replace("&#38;", "&");
    (after.split("figures\">").nth(1).unwrap().split('<').next().unwrap(), link)
}

async fn s4_67_a_figure_of_the_outbox_is_the_same_wherever_it_is_said(bed: TestBed) {
    let client = Client::new(&bed).await;
    a_busy_outbox(&bed, &client).await;
    let viewer = Viewer::signed_in(&bed, &client).await;
    let listed = async |query: &str| {
        let page = client.get(&format!("/api/v1/notifications?limit=200&{query}")).await.expect(200);
        i64::try_from(page["items"].as_array().unwrap().len()).unwrap()
    };
    // Before anything is sent, and after; the second time some are delivered and others parked.
    for round in ["before", "after"] {
        let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
        let of = |name: &str| kpis[name].as_i64().unwrap_or_else(|| panic!("{name}: {kpis}"));
        let waiting = listed("status=pending").await + listed("status=retrying").await;
        let parked = listed("status=parked").await;
        assert_eq!((of("queueDepth"), of("parkedCount")), (waiting, parked), "{round}");
        assert_eq!(of("stuckCount"), listed("stuck=true").await, "{round}");
        assert_eq!(of("deliveredLastInterval"), listed("status=delivered").await, "{round}");
        let expected = [
            ("Waiting", "queueDepth", "notifications_queued"),
            ("Parked", "parkedCount", "notifications_parked"),
            ("Stuck", "stuckCount", "notifications_stuck"),
        ];
        let metrics = client.get("/metrics").await.text;
        for (tile, kpi, metric) in expected {
            let line = format!("punctual_rows{{state=\"{metric}\"}} {}", of(kpi));
            assert!(metrics.lines().any(|found| found == line), "{round}: {line} in {metrics}");
            for place in ["/", "/outbox"] {
                let page = viewer.page(place).await;
                let (value, link) = figure(&page, tile);
                assert_eq!(value, of(kpi).to_string(), "{round}: {tile} on {place}");
                let rows = viewer.page(&link).await.matches("data-row=\"").count();
                assert_eq!(rows.to_string(), value, "{round}: {tile} leads to {link}");
            }
        }
        let sentence = format!(
            "{} parked · {} stuck · {} waiting",
            of("parkedCount"),
            of("stuckCount"),
            of("queueDepth")
        );
        assert!(viewer.page("/outbox").await.contains(&sentence), "{round}: {sentence}");
        if round == "before" {
            assert_eq!((of("stuckCount"), of("queueDepth")), (1, 4));
            bed.tick().await;
        } else {
            assert_eq!((of("parkedCount"), of("queueDepth"), of("deliveredLastInterval")), (3, 0, 1));
        }
    }
}

async fn what_needs_attention_is_counted_once(bed: TestBed) {
    let client = Client::new(&bed).await;
    a_busy_outbox(&bed, &client).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|_| {})).await;
    put_source(&client, "document/103", document("2026-06-20")).await;
    let key = client.get("/api/v1/work").await.expect(200)["items"][0]["key"].as_str().unwrap().to_owned();
    put_on_hold(&bed, &key).await;
    bed.tick().await;
    bed.leaves_open("reminders to come, and one that is held");
    let viewer = Viewer::signed_in(&bed, &client).await;
    let reported = client.get("/api/v1/attention").await.expect(200);
    let (items, counts) = (reported["items"].as_array().unwrap(), reported["counts"].as_object().unwrap());
    let total = counts["total"].as_i64().unwrap();
    let by_kind: i64 =
        counts.iter().filter(|(kind, _)| *kind != "total").map(|(_, n)| n.as_i64().unwrap()).sum();
    assert_eq!((total, by_kind), (4, 4), "{reported}");
    // Each message of a cause says how many there are of it.
    let (mut itemised, mut causes) = (BTreeMap::<&str, i64>::new(), BTreeSet::new());
    for item in items {
        if item["cause"].as_str().is_some_and(|cause| !causes.insert(cause)) {
            continue;
        }
        *itemised.entry(item["kind"].as_str().unwrap()).or_default() += item["count"].as_i64().unwrap_or(1);
    }
    for (kind, count) in counts.iter().filter(|(kind, count)| *kind != "total" && **count != json!(0)) {
        assert_eq!(itemised.get(kind.as_str()), count.as_i64().as_ref(), "{kind}: {reported}");
    }
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!(counts["parked"], kpis["parkedCount"]);
    let held = client.get("/api/v1/work?hold=true").await.expect(200);
    assert_eq!(counts["hold"], json!(held["items"].as_array().unwrap().len()));
    let overview = viewer.page("/").await;
    assert!(overview.contains(&format!("{total} items need attention")), "{overview}");
    let badge = |path: &str| {
        let entry = overview.split(&format!("href=\"{path}\"")).nth(1).unwrap().split("</a>").next().unwrap();
        entry
            .split("class=\"badge\"")
            .nth(1)
            .map(|rest| rest.split('>').nth(1).unwrap().split('<').next().unwrap().to_owned())
    };
    assert_eq!(badge("/attention"), Some(total.to_string()));
    assert_eq!(badge("/outbox"), Some(counts["parked"].to_string()));
    assert_eq!(badge("/work"), Some(counts["hold"].to_string()));
    // What is found there is what is shown here, by its own page.
    let page = viewer.page("/attention").await;
    for item in items {
        let title = item["title"].as_str().unwrap();
        // Parked messages stand there once, by their cause.
        let by_cause = item["cause"].as_str().and_then(|cause| cause.split_once(": "));
        let by_cause = by_cause.map(|(reason, about)| format!("cause={reason}&#38;about={about}"));
        let link = by_cause.unwrap_or_else(|| item["link"].as_str().unwrap().to_owned());
        assert!(page.contains(title) || page.contains(&link), "{item}: {page}");
    }
}

async fn s0_31_a_key_is_the_same_wherever_it_is_said(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let body = first_aid(|one| {
        one["date"]["offsetsDays"] = json!([7]);
        one["delivery"] = json!({ "channel": "memory:default" });
    });
    setting(&client, body).await;
    put_source(&client, "document/103", document("2026-06-20")).await;
    let row = client.get("/api/v1/work").await.expect(200)["items"][0].clone();
    let key = row["key"].as_str().unwrap().to_owned();
    let id = row["id"].to_string();
    let viewer = Viewer::signed_in(&bed, &client).await;
    let ahead = client.get("/api/v1/forecast?from=2026-06-01&to=2026-06-30").await.expect(200);
    assert_eq!(ahead["days"][0]["items"][0]["key"], *key);
    let date = row["localDate"].as_str().unwrap();
    let why = format!("/api/v1/why?sourceType=document&sourceId=103&date={date}");
    let decisions = client.get(&why).await.expect(200)["decisions"].clone();
    let keys: BTreeSet<&str> =
        decisions.as_array().unwrap().iter().filter_map(|step| step["key"].as_str()).collect();
    assert_eq!(keys, BTreeSet::from([key.as_str()]), "{decisions}");
    client.advance("60d").await;
    let same = async |path: &str| {
        let reported = client.get(path).await.expect(200);
        assert_eq!((&reported["key"], &reported["id"]), (&json!(key), &row["id"]), "{path}");
        reported
    };
    let done = same(&format!("/api/v1/work/{id}")).await;
    same(&format!("/api/v1/work/{id}/trace")).await;
    assert!(viewer.page(&format!("/work/{id}")).await.contains(&key));
    let sent = client.get(&format!("/api/v1/notifications?work={id}")).await.expect(200);
    let sent = sent["items"].as_array().unwrap();
    assert_eq!((sent.len(), &sent[0]["workId"]), (1, &row["id"]));
    let notification = sent[0]["id"].as_str().unwrap();
    // The result of the work, the message and its story name one message.
    assert!(done["result"].to_string().contains(notification), "{done}");
    let story = client.get(&format!("/api/v1/notifications/{notification}/timeline")).await.expect(200);
    assert_eq!(story["id"], *notification);
    let page = viewer.page(&format!("/notifications/{notification}")).await;
    assert!(page.contains(&format!("/work/{id}")), "{page}");
    let found = client.get(&format!("/api/v1/search?q={notification}")).await.expect(200);
    assert_eq!(found["items"][0]["id"], *notification);
}

async fn s4_46_a_reason_is_the_same_wherever_it_is_said(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "list": "cold-chain", "subject": "S", "body": "B" });
    let id = client.post("/api/v1/notifications", body).await.expect(201)["id"].as_str().unwrap().to_owned();
    bed.tick().await;
    let row = client.get(&format!("/api/v1/notifications/{id}")).await.expect(200);
    let reason = row["reasonCode"].as_str().unwrap().to_owned();
    assert_eq!(reason, "list-unknown");
    let listed = client.get("/api/v1/notifications?status=parked").await.expect(200);
    assert_eq!(listed["items"][0]["reasonCode"], *reason);
    let cause = client.get("/api/v1/attention").await.expect(200)["items"][0]["cause"].clone();
    assert_eq!(cause, format!("{reason}: cold-chain"));
    let story = client.get(&format!("/api/v1/notifications/{id}/timeline")).await.expect(200);
    assert!(
        story["items"].as_array().unwrap().iter().any(|step| step.to_string().contains(&reason)),
        "{story}"
    );
    let audit = client.get(&format!("/api/v1/audit?subject=notification/{id}")).await.expect(200);
    let audited = audit["items"].as_array().unwrap();
    assert!(audited.iter().any(|entry| entry["reason"] == *reason), "{audit}");
    // Pages say the sentence of the code, and the reference has both.
    let sentence = reason.parse::<punctual_model::ReasonCode>().ok().map(|code| code.sentence());
    let sentence = sentence.unwrap_or_else(|| panic!("{reason} is no code"));
    let viewer = Viewer::signed_in(&bed, &client).await;
    for path in [format!("/notifications/{id}"), "/outbox?status=parked".to_owned()] {
        assert!(viewer.page(&path).await.contains(sentence), "{path}: {sentence}");
    }
    let reference = include_str!("../../../../docs/reason-codes.md");
    let line = reference.lines().find(|line| line.contains(&format!("`{reason}`")));
    assert!(line.is_some_and(|line| line.contains(sentence)), "{line:?}");
}

/// Pages that are read, at most.
const PAGES: usize = 500;
/// Addresses of one page that differ in their query alone.
const QUERIES: usize = 4;

async fn every_path_that_is_offered_leads_somewhere(bed: TestBed) {
    let client = Client::new(&bed).await;
    everything_of_de(&bed, &client).await;
    let viewer = Viewer::signed_in(&bed, &client).await;
    let mut open: VecDeque<(String, String)> = VecDeque::from([("/".to_owned(), "the start".to_owned())]);
    for word in ["zanzibar", "de-list", "de-source", "memory"] {
        let found = client.get(&format!("/api/v1/search?q={word}")).await.expect(200);
        let links = found["items"].as_array().unwrap().iter();
        open.extend(links.map(|hit| (hit["link"].as_str().unwrap().to_owned(), format!("the hit {hit}"))));
    }
    let attention = client.get("/api/v1/attention").await.expect(200);
    let links = attention["items"].as_array().unwrap().iter();
    open.extend(links.map(|item| (item["link"].as_str().unwrap().to_owned(), format!("the item {item}"))));
    let (mut seen, mut queries) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
    let mut broken = Vec::new();
    while let Some((link, from)) = open.pop_front() {
        let path = link.split('?').next().unwrap().to_owned();
        let count = queries.entry(path.clone()).or_default();
        if seen.len() >= PAGES || *count >= QUERIES || !seen.insert(link.clone()) {
            continue;
        }
        *count += 1;
        let is_api = ["/api/", "/docs", "/openapi.json"].iter().any(|start| path.starts_with(start));
        let (status, text) = if is_api {
            let reply = client.get(&link).await;
            (reply.status, reply.text)
        } else {
            let (status, _, text) = viewer.send(Method::GET, &link, &[]).await;
            (status, text)
        };
        if status >= 400 {
            broken.push(format!("{link} on {from}: {status}"));
        }
        if status == 200 && text.starts_with("<!") {
            open.extend(links_of(&text).into_iter().map(|next| (next, link.clone())));
        }
    }
    assert!(seen.len() > 60, "{seen:?}");
    assert!(broken.is_empty(), "{broken:#?}");
}

/// What a page refers to on this server. Sign-out ends the session, and the stream of changes never ends.
fn links_of(page: &str) -> Vec<String> {
    let attributes = ["href=\"", "src=\""].into_iter().flat_map(|name| page.split(name).skip(1));
    let links = attributes.map(|rest| rest.split('"').next().unwrap().replace("&#38;", "&"));
    links
        .map(|link| link.split('#').next().unwrap().to_owned())
        .filter(|link| link.starts_with('/') && !link.starts_with("//"))
        .filter(|link| !["/sign-out", "/sign-in", "/live"].iter().any(|end| link.starts_with(end)))
        .collect()
}
