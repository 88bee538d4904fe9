//! Files, headers and the address for answers, on notifications and messages; and keys that may only send.

use axum::http::Method;
use punctual_model::FileRef;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

on_both! {
    a_file_goes_along_inline_or_after_an_upload;
    a_repeat_is_the_same_file_and_another_file_is_another_message;
    t09_names_types_sizes_and_headers_are_checked_before_anything_is_stored;
    the_address_may_say_what_an_upload_is;
    t11_a_blob_is_used_by_its_unit_alone;
    a_message_keeps_its_files_until_it_is_sent;
    a_channel_that_cannot_send_files_is_refused_at_once;
    each_item_of_a_batch_has_its_own_files;
    a_key_that_may_only_send_sees_what_its_client_sent;
    a_trace_goes_along_and_is_no_content;
}

const A_B: &str = "YSxi";

fn with_file(id: Option<&str>, content: &str) -> Value {
    let mut body = json!({ "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B",
        "attachments": [{ "name": "a.csv", "contentType": "text/csv", "content": content }] });
    if let Some(id) = id {
        body["id"] = json!(id);
    }
    body
}

async fn upload(client: &Client, kind: &str, content: &[u8]) -> Reply {
    client.send(Method::POST, "/api/v1/blobs", &[("content-type", kind)], content.to_vec()).await
}

async fn a_file_goes_along_inline_or_after_an_upload(bed: TestBed) {
    let client = Client::new(&bed).await;
    let blob = upload(&client, "application/pdf", b"%PDF").await.expect(201);
    assert_eq!((blob["size"].as_i64(), blob["contentType"].as_str()), (Some(4), Some("application/pdf")));
    let mut body = with_file(None, A_B);
    body["attachments"].as_array_mut().unwrap().push(json!({ "name": "b.pdf", "blob": blob["id"] }));
    body["replyTo"] = json!("desk@b.example");
    body["headers"] = json!({ "x-ticket": "7" });
    let id = client.post("/api/v1/notifications", body).await.expect(201)["id"].clone();
    bed.tick().await;
    let sent = bed.sent();
    assert_eq!(sent[0].attachments, ["a.csv", "b.pdf"]);
    assert_eq!(sent[0].envelope.reply_to.as_deref(), Some("desk@b.example"));
    assert_eq!(sent[0].envelope.headers["X-Ticket"], "7");
    let seen = client.get(&format!("/api/v1/notifications/{}", id.as_str().unwrap())).await.expect(200);
    assert_eq!(seen["attachments"][0]["size"], 3);
    assert_eq!(
        seen["attachments"][1],
        json!({ "name": "b.pdf", "contentType": "application/pdf", "size": 4, "blob": blob["id"] })
    );
    assert_eq!((&seen["replyTo"], &seen["headers"]["X-Ticket"]), (&json!("desk@b.example"), &json!("7")));
    // The content is in the blobs, and not in the row.
    let row = bed.notification(id.as_str().unwrap()).await;
    let files = row.attachments.unwrap().read().unwrap();
    assert_eq!(bed.engine.blobs.get(&files[0].blob).await.unwrap().unwrap(), "a,b");
}

async fn a_repeat_is_the_same_file_and_another_file_is_another_message(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
    client.post("/api/v1/notifications", with_file(Some(id), A_B)).await.expect(201);
    client.post("/api/v1/notifications", with_file(Some(id), A_B)).await.expect(200);
    let blob = upload(&client, "text/csv", b"a,b").await.expect(201);
    let mut by_blob = with_file(Some(id), A_B);
    by_blob["attachments"] = json!([{ "name": "a.csv", "blob": blob["id"] }]);
    client.post("/api/v1/notifications", by_blob).await.expect(200);
    client.post("/api/v1/notifications", with_file(Some(id), "eCx5")).await.refused(409, "id_reused");
    let mut renamed = with_file(Some(id), A_B);
    renamed["attachments"][0]["name"] = json!("b.csv");
    client.post("/api/v1/notifications", renamed).await.refused(409, "id_reused");
    let mut answered = with_file(Some(id), A_B);
    answered["replyTo"] = json!("desk@b.example");
    client.post("/api/v1/notifications", answered).await.refused(409, "id_reused");
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1);
}

