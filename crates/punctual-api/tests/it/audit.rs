//! The audit through the API: who did what, in pages, and to each key what is of its units.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    acts_are_listed_newest_first_with_their_digest;
    t11_a_limited_key_sees_the_entries_of_its_units;
    a_filter_that_cannot_be_read_is_named;
    the_sandbox_is_audited;
}

fn acts(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    let said =
        |one: &Value| format!("{} {}", one["action"].as_str().unwrap(), one["subject"].as_str().unwrap());
    items.iter().map(said).collect()
}

async fn acts_are_listed_newest_first_with_their_digest(bed: TestBed) {
    let client = Client::new(&bed).await;
    let list = json!({ "type": "memory", "targets": ["a@example.org"] });
    client.put("/api/v1/lists/ops", list.clone()).await.expect(200);
    client.put("/api/v1/lists/dev", list).await.expect(200);
    client.delete("/api/v1/lists/ops").await.expect(204);
    let page = client.get("/api/v1/audit?limit=3&actor=key:operator").await.expect(200);
    assert_eq!(acts(&page), ["delete list/ops", "put list/dev", "put list/ops"]);
    assert_eq!(page["items"][0]["digest"], Value::Null);
    assert_eq!(page["items"][0]["actor"], "key:operator");
    assert_eq!(page["items"][0]["at"], bed.now().to_string());
    bed.tick().await;
    let page = client.get("/api/v1/audit?limit=1&actor=key:operator").await.expect(200);
    assert_eq!(page["items"][0]["digest"].as_str().map(str::len), Some(64));
    let next = page["nextCursor"].as_str().unwrap();
    let page =
        client.get(&format!("/api/v1/audit?limit=1&actor=key:operator&cursor={next}")).await.expect(200);
    assert_eq!(acts(&page), ["put list/dev"]);
    for (filter, wanted) in [
        ("action=delete", &["delete list/ops"][..]),
        ("subject=list/ops", &["delete list/ops", "put list/ops"]),
        ("subject=list/dev&action=put&actor=key:operator", &["put list/dev"]),
        ("subject=list/dev&to=2020-01-01T00:00:00Z", &[]),
        ("actor=key:nobody", &[]),
    ] {
        let page = client.get(&format!("/api/v1/audit?{filter}")).await.expect(200);
        assert_eq!(
            (acts(&page), &page["nextCursor"]),
            (wanted.iter().map(|one| (*one).to_owned()).collect(), &Value::Null),
            "{filter}"
        );
    }
}

async fn t11_a_limited_key_sees_the_entries_of_its_units(bed: TestBed) {
    let client = Client::new(&bed).await;
    let (nz, au) = (
        client.new_key(&["read", "author"], Some(&["nz"])).await,
        client.new_key(&["read", "author"], Some(&["au"])).await,
    );
    let list = json!({ "type": "memory", "targets": ["a@example.org"] });
    nz.put("/api/v1/lists/kiwi", list.clone()).await.expect(200);
    au.put("/api/v1/lists/emu", list.clone()).await.expect(200);
    client.put("/api/v1/lists/all", list).await.expect(200);
    for query in ["", "?action=put", "?actor=key:for%20read%20author"] {
        let seen = acts(&nz.get(&format!("/api/v1/audit{query}")).await.expect(200));
        assert!(seen.contains(&"put list/kiwi".to_owned()), "{query}: {seen:?}");
        assert!(
            seen.iter().all(|act| act == "put list/kiwi" || act == "put business-unit/nz"),
            "{query}: {seen:?}"
        );
    }
    assert!(acts(&nz.get("/api/v1/audit?subject=list/emu").await.expect(200)).is_empty());
    assert!(acts(&nz.get("/api/v1/audit?subject=list/all").await.expect(200)).is_empty());
    let all = acts(&client.get("/api/v1/audit?action=put").await.expect(200));
    assert!(all.contains(&"put list/all".to_owned()) && all.contains(&"put list/emu".to_owned()), "{all:?}");
    // Who made the keys is the installation's.
    assert!(acts(&client.get("/api/v1/audit?action=create").await.expect(200)).len() >= 2);
    assert!(acts(&au.get("/api/v1/audit?action=create").await.expect(200)).is_empty());
}

async fn a_filter_that_cannot_be_read_is_named(bed: TestBed) {
    let client = Client::new(&bed).await;
    for (filter, pointer, code) in [
        ("action=released", "/action", "out_of_range"),
        ("subject=work", "/subject", "key_invalid"),
        ("from=yesterday", "/from", "date_invalid"),
        ("cursor=7", "/cursor", "cursor_invalid"),
        ("since=1", "/since", "unknown_field"),
    ] {
        let reply = client.get(&format!("/api/v1/audit?{filter}")).await;
        let status = reply.status;
        assert!(status == 400 || status == 422, "{filter}: {status}");
        let body = reply.expect(status);
        assert_eq!(
            (&body["errors"][0]["pointer"], &body["errors"][0]["code"]),
            (&json!(pointer), &json!(code)),
            "{body}"
        );
    }
    client.new_key(&["ingest"], None).await.get("/api/v1/audit").await.refused(403, "scope_missing");
}

async fn the_sandbox_is_audited(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.put("/api/v1/sandbox/clock", json!({ "advance": "1h" })).await.expect(200);
    client
        .put("/api/v1/sandbox/channels/memory:default", json!({ "outcome": "transient" }))
        .await
        .expect(204);
    let page = client.get("/api/v1/audit?limit=2&actor=key:operator").await.expect(200);
    assert_eq!(acts(&page), ["misbehave channel/memory:default", "move-clock sandbox/clock"]);
    assert_eq!(
        (&page["items"][0]["data"]["to"], &page["items"][1]["data"]["to"]),
        (&json!("transient"), &json!(bed.now().to_string()))
    );
}
