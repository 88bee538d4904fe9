//! Events, tasks, people, organisations and rules through the API.

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

on_both! {
    an_event_is_made_sent_changed_and_deleted;
    a_task_has_its_own_words;
    each_fault_names_its_field;
    a_patch_takes_away_with_null_and_leaves_what_it_does_not_name;
    people_are_kept_listed_and_removed;
    rules_are_listed_added_changed_paused_and_deleted;
    an_organisation_sets_the_rules_and_the_hour_of_its_events;
    the_same_request_again_makes_no_second_event;
    a_schedule_that_fails_fails_no_request;
    another_business_unit_sees_nothing;
    lists_come_in_pages_and_by_time;
}

pub async fn with_ann(bed: &TestBed) -> Client {
    let client = Client::new(bed).await;
    for (id, zone) in [("ann", "Europe/Berlin"), ("ben", "UTC")] {
        let body = json!({ "name": id, "email": format!("{id}@example.org"), "timeZone": zone, "locale": "en", "channels": ["email"] });
        client.put(&format!("/api/v1/operations/people/{id}"), body).await.expect(200);
    }
    client
}

async fn rules(client: &Client, subject: &Value) -> Vec<Value> {
    let path = format!("/api/v1/operations/rules?subjectId={}", subject["id"].as_str().unwrap());
    client.get(&path).await.expect(200)["items"].as_array().unwrap().clone()
}

async fn an_event_is_made_sent_changed_and_deleted(bed: TestBed) {
    let client = with_ann(&bed).await;
    let body = json!({ "title": "Stand-up", "startDate": "2026-05-14T06:00:00Z", "endDate": "2026-05-14T06:15:00Z",
        "isAllDay": false, "creator": "ann", "participants": ["ben"] });
    let made = client.post("/api/v1/operations/events", body).await.expect(201);
    assert_eq!(
        (&made["startDate"], &made["participants"]),
        (&json!("2026-05-14T06:00:00Z"), &json!(["ben"]))
    );
    let path = format!("/api/v1/operations/events/{}", made["id"].as_str().unwrap());
    assert_eq!(client.get(&path).await.expect(200), made);
    let own = rules(&client, &made).await;
    assert_eq!(json!(own), made["rules"]);
    let start = &own[0];
    let expected = json!({ "id": start["id"], "subjectType": "event", "subjectId": made["id"], "kind": "start",
        "rule": { "type": "at_subject_date", "anchor": "start" }, "scheduleId": start["scheduleId"],
        "syncStatus": "synced", "syncError": null, "channels": ["email"], "active": true, "deletedAt": null,
        "lastSentAt": null, "nextRunAt": "2026-05-14T06:00:00Z" });
    assert_eq!(start, &expected);
    let id = start["scheduleId"].as_str().unwrap();
    let work = client.get(&format!("/api/v1/schedules/{id}")).await.expect(200);
    assert_eq!(work["key"], format!("operations:{}:20260514T060000Z", start["id"].as_str().unwrap()));

    client.advance("1h").await;
    let mut reported: Vec<(String, String)> =
        bed.sent().iter().map(|sent| (sent.address.clone(), sent.body.clone())).collect();
    reported.sort();
    let says = |when: &str| format!("Stand-up starts Thu 14 May 2026, {when}.\n");
    let expected =
        [("ann@example.org", says("08:00 (Europe/Berlin)")), ("ben@example.org", says("06:00 (UTC)"))];
    assert_eq!(reported, expected.map(|(who, what)| (who.to_owned(), what)));
    let sent = rules(&client, &made).await;
    assert_eq!(
        (&sent[0]["lastSentAt"], &sent[0]["nextRunAt"]),
        (&json!("2026-05-14T06:00:00Z"), &Value::Null)
    );

    let moved = client.patch(&path, json!({ "endDate": "2026-05-14T07:00:00Z" })).await.expect(200);
    assert_eq!(moved["rules"][1]["nextRunAt"], "2026-05-14T07:00:00Z");
    assert_eq!(moved["title"], "Stand-up");
    assert_eq!(client.delete(&path).await.status, 204);
    client.delete(&path).await.refused(404, "not_found");
    client.get(&path).await.refused(404, "not_found");
    assert!(rules(&client, &made).await.is_empty());
    let rule =
        client.get(&format!("/api/v1/operations/rules/{}", start["id"].as_str().unwrap())).await.expect(200);
    assert_eq!((&rule["active"], &rule["deletedAt"]), (&json!(false), &json!("2026-05-14T06:00:00Z")));
    client.advance("2h").await;
    assert_eq!(bed.sent().len(), 2);
}