async fn t09_names_types_sizes_and_headers_are_checked_before_anything_is_stored(bed: TestBed) {
    let client = Client::new(&bed).await;
    let refused = async |change: &dyn Fn(&mut Value), code: &str, pointer: &str| {
        let mut body = with_file(None, A_B);
        change(&mut body);
        let problem = client.post("/api/v1/notifications", body).await.refused(422, code);
        assert_eq!(Reply::pointers(&problem), [pointer], "{problem}");
    };
    refused(
        &|body| body["attachments"][0]["name"] = json!("../a"),
        "attachment_invalid",
        "/attachments/0/name",
    )
    .await;
    refused(
        &|body| body["attachments"][0]["contentType"] = json!("application/x-sh"),
        "attachment_invalid",
        "/attachments/0/contentType",
    )
    .await;
    refused(&|body| body["headers"] = json!({ "Bcc": "x" }), "header_not_allowed", "/headers/Bcc").await;
    refused(&|body| body["headers"] = json!({ "X-A": "a\nb" }), "header_invalid", "/headers/X-A").await;
    refused(&|body| body["replyTo"] = json!("nobody"), "address_invalid", "/replyTo").await;
    let unknown = json!([{ "name": "a.csv", "blob": "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071" }]);
    refused(&|body| body["attachments"] = unknown.clone(), "blob_unknown", "/attachments/0/blob").await;
    upload(&client, "application/x-sh", b"x").await.refused(422, "attachment_invalid");
    upload(&client, "", b"x").await.refused(422, "attachment_invalid");
    upload(&client, "text/csv", &vec![b'x'; (25 << 20) + 1]).await.refused(413, "body_too_large");
    // Ten mebibytes fit inline, and 25 as blobs.
    let ten = "A".repeat((10 << 20) / 3 * 4);
    client.post("/api/v1/notifications", with_file(None, &ten)).await.expect(201);
    let blob = upload(&client, "text/csv", &vec![b'x'; 20 << 20]).await.expect(201);
    let twice = json!([{ "name": "a.csv", "blob": blob["id"] }, { "name": "b.csv", "blob": blob["id"] }]);
    refused(&|body| body["attachments"] = twice.clone(), "out_of_range", "/attachments").await;
    let mut body = with_file(None, A_B);
    body["attachments"] = json!([{ "name": "a.csv", "blob": blob["id"] }]);
    client.post("/api/v1/notifications", body).await.expect(201);
    assert_eq!(bed.notifications().await.len(), 2);
    bed.leaves_open("not sent here");
}

async fn the_address_may_say_what_an_upload_is(bed: TestBed) {
    let client = Client::new(&bed).await;
    // What generated clients send whatever the file is.
    let anything = [("content-type", "application/octet-stream")];
    let upload = async |query: &str| {
        client.send(Method::POST, &format!("/api/v1/blobs{query}"), &anything, "%PDF").await
    };
    let refused = upload("").await.refused(422, "attachment_invalid");
    assert_eq!(refused["errors"][0]["pointer"], "/Content-Type");
    assert!(refused["detail"].as_str().unwrap().contains("`contentType` in the address"), "{refused}");
    let blob = upload("?contentType=application/pdf").await.expect(201);
    assert_eq!(blob["contentType"], "application/pdf");
    let refused = upload("?contentType=application/x-msdownload").await.refused(422, "attachment_invalid");
    assert_eq!(refused["errors"][0]["pointer"], "/contentType");
}

