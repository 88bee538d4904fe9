//! What `docs/webhooks.md` shows of the events for subscribers is what they get.

use std::collections::{BTreeMap, BTreeSet};

use punctual_testkit::{TestBed, on_both};
use punctual_workflows::surveys::fan_out::EVENT_TYPES;
use serde_json::{Value, json};

use crate::{
    client::Client,
    surveys::{csi_gr, instance, published, visit},
};

on_both! {
    the_reference_shows_the_payload_of_every_event;
}

/// The events that the page shows, by their type, with the names of their fields.
fn shown() -> BTreeMap<String, BTreeSet<String>> {
    let page = include_str!("../../../../docs/webhooks.md");
    let blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    let examples = blocks.map(|(text, _)| serde_json::from_str::<Value>(text).expect(text));
    let event = |example: Value| Some((example["eventType"].as_str()?.to_owned(), names(&example)));
    examples.filter_map(event).collect()
}

fn names(payload: &Value) -> BTreeSet<String> {
    payload.as_object().unwrap().keys().cloned().collect()
}

async fn the_reference_shows_the_payload_of_every_event(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let every = EVENT_TYPES;
    let subscriber = json!({ "adapter": "memory", "events": every });
    client.put("/api/v1/subscribers/memory:all", subscriber).await.expect(200);
    let (_silent, asked) = (instance(&client, visit("1")).await, instance(&client, visit("2")).await);
    client.post("/api/v1/scheduler/tick", json!({})).await.expect(200);
    let nobody = Client { key: None, ..client.clone() };
    nobody.post(&format!("/api/v1/public/surveys/{asked}/opened"), json!({})).await.expect(204);
    let answer = json!({ "answers": { "rate": 7 } });
    nobody.post(&format!("/api/v1/public/surveys/{asked}/responses"), answer).await.expect(200);
    let schedule = json!({ "topic": "invoices.close", "runAt": "2026-05-14T06:00:00Z", "payload": {} });
    client.post("/api/v1/schedules", schedule).await.expect(201);
    client.advance("40d").await;

    let sent: BTreeMap<String, BTreeSet<String>> = bed
        .sent()
        .iter()
        .filter(|sent| sent.channel.as_str().starts_with("event."))
        .filter_map(|sent| sent.type_data.clone())
        .map(|payload| (payload["eventType"].as_str().unwrap().to_owned(), names(&payload)))
        .collect();
    assert_eq!(sent.keys().map(String::as_str).collect::<BTreeSet<_>>(), every.into_iter().collect());
    let mut shown = shown();
    // The page has one example for what else happens to an instance.
    let happened = shown.get("instance-expired").cloned().expect("an example of `instance-expired`");
    for kind in ["instance-sent", "instance-opened"] {
        shown.insert(kind.to_owned(), happened.clone());
    }
    assert_eq!(shown, sent);
}