async fn a_task_has_its_own_words(bed: TestBed) {
    let client = with_ann(&bed).await;
    let body = json!({ "title": "Inventory", "startedAt": null, "finishedAt": "2026-05-14T06:00:00Z", "creator": "ann", "relatedUsers": ["ben"] });
    let made = client.post("/api/v1/operations/tasks", body).await.expect(201);
    assert_eq!(
        (&made["finishedAt"], &made["relatedUsers"]),
        (&json!("2026-05-14T06:00:00Z"), &json!(["ben"]))
    );
    assert_eq!(made["rules"].as_array().unwrap().len(), 1);
    let id = made["id"].as_str().unwrap();
    // An event of that id there is not.
    client.get(&format!("/api/v1/operations/events/{id}")).await.refused(404, "not_found");
    client.patch(&format!("/api/v1/operations/events/{id}"), json!({})).await.refused(404, "not_found");
    client.delete(&format!("/api/v1/operations/events/{id}")).await.refused(404, "not_found");
    client.advance("1h").await;
    assert_eq!(bed.sent()[0].subject, "Ends: Inventory");
}

async fn each_fault_names_its_field(bed: TestBed) {
    let client = with_ann(&bed).await;
    let check = async |body: Value, code: &str, pointers: &[&str]| {
        let refused = client.post("/api/v1/operations/events", body).await.refused(422, code);
        assert_eq!(Reply::pointers(&refused), pointers);
    };
    check(json!({}), "missing_field", &["/title", "/creator"]).await;
    let at = "2026-05-14T06:00:00Z";
    check(
        json!({ "title": "a", "creator": "ann", "startDate": "2026-05-14T06:00:00" }),
        "time_no_offset",
        &["/startDate"],
    )
    .await;
    check(
        json!({ "title": "a", "creator": "ann", "startDate": "2026-05-14" }),
        "time_no_offset",
        &["/startDate"],
    )
    .await;
    check(
        json!({ "title": "a", "creator": "ann", "startDate": at, "endDate": "2026-05-14T05:00:00Z" }),
        "out_of_range",
        &["/endDate"],
    )
    .await;
    check(
        json!({ "title": "a", "creator": "ann", "startDate": "2099-05-14T05:00:00Z" }),
        "due_out_of_range",
        &["/startDate"],
    )
    .await;
    check(json!({ "title": "a", "creator": "ann", "startdate": at }), "unknown_field", &["/startdate"]).await;
    check(json!({ "title": "a\r\nBcc: x", "creator": "ann" }), "subject_invalid", &["/title"]).await;
    let made = client
        .post("/api/v1/operations/events", json!({ "title": "a", "creator": "ann", "startDate": at }))
        .await
        .expect(201);
    let path = format!("/api/v1/operations/events/{}", made["id"].as_str().unwrap());
    let refused =
        client.patch(&path, json!({ "endDate": "2026-05-14T05:00:00Z" })).await.refused(422, "out_of_range");
    assert_eq!(Reply::pointers(&refused), ["/endDate"]);
    let rule = |rule: Value| json!({ "subjectType": "event", "subjectId": made["id"], "rule": rule });
    for (bad, code, pointer) in [
        (
            json!({ "type": "relative", "anchor": "start", "offset": "24h" }),
            "duration_invalid",
            "/rule/offset",
        ),
        (
            json!({ "type": "relative", "anchor": "start", "offset": "-1 day" }),
            "duration_invalid",
            "/rule/offset",
        ),
        (json!({ "type": "on_day", "anchor": "start", "at": "25:00" }), "date_invalid", "/rule/at"),
        (json!({ "type": "relative", "anchor": "end", "offset": "-1h" }), "out_of_range", "/rule/anchor"),
    ] {
        let refused = client.post("/api/v1/operations/rules", rule(bad)).await.refused(422, code);
        assert_eq!(Reply::pointers(&refused), [pointer]);
    }
    let again = json!({ "type": "at_subject_date", "anchor": "start" });
    let refused =
        client.post("/api/v1/operations/rules", rule(again)).await.refused(409, "state_not_allowed");
    assert_eq!(Reply::pointers(&refused), ["/rule"]);
    assert_eq!(client.delete(&path).await.status, 204);
}