async fn t11_a_blob_is_used_by_its_unit_alone(bed: TestBed) {
    let client = Client::new(&bed).await;
    let nz = client.new_key(&["ingest"], Some(&["nz"])).await;
    let de = client.new_key(&["ingest"], Some(&["de"])).await;
    let blob = upload(&nz, "text/csv", b"a,b").await.expect(201);
    assert_eq!(blob["businessUnit"], "nz");
    let body = |id: &Value| {
        json!({ "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B",
            "attachments": [{ "name": "a.csv", "blob": id }] })
    };
    let foreign = de.post("/api/v1/notifications", body(&blob["id"])).await.refused(422, "blob_unknown");
    let nobodys = json!("0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071");
    let unknown = de.post("/api/v1/notifications", body(&nobodys)).await.refused(422, "blob_unknown");
    assert_eq!(foreign["errors"], unknown["errors"], "the two are not distinguishable");
    nz.post("/api/v1/notifications", body(&blob["id"])).await.expect(201);
    let shared = upload(&client, "text/csv", b"a,b").await.expect(201);
    assert_eq!(shared["businessUnit"], Value::Null);
    nz.post("/api/v1/notifications", body(&shared["id"])).await.refused(422, "blob_unknown");
    let both = client.new_key(&["ingest"], Some(&["nz", "de"])).await;
    upload(&both, "text/csv", b"a").await.refused(422, "missing_field");
    let path = "/api/v1/blobs?businessUnit=de";
    let named = both.send(Method::POST, path, &[("content-type", "text/csv")], "a").await.expect(201);
    assert_eq!(named["businessUnit"], "de");
    bed.leaves_open("not sent here");
}

async fn a_message_keeps_its_files_until_it_is_sent(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut body = with_file(Some("m-1"), A_B);
    body["sendAt"] = json!(bed.after(30 * 24 * 3600));
    body["headers"] = json!({ "X-Ticket": "7" });
    client.post("/api/v1/messages", body.clone()).await.expect(201);
    client.post("/api/v1/messages", body.clone()).await.expect(200);
    let mut other = body;
    other["attachments"][0]["content"] = json!("eCx5");
    client.post("/api/v1/messages", other).await.refused(409, "id_reused");
    // A change of the subject leaves the files as they are, for weeks.
    let changed = client.patch("/api/v1/messages/m-1", json!({ "subject": "T" })).await.expect(200);
    assert_eq!(
        (&changed["attachments"][0]["name"], &changed["headers"]["X-Ticket"]),
        (&json!("a.csv"), &json!("7"))
    );
    bed.wait(20 * 24 * 3600);
    bed.engine.purge(bed.now()).await.unwrap();
    let more = json!({ "attachments": [changed["attachments"][0].clone(),
        { "name": "b.csv", "contentType": "text/csv", "content": "eCx5" }] });
    let mut more = more;
    more["attachments"][0].as_object_mut().unwrap().remove("size");
    client.patch("/api/v1/messages/m-1", more).await.expect(200);
    bed.run_for(11 * 24 * 3600).await;
    let sent = bed.sent();
    assert_eq!(
        (sent[0].subject.as_str(), &sent[0].attachments[..]),
        ("T", &["a.csv".to_owned(), "b.csv".to_owned()][..])
    );
    assert_eq!(sent[0].envelope.headers["X-Ticket"], "7");
}

async fn a_channel_that_cannot_send_files_is_refused_at_once(bed: TestBed) {
    bed.channel("inbox:default", "inbox").await;
    let client = Client::new(&bed).await;
    // Channels are read with the first pass.
    bed.tick().await;
    let mut body = with_file(None, A_B);
    body["channel"] = json!("inbox:default");
    let problem = client.post("/api/v1/notifications", body).await.refused(422, "attachments_not_supported");
    assert_eq!(Reply::pointers(&problem), ["/attachments"]);
    let mut body = with_file(None, A_B);
    body["failover"] = json!(["inbox:default"]);
    client.post("/api/v1/notifications", body).await.refused(422, "attachments_not_supported");
    assert!(bed.notifications().await.is_empty());
}

