//! What needs attention: parked notifications and work on hold, with counts, for those who may see them.

use punctual_engine::attention::Kind;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Map, Value, json};

use crate::client::{Client, put_on_hold};

on_both! {
    what_needs_a_person_is_listed_with_its_reason_and_page;
    a_key_of_one_business_unit_sees_no_other;
    nodes_are_listed_with_what_they_hold;
    parked_messages_say_their_cause_and_how_many_have_it;
}

async fn parked_messages_say_their_cause_and_how_many_have_it(bed: TestBed) {
    let client = Client::new(&bed).await;
    for list in ["cold-chain", "cold-chain", "night"] {
        bed.accept_one(bed.message_to_list(list)).await;
    }
    bed.tick().await;
    let found = client.get("/api/v1/attention").await.expect(200);
    let mut causes: Vec<(&str, i64)> = found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["cause"].as_str().unwrap(), item["count"].as_i64().unwrap()))
        .collect();
    causes.sort_unstable();
    let expected =
        [("list-unknown: cold-chain", 2), ("list-unknown: cold-chain", 2), ("list-unknown: night", 1)];
    assert_eq!(causes, expected);
}

async fn nodes_are_listed_with_what_they_hold(bed: TestBed) {
    let client = Client::new(&bed).await;
    assert_eq!(client.get("/api/v1/nodes").await.expect(200), json!({ "items": [] }));
    let identity = punctual_engine::Identity { version: "1.2.3", role: "all", started_at: bed.now() };
    bed.engine.report_node(&identity).await.unwrap();
    let node = json!({ "node": "a", "version": "1.2.3", "role": "all", "clockOffsetMs": 0,
        "startedAt": "2026-05-14T05:00:00Z", "lastSeenAt": "2026-05-14T05:00:00Z", "holds": { "work": 0, "notifications": 0 } });
    assert_eq!(client.get("/api/v1/nodes").await.expect(200), json!({ "items": [node] }));
}

async fn what_needs_a_person_is_listed_with_its_reason_and_page(bed: TestBed) {
    let client = Client::new(&bed).await;
    let nothing = client.get("/api/v1/attention").await.expect(200);
    let counted = |hold: i64, parked: i64| {
        let mut counts: Map<String, Value> =
            Kind::ALL.into_iter().map(|kind| (kind.as_str().to_owned(), json!(0))).collect();
        counts.extend(
            [("hold", hold), ("parked", parked), ("total", hold + parked)]
                .map(|(kind, n)| (kind.to_owned(), json!(n))),
        );
        Value::Object(counts)
    };
    assert_eq!(nothing, json!({ "items": [], "counts": counted(0, 0) }));

    let parked = bed.accept_one(bed.message_over("no:such", &["a"])).await;
    bed.tick().await;
    let schedule = |payload: i64| json!({ "key": "k", "topic": "t", "runAt": "2027-01-01T00:00:00Z", "payload": { "n": payload } });
    let held = client.post("/api/v1/schedules", schedule(1)).await.expect(201)["id"].clone();
    bed.wait(60);
    client.post("/api/v1/schedules", schedule(2)).await.refused(409, "id_reused");
    put_on_hold(&bed, "schedule:k").await;

    let found = client.get("/api/v1/attention").await.expect(200);
    assert_eq!(found["counts"], counted(1, 1));
    let hold = json!({ "kind": "hold", "word": "held", "id": held.to_string().trim_matches('"'), "title": "Schedule k",
        "reason": "The same key was scheduled with different inputs", "since": "2026-05-14T05:01:00Z",
        "link": format!("/work/{}", held.to_string().trim_matches('"')) });
    assert_eq!(found["items"][0], hold);
    let item = &found["items"][1];
    assert_eq!(
        (&item["kind"], &item["id"], &item["title"]),
        (&json!("parked"), &json!(parked), &json!("Hello"))
    );
    assert!(item["reason"].as_str().unwrap().starts_with("The channel does not exist"), "{item}");
    assert_eq!(item["link"], format!("/notifications/{parked}"));
}

async fn a_key_of_one_business_unit_sees_no_other(bed: TestBed) {
    let client = Client::new(&bed).await;
    for unit in [Some("nz"), Some("de"), None] {
        let mut new = bed.message_over("no:such", &["a"]);
        new.business_unit = unit.map(Into::into);
        bed.accept_one(new).await;
    }
    bed.tick().await;
    let nz = client.new_key(&["read"], Some(&["nz"])).await;
    let found = nz.get("/api/v1/attention").await.expect(200);
    assert_eq!((found["items"].as_array().unwrap().len(), &found["counts"]["total"]), (1, &json!(1)));
}