async fn a_patch_takes_away_with_null_and_leaves_what_it_does_not_name(bed: TestBed) {
    let client = with_ann(&bed).await;
    let body = json!({ "title": "Fair", "startDate": "2026-05-16", "isAllDay": true, "creator": "ann", "organisation": "choir" });
    let made = client.post("/api/v1/operations/events", body).await.expect(201);
    assert_eq!(made["rules"][0]["nextRunAt"], "2026-05-16T12:00:00Z");
    let path = format!("/api/v1/operations/events/{}", made["id"].as_str().unwrap());
    let moved =
        client.patch(&path, json!({ "startDate": "2026-05-17", "organisation": null })).await.expect(200);
    assert_eq!((&moved["startDate"], &moved["organisation"]), (&json!("2026-05-17T00:00:00Z"), &Value::Null));
    assert_eq!(moved["rules"][0]["nextRunAt"], "2026-05-17T12:00:00Z");
    let bare = client.patch(&path, json!({ "startDate": null })).await.expect(200);
    assert_eq!(
        (&bare["startDate"], &bare["rules"], &bare["isAllDay"]),
        (&Value::Null, &json!([]), &json!(true))
    );
}

async fn people_are_kept_listed_and_removed(bed: TestBed) {
    let client = with_ann(&bed).await;
    let body = json!({ "name": "Cat", "channels": ["sms", "email"], "addresses": { "sms": "+49301234567" } });
    let put = client.put("/api/v1/operations/people/cat", body).await.expect(200);
    assert_eq!(
        (&put["channels"], &put["addresses"]),
        (&json!(["sms", "email"]), &json!({ "sms": "+49301234567" }))
    );
    assert_eq!(client.get("/api/v1/operations/people/cat").await.expect(200), put);
    let page = client.get("/api/v1/operations/people?limit=2").await.expect(200);
    assert_eq!((page["items"][0]["id"].as_str(), page["items"].as_array().unwrap().len()), (Some("ann"), 2));
    let path = format!("/api/v1/operations/people?limit=2&cursor={}", page["nextCursor"].as_str().unwrap());
    assert_eq!(client.get(&path).await.expect(200)["items"][0]["id"], "cat");
    assert_eq!(client.delete("/api/v1/operations/people/cat").await.status, 204);
    client.get("/api/v1/operations/people/cat").await.refused(404, "not_found");
}

async fn rules_are_listed_added_changed_paused_and_deleted(bed: TestBed) {
    let client = with_ann(&bed).await;
    let body = json!({ "title": "Trip", "startDate": "2026-05-16T06:00:00Z", "creator": "ann" });
    let made = client.post("/api/v1/operations/events", body).await.expect(201);
    let body = json!({ "subjectType": "event", "subjectId": made["id"], "rule": { "type": "relative", "anchor": "start", "offset": "-24h" }, "channels": ["email"] });
    let added = client.post("/api/v1/operations/rules", body.clone()).await.expect(201);
    assert_eq!(
        (&added["nextRunAt"], &added["syncStatus"]),
        (&json!("2026-05-15T06:00:00Z"), &json!("synced"))
    );
    assert_eq!(rules(&client, &made).await.len(), 2);
    assert_eq!(
        client.get("/api/v1/operations/rules").await.expect(200)["items"].as_array().unwrap().len(),
        2
    );
    let path = format!("/api/v1/operations/rules/{}", added["id"].as_str().unwrap());
    let rule = json!({ "type": "on_day", "anchor": "start", "at": "07:00", "timeZone": "Europe/Berlin", "dayOffset": -1 });
    let changed =
        client.patch(&path, json!({ "rule": rule, "channels": ["email", "sms"] })).await.expect(200);
    assert_eq!((&changed["rule"], &changed["nextRunAt"]), (&rule, &json!("2026-05-15T05:00:00Z")));
    let paused = client.patch(&path, json!({ "active": false })).await.expect(200);
    assert_eq!((&paused["active"], &paused["nextRunAt"]), (&json!(false), &Value::Null));
    let resumed = client.patch(&path, json!({ "active": true })).await.expect(200);
    assert_eq!(resumed["nextRunAt"], "2026-05-15T05:00:00Z");
    assert_eq!(client.delete(&path).await.status, 204);
    client.delete(&path).await.refused(404, "not_found");
    client.patch(&path, json!({ "active": true })).await.refused(404, "not_found");
    assert!(client.get(&path).await.expect(200)["deletedAt"].is_string());
    client.advance("72h").await;
    assert_eq!(bed.sent().len(), 1);
}

