//! Pages: every item once, in order, whatever the size of a page; and the filters of each list.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, put_on_hold},
    sites::site,
};

on_both! {
    following_the_cursor_gives_every_item_once;
    a_page_that_cannot_be_is_refused;
    notifications_are_found_by_what_they_are;
    s4_69_a_search_takes_no_account_of_case_in_any_language;
    work_is_found_by_what_it_is;
}

/// Every item of a list, three on a page.
async fn all(client: &Client, path: &str) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}?limit=3{cursor}")).await.expect(200);
        let found = page["items"].as_array().unwrap();
        assert!(found.len() <= 3);
        items.extend(found.iter().cloned());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}

fn texts(items: &[Value], field: &str) -> Vec<String> {
    items.iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
}

async fn following_the_cursor_gives_every_item_once(bed: TestBed) {
    let client = Client::new(&bed).await;
    for n in 0..7 {
        let name = format!("n{n}");
        let run_at = "2026-05-14T06:00:00Z";
        let message = json!({ "targets": ["x"], "channel": "memory:default", "subject": name, "body": "B" });
        client.post("/api/v1/notifications", message.clone()).await.expect(201);
        let mut later = message;
        later["sendAt"] = json!(run_at);
        client.post("/api/v1/messages", later).await.expect(201);
        client.post("/api/v1/schedules", json!({ "topic": name, "runAt": run_at })).await.expect(201);
        client
            .put(&format!("/api/v1/lists/{name}"), json!({ "type": "sms", "targets": [] }))
            .await
            .expect(200);
        let template =
            json!({ "defaultLocale": "en", "variants": { "en": { "subject": "S", "body": "B" } } });
        client.put(&format!("/api/v1/templates/{name}"), template).await.expect(200);
        let unit = json!({ "name": name, "timeZone": "UTC" });
        client.put(&format!("/api/v1/business-units/{name}"), unit).await.expect(200);
        client.put(&format!("/api/v1/sources/document/{name}"), json!({})).await.expect(200);
    }
    let rising: Vec<String> = (0..7).map(|n| format!("n{n}")).collect();
    let falling: Vec<String> = rising.iter().rev().cloned().collect();
    assert_eq!(texts(&all(&client, "/api/v1/notifications").await, "subject"), falling);
    assert_eq!(texts(&all(&client, "/api/v1/messages").await, "subject"), falling);
    assert_eq!(texts(&all(&client, "/api/v1/schedules").await, "topic"), falling);
    assert_eq!(all(&client, "/api/v1/work").await.len(), 14);
    assert_eq!(texts(&all(&client, "/api/v1/lists").await, "name"), rising);
    assert_eq!(texts(&all(&client, "/api/v1/templates").await, "name"), rising);
    let mut units = rising.clone();
    units.insert(0, "de".to_owned());
    units.push("nz".to_owned());
    assert_eq!(texts(&all(&client, "/api/v1/business-units").await, "id"), units);
    assert_eq!(texts(&all(&client, "/api/v1/sources/document").await, "id"), rising);
    client.advance("2h").await;
}

async fn a_page_that_cannot_be_is_refused(bed: TestBed) {
    let client = Client::new(&bed).await;
    let lists = [
        "notifications",
        "messages",
        "schedules",
        "work",
        "lists",
        "templates",
        "business-units",
        "sources/x",
    ];
    for list in lists {
        for limit in ["0", "201", "many"] {
            client.get(&format!("/api/v1/{list}?limit={limit}")).await.refused(422, "page_size");
        }
        let problem = client.get(&format!("/api/v1/{list}?cursor=AAAA")).await.refused(422, "cursor_invalid");
        assert_eq!(problem["errors"][0]["pointer"], "/cursor");
    }
    client.get("/api/v1/notifications?status=lost").await.refused(422, "out_of_range");
    client.get("/api/v1/work?from=tomorrow").await.refused(422, "date_invalid");
}

