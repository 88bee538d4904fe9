//! The same id again: what callers may rely on when they repeat a request, cancel, and change their minds.

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    what_is_cancelled_stays_so_until_it_is_revived;
    a_refused_request_changes_nothing;
    what_is_over_is_returned_as_it_is_stored;
    a_repeat_is_answered_however_long_ago_its_moment_was;
    a_channel_that_nobody_has_defined_is_a_warning_in_the_answer;
    a_pending_message_is_changed_and_no_other;
    a_batch_revives_what_asks_for_it_alone;
    a_batch_that_names_an_id_twice_answers_as_if_it_had_been_sent_twice;
    s3_70_a_schedule_has_a_zone_and_a_guid;
    s4_29_type_data_is_stored_and_returned;
    s4_39_what_was_never_attempted_has_no_last_attempt;
    addresses_are_checked_against_the_channel_that_will_be_used;
}

fn message(changed: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({ "id": "m", "sendAt": "2026-05-14T06:00:00Z", "targets": ["x"],
        "channel": "memory:default", "subject": "S", "body": "B" });
    changed(&mut body);
    body
}

fn schedule(changed: impl FnOnce(&mut Value)) -> Value {
    let mut body =
        json!({ "key": "k", "topic": "t", "runAt": "2026-05-14T06:00:00Z", "payload": { "n": 1 } });
    changed(&mut body);
    body
}

