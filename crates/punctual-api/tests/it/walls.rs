//! What one business unit names of another is as unknown as what never was, wherever it is named.

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{first_aid, put_source, rows, setting},
    surveys::{csi_gr, ingest, published, visit},
};

on_both! {
    t11_people_of_another_unit_are_as_unknown_as_nobody;
    t11_an_organisation_of_another_unit_gives_an_event_nothing;
    t11_a_lookup_finds_nothing_of_another_unit;
    t11_what_is_the_installations_is_found_by_its_own_settings;
    t11_children_of_another_unit_are_not_counted;
    t11_rows_without_a_unit_are_for_callers_without_a_limit;
    t11_a_key_is_for_units_that_exist;
    t11_why_says_nothing_of_another_units_settings;
    t11_an_id_that_another_unit_has_is_taken_as_one_that_was_deleted;
    t11_what_is_found_by_id_or_key_is_as_unknown_as_what_never_was;
    t11_a_calendar_that_another_unit_imported_is_as_new_as_any;
    t11_an_event_that_another_unit_asked_about_is_as_new_as_any;
    t11_a_survey_that_moved_leaves_its_links_where_they_were;
}

/// A caller without a limit, and the holder of a key of `nz`.
async fn two_units(bed: &TestBed) -> (Client, Client) {
    let client = Client::new(bed).await;
    for unit in ["de", "nz"] {
        let zone = json!({ "name": unit, "timeZone": "UTC" });
        client.put(&format!("/api/v1/business-units/{unit}"), zone).await.expect(200);
    }
    let nz = client.new_key(&["author", "operate", "ingest", "read"], Some(&["nz"])).await;
    (client, nz)
}

/// The text of an answer without what differs by nature.
fn without(value: &Value, names: &[&str]) -> String {
    names.iter().fold(value.to_string(), |text, name| text.replace(name, "NAME"))
}

async fn t11_people_of_another_unit_are_as_unknown_as_nobody(bed: TestBed) {
    let (client, nz) = two_units(&bed).await;
    for (id, unit) in [("dora", json!("de")), ("nora", json!("nz")), ("sam", Value::Null)] {
        let person = json!({ "name": id, "email": format!("{id}@b.example"), "businessUnit": unit });
        client.put(&format!("/api/v1/operations/people/{id}"), person).await.expect(200);
    }
    let reported = async |creator: &str, people: &[&str]| {
        let body = json!({ "title": "T", "startDate": bed.after(3_600).to_string(), "creator": creator, "participants": people });
        let made = nz.post("/api/v1/operations/events", body).await.expect(201);
        let id = made["id"].as_str().unwrap().to_owned();
        client.advance("2h").await;
        let row = &nz.get(&format!("/api/v1/work?sourceId={id}")).await.expect(200)["items"][0];
        (row["status"].clone(), row["reasonCode"].clone())
    };
    let foreign = reported("dora", &["dora"]).await;
    assert_eq!(foreign, reported("nobody", &["nobody"]).await);
    assert!(bed.sent().is_empty());
    reported("nora", &["sam", "dora"]).await;
    let mut sent = bed.sent_to();
    sent.sort();
    assert_eq!(sent, ["nora@b.example", "sam@b.example"]);
}