async fn an_organisation_sets_the_rules_and_the_hour_of_its_events(bed: TestBed) {
    let client = with_ann(&bed).await;
    let body = json!({ "name": "Choir", "timeZone": "Europe/Berlin", "allDayAt": "09:00", "rules": [
        { "rule": { "type": "at_subject_date", "anchor": "start" }, "channels": ["email"] },
        { "rule": { "type": "relative", "anchor": "start", "offset": "-24h" }, "channels": ["email"] } ] });
    let put = client.put("/api/v1/operations/organisations/choir", body.clone()).await.expect(200);
    assert_eq!(put["rules"], body["rules"]);
    // The same moment in other words would be the same message twice.
    let mut doubled = body.clone();
    let again =
        json!({ "rule": { "type": "relative", "anchor": "start", "offset": "-1d" }, "channels": ["email"] });
    doubled["rules"].as_array_mut().unwrap().push(again);
    let refused =
        client.put("/api/v1/operations/organisations/choir", doubled).await.refused(422, "out_of_range");
    assert_eq!(Reply::pointers(&refused), ["/rules/2/rule"]);
    let body = json!({ "title": "Concert", "startDate": "2026-05-16", "endDate": "2026-05-16", "isAllDay": true, "creator": "ann", "organisation": "choir" });
    let made = client.post("/api/v1/operations/events", body).await.expect(201);
    let runs: Vec<&Value> = made["rules"].as_array().unwrap().iter().map(|rule| &rule["nextRunAt"]).collect();
    assert_eq!(runs, [&json!("2026-05-16T07:00:00Z"), &json!("2026-05-15T07:00:00Z")]);
    let moved = json!({ "name": "Choir", "timeZone": "Europe/Berlin", "allDayAt": "10:00" });
    client.put("/api/v1/operations/organisations/choir", moved).await.expect(200);
    bed.tick().await;
    assert_eq!(rules(&client, &made).await[0]["nextRunAt"], "2026-05-16T08:00:00Z");
    let refused = client
        .put("/api/v1/operations/organisations/choir", json!({ "name": "Choir", "allDayAt": "99:00" }))
        .await
        .refused(422, "date_invalid");
    assert_eq!(Reply::pointers(&refused), ["/allDayAt"]);
    assert_eq!(client.get("/api/v1/operations/organisations").await.expect(200)["items"][0]["id"], "choir");
    assert_eq!(client.delete("/api/v1/operations/organisations/choir").await.status, 204);
    bed.tick().await;
    assert_eq!(rules(&client, &made).await[0]["nextRunAt"], "2026-05-16T12:00:00Z");
    client.advance("72h").await;
    assert_eq!(bed.sent().len(), 2);
}