async fn what_is_cancelled_stays_so_until_it_is_revived(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.post("/api/v1/messages", message(|_| {})).await.expect(201);
    let made = client.post("/api/v1/schedules", schedule(|_| {})).await.expect(201);
    client.delete("/api/v1/messages/m").await.expect(204);
    client.delete(&format!("/api/v1/schedules/{}", made["id"])).await.expect(204);
    for body in [message(|_| {}), message(|body| body["sendAt"] = json!("2026-05-14T07:00:00Z"))] {
        let again = client.post("/api/v1/messages", body).await.expect(200);
        assert_eq!((&again["status"], &again["outcome"]), (&json!("cancelled"), &json!("cancelled")));
        assert_eq!(again["sendAt"], "2026-05-14T06:00:00Z");
    }
    let again = client.post("/api/v1/schedules", schedule(|_| {})).await.expect(200);
    assert_eq!(again["status"], "cancelled");
    let path = format!("/api/v1/schedules/{}", made["id"]);
    let moved = client.patch(&path, json!({ "runAt": "2026-05-14T08:00:00Z" })).await;
    moved.refused(409, "state_not_allowed");
    client.advance("2h").await;
    assert!(bed.sent().is_empty());

    let revived = message(|body| {
        body["sendAt"] = json!("2026-05-14T09:00:00Z");
        body["revive"] = json!(true);
    });
    let again = client.post("/api/v1/messages", revived).await.expect(200);
    assert_eq!((&again["status"], &again["outcome"]), (&json!("pending"), &json!("reactivated")));
    let again = client.post("/api/v1/schedules", schedule(|body| body["revive"] = json!(true))).await;
    assert_eq!(again.expect(200)["status"], "pending");
    let trace = client.get(&format!("/api/v1/work/{}/trace", made["id"])).await.expect(200);
    let steps = trace["items"].as_array().unwrap();
    let revive = steps.iter().find(|step| step["what"] == "revive").unwrap();
    assert!(revive["detail"].as_str().unwrap().starts_with("revive by key:"), "{revive}");
    client.advance("3h").await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_refused_request_changes_nothing(bed: TestBed) {
    let client = Client::new(&bed).await;
    let made = client.post("/api/v1/messages", message(|_| {})).await.expect(201);
    let planned = client.post("/api/v1/schedules", schedule(|_| {})).await.expect(201);
    let work = async |id: &Value| client.get(&format!("/api/v1/work/{id}")).await.expect(200);
    let before = (work(&made["workId"]).await, work(&planned["id"]).await);
    for revive in [false, true] {
        let other = message(|body| {
            body["subject"] = json!("Another");
            body["sendAt"] = json!("2026-05-14T07:00:00Z");
            body["revive"] = json!(revive);
        });
        client.post("/api/v1/messages", other).await.refused(409, "id_reused");
        let other = schedule(|body| {
            body["payload"] = json!({ "n": 2 });
            body["revive"] = json!(revive);
        });
        client.post("/api/v1/schedules", other).await.refused(409, "id_reused");
    }
    let batch = json!([message(|body| body["subject"] = json!("Another"))]);
    let items = client.post("/api/v1/messages", batch).await.expect(200);
    assert_eq!(items["items"][0]["error"]["code"], "id_reused");
    assert_eq!((work(&made["workId"]).await, work(&planned["id"]).await), before);
    client.advance("2h").await;
    assert_eq!(bed.sent()[0].subject, "S");
}

async fn what_is_over_is_returned_as_it_is_stored(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.post("/api/v1/messages", message(|_| {})).await.expect(201);
    // Time is not content.
    let moved =
        client.post("/api/v1/messages", message(|body| body["sendAt"] = json!("2026-05-14T06:30:00Z")));
    let moved = moved.await.expect(200);
    assert_eq!((&moved["outcome"], &moved["sendAt"]), (&json!("updated"), &json!("2026-05-14T06:30:00Z")));
    client.advance("2h").await;
    let late = message(|body| body["sendAt"] = json!("2026-05-15T06:00:00Z"));
    let sent = client.post("/api/v1/messages", late).await.expect(200);
    assert_eq!(
        (&sent["status"], &sent["outcome"], &sent["sendAt"]),
        (&json!("completed"), &json!("completed"), &json!("2026-05-14T06:30:00Z"))
    );
    let other = message(|body| body["subject"] = json!("Another"));
    client.post("/api/v1/messages", other).await.refused(409, "id_reused");
    assert_eq!(bed.sent().len(), 1);
}

async fn a_pending_message_is_changed_and_no_other(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.post("/api/v1/messages", message(|body| body["topic"] = json!("news"))).await.expect(201);
    let change =
        json!({ "subject": "New", "sendAt": "2026-05-14T08:00:00Z", "topic": null, "targets": ["y"] });
    let changed = client.patch("/api/v1/messages/m", change).await.expect(200);
    assert_eq!(
        (&changed["subject"], &changed["sendAt"], &changed["targets"], &changed["body"]),
        (&json!("New"), &json!("2026-05-14T08:00:00Z"), &json!(["y"]), &json!("B"))
    );
    assert!(changed["topic"].is_null());
    for (change, pointer) in [
        (json!({ "subjekt": "x" }), "/subjekt"),
        (json!({ "id": "other" }), "/id"),
        (json!({ "businessUnit": "nz" }), "/businessUnit"),
        (json!({ "sendAt": "soon" }), "/sendAt"),
        (json!({ "list": "ops" }), "/targets"),
    ] {
        let refused = client.patch("/api/v1/messages/m", change).await;
        assert_eq!((refused.status, &refused.body["errors"][0]["pointer"]), (422, &json!(pointer)));
    }
    client.patch("/api/v1/messages/other", json!({ "subject": "x" })).await.refused(404, "not_found");
    // What it was is known no more, what it is now is.
    client
        .post("/api/v1/messages", message(|body| body["topic"] = json!("news")))
        .await
        .refused(409, "id_reused");
    let as_it_is = message(|body| {
        body["subject"] = json!("New");
        body["targets"] = json!(["y"]);
        body["sendAt"] = json!("2026-05-14T08:00:00Z");
    });
    assert_eq!(client.post("/api/v1/messages", as_it_is).await.expect(200)["outcome"], "unchanged");
    client.advance("2h").await;
    assert!(bed.sent().is_empty());
    client.advance("1h").await;
    assert_eq!((bed.sent()[0].subject.as_str(), bed.sent()[0].address.as_str()), ("New", "y"));
    client.patch("/api/v1/messages/m", json!({ "subject": "x" })).await.refused(409, "state_not_allowed");
}

async fn a_batch_revives_what_asks_for_it_alone(bed: TestBed) {
    let client = Client::new(&bed).await;
    let named = |id: &str, revive: bool| {
        message(|body| {
            body["id"] = json!(id);
            body["revive"] = json!(revive);
        })
    };
    client.post("/api/v1/messages", json!([named("a", false), named("b", false)])).await.expect(200);
    for id in ["a", "b"] {
        client.call(Method::DELETE, &format!("/api/v1/messages/{id}"), None).await.expect(204);
    }
    let batch = json!([named("a", true), named("b", false), named("c", true)]);
    let items = client.post("/api/v1/messages", batch).await.expect(200);
    let outcomes: Vec<_> =
        items["items"].as_array().unwrap().iter().map(|item| item["outcome"].clone()).collect();
    assert_eq!(outcomes, ["reactivated", "cancelled", "created"]);
    client.advance("2h").await;
    assert_eq!(bed.sent().len(), 2);
}

async fn a_batch_that_names_an_id_twice_answers_as_if_it_had_been_sent_twice(bed: TestBed) {
    let client = Client::new(&bed).await;
    let message = |hour: u8| message(|body| body["sendAt"] = json!(format!("2026-05-14T{hour:02}:00:00Z")));
    let other = {
        let mut other = message(8);
        other["subject"] = json!("Other");
        other
    };
    let schedule = |hour: u8, payload: Value| json!({ "topic": "t", "key": "k", "runAt": format!("2026-05-14T{hour:02}:00:00Z"), "payload": payload });
    for (path, batch) in [
        ("/api/v1/messages", json!([message(7), message(7), message(8), message(8), other])),
        ("/api/v1/schedules", {
            let batch =
                [(7, json!({})), (7, json!({})), (8, json!({})), (8, json!({})), (8, json!({ "a": 1 }))];
            Value::from(batch.map(|(hour, payload)| schedule(hour, payload)).to_vec())
        }),
    ] {
        let outcomes = async || {
            let answer = client.post(path, batch.clone()).await.expect(200);
            let items = answer["items"].as_array().unwrap().clone();
            items.into_iter().map(|item| item["outcome"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(outcomes().await, ["created", "unchanged", "updated", "unchanged", "rejected"], "{path}");
    }
    let stored = client.get("/api/v1/messages/m").await.expect(200);
    assert_eq!((&stored["sendAt"], &stored["subject"]), (&json!("2026-05-14T08:00:00Z"), &json!("S")));
    client.advance("4h").await;
    assert_eq!(bed.sent().len(), 1);
}

async fn addresses_are_checked_against_the_channel_that_will_be_used(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = |targets: Value, more: Value| {
        let mut body = json!({ "targets": targets, "subject": "S", "body": "B" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    // Without a channel and a type it is mail.
    for (targets, more) in [
        (json!(["nobody"]), json!({})),
        (json!(["a@b.example", "+49 151 12345678"]), json!({})),
        (json!(["a@b.example"]), json!({ "type": "sms" })),
        (json!(["a@b.example"]), json!({ "channel": "sms:default" })),
    ] {
        let refused = client.post("/api/v1/notifications", body(targets, more)).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        let code = refused.body["code"].as_str().unwrap().to_owned();
        assert!(["address_invalid", "phone_invalid"].contains(&code.as_str()), "{code}");
    }
    let later = body(json!(["nobody"]), json!({ "sendAt": "2026-05-14T06:00:00Z" }));
    client.post("/api/v1/messages", later).await.refused(422, "address_invalid");
    client.post("/api/v1/notifications", body(json!(["a@b.example"]), json!({}))).await.expect(201);
    assert_eq!(bed.notifications().await.len(), 1);
    bed.leaves_open("only what is stored matters");
}

async fn s3_70_a_schedule_has_a_zone_and_a_guid(bed: TestBed) {
    let client = Client::new(&bed).await;
    let plain = client.post("/api/v1/schedules", schedule(|_| {})).await.expect(201);
    assert_eq!(plain["timeZone"], "UTC");
    let guid = plain["scheduleId"].as_str().unwrap();
    assert_eq!((guid.len(), guid.matches('-').count()), (36, 4), "{guid}");
    for id in [guid, &plain["id"].to_string()] {
        let path = format!("/api/v1/schedules/{id}");
        assert_eq!(client.get(&path).await.expect(200)["key"], "schedule:k", "{id}");
    }
    for unknown in ["0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071", "none"] {
        client.get(&format!("/api/v1/schedules/{unknown}")).await.refused(404, "not_found");
    }
    let zoned = schedule(|body| {
        body["key"] = json!("z");
        body["runAt"] = json!("2026-05-14T23:00:00Z");
        body["timeZone"] = json!("Europe/Berlin");
    });
    let zoned = client.post("/api/v1/schedules", zoned).await.expect(201);
    assert_eq!((&zoned["timeZone"], &zoned["localDate"]), (&json!("Europe/Berlin"), &json!("2026-05-15")));
    let path = format!("/api/v1/schedules/{}", zoned["scheduleId"].as_str().unwrap());
    let moved = client.patch(&path, json!({ "runAt": "2026-05-15T23:00:00Z" })).await.expect(200);
    assert_eq!((&moved["timeZone"], &moved["localDate"]), (&json!("Europe/Berlin"), &json!("2026-05-16")));
    let unknown = schedule(|body| body["timeZone"] = json!("Europe/Berln"));
    client.post("/api/v1/schedules", unknown).await.refused(422, "zone_unknown");
    bed.leaves_open("the schedules are not due");
}

async fn s4_29_type_data_is_stored_and_returned(bed: TestBed) {
    let client = Client::new(&bed).await;
    let data = json!({ "pack": { "id": 7 }, "Any": ["thing"] });
    let body = json!({ "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B", "typeData": data });
    let made = client.post("/api/v1/notifications", body.clone()).await.expect(201);
    let path = format!("/api/v1/notifications/{}", made["id"].as_str().unwrap());
    let stored = client.get(&path).await.expect(200);
    assert_eq!((&stored["typeData"], &stored["lastAttemptAt"]), (&data, &Value::Null));
    client.post("/api/v1/messages", message(|body| body["typeData"] = data.clone())).await.expect(201);
    assert_eq!(client.get("/api/v1/messages/m").await.expect(200)["typeData"], data);
    client.advance("2h").await;
    let page = client.get("/api/v1/notifications").await.expect(200);
    for item in page["items"].as_array().unwrap() {
        let path = format!("/api/v1/notifications/{}", item["id"].as_str().unwrap());
        let sent = client.get(&path).await.expect(200);
        assert_eq!(sent["typeData"], data);
        assert!(sent["lastAttemptAt"].is_string(), "{sent}");
    }
}

async fn s4_39_what_was_never_attempted_has_no_last_attempt(bed: TestBed) {
    let client = Client::new(&bed).await;
    let channel =
        json!({ "adapter": "memory", "settings": {}, "quietHours": { "from": "00:00", "to": "23:59" } });
    client.put("/api/v1/channels/memory:night", channel).await.expect(200);
    let ways = [
        (json!({ "list": "nobody-made-it" }), "parked", "list-unknown"),
        (json!({ "targets": ["x"], "channel": "pigeon:loft" }), "parked", "no-channel"),
        (json!({ "targets": ["x"], "channel": "memory:night" }), "pending", "quiet-hours"),
    ];
    for (mut body, status, reason) in ways {
        body["subject"] = json!("S");
        body["body"] = json!("B");
        let made = client.post("/api/v1/notifications", body).await.expect(201);
        bed.tick().await;
        let path = format!("/api/v1/notifications/{}", made["id"].as_str().unwrap());
        let row = client.get(&path).await.expect(200);
        assert_eq!((&row["status"], &row["reasonCode"]), (&json!(status), &json!(reason)), "{row}");
        assert_eq!((&row["lastAttemptAt"], &row["retryCount"]), (&Value::Null, &json!(0)), "{row}");
    }
    bed.leaves_open("what waits for the morning");
}

async fn a_repeat_is_answered_however_long_ago_its_moment_was(bed: TestBed) {
    let client = Client::new(&bed).await;
    let (message, schedule) = (|| message(|_| {}), || schedule(|_| {}));
    client.post("/api/v1/messages", message()).await.expect(201);
    client.post("/api/v1/schedules", schedule()).await.expect(201);
    let mut second = message();
    second["id"] = json!("m2");
    client.post("/api/v1/messages", second.clone()).await.expect(201);
    client.delete("/api/v1/messages/m2").await.expect(204);
    client.advance("72h").await;
    assert_eq!(bed.sent().len(), 1);
    // The sender never got an answer, and asks once more after a long week-end.
    assert_eq!(client.post("/api/v1/messages", message()).await.expect(200)["status"], "completed");
    assert_eq!(client.post("/api/v1/messages", second.clone()).await.expect(200)["status"], "cancelled");
    assert_eq!(client.post("/api/v1/schedules", schedule()).await.expect(200)["status"], "completed");
    let batch = client.post("/api/v1/messages", json!([message(), second])).await.expect(200);
    let statuses = [&batch["items"][0]["status"], &batch["items"][1]["status"]];
    assert_eq!(statuses, ["completed", "cancelled"], "{batch}");
    let changed = client.patch("/api/v1/messages/m", json!({ "subject": "T" })).await;
    changed.refused(409, "state_not_allowed");
    // What would be planned is still refused: something new, and something that is to come back.
    let mut new = message();
    new["id"] = json!("m3");
    client.post("/api/v1/messages", new).await.refused(422, "due_too_old");
    second["revive"] = json!(true);
    client.post("/api/v1/messages", second).await.refused(422, "due_too_old");
    let mut key = schedule();
    key["key"] = json!("k2");
    client.post("/api/v1/schedules", key).await.refused(422, "due_too_old");
}

async fn a_channel_that_nobody_has_defined_is_a_warning_in_the_answer(bed: TestBed) {
    let client = Client::new(&bed).await;
    let new = |channel: &str| json!({ "targets": ["x"], "channel": channel, "subject": "S", "body": "B" });
    let said = |warnings: &Value| -> Vec<(String, String)> {
        let pair =
            |one: &Value| (one["pointer"].as_str().unwrap().into(), one["code"].as_str().unwrap().into());
        warnings.as_array().map(|all| all.iter().map(pair).collect()).unwrap_or_default()
    };
    let warned = |pointer: &str| vec![(pointer.to_owned(), "channel_unknown".to_owned())];
    let taken = client.post("/api/v1/notifications", new("pigeon:loft")).await.expect(201);
    assert_eq!(said(&taken["warnings"]), warned("/channel"));
    let mut next = new("memory:default");
    next["failover"] = json!(["pigeon:loft"]);
    let taken = client.post("/api/v1/notifications", next).await.expect(201);
    assert_eq!(said(&taken["warnings"]), warned("/failover/0"));
    let many = json!([new("memory:default"), new("pigeon:loft")]);
    let batch = client.post("/api/v1/notifications", many).await.expect(200);
    assert_eq!(said(&batch["items"][0]["warnings"]), []);
    assert_eq!(said(&batch["items"][1]["warnings"]), warned("/1/channel"));
    let later = message(|body| body["channel"] = json!("pigeon:loft"));
    let taken = client.post("/api/v1/messages", later.clone()).await.expect(201);
    assert_eq!(said(&taken["warnings"]), warned("/channel"));
    let mut other = later;
    other["id"] = json!("m2");
    let batch = client.post("/api/v1/messages", json!([other])).await.expect(200);
    assert_eq!(said(&batch["items"][0]["warnings"]), warned("/0/channel"));
    let changed = client.patch("/api/v1/messages/m", json!({ "subject": "T" })).await.expect(200);
    assert_eq!(said(&changed["warnings"]), warned("/channel"));
    // A rule that names a channel, and not only a type.
    client
        .put("/api/v1/operations/people/ann", json!({ "name": "Ann", "email": "ann@example.org" }))
        .await
        .expect(200);
    let event = json!({ "title": "E", "startDate": "2026-05-20T07:00:00Z", "creator": "ann" });
    let event = client.post("/api/v1/operations/events", event).await.expect(201);
    let before = json!({ "type": "relative", "anchor": "start", "offset": "-1h" });
    let rule = json!({ "subjectType": "event", "subjectId": event["id"], "rule": before, "channels": ["sms", "pigeon:loft"] });
    let rule = client.post("/api/v1/operations/rules", rule).await.expect(201);
    assert_eq!(said(&rule["warnings"]), warned("/channels/1"));
    let path = format!("/api/v1/operations/rules/{}", rule["id"].as_str().unwrap());
    let types = client.patch(&path, json!({ "channels": ["sms"] })).await.expect(200);
    assert_eq!(said(&types["warnings"]), []);
    // Defined a moment ago, and not open on this node yet: known.
    let channel = json!({ "adapter": "memory", "settings": {} });
    client.put("/api/v1/channels/pigeon:loft", channel).await.expect(200);
    let taken = client.post("/api/v1/notifications", new("pigeon:loft")).await.expect(201);
    assert_eq!(said(&taken["warnings"]), []);
    bed.leaves_open("the messages");
}