async fn t11_an_organisation_of_another_unit_gives_an_event_nothing(bed: TestBed) {
    let (client, nz) = two_units(&bed).await;
    let rules =
        json!([{ "rule": { "type": "relative", "anchor": "start", "offset": "-24h" }, "channels": ["sms"] }]);
    let choir = json!({ "name": "Choir", "timeZone": "Asia/Tokyo", "rules": rules, "businessUnit": "de" });
    client.put("/api/v1/operations/organisations/choir", choir).await.expect(200);
    let made = async |organisation: &str| {
        let body = json!({ "title": "T", "startDate": "2026-06-14T06:00:00Z", "creator": "x", "organisation": organisation });
        let made = nz.post("/api/v1/operations/events", body).await.expect(201);
        let rules = made["rules"].as_array().unwrap().clone();
        rules.iter().map(|rule| (rule["rule"].clone(), rule["channels"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(made("choir").await, made("no-such").await);
    bed.leaves_open("the events are to come");
}

async fn t11_a_lookup_finds_nothing_of_another_unit(bed: TestBed) {
    let (client, nz) = two_units(&bed).await;
    put_source(
        &client,
        "person/7",
        json!({ "businessUnit": "de", "state": { "salary": "90000@de.example" } }),
    )
    .await;
    let lookup = json!({ "lookup": { "sourceType": "person", "idField": "/ownerId", "field": "/salary" } });
    let body = first_aid(|body| {
        body["businessUnit"] = json!("nz");
        body["date"]["offsetsDays"] = json!([1]);
        body["recipients"] = lookup;
        body["delivery"] = json!({});
    });
    setting(&nz, body).await;
    for (document, owner) in [("1", "7"), ("2", "no-such")] {
        let state = json!({ "kind": "first-aid", "expiresOn": "2026-05-20", "ownerId": owner });
        put_source(&nz, &format!("document/{document}"), json!({ "businessUnit": "nz", "state": state }))
            .await;
    }
    client.advance("10d").await;
    assert!(bed.sent().is_empty(), "{:?}", bed.sent_to());
    let found = rows(&nz, "").await;
    let reasons: Vec<&str> = found.iter().map(|(.., why)| why.as_str()).collect();
    assert_eq!(reasons, ["no-recipients", "no-recipients"]);
    let shown = nz.get("/api/v1/work").await.expect(200);
    assert!(!without(&shown, &[]).contains("90000"));
}

async fn t11_what_is_the_installations_is_found_by_its_own_settings(bed: TestBed) {
    let (client, nz) = two_units(&bed).await;
    put_source(&client, "person/9", json!({ "state": { "email": "head@example.org" } })).await;
    let lookup = json!({ "lookup": { "sourceType": "person", "idField": "/ownerId", "field": "/email" } });
    let body = |key: &str| {
        first_aid(|body| {
            body["triggerKey"] = json!(key);
            body["date"]["offsetsDays"] = json!([1]);
            body["recipients"] = lookup.clone();
            body["delivery"] = json!({ "channel": "memory:default" });
        })
    };
    // A unit's author could otherwise read the address off the message.
    setting(&nz, body("of-nz")).await;
    let state = json!({ "kind": "first-aid", "expiresOn": "2026-05-20", "ownerId": "9" });
    put_source(&nz, "document/1", json!({ "state": state })).await;
    client.advance("10d").await;
    assert!(bed.sent().is_empty(), "{:?}", bed.sent_to());
    setting(&client, body("of-all")).await;
    let state = json!({ "kind": "first-aid", "expiresOn": "2026-06-20", "ownerId": "9" });
    put_source(&nz, "document/1", json!({ "state": state })).await;
    client.advance("60d").await;
    assert_eq!(bed.sent_to(), ["head@example.org"]);
}

async fn t11_children_of_another_unit_are_not_counted(bed: TestBed) {
    let (client, nz) = two_units(&bed).await;
    let body = first_aid(|body| {
        body["businessUnit"] = json!("nz");
        body["sourceType"] = json!("class");
        body["kind"] = json!("threshold");
        body["date"] = json!(null);
        body["filter"] = json!(null);
        body["recipients"] = json!({ "addresses": ["a@b.example"] });
        body["threshold"] = json!({ "metric": { "count": { "sourceType": "booking", "parentField": "/classId" } },
            "op": ">=", "value": 2, "firingPolicy": "FalseToTrue", "scope": "all" });
    });
    let id = setting(&nz, body.clone()).await;
    put_source(&nz, "class/1", json!({ "businessUnit": "nz", "state": {} })).await;
    let book = async |id: &str, unit: &str| {
        let state = json!({ "businessUnit": unit, "state": { "classId": "1" } });
        put_source(&client, &format!("booking/{id}"), state).await;
        client.advance("1m").await;
    };
    for id in ["1", "2", "3"] {
        book(id, "de").await;
    }
    assert!(bed.sent().is_empty(), "three of another unit count for nothing");
    let plan = nz.post(&format!("/api/v1/reminder-settings/{id}/plan"), body).await.expect(200);
    assert_eq!(plan["create"], 0, "{plan}");
    book("4", "nz").await;
    // One that moves to the unit counts from then on.
    book("1", "nz").await;
    assert_eq!(bed.sent().len(), 1);
}

async fn t11_rows_without_a_unit_are_for_callers_without_a_limit(bed: TestBed) {
    let (client, nz) = two_units(&bed).await;
    let body = json!({ "title": "T", "startDate": "2026-06-14T06:00:00Z", "creator": "x" });
    let event = client.post("/api/v1/operations/events", body).await.expect(201);
    client.put("/api/v1/sources/document/1", json!({ "state": { "a": 1 } })).await.expect(200);
    let later = json!({ "id": "m", "sendAt": "2026-06-14T06:00:00Z", "targets": ["x"], "channel": "memory:default",
        "subject": "S", "body": "B" });
    client.post("/api/v1/messages", later).await.expect(201);
    let schedule = json!({ "topic": "t", "runAt": "2026-06-14T06:00:00Z", "key": "k" });
    let schedule = client.post("/api/v1/schedules", schedule).await.expect(201);
    let event_id = event["id"].as_str().unwrap();
    for path in [
        format!("/api/v1/operations/events/{event_id}"),
        format!("/api/v1/operations/rules/{}", event["rules"][0]["id"].as_str().unwrap()),
        "/api/v1/sources/document/1".to_owned(),
        "/api/v1/messages/m".to_owned(),
        format!("/api/v1/schedules/{}", schedule["id"]),
        format!("/api/v1/work/{}", schedule["id"]),
        "/api/v1/why?sourceType=document&sourceId=1&date=2026-06-14".to_owned(),
    ] {
        client.get(&path).await.expect(200);
        nz.get(&path).await.refused(404, "not_found");
    }
    let calendar = "/api/v1/operations/events?from=2026-06-01T00:00:00Z&to=2026-07-01T00:00:00Z";
    let rules = format!("/api/v1/operations/rules?subjectId={event_id}");
    for path in [
        "/api/v1/operations/events",
        calendar,
        &rules,
        "/api/v1/operations/rules",
        "/api/v1/sources/document",
        "/api/v1/messages",
        "/api/v1/schedules",
        "/api/v1/work",
    ] {
        assert!(!client.get(path).await.expect(200)["items"].as_array().unwrap().is_empty(), "{path}");
        assert_eq!(nz.get(path).await.expect(200)["items"], json!([]), "{path}");
    }
    let forecast = "/api/v1/forecast?from=2026-06-01T00:00:00Z&to=2026-07-01T00:00:00Z";
    assert!(!client.get(forecast).await.expect(200)["days"].as_array().unwrap().is_empty());
    assert_eq!(nz.get(forecast).await.expect(200)["days"], json!([]));
    bed.leaves_open("all of it is to come");
}

async fn t11_a_key_is_for_units_that_exist(bed: TestBed) {
    let (client, _) = two_units(&bed).await;
    let key = |units: &[&str]| json!({ "name": "k", "scopes": ["read"], "businessUnits": units });
    let refused = client.post("/api/v1/keys", key(&["nz", "xx"])).await.refused(422, "unit_unknown");
    assert_eq!(refused["errors"][0]["pointer"], "/businessUnits");
    let names = client.get("/api/v1/keys").await.expect(200).to_string();
    assert!(!names.contains("\"k\""), "nothing was stored: {names}");
    client.post("/api/v1/keys", key(&["nz", "de"])).await.expect(201);
}

async fn t11_why_says_nothing_of_another_units_settings(bed: TestBed) {
    bed.leaves_open("the reminders of its source are far ahead");
    let (client, nz) = two_units(&bed).await;
    for (name, unit) in [("canary of de", json!("de")), ("own", json!("nz")), ("shared", Value::Null)] {
        let body = first_aid(|one| {
            one["name"] = json!(name);
            one["triggerKey"] = json!(name.replace(' ', "-"));
            one["businessUnit"] = unit;
        });
        setting(&client, body).await;
    }
    put_source(&nz, "document/1", crate::reminders::document("2026-07-20")).await;
    let asked = "/api/v1/why?sourceType=document&sourceId=1&date=2026-07-19";
    let reported = nz.get(asked).await.expect(200).to_string();
    assert!(
        reported.contains("own") && reported.contains("shared") && !reported.contains("canary"),
        "{reported}"
    );
    assert!(
        client.get(asked).await.expect(200).to_string().contains("canary"),
        "a caller without a limit sees it"
    );
}

async fn t11_an_id_that_another_unit_has_is_taken_as_one_that_was_deleted(bed: TestBed) {
    let (client, nz) = two_units(&bed).await;
    let of = |unit: &str| first_aid(|one| one["businessUnit"] = json!(unit));
    let foreign = setting(&client, of("de")).await;
    let deleted = setting(&nz, of("nz")).await;
    nz.delete(&format!("/api/v1/reminder-settings/{deleted}")).await.expect(204);
    let mut answers = Vec::new();
    for id in [&foreign, &deleted] {
        let path = format!("/api/v1/reminder-settings/{id}");
        let refused = nz.put(&path, of("nz")).await.refused(409, "id_reused");
        answers.push(without(&refused, &[refused["requestId"].as_str().unwrap(), id]));
        nz.get(&path).await.refused(404, "not_found");
    }
    assert_eq!(answers[0], answers[1], "the two are not distinguishable");
    let kept = client.get(&format!("/api/v1/reminder-settings/{foreign}")).await.expect(200);
    assert_eq!(
        (&kept["businessUnit"], &kept["version"]),
        (&json!("de"), &json!(1)),
        "and nothing was stored"
    );
}

async fn t11_what_is_found_by_id_or_key_is_as_unknown_as_what_never_was(bed: TestBed) {
    bed.leaves_open("what another unit asks to change stays as it is");
    let (client, nz) = two_units(&bed).await;
    let de = client.new_key(&["author", "operate", "ingest", "read"], Some(&["de"])).await;
    let message = json!({ "id": "m-of-de", "sendAt": bed.after(3_600).to_string(), "targets": ["a@b.example"],
                          "channel": "memory:default", "subject": "S", "body": "B" });
    let made = de.post("/api/v1/messages", message).await.expect(201);
    let notification = json!({ "targets": ["a"], "channel": "no:such", "subject": "S", "body": "B" });
    let notification = de.post("/api/v1/notifications", notification).await.expect(201);
    let never = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
    let work = made["workId"].to_string();
    for (route, foreign, unknown) in [
        ("messages/", "m-of-de", "m-of-nobody"),
        ("notifications/", notification["id"].as_str().unwrap(), never),
        ("work/", work.as_str(), "987654321"),
    ] {
        let get = async |id: &str| {
            let refused = nz.get(&format!("/api/v1/{route}{id}")).await.refused(404, "not_found");
            without(&refused, &[refused["requestId"].as_str().unwrap(), id])
        };
        assert_eq!(get(foreign).await, get(unknown).await, "{route}: the two are not distinguishable");
        de.get(&format!("/api/v1/{route}{foreign}")).await.expect(200);
    }
    let acts = [
        format!("notifications/{}/retry", notification["id"].as_str().unwrap()),
        format!("notifications/{}/timeline", notification["id"].as_str().unwrap()),
        format!("work/{work}/cancel"),
    ];
    for act in acts {
        let path = format!("/api/v1/{act}");
        let refused =
            if act.ends_with("timeline") { nz.get(&path).await } else { nz.post(&path, json!({})).await };
        refused.refused(404, "not_found");
    }
    assert_eq!(client.get(&format!("/api/v1/work/{work}")).await.expect(200)["status"], "pending");
}

/// The identity of an event in another calendar is chosen by whoever wrote the file, so that two units may have it.
async fn t11_a_calendar_that_another_unit_imported_is_as_new_as_any(bed: TestBed) {
    bed.leaves_open("what was imported is ahead");
    let (client, nz) = two_units(&bed).await;
    let de = client.new_key(&["author", "read"], Some(&["de"])).await;
    let file = |uid: &str, hour: &str| {
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:Rehearsal\r\n\
             DTSTART:20260714T{hour}0000Z\r\nRRULE:FREQ=WEEKLY;COUNT=2\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    };
    let import = async |caller: &Client, text: String| {
        let headers = [("content-type", "text/calendar")];
        let answer = caller.send(Method::POST, "/api/v1/operations/import?creator=ann", &headers, text).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.text
    };
    let foreign = import(&de, file("canary@x", "07")).await;
    let before = de.get("/api/v1/operations/events").await.expect(200);
    assert_eq!(before["items"].as_array().unwrap().len(), 2, "{foreign}");

    // New, the same again, changed and cancelled: each is answered as for an identity that nobody has.
    let cancelled = |uid: &str| file(uid, "08").replace("RRULE", "STATUS:CANCELLED\r\nRRULE");
    for hour in ["07", "07", "08"] {
        assert_eq!(import(&nz, file("canary@x", hour)).await, import(&nz, file("free@x", hour)).await);
    }
    assert_eq!(nz.get("/api/v1/operations/events").await.expect(200)["items"].as_array().unwrap().len(), 4);
    assert_eq!(import(&nz, cancelled("canary@x")).await, import(&nz, cancelled("free@x")).await);
    // A caller for all units who names none keeps apart as well: what was imported belongs to the unit of the import.
    assert_eq!(import(&client, file("canary@x", "09")).await, import(&client, file("free@x", "09")).await);
    let after = de.get("/api/v1/operations/events").await.expect(200);
    assert_eq!(after["items"], before["items"], "and what the other has is as it was");
    let again: Value = serde_json::from_str(&import(&de, file("canary@x", "07")).await).unwrap();
    assert_eq!((&again["unchanged"], &again["created"]), (&json!(2), &json!(0)), "each knows its own");
}

/// A recipe without the survey recognises events of other surveys; of its own unit, and of no other.
async fn t11_an_event_that_another_unit_asked_about_is_as_new_as_any(bed: TestBed) {
    bed.leaves_open("surveys are to be answered");
    let (client, nz) = two_units(&bed).await;
    let de = client.new_key(&["author", "operate", "ingest", "read"], Some(&["de"])).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["dedupRecipe"] = json!(["recipient.address", "candidate.wip"]);
    let of_de = published(&de, schema.clone()).await;
    let of_nz = published(&nz, schema.clone()).await;
    let link = |reported: &Value| {
        let one = &reported["items"][0]["instances"][0];
        (one["outcome"].as_str().unwrap().to_owned(), one["publicId"].as_str().unwrap().to_owned())
    };
    let foreign = ingest(&de, json!([visit("1")])).await;
    let (outcome, secret) = link(&foreign);
    assert_eq!(outcome, "Created");

    let reported = ingest(&nz, json!([visit("1")])).await;
    let free = ingest(&nz, json!([visit("2")])).await;
    assert_eq!(
        without(&reported, &[&link(&reported).1]),
        without(&free, &[&link(&free).1]),
        "the two are not distinguishable"
    );
    assert_ne!(link(&reported).1, secret, "the link of another unit is not handed out");
    // Each knows its own, and a second survey of the unit still takes it for a repeat.
    assert_eq!(link(&ingest(&nz, json!([visit("1")])).await), ("Skipped".to_owned(), link(&reported).1));
    assert_eq!(link(&ingest(&de, json!([visit("1")])).await), ("Skipped".to_owned(), secret));
    published(&nz, schema).await;
    let both = ingest(&nz, json!([visit("1")])).await;
    assert_eq!((&both["created"], &both["skipped"]), (&json!(0), &json!(2)), "{both}");
    let sends = async |survey: i64, caller: &Client| {
        let body = json!({ "triggerId": "csi-gr-trigger", "items": [visit("1")] });
        caller.post(&format!("/api/v1/surveys/{survey}/campaigns"), body).await.expect(200)["skipped"].clone()
    };
    assert_eq!((sends(of_nz, &nz).await, sends(of_de, &de).await), (json!(1), json!(1)));
}

/// What was asked while the survey was another unit's stays that unit's, whatever its recipe.
async fn t11_a_survey_that_moved_leaves_its_links_where_they_were(bed: TestBed) {
    bed.leaves_open("surveys are to be answered");
    let (client, nz) = two_units(&bed).await;
    let de = client.new_key(&["author", "operate", "ingest", "read"], Some(&["de"])).await;
    for recipe in [json!(["templateId", "candidate.wip"]), json!(["recipient.address", "candidate.wip"])] {
        let mut schema = csi_gr();
        schema["triggers"][0]["dedupRecipe"] = recipe;
        let survey = published(&de, schema.clone()).await;
        let path = format!("/api/v1/surveys/{survey}");
        let moved = async |unit: &str| {
            let body = json!({ "name": "S", "businessUnit": unit, "schema": schema });
            client.put(&path, body).await.expect(200);
            client.post(&format!("{path}/publish"), json!({})).await.expect(200);
        };
        let reported = async |caller: &Client, wip: &str| {
            let body = json!({ "triggerId": "csi-gr-trigger", "items": [visit(wip)] });
            let reported = caller.post(&format!("{path}/campaigns"), body).await.expect(200);
            let one = &reported["items"][0]["instances"][0];
            (one["outcome"].as_str().unwrap().to_owned(), one["publicId"].as_str().unwrap().to_owned())
        };
        let skipped = |link: &str| ("Skipped".to_owned(), link.to_owned());
        let (_, of_de) = reported(&de, "1").await;
        moved("nz").await;
        let (outcome, of_nz) = reported(&nz, "1").await;
        assert_eq!((outcome.as_str(), of_nz != of_de), ("Created", true), "the link of another unit");
        assert_eq!(reported(&nz, "1").await, skipped(&of_nz), "its own is known from then on");
        assert_eq!(reported(&nz, "2").await.0, "Created");
        moved("de").await;
        assert_eq!(reported(&de, "1").await, skipped(&of_de));
        assert_eq!(reported(&de, "2").await.0, "Created");
    }
}