async fn the_same_request_again_makes_no_second_event(bed: TestBed) {
    let client = with_ann(&bed).await;
    let body = json!({ "title": "Trip", "startDate": "2026-05-14T06:00:00Z", "creator": "ann" }).to_string();
    let headers = [("content-type", "application/json"), ("idempotency-key", "one")];
    let first =
        client.send(Method::POST, "/api/v1/operations/events", &headers, body.clone()).await.expect(201);
    let second = client.send(Method::POST, "/api/v1/operations/events", &headers, body).await.expect(201);
    assert_eq!(first["id"], second["id"]);
    client.advance("1h").await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_schedule_that_fails_fails_no_request(bed: TestBed) {
    let client = with_ann(&bed).await;
    bed.faults.fail_every("work.insert_absent", false, 1);
    bed.faults.fail_every("work.deactivate", false, 1);
    let body = json!({ "title": "Trip", "startDate": "2026-05-14T06:00:00Z", "creator": "ann" });
    let made = client.post("/api/v1/operations/events", body).await.expect(201);
    assert_eq!(
        (&made["rules"][0]["syncStatus"], &made["rules"][0]["scheduleId"]),
        (&json!("failed"), &Value::Null)
    );
    let path = format!("/api/v1/operations/events/{}", made["id"].as_str().unwrap());
    client.patch(&path, json!({ "startDate": "2026-05-14T07:00:00Z" })).await.expect(200);
    let attention = client.get("/api/v1/attention").await.expect(200);
    assert_eq!(attention["counts"]["sync"], 1);
    assert_eq!(attention["items"][0]["link"], format!("/operations/events/{}", made["id"].as_str().unwrap()));
    bed.faults.heal();
    let rule = made["rules"][0]["id"].as_str().unwrap();
    let mended = client.post(&format!("/api/v1/operations/rules/{rule}/repair"), json!({})).await.expect(200);
    assert_eq!(mended["syncStatus"], "synced");
    bed.faults.fail_every("work.deactivate", false, 1);
    assert_eq!(client.delete(&path).await.status, 204);
    bed.faults.heal();
    client.advance("3h").await;
    assert!(bed.sent().is_empty());
}

async fn another_business_unit_sees_nothing(bed: TestBed) {
    let client = with_ann(&bed).await;
    let nz = client.new_key(&["author", "read", "operate"], Some(&["nz"])).await;
    let de = client.new_key(&["author", "read", "operate"], Some(&["de"])).await;
    let body = json!({ "title": "Secret", "startDate": "2026-05-14T06:00:00Z", "creator": "ann" });
    let made = nz.post("/api/v1/operations/events", body).await.expect(201);
    assert_eq!(made["businessUnit"], "nz");
    let event = format!("/api/v1/operations/events/{}", made["id"].as_str().unwrap());
    let rule = format!("/api/v1/operations/rules/{}", made["rules"][0]["id"].as_str().unwrap());
    nz.put("/api/v1/operations/people/cat", json!({ "name": "Cat" })).await.expect(200);
    nz.put("/api/v1/operations/organisations/choir", json!({ "name": "Choir" })).await.expect(200);
    for path in [&event, &rule, "/api/v1/operations/people/cat", "/api/v1/operations/organisations/choir"] {
        de.get(path).await.refused(404, "not_found");
        de.delete(path).await.refused(404, "not_found");
    }
    de.patch(&event, json!({ "title": "x" })).await.refused(404, "not_found");
    de.patch(&rule, json!({ "active": false })).await.refused(404, "not_found");
    de.post(&format!("{rule}/repair"), json!({})).await.refused(404, "not_found");
    de.put("/api/v1/operations/people/cat", json!({ "name": "Mine" })).await.refused(409, "id_reused");
    let add = json!({ "subjectType": "event", "subjectId": made["id"], "rule": { "type": "relative", "anchor": "start", "offset": "-1h" } });
    de.post("/api/v1/operations/rules", add).await.refused(404, "not_found");
    de.post("/api/v1/operations/feeds", json!({ "organisation": "choir" })).await.refused(404, "not_found");
    for list in ["events", "rules", "people", "organisations"] {
        let page = de.get(&format!("/api/v1/operations/{list}")).await;
        assert!(!page.text.contains("Secret") && !page.text.contains("nz"), "{}", page.text);
    }
    let range = "?from=2026-05-14T00:00:00Z&to=2026-05-15T00:00:00Z";
    assert_eq!(de.get(&format!("/api/v1/operations/events{range}")).await.expect(200)["items"], json!([]));
    assert_eq!(
        nz.get(&format!("/api/v1/operations/events{range}")).await.expect(200)["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    client.advance("1h").await;
    assert_eq!(bed.notifications().await[0].business_unit.as_deref(), Some("nz"));
}

async fn lists_come_in_pages_and_by_time(bed: TestBed) {
    let client = with_ann(&bed).await;
    for day in 15..20 {
        let body = json!({ "title": format!("Day {day}"), "startDate": format!("2026-05-{day}T06:00:00Z"), "creator": "ann" });
        client.post("/api/v1/operations/events", body).await.expect(201);
        bed.wait(1);
    }
    let titles = |page: &Value| -> Vec<String> {
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["title"].as_str().unwrap().to_owned())
            .collect()
    };
    let page = client.get("/api/v1/operations/events?limit=3").await.expect(200);
    assert_eq!(titles(&page), ["Day 15", "Day 16", "Day 17"]);
    let path = format!("/api/v1/operations/events?limit=3&cursor={}", page["nextCursor"].as_str().unwrap());
    let page = client.get(&path).await.expect(200);
    assert_eq!(
        (titles(&page), &page["nextCursor"]),
        (vec!["Day 18".to_owned(), "Day 19".to_owned()], &Value::Null)
    );
    let range = "/api/v1/operations/events?from=2026-05-16T00:00:00Z&to=2026-05-18T00:00:00Z";
    assert_eq!(titles(&client.get(range).await.expect(200)), ["Day 16", "Day 17"]);
    let page = client.get(&format!("{range}&limit=1")).await.expect(200);
    assert_eq!(titles(&page), ["Day 16"]);
    let next = format!("{range}&limit=1&cursor={}", page["nextCursor"].as_str().unwrap());
    let page = client.get(&next).await.expect(200);
    assert_eq!((titles(&page), &page["nextCursor"]), (vec!["Day 17".to_owned()], &Value::Null));
    client.get(&format!("{range}&cursor=zzz")).await.refused(422, "cursor_invalid");
    client.get("/api/v1/operations/events?from=2026-05-16T00:00:00Z").await.refused(422, "missing_field");
    bed.leaves_open("the days to come");
}