async fn notifications_are_found_by_what_they_are(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.put("/api/v1/lists/ops", json!({ "type": "memory", "targets": ["a"] })).await.expect(200);
    let plant = site(&client, "plant-7").await;
    let to_list = json!({ "id": "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071", "list": "ops", "subject": "50% full", "body": "B", "script": "watch.sh" });
    plant.post("/api/v1/sites/plant-7/notifications", json!({ "items": [to_list] })).await.expect(200);
    client.advance("1h").await;
    let lost =
        json!({ "type": "alarm", "targets": ["a"], "channel": "pager:none", "subject": "Lost", "body": "B" });
    client.post("/api/v1/notifications", lost).await.expect(201);
    client.advance("20m").await;
    let late = json!({ "targets": ["a"], "channel": "memory:default", "subject": "Waiting", "body": "B" });
    client.post("/api/v1/notifications", late).await.expect(201);
    let found = async |query: &str| {
        let page = client.get(&format!("/api/v1/notifications?{query}")).await.expect(200);
        texts(page["items"].as_array().unwrap(), "subject")
    };
    assert_eq!(found("status=delivered").await, ["50% full"]);
    assert_eq!(found("status=parked").await, ["Lost"]);
    assert_eq!(found("type=alarm").await, ["Lost"]);
    assert_eq!(found("site=plant-7").await, ["50% full"]);
    assert_eq!(found("list=ops").await, ["50% full"]);
    assert_eq!(found("q=50%25").await, ["50% full"]);
    assert_eq!(found("q=WAIT").await, ["Waiting"]);
    assert_eq!(found("q=%25").await, ["50% full"]);
    assert_eq!(found("from=2026-05-14T06:00:00Z&to=2026-05-14T06:20:00Z").await, ["Lost"]);
    assert!(found("stuck=true").await.is_empty());
    bed.wait(11 * 60);
    assert_eq!(found("stuck=true").await, ["Waiting"]);
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!(
        (&kpis["queueDepth"], &kpis["stuckCount"], &kpis["parkedCount"], &kpis["oldestPendingAgeSeconds"]),
        (&json!(1), &json!(1), &json!(1), &json!(660)),
    );
    let plant = site(&client, "plant-8").await;
    let waiting = json!({ "id": "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6072", "list": "ops", "subject": "At a site", "body": "B" });
    plant.post("/api/v1/sites/plant-8/notifications", json!({ "items": [waiting] })).await.expect(200);
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!(
        (&kpis["bySite"][0]["site"], &kpis["bySite"][0]["queueDepth"]),
        (&json!("plant-8"), &json!(1))
    );
    let one = client.get("/api/v1/notifications/kpis?site=plant-8").await.expect(200);
    assert_eq!((&one["queueDepth"], &one["stuckCount"]), (&json!(1), &json!(0)));
    client.advance("1s").await;
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!((&kpis["queueDepth"], &kpis["deliveredLastInterval"]), (&json!(0), &json!(2)));
}

async fn s4_69_a_search_takes_no_account_of_case_in_any_language(bed: TestBed) {
    let client = Client::new(&bed).await;
    for subject in ["Viel Ärger", "Привет", "plain"] {
        let body = json!({ "targets": ["a"], "channel": "memory:default", "subject": subject, "body": "B" });
        client.post("/api/v1/notifications", body).await.expect(201);
    }
    // The database of the tests has the locale C on PostgreSQL, which knows ASCII alone.
    let cases = [
        ("PLAIN", "plain"),
        ("%C3%84rger", "Viel Ärger"),
        ("%C3%A4RGER", "Viel Ärger"),
        ("%D0%BF%D1%80%D0%98", "Привет"),
    ];
    for (query, expected) in cases {
        let page = client.get(&format!("/api/v1/notifications?q={query}")).await.expect(200);
        assert_eq!(texts(page["items"].as_array().unwrap(), "subject"), [expected], "{query}");
    }
    bed.leaves_open("only what is found matters");
}

async fn work_is_found_by_what_it_is(bed: TestBed) {
    let client = Client::new(&bed).await;
    let schedule = |key: &str, at: &str| json!({ "topic": "t", "runAt": at, "key": key });
    client.post("/api/v1/schedules", schedule("early", "2026-05-14T06:00:00Z")).await.expect(201);
    let late = client.post("/api/v1/schedules", schedule("late", "2026-05-20T06:00:00Z")).await.expect(201);
    let message =
        json!({ "id": "m", "sendAt": "2026-05-20T06:00:00Z", "list": "ops", "subject": "S", "body": "B" });
    client.post("/api/v1/messages", message.clone()).await.expect(201);
    client.advance("2h").await;
    let mut other = message;
    other["subject"] = json!("T");
    client.post("/api/v1/messages", other).await.refused(409, "id_reused");
    put_on_hold(&bed, "message:m").await;
    let found = async |query: &str| {
        let page = client.get(&format!("/api/v1/work?{query}")).await.expect(200);
        texts(page["items"].as_array().unwrap(), "key")
    };
    assert_eq!(found("status=completed").await, ["schedule:early"]);
    assert_eq!(found("kind=schedule&status=pending").await, ["schedule:late"]);
    assert_eq!(found("hold=true").await, ["message:m"]);
    assert_eq!(found("hold=false&status=pending").await, ["schedule:late"]);
    assert_eq!(found("to=2026-05-15T00:00:00Z").await, ["schedule:early"]);
    assert_eq!(found("from=2026-05-15T00:00:00Z").await, ["message:m", "schedule:late"]);
    client.delete(&format!("/api/v1/schedules/{}", late["id"])).await.expect(204);
}