async fn each_item_of_a_batch_has_its_own_files(bed: TestBed) {
    let client = Client::new(&bed).await;
    let bad = json!({ "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B",
        "attachments": [{ "name": "a.csv", "blob": "none" }] });
    let plain = json!({ "targets": ["x"], "channel": "memory:default", "subject": "plain", "body": "B" });
    let batch = json!([with_file(None, A_B), bad, plain]);
    let answer = client.post("/api/v1/notifications", batch).await.expect(200);
    let outcomes: Vec<_> = answer["items"].as_array().unwrap().iter().map(|item| &item["outcome"]).collect();
    assert_eq!(outcomes, ["created", "rejected", "created"]);
    assert_eq!(answer["items"][1]["error"]["errors"][0]["pointer"], "/1/attachments/0/blob");
    bed.tick().await;
    let files: Vec<usize> = bed.sent().iter().map(|sent| sent.attachments.len()).collect();
    assert_eq!(files.iter().sum::<usize>(), 1, "{files:?}");
    let rows = bed.notifications().await;
    let uploads: Vec<FileRef> =
        rows.iter().filter_map(|row| row.attachments.as_ref()?.read().ok()).flatten().collect();
    assert_eq!(uploads.len(), 1);
}

async fn a_key_that_may_only_send_sees_what_its_client_sent(bed: TestBed) {
    let client = Client::new(&bed).await;
    let key = async |name: &str| {
        let made = client.post("/api/v1/keys", json!({ "name": name, "scopes": ["send"] })).await.expect(201);
        client.with_key(made["key"].as_str().unwrap())
    };
    let (shop, rotated, other) = (key("shop").await, key("shop").await, key("other").await);
    let id = shop.post("/api/v1/notifications", with_file(None, A_B)).await.expect(201)["id"].clone();
    let path = format!("/api/v1/notifications/{}", id.as_str().unwrap());
    let later = json!({ "id": "m-1", "sendAt": bed.after(60), "targets": ["x"], "channel": "memory:default",
        "subject": "S", "body": "B" });
    shop.post("/api/v1/messages", later).await.expect(201);
    for own in [&shop, &rotated] {
        own.get(&path).await.expect(200);
        own.get(&format!("{path}/timeline")).await.expect(200);
        own.get("/api/v1/messages/m-1").await.expect(200);
        for list in ["/api/v1/notifications", "/api/v1/messages"] {
            assert_eq!(own.get(list).await.expect(200)["items"].as_array().unwrap().len(), 1, "{list}");
        }
    }
    other.get(&path).await.refused(404, "not_found");
    other.get("/api/v1/messages/m-1").await.refused(404, "not_found");
    for list in ["/api/v1/notifications", "/api/v1/messages"] {
        assert_eq!(other.get(list).await.expect(200)["items"], json!([]), "{list}");
    }
    client.get(&path).await.expect(200);
    // What a message becomes is its client's too.
    bed.run_for(61).await;
    assert_eq!(rotated.get("/api/v1/notifications").await.expect(200)["items"].as_array().unwrap().len(), 2);
    shop.get("/api/v1/lists").await.refused(403, "scope_missing");
    // Whoever lacks a scope gets the names of all that would do.
    let ingest = client.new_key(&["ingest"], None).await;
    let refused = ingest.post("/api/v1/messages", json!({})).await.refused(403, "scope_missing");
    assert_eq!(refused["detail"], "The route needs the scope `author` or `send`.");
}

async fn a_trace_goes_along_and_is_no_content(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
    let body =
        json!({ "id": id, "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B" });
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (traceparent, status) in
        [(trace, 201), ("00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 200), ("x", 200)]
    {
        let headers = [("content-type", "application/json"), ("traceparent", traceparent)];
        client.send(Method::POST, "/api/v1/notifications", &headers, body.to_string()).await.expect(status);
    }
    bed.tick().await;
    assert_eq!(bed.sent()[0].envelope.traceparent.as_deref(), Some(trace));
}
