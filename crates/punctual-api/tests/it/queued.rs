//! A work row that queued many notifications names the first and counts them; all are found by its id.

use punctual_model::{Audience, Decision, NewNotification, NotificationId};
use punctual_testkit::{TestBed, TestWorkflow, new_work, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    s0_21_a_row_names_twenty_notifications_and_the_rest_are_found_by_its_id;
}

/// A client on a bed whose rows send to as many addresses as their key says.
async fn sending_many(bed: &TestBed) -> (TestBed, Client) {
    let workflow = TestWorkflow::new("many", |row, _| {
        let count = row.key.rsplit('/').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        let to = |n: usize| {
            let audience = Audience::Targets(vec![format!("a{n}")]);
            let mut new = NewNotification::new(NotificationId(Default::default()), audience, "Due", "Now");
            new.channel = "memory:default".parse().ok();
            new
        };
        Decision::Deliver((0..count).map(to).collect())
    });
    let bed = bed.with(|bed| bed.workflow(workflow));
    let client = Client::new(&bed).await;
    (bed, client)
}

async fn found(client: &Client, query: &str) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/v1/notifications?{query}&limit=10{cursor}");
        let page = client.get(&path).await.expect(200);
        let items = page["items"].as_array().unwrap();
        ids.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}

async fn s0_21_a_row_names_twenty_notifications_and_the_rest_are_found_by_its_id(bed: TestBed) {
    let (bed, client) = sending_many(&bed).await;
    for key in ["many/25", "many/20", "many/0"] {
        bed.ensure_one(new_work("many", key, bed.now())).await;
    }
    bed.tick().await;
    assert_eq!(bed.sent().len(), 45);
    let mut of = Vec::new();
    for key in ["many/25", "many/20", "many/0"] {
        let id = bed.work(key).await.id;
        let row = client.get(&format!("/api/v1/work/{id}")).await.expect(200);
        of.push((id, row["result"].clone()));
    }
    let named = |result: &Value| result["notifications"].as_array().unwrap().len();
    assert_eq!((named(&of[0].1), &of[0].1["count"]), (20, &json!(25)));
    assert_eq!((named(&of[1].1), of[1].1.get("count")), (20, None));
    let mut all = found(&client, &format!("work={}", of[0].0)).await;
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 25);
    assert!(of[0].1["notifications"].as_array().unwrap().iter().all(|id| all.iter().any(|one| id == one)));
    assert_eq!(found(&client, &format!("work={}", of[1].0)).await.len(), 20);
    assert_eq!(found(&client, &format!("work={}&status=parked", of[0].0)).await.len(), 0);
    assert_eq!(found(&client, &format!("work={}", of[2].0)).await.len(), 0);
    assert_eq!(found(&client, "work=999999").await.len(), 0, "what is not there has none");
    client.get("/api/v1/notifications?work=x").await.refused(422, "wrong_type");
}
