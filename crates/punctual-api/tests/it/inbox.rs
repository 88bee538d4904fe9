//! The inbox: messages to a person, kept here, once, until they are read.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    a_message_to_a_person_is_kept_listed_and_read;
    many_messages_at_once_are_all_kept;
    nobody_reads_the_messages_of_another;
    t11_a_key_of_the_same_name_in_another_unit_has_an_inbox_of_its_own;
    the_inbox_has_no_settings_and_can_be_tried_out;
}

async fn with_inbox(bed: &TestBed) -> Client {
    let client = Client::new(bed).await;
    client
        .put("/api/v1/channels/inbox:default", json!({ "adapter": "inbox", "settings": {} }))
        .await
        .expect(200);
    client
}

async fn send(client: &Client, people: Value, subject: &str) -> String {
    let body = json!({ "targets": people, "channel": "inbox:default", "subject": subject, "body": "B" });
    client.post("/api/v1/notifications", body).await.expect(201)["id"].as_str().unwrap().to_owned()
}

async fn a_message_to_a_person_is_kept_listed_and_read(bed: TestBed) {
    let client = with_inbox(&bed).await;
    let first = send(&client, json!(["Operator"]), "First").await;
    bed.tick().await;
    bed.wait(60);
    send(&client, json!(["operator", "somebody else"]), "Second").await;
    bed.tick().await;
    let inbox = client.get("/api/v1/inbox").await.expect(200);
    assert_eq!(inbox["unread"], 2);
    let subjects = |inbox: &Value| -> Vec<String> {
        let items = inbox["items"].as_array().unwrap().iter();
        items.map(|item| item["subject"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(subjects(&inbox), ["Second", "First"]);
    let item = &inbox["items"][1];
    let expected = json!({ "id": item["id"], "notificationId": first, "channel": "inbox:default", "type": "inbox",
        "subject": "First", "body": "B", "createdAt": "2026-05-14T05:00:00Z", "readAt": null });
    assert_eq!(item, &expected);
    let shown = client.get(&format!("/api/v1/notifications/{first}")).await.expect(200);
    assert_eq!(
        (&shown["status"], &shown["resolvedTargets"][0]["messageId"]),
        (&json!("delivered"), &item["id"])
    );
    let path = format!("/api/v1/inbox/{}/read", item["id"].as_str().unwrap());
    let read = client.post(&path, json!({})).await.expect(200);
    assert_eq!(read["readAt"], "2026-05-14T05:01:00Z");
    bed.wait(60);
    assert_eq!(client.post(&path, json!({})).await.expect(200), read, "it stays as it was read first");
    assert_eq!(subjects(&client.get("/api/v1/inbox?unread=true").await.expect(200)), ["Second"]);
    let page = client.get("/api/v1/inbox?limit=1").await.expect(200);
    let next = format!("/api/v1/inbox?limit=1&cursor={}", page["nextCursor"].as_str().unwrap());
    assert_eq!(subjects(&client.get(&next).await.expect(200)), ["First"]);
    client.post("/api/v1/inbox/read", json!({ "upTo": inbox["items"][0]["id"] })).await.expect(204);
    assert_eq!(client.get("/api/v1/inbox").await.expect(200)["unread"], 0);
    client.post("/api/v1/inbox/read", json!({})).await.refused(422, "missing_field");
    client.get("/api/v1/inbox?unread=maybe").await.refused(422, "wrong_type");
}

async fn many_messages_at_once_are_all_kept(bed: TestBed) {
    let client = with_inbox(&bed).await;
    for n in 0..20 {
        send(&client, json!(["operator", "ann", "bob"]), &format!("Message {n}")).await;
    }
    let report = bed.tick().await.deliveries;
    assert_eq!((report.delivered, report.retrying), (20, 0));
    assert_eq!(client.get("/api/v1/inbox").await.expect(200)["unread"], 20);
}

async fn nobody_reads_the_messages_of_another(bed: TestBed) {
    let client = with_inbox(&bed).await;
    send(&client, json!(["operator"]), "For the operator").await;
    bed.tick().await;
    let id = client.get("/api/v1/inbox").await.expect(200)["items"][0]["id"].as_str().unwrap().to_owned();
    let other = client.new_key(&["read"], None).await;
    let inbox = other.get("/api/v1/inbox").await.expect(200);
    assert_eq!((&inbox["items"], &inbox["unread"]), (&json!([]), &json!(0)));
    other.post(&format!("/api/v1/inbox/{id}/read"), json!({})).await.refused(404, "not_found");
    other.post("/api/v1/inbox/read", json!({ "upTo": id })).await.refused(404, "not_found");
    assert_eq!(client.get("/api/v1/inbox").await.expect(200)["unread"], 1);
}

async fn the_inbox_has_no_settings_and_can_be_tried_out(bed: TestBed) {
    let client = with_inbox(&bed).await;
    let put = json!({ "adapter": "inbox", "settings": { "colour": "red" } });
    client.put("/api/v1/channels/inbox:red", put).await.refused(422, "unknown_field");
    let tried = client
        .post("/api/v1/channels/inbox:default/test", json!({ "address": "operator" }))
        .await
        .expect(200);
    assert_eq!(tried["outcome"], "delivered", "{tried}");
    let inbox = client.get("/api/v1/inbox").await.expect(200);
    assert_eq!(inbox["items"][0]["subject"], "Punctual: this channel works");
    client
        .post("/api/v1/channels/inbox:default/test", json!({ "address": " " }))
        .await
        .refused(422, "address_invalid");
}

async fn t11_a_key_of_the_same_name_in_another_unit_has_an_inbox_of_its_own(bed: TestBed) {
    let client = with_inbox(&bed).await;
    let (nz, de) =
        (client.new_key(&["read"], Some(&["nz"])).await, client.new_key(&["read"], Some(&["de"])).await);
    let sender = client.new_key(&["ingest"], Some(&["de"])).await;
    send(&sender, json!(["for read"]), "Of de").await;
    send(&client, json!(["for read"]), "Of the installation").await;
    bed.tick().await;
    let subjects = async |key: &Client| {
        let inbox = key.get("/api/v1/inbox").await.expect(200);
        let items = inbox["items"].as_array().unwrap().iter();
        let mut subjects: Vec<String> =
            items.map(|item| item["subject"].as_str().unwrap().to_owned()).collect();
        subjects.sort();
        assert_eq!(inbox["unread"], subjects.len());
        subjects
    };
    assert_eq!(subjects(&de).await, ["Of de", "Of the installation"]);
    assert_eq!(subjects(&nz).await, ["Of the installation"]);
    let inbox = de.get("/api/v1/inbox").await.expect(200);
    let of_de = inbox["items"].as_array().unwrap().iter().find(|item| item["subject"] == "Of de").unwrap();
    let id = of_de["id"].as_str().unwrap();
    nz.post(&format!("/api/v1/inbox/{id}/read"), json!({})).await.refused(404, "not_found");
    nz.post("/api/v1/inbox/read", json!({ "upTo": id })).await.refused(404, "not_found");
    assert_eq!(subjects(&de).await.len(), 2, "nothing was read");
}
