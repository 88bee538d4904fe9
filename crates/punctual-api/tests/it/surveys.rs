//! Surveys: writing and publishing them, and from an event to an instance.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

on_both! {
    a_survey_is_written_published_and_pinned;
    a_survey_with_faults_is_refused_with_a_pointer_for_each;
    publishing_points_out_what_is_probably_a_mistake;
    an_event_makes_an_instance_with_all_that_is_known;
    the_same_event_again_is_skipped_with_the_first_instance;
    what_matches_nothing_says_why;
    a_bad_item_fails_alone;
    two_surveys_make_two_instances;
    an_event_published_elsewhere_is_received_at_once;
    a_new_version_changes_nothing_for_old_instances;
    a_cloud_event_makes_an_instance_too;
    a_campaign_uses_one_trigger;
    a_link_that_was_taken_back_is_gone_and_its_event_may_come_again;
    keys_of_other_units_see_nothing;
    the_same_events_at_once_make_one_instance_each;
}

/// The fixture of the worked example, with a way to change it.
pub fn csi_gr() -> Value {
    json!({
        "title": {"en": "How was your visit?", "ar": "كيف كانت زيارتك؟"},
        "questions": [
            {"id": "rate", "type": "rating", "min": 0, "max": 10, "text": {"en": "How satisfied are you?", "ar": "ما مدى رضاك؟"}, "required": true},
            {"id": "has-a-complaint", "type": "singleChoice", "text": {"en": "Do you have a complaint?", "ar": "هل لديك شكوى؟"},
             "options": [{"value": "Yes", "text": {"en": "Yes", "ar": "نعم"}}, {"value": "No", "text": {"en": "No", "ar": "لا"}}]},
            {"id": "complaint", "type": "text", "text": {"en": "What went wrong?", "ar": "ما الذي حدث؟"}, "required": true,
             "showIf": {"questionId": "has-a-complaint", "op": "==", "value": "Yes"}}
        ],
        "triggers": [{
            "id": "csi-gr-trigger", "enabled": true, "eventKind": "service-visit-closed",
            "filter": {"questionId": "candidate.jobType", "op": "==", "value": "GR"},
            "dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"],
            "schedule": {"initialDelay": "0d", "reminders": ["1d"]},
            "channel": "memory:default"
        }]
    })
}

/// The event of the worked example.
pub fn visit(wip: &str) -> Value {
    json!({
        "payload": {"wip": wip, "dealerId": "1", "jobType": "GR", "VIN": "JTMABBBJ2N4024400", "CustomerName": "Kadhem Owaid"},
        "recipient": {"address": "+964 770 000 0001", "locale": "ar", "customerRef": "cust-123"}
    })
}

/// Writes and publishes a survey; returns its id.
pub async fn published(client: &Client, schema: Value) -> i64 {
    let made = client.post(
        "/api/v1/surveys",
        json!({ "name": "E2E CSI-GR", "integrationId": "csi-gr", "schema": schema }),
    );
    let id = made.await.expect(201)["id"].as_i64().unwrap();
    client.post(&format!("/api/v1/surveys/{id}/publish"), json!({})).await.expect(200);
    id
}

pub async fn ingest(client: &Client, items: Value) -> Value {
    let body = json!({ "eventKind": "service-visit-closed", "items": items });
    client.post("/api/Surveys/Triggers/ingest", body).await.expect(200)
}

/// Ingests one event; returns the public id of its only instance.
pub async fn instance(client: &Client, item: Value) -> String {
    let reported = ingest(client, json!([item])).await;
    assert_eq!(
        (&reported["created"], &reported["items"][0]["outcome"]),
        (&json!(1), &json!("Created")),
        "{reported}"
    );
    reported["items"][0]["instances"][0]["publicId"].as_str().unwrap().to_owned()
}

