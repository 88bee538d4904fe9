//! The suppression list through the API, and every workflow that respects it.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{first_aid, put_source, setting, unit},
    surveys::{csi_gr, instance, published, visit},
};

on_both! {
    an_address_is_put_looked_at_listed_and_taken_off;
    each_fault_names_what_is_wrong;
    the_list_comes_in_pages_and_by_what_is_asked;
    a_notification_says_who_was_left_out;
    a_reminder_leaves_out_who_is_on_the_list;
    a_survey_leaves_out_who_is_on_the_list;
    an_event_leaves_out_who_is_on_the_list;
    a_site_s_message_leaves_out_who_is_on_the_list;
    a_planned_message_leaves_out_who_is_on_the_list;
}

const ANN: &str = "/api/v1/suppressions/email/ann@example.org";

async fn an_address_is_put_looked_at_listed_and_taken_off(bed: TestBed) {
    let client = Client::new(&bed).await;
    let put = client
        .put("/api/v1/suppressions/email/Ann@Example.org", json!({ "detail": "asked on the phone" }))
        .await
        .expect(200);
    let expected = json!({ "channelType": "email", "address": "ann@example.org", "reason": "manual",
        "since": "2026-05-14T05:00:00Z", "source": "key:operator", "detail": "asked on the phone", "expiresAt": null });
    assert_eq!(put, expected);
    assert_eq!(client.get("/api/v1/suppressions/email/ANN@example.org").await.expect(200), expected);
    assert_eq!(
        client.get("/api/v1/suppressions").await.expect(200),
        json!({ "items": [expected], "nextCursor": null })
    );
    let number = client
        .call(axum::http::Method::PUT, "/api/v1/suppressions/sms/+49%2030%201234567", None)
        .await
        .expect(200);
    assert_eq!((&number["address"], &number["reason"]), (&json!("+49301234567"), &json!("manual")));
    client.delete("/api/v1/suppressions/sms/+49301234567").await.expect(204);
    client.delete(ANN).await.expect(204);
    client.delete(ANN).await.refused(404, "not_found");
    client.get(ANN).await.refused(404, "not_found");
    assert_eq!(bed.audit("address", "email:ann@example.org").await, ["suppress:manual", "unsuppress"]);
    // Whoever sees only some business units does not look after addresses of all.
    let some = client.new_key(&["operate", "read"], Some(&["nz"])).await;
    some.get("/api/v1/suppressions").await.refused(403, "scope_missing");
    some.put(ANN, json!({})).await.refused(403, "scope_missing");
    let reader = client.new_key(&["read"], None).await;
    reader.get("/api/v1/suppressions").await.expect(200);
    reader.put(ANN, json!({})).await.refused(403, "scope_missing");
}

async fn each_fault_names_what_is_wrong(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.put("/api/v1/suppressions/email/ann", json!({})).await.refused(422, "address_invalid");
    client.put("/api/v1/suppressions/sms/12", json!({})).await.refused(422, "phone_invalid");
    client.put("/api/v1/suppressions/E%20mail/a@b.example", json!({})).await.refused(422, "key_invalid");
    client.put(ANN, json!({ "reason": "bored" })).await.refused(422, "out_of_range");
    client.put(ANN, json!({ "since": "2026-05-14T05:00:00Z" })).await.refused(422, "unknown_field");
    client.put(ANN, json!({ "expiresAt": "soon" })).await.refused(422, "date_invalid");
    client.get("/api/v1/suppressions?reason=bored").await.refused(422, "out_of_range");
    client.get("/api/v1/suppressions?cursor=zz").await.refused(422, "cursor_invalid");
    assert_eq!(client.get("/api/v1/suppressions").await.expect(200)["items"], json!([]));
}