async fn a_survey_is_written_published_and_pinned(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "name": "E2E CSI-GR", "integrationId": "csi-gr", "schema": csi_gr() });
    let made = client.post("/api/v1/surveys", body.clone()).await.expect(201);
    assert_eq!((&made["publishedVersionNumber"], &made["schema"]), (&json!(null), &csi_gr()));
    let path = format!("/api/v1/surveys/{}", made["id"]);
    let publish = format!("{path}/publish");
    let first = client.post(&publish, json!({})).await.expect(200);
    assert_eq!(first, json!({ "version": 1, "warnings": [] }));
    assert_eq!(client.post(&publish, json!({})).await.expect(200)["version"], 1, "nothing changed");
    let mut changed = body;
    changed["schema"]["triggers"][0]["schedule"]["reminders"] = json!(["2d", "3d"]);
    client.put(&path, changed).await.expect(200);
    assert_eq!(client.get(&path).await.expect(200)["publishedVersionNumber"], 1);
    assert_eq!(client.post(&publish, json!({})).await.expect(200)["version"], 2);
    let listed = client.get("/api/v1/surveys").await.expect(200);
    assert_eq!(
        (&listed["items"][0]["name"], &listed["items"][0]["publishedVersionNumber"]),
        (&json!("E2E CSI-GR"), &json!(2))
    );
    client.get("/api/v1/surveys/77").await.refused(404, "not_found");
    client.get("/api/v1/surveys/x").await.refused(404, "not_found");
    client.post("/api/v1/surveys/77/publish", json!({})).await.refused(404, "not_found");
    let refused = client
        .post("/api/v1/surveys", json!({ "name": "x", "shema": {} }))
        .await
        .refused(422, "missing_field");
    assert_eq!(Reply::pointers(&refused), ["/schema", "/shema"]);
}

async fn a_survey_with_faults_is_refused_with_a_pointer_for_each(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["schedule"] = json!({ "initialDelay": "garbage", "reminders": ["1d", "later"] });
    schema["triggers"][0]["channel"] = json!("memory");
    schema["questions"][2]["showIf"]["op"] = json!("=");
    let made = client.post("/api/v1/surveys", json!({ "name": "x", "schema": schema })).await.expect(201);
    let publish = format!("/api/v1/surveys/{}/publish", made["id"]);
    let refused = client.post(&publish, json!({})).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    assert_eq!(
        Reply::pointers(&refused.body),
        [
            "/schema/questions/2/showIf/op",
            "/schema/triggers/0/schedule/initialDelay",
            "/schema/triggers/0/schedule/reminders/1",
            "/schema/triggers/0/channel",
        ]
    );
    let reported = ingest(&client, json!([visit("1")])).await;
    assert_eq!(reported["items"][0]["why"], "no-trigger", "nothing was published");
}

async fn publishing_points_out_what_is_probably_a_mistake(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    let mut second = schema["triggers"][0].clone();
    second["id"] = json!("second");
    second["channel"] = json!("whatsapp:default");
    second["dedupRecipe"] = json!(["templateId", "recipient.address", "candidate.wip", "candidate.closedAt"]);
    second["subscribers"] = json!([{ "key": "webhook:bi" }]);
    let mut third = schema["triggers"][0].clone();
    third["id"] = json!("third");
    schema["triggers"].as_array_mut().unwrap().extend([second, third]);
    let made = client.post("/api/v1/surveys", json!({ "name": "x", "schema": schema })).await.expect(201);
    let done = client.post(&format!("/api/v1/surveys/{}/publish", made["id"]), json!({})).await.expect(200);
    let warnings: Vec<(&str, &str)> = done["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| (warning["pointer"].as_str().unwrap(), warning["code"].as_str().unwrap()))
        .collect();
    assert_eq!(
        warnings,
        [
            ("/schema/triggers/1/dedupRecipe", "recipe_volatile"),
            ("/schema/triggers/2/dedupRecipe", "recipe_equal"),
            ("/schema/triggers/1/subscribers/0/key", "subscriber_unknown"),
            ("/schema/triggers/1/channel", "channel_unknown"),
        ]
    );
}

async fn an_event_makes_an_instance_with_all_that_is_known(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = published(&client, csi_gr()).await;
    let reported = ingest(&client, json!([visit("40956")])).await;
    let public_id = reported["items"][0]["instances"][0]["publicId"].as_str().unwrap().to_owned();
    assert_eq!(
        reported,
        json!({ "created": 1, "skipped": 0, "failed": 0, "unmatched": 0, "items": [{ "outcome": "Created",
            "instances": [{ "surveyId": id, "triggerId": "csi-gr-trigger", "publicId": public_id, "outcome": "Created" }] }] })
    );
    assert_eq!(&public_id[14..15], "4", "a random id, never one that is ordered by time");
    let row = client.get(&format!("/api/v1/surveys/{id}/instances/{public_id}")).await.expect(200);
    let expected = json!({
        "publicId": public_id, "surveyId": id, "status": "pending", "triggeredAt": "2026-05-14T05:00:00Z",
        "triggeredBy": "event:service-visit-closed", "customerRef": "cust-123", "metadata": visit("40956")["payload"],
        "triggerId": "csi-gr-trigger", "channel": "memory:default", "recipientAddress": "+964 770 000 0001",
        "recipientLocale": "ar", "nextSendAt": "2026-05-14T05:00:00Z", "lastSentAt": null, "remindersRemaining": 1,
        "deliveryLog": [], "reasonCode": null
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&row[name], value, "{name}");
    }
    assert_eq!(row["uniqueHash"].as_str().map(str::len), Some(64));
    let work = bed.work(&format!("survey:{public_id}:send:1")).await;
    assert_eq!((work.status.as_str(), work.due_at), ("pending", bed.now()));
    bed.leaves_open("the message was not sent");
}

async fn the_same_event_again_is_skipped_with_the_first_instance(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = published(&client, csi_gr()).await;
    let first = instance(&client, visit("40956")).await;
    let body =
        json!({ "eventKind": "service-visit-closed", "items": [visit("40956"), visit("1"), visit("1")] });
    let again = client.post("/api/v1/surveys/triggers/ingest", body).await.expect(200);
    assert_eq!((&again["created"], &again["skipped"]), (&json!(1), &json!(2)));
    let outcomes: Vec<&str> =
        again["items"].as_array().unwrap().iter().map(|item| item["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["Skipped", "Created", "Skipped"]);
    assert_eq!(again["items"][0]["instances"][0]["publicId"], json!(first));
    let link = |item: usize| &again["items"][item]["instances"][0]["publicId"];
    assert_eq!(link(1), link(2));
    // Another dealer's equal number, and another person's, are other events.
    let mut other = visit("40956");
    other["payload"]["dealerId"] = json!("2");
    let mut person = visit("40956");
    person["recipient"]["address"] = json!("+964 770 000 0002");
    let reported = ingest(&client, json!([other, person])).await;
    assert_eq!(reported["created"], 2);
    let rows = client.get(&format!("/api/v1/surveys/{id}/instances?limit=2")).await.expect(200);
    assert_eq!(rows["items"].as_array().unwrap().len(), 2);
    let path =
        format!("/api/v1/surveys/{id}/instances?limit=50&cursor={}", rows["nextCursor"].as_str().unwrap());
    assert_eq!(client.get(&path).await.expect(200)["items"].as_array().unwrap().len(), 2);
    bed.leaves_open("the messages were not sent");
}

async fn what_matches_nothing_says_why(bed: TestBed) {
    let client = Client::new(&bed).await;
    let why = async |items: Value| {
        let reported = ingest(&client, items).await;
        assert_eq!(
            (&reported["created"], &reported["failed"], &reported["unmatched"]),
            (&json!(0), &json!(0), &json!(1))
        );
        assert_eq!(
            (&reported["items"][0]["outcome"], &reported["items"][0]["instances"]),
            (&json!("NoMatch"), &json!([]))
        );
        reported["items"][0]["why"].as_str().unwrap().to_owned()
    };
    assert_eq!(why(json!([visit("1")])).await, "no-trigger");
    let mut schema = csi_gr();
    schema["triggers"][0]["enabled"] = json!(false);
    published(&client, schema).await;
    assert_eq!(why(json!([visit("1")])).await, "disabled");
    published(&client, csi_gr()).await;
    let mut other = visit("1");
    other["payload"]["jobType"] = json!("PM");
    assert_eq!(why(json!([other])).await, "filter-false");
}

async fn a_bad_item_fails_alone(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let mut nobody = visit("2");
    nobody["recipient"]["address"] = json!("a\nb");
    let reported = ingest(&client, json!([{ "payload": {} }, visit("1"), nobody, 7])).await;
    assert_eq!((&reported["created"], &reported["failed"]), (&json!(1), &json!(3)));
    let outcomes: Vec<&str> =
        reported["items"].as_array().unwrap().iter().map(|item| item["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["Failed", "Created", "Failed", "Failed"]);
    assert_eq!(reported["items"][2]["error"]["errors"][0]["pointer"], "/items/2/recipient/address");
    let many: Vec<Value> = (0..10_001).map(|_| json!({})).collect();
    let body = json!({ "eventKind": "x", "items": many });
    client.post("/api/v1/surveys/triggers/ingest", body).await.refused(413, "batch_too_large");
    client
        .post("/api/v1/surveys/triggers/ingest", json!({ "items": [] }))
        .await
        .refused(422, "missing_field");
    bed.leaves_open("one message was not sent");
}

async fn two_surveys_make_two_instances(bed: TestBed) {
    let client = Client::new(&bed).await;
    let (one, two) = (published(&client, csi_gr()).await, published(&client, csi_gr()).await);
    let reported = ingest(&client, json!([visit("1")])).await;
    assert_eq!((&reported["created"], &reported["items"][0]["outcome"]), (&json!(2), &json!("Created")));
    let surveys: Vec<i64> = reported["items"][0]["instances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|made| made["surveyId"].as_i64().unwrap())
        .collect();
    assert_eq!(surveys, [one, two]);
    bed.leaves_open("the messages were not sent");
}

async fn an_event_published_elsewhere_is_received_at_once(bed: TestBed) {
    let client = Client::new(&bed).await;
    let node = bed.node("b").await;
    let other = Client::on_node(&node, client.wall.clone(), |_| {}).await;
    assert_eq!(ingest(&other, json!([visit("1")])).await["items"][0]["why"], "no-trigger");
    let id = published(&client, csi_gr()).await;
    assert_eq!(ingest(&other, json!([visit("1")])).await["created"], 1);
    let mut schema = csi_gr();
    schema["triggers"][0]["enabled"] = json!(false);
    let path = format!("/api/v1/surveys/{id}");
    client.put(&path, json!({ "name": "off", "schema": schema })).await.expect(200);
    assert_eq!(ingest(&other, json!([visit("2")])).await["created"], 1, "a draft is not published");
    client.post(&format!("{path}/publish"), json!({})).await.expect(200);
    assert_eq!(ingest(&other, json!([visit("3")])).await["items"][0]["why"], "disabled");
    bed.leaves_open("the messages were not sent");
}

async fn a_new_version_changes_nothing_for_old_instances(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = published(&client, csi_gr()).await;
    let old = instance(&client, visit("1")).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["schedule"]["reminders"] = json!(["7d", "7d", "7d"]);
    schema["questions"] = json!([{ "id": "other", "type": "yesNo", "text": "?", "required": true }]);
    let path = format!("/api/v1/surveys/{id}");
    client.put(&path, json!({ "name": "x", "schema": schema })).await.expect(200);
    client.post(&format!("{path}/publish"), json!({})).await.expect(200);
    client.advance("1s").await;
    let row = client.get(&format!("{path}/instances/{old}")).await.expect(200);
    assert_eq!((&row["nextSendAt"], &row["remindersRemaining"]), (&json!("2026-05-15T05:00:00Z"), &json!(0)));
    let asked = Client { key: None, ..client.clone() };
    let page = asked.get(&format!("/api/v1/public/surveys/{old}")).await.expect(200);
    assert_eq!(page["survey"]["questions"][0]["id"], "rate");
    bed.leaves_open("a reminder is planned");
}

async fn a_cloud_event_makes_an_instance_too(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = published(&client, csi_gr()).await;
    let event = json!({ "specversion": "1.0", "id": "1", "source": "/dms", "type": "service-visit-closed",
        "time": "2026-05-14T04:00:00Z", "data": visit("1") });
    let reported = client.post("/api/v1/events", event.clone()).await.expect(200);
    assert_eq!(
        (&reported["items"][0]["outcome"], &reported["items"][0]["work"]["created"]),
        (&json!("accepted"), &json!(1))
    );
    let again = client.post("/api/v1/events", event.clone()).await.expect(200);
    assert_eq!(
        again["items"][0]["work"],
        json!({ "created": 0, "updated": 0, "deactivated": 0, "unchanged": 1 })
    );
    let rows = client.get(&format!("/api/v1/surveys/{id}/instances")).await.expect(200);
    assert_eq!(
        (&rows["items"][0]["triggeredAt"], &rows["items"][1]),
        (&json!("2026-05-14T04:00:00Z"), &Value::Null)
    );
    let mut nobody = event.clone();
    nobody["data"] = json!({ "payload": {} });
    let refused = client.post("/api/v1/events", nobody).await.refused(422, "missing_field");
    assert_eq!(Reply::pointers(&refused), ["/data/recipient"]);
    let mut other = event;
    other["type"] = json!("nobody-listens");
    assert_eq!(client.post("/api/v1/events", other).await.expect(200)["items"][0]["unmatched"], 1);
    bed.leaves_open("the message was not sent");
}

async fn a_campaign_uses_one_trigger(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = published(&client, csi_gr()).await;
    published(&client, csi_gr()).await;
    let path = format!("/api/v1/surveys/{id}/campaigns");
    let body = json!({ "triggerId": "csi-gr-trigger", "items": [visit("1"), visit("1")] });
    let reported = client.post(&path, body).await.expect(200);
    assert_eq!((&reported["created"], &reported["skipped"]), (&json!(1), &json!(1)));
    let rows = client.get(&format!("/api/v1/surveys/{id}/instances")).await.expect(200);
    assert_eq!(rows["items"][0]["triggeredBy"], "campaign:csi-gr-trigger");
    let none = client.post(&path, json!({ "triggerId": "none", "items": [visit("1")] })).await.expect(200);
    assert_eq!(none["items"][0]["why"], "no-trigger");
    bed.leaves_open("the message was not sent");
}

async fn a_link_that_was_taken_back_is_gone_and_its_event_may_come_again(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = published(&client, csi_gr()).await;
    let first = instance(&client, visit("1")).await;
    let path = format!("/api/v1/surveys/{id}/instances/{first}");
    client.delete(&path).await.expect(204);
    client.get(&path).await.refused(404, "not_found");
    client.delete(&path).await.refused(404, "not_found");
    let nobody = Client { key: None, ..client.clone() };
    nobody.get(&format!("/api/v1/public/surveys/{first}")).await.refused(404, "not_found");
    assert_eq!(bed.work(&format!("survey:{first}:send:1")).await.reason_code.as_deref(), Some("deleted"));
    let second = instance(&client, visit("1")).await;
    assert_ne!(first, second);
    client.advance("1s").await;
    assert_eq!(bed.sent().len(), 1);
    bed.leaves_open("a reminder is planned");
}

async fn keys_of_other_units_see_nothing(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "name": "nz", "businessUnit": "nz", "schema": csi_gr() });
    let id = client.post("/api/v1/surveys", body).await.expect(201)["id"].as_i64().unwrap();
    client.post(&format!("/api/v1/surveys/{id}/publish"), json!({})).await.expect(200);
    let scopes = ["author", "ingest", "read", "operate"];
    let (nz, de) =
        (client.new_key(&scopes, Some(&["nz"])).await, client.new_key(&scopes, Some(&["de"])).await);
    assert_eq!(ingest(&de, json!([visit("1")])).await["items"][0]["why"], "no-trigger");
    let made = ingest(&nz, json!([visit("1")])).await;
    let public_id = made["items"][0]["instances"][0]["publicId"].as_str().unwrap();
    for path in
        ["", "/instances", &format!("/instances/{public_id}"), "/results", "/results.csv", "/results.xlsx"]
    {
        let path = format!("/api/v1/surveys/{id}{path}");
        de.get(&path).await.refused(404, "not_found");
        assert_eq!(nz.get(&path).await.status, 200, "{path}");
    }
    de.delete(&format!("/api/v1/surveys/{id}/instances/{public_id}")).await.refused(404, "not_found");
    de.post(&format!("/api/v1/surveys/{id}/publish"), json!({})).await.refused(404, "not_found");
    assert_eq!(de.get("/api/v1/surveys").await.expect(200)["items"], json!([]));
    // One of everybody is read by all and changed without a limit.
    let body = json!({ "name": "all", "schema": csi_gr() });
    let all = client.post("/api/v1/surveys", body.clone()).await.expect(201)["id"].as_i64().unwrap();
    let path = format!("/api/v1/surveys/{all}");
    de.get(&path).await.expect(200);
    de.put(&path, body).await.refused(403, "scope_missing");
    de.post(&format!("{path}/publish"), json!({})).await.refused(403, "scope_missing");
    assert_eq!(client.get(&path).await.expect(200)["businessUnit"], Value::Null);
    bed.leaves_open("the message was not sent");
}

async fn the_same_events_at_once_make_one_instance_each(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = published(&client, csi_gr()).await;
    let ingest_turn = |turn: usize| {
        let client = client.clone();
        async move {
            // Each in another order: hashes are taken in one order, so nobody waits for the other in a circle.
            let items: Vec<Value> =
                (0..200).map(|n| visit(&((n * 7 + turn * 31) % 200).to_string())).collect();
            ingest(&client, json!(items)).await
        }
    };
    let reported = futures_util::future::join_all((0..6).map(|turn| tokio::spawn(ingest_turn(turn)))).await;
    let reported: Vec<Value> = reported.into_iter().map(Result::unwrap).collect();
    let sum = |name: &str| reported.iter().map(|one| one[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("created"), sum("skipped"), sum("failed")), (200, 1_000, 0));
    let rows = client.get(&format!("/api/v1/surveys/{id}/instances?limit=200")).await.expect(200);
    assert_eq!((rows["items"].as_array().unwrap().len(), &rows["nextCursor"]), (200, &Value::Null));
    bed.leaves_open("the messages were not sent");
}