async fn the_list_comes_in_pages_and_by_what_is_asked(bed: TestBed) {
    let client = Client::new(&bed).await;
    for name in ["a", "b", "c", "d", "e"] {
        let reason = if name == "c" { "complaint" } else { "manual" };
        client
            .put(&format!("/api/v1/suppressions/email/{name}@x.example"), json!({ "reason": reason }))
            .await
            .expect(200);
    }
    client.put("/api/v1/suppressions/sms/+49301234567", json!({})).await.expect(200);
    let (mut found, mut cursor) = (Vec::new(), String::new());
    for _ in 0..3 {
        let page = client.get(&format!("/api/v1/suppressions?limit=2{cursor}")).await.expect(200);
        found.extend(
            page["items"].as_array().unwrap().iter().map(|row| row["address"].as_str().unwrap().to_owned()),
        );
        cursor = format!("&cursor={}", page["nextCursor"].as_str().unwrap_or_default());
    }
    assert_eq!(
        found,
        ["a@x.example", "b@x.example", "c@x.example", "d@x.example", "e@x.example", "+49301234567"]
    );
    assert_eq!(cursor, "&cursor=", "the last page has no next");
    for (query, expected) in [
        ("?channelType=sms", vec!["+49301234567"]),
        ("?reason=complaint", vec!["c@x.example"]),
        ("?q=D%40", vec!["d@x.example"]),
        ("?q=x.example&channelType=sms", vec![]),
    ] {
        let page = client.get(&format!("/api/v1/suppressions{query}")).await.expect(200);
        let found: Vec<&str> =
            page["items"].as_array().unwrap().iter().map(|row| row["address"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{query}");
    }
}

async fn suppressed(bed: &TestBed) -> Client {
    let client = Client::new(bed).await;
    client.put(ANN, json!({ "reason": "unsubscribed" })).await.expect(200);
    client
}

/// The only notification there is.
async fn only(client: &Client) -> Value {
    let page = client.get("/api/v1/notifications").await.expect(200);
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "{page}");
    page["items"][0].clone()
}

/// It was parked, because the only one it was for is on the list.
#[track_caller]
fn is_left_out(notification: &Value, bed: &TestBed) {
    assert_eq!(
        (&notification["status"], &notification["reasonCode"]),
        (&json!("parked"), &json!("suppressed")),
        "{notification}"
    );
    assert_eq!(notification["resolvedTargets"][0]["outcome"], "suppressed");
    assert_eq!(bed.sent_to(), Vec::<String>::new());
}

async fn a_notification_says_who_was_left_out(bed: TestBed) {
    let client = suppressed(&bed).await;
    let body = json!({ "targets": ["bob@example.org", "ann@example.org"], "channel": "email:default", "subject": "S", "body": "B" });
    let id = client.post("/api/v1/notifications", body).await.expect(201)["id"].as_str().unwrap().to_owned();
    bed.tick().await;
    let shown = client.get(&format!("/api/v1/notifications/{id}")).await.expect(200);
    assert_eq!(shown["status"], "delivered");
    let targets = json!([
        { "address": "bob@example.org", "outcome": "delivered", "messageId": "mem-1", "at": "2026-05-14T05:00:00Z" },
        { "address": "ann@example.org", "outcome": "suppressed", "messageId": null, "at": "2026-05-14T05:00:00Z" },
    ]);
    assert_eq!(shown["resolvedTargets"], targets);
    let story = client.get(&format!("/api/v1/notifications/{id}/timeline")).await.expect(200);
    let reported =
        story["items"].as_array().unwrap().iter().find(|entry| entry["what"] == "targetSkipped").unwrap();
    assert_eq!(reported["data"]["detail"], "unsubscribed");
}

async fn a_reminder_leaves_out_who_is_on_the_list(bed: TestBed) {
    let client = suppressed(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|body| body["recipients"] = json!({ "addresses": ["Ann@example.org"] })))
        .await;
    let state = json!({ "businessUnit": "nz", "state": { "kind": "first-aid", "expiresOn": "2026-05-16" } });
    put_source(&client, "document/42", state).await;
    client.advance("2d").await;
    is_left_out(&only(&client).await, &bed);
}

async fn a_survey_leaves_out_who_is_on_the_list(bed: TestBed) {
    let client = suppressed(&bed).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["channel"] = json!("email:default");
    let survey = published(&client, schema).await;
    let mut item = visit("40956");
    item["recipient"]["address"] = json!("ann@example.org");
    let id = instance(&client, item).await;
    bed.tick().await;
    is_left_out(&only(&client).await, &bed);
    // A parked message is no sent one; the survey runs out.
    let row = client.get(&format!("/api/v1/surveys/{survey}/instances/{id}")).await.expect(200);
    assert_eq!((&row["status"], &row["nextSendAt"]), (&json!("pending"), &json!(null)), "{row}");
    bed.leaves_open("the survey waits for its end");
}

async fn an_event_leaves_out_who_is_on_the_list(bed: TestBed) {
    let client = suppressed(&bed).await;
    let ann = json!({ "name": "Ann", "email": "ann@example.org", "timeZone": "UTC", "locale": "en", "channels": ["email"] });
    client.put("/api/v1/operations/people/ann", ann).await.expect(200);
    let event = json!({ "title": "Stand-up", "startDate": "2026-05-14T06:00:00Z", "endDate": "2026-05-16T06:15:00Z",
        "isAllDay": false, "creator": "ann", "participants": [] });
    client.post("/api/v1/operations/events", event).await.expect(201);
    client.advance("1h").await;
    is_left_out(&only(&client).await, &bed);
    bed.leaves_open("the end of the event lies ahead");
}

async fn a_site_s_message_leaves_out_who_is_on_the_list(bed: TestBed) {
    let client = suppressed(&bed).await;
    bed.list("ops", "email:default", &["ann@example.org"]).await;
    let made = client.post("/api/v1/sites", json!({ "id": "plant-7" })).await.expect(201);
    let plant = client.with_key(made["token"].as_str().unwrap());
    let item = json!({ "id": "0197a3c4-5d6e-7f80-9a1b-000000000001", "list": "ops", "subject": "S", "body": "B", "enqueuedAt": "2026-05-14T05:00:00Z" });
    plant.post("/api/v1/sites/plant-7/notifications", json!({ "items": [item] })).await.expect(200);
    bed.tick().await;
    is_left_out(&only(&client).await, &bed);
}

async fn a_planned_message_leaves_out_who_is_on_the_list(bed: TestBed) {
    let client = suppressed(&bed).await;
    let message = json!({ "targets": ["ann@example.org"], "channel": "email:default", "subject": "S", "body": "B", "sendAt": "2026-05-14T06:00:00Z" });
    client.post("/api/v1/messages", message).await.expect(201);
    client.advance("1h").await;
    is_left_out(&only(&client).await, &bed);
}
