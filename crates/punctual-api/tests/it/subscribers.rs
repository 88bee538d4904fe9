//! Fan-out: every subscriber is called once, alone and again on its own, and the state of an event follows from them.

use punctual_channels::Misbehaviour;
use punctual_engine::Actor;
use punctual_engine::channels::as_channel;
use punctual_store::subscribers;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    definitions::with_providers,
    surveys::{csi_gr, instance, published, visit},
};

on_both! {
    every_subscriber_gets_the_whole_story;
    r17_a_retry_reaches_only_the_one_that_failed;
    s1_117_an_operator_retries_all_failed_deliveries_of_one_subscriber;
    a_survey_routes_by_its_answers;
    s1_118_routes_of_a_trigger_come_before_those_of_its_survey;
    a_subscriber_has_a_filter_and_a_switch_of_its_own;
    a_subscriber_is_defined_looked_at_and_removed;
    a_subscribers_secret_is_stored_sealed_and_kept with with_providers;
    deliveries_to_subscribers_are_no_part_of_the_outbox_figures;
    what_a_subscriber_did_not_get_is_counted_in_attention;
}

async fn what_a_subscriber_did_not_get_is_counted_in_attention(bed: TestBed) {
    let client = Client::new(&bed).await;
    let given_up = async || {
        let metrics = client.get("/metrics").await.text;
        let line = "punctual_rows{state=\"subscriber_deliveries_failed\"} ";
        let count = metrics.lines().find_map(|found| found.strip_prefix(line));
        count.unwrap_or_else(|| panic!("{metrics}")).parse::<i64>().unwrap()
    };
    published(&client, csi_gr()).await;
    subscribe(&client, "memory:bi", json!({ "retry": { "max": 0 } })).await;
    subscribe(&client, "memory:csi-tickets", json!({})).await;
    assert_eq!(given_up().await, 0);
    bed.captured.misbehave("event.memory:bi".parse().unwrap(), Misbehaviour::Transient, 2, "503 busy");
    for wip in ["1", "2"] {
        answered(&client, wip, json!({ "rate": 7 })).await;
    }
    tick(&client).await;
    assert_eq!(given_up().await, 2, "and not those that reached the other one");
    let (event, _) = newest(&client).await;
    let path = format!("/api/v1/outbox-events/{}/deliveries/memory:bi/retry", event["id"]);
    client.post(&path, json!({})).await.expect(200);
    tick(&client).await;
    assert_eq!(given_up().await, 1, "one was called after all");
}

async fn subscribe(client: &Client, key: &str, more: Value) {
    let mut body = json!({ "adapter": "memory", "events": ["response-completed"], "retry": { "max": 1, "intervalSeconds": 60 } });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.put(&format!("/api/v1/subscribers/{key}"), body).await.expect(200);
}

async fn answered(client: &Client, wip: &str, answers: Value) -> String {
    let id = instance(client, visit(wip)).await;
    let nobody = Client { key: None, ..client.clone() };
    let body = json!({ "answers": answers, "agentId": "agent-7" });
    nobody.post(&format!("/api/v1/public/surveys/{id}/responses"), body).await.expect(200);
    id
}

async fn tick(client: &Client) -> (i64, i64) {
    let did = client.post("/api/v1/scheduler/tick", json!({})).await.expect(200);
    (did["dispatched"].as_i64().unwrap(), did["failed"].as_i64().unwrap())
}

/// The state of the newest event, and of each delivery: subscriber, status, attempts.
async fn newest(client: &Client) -> (Value, Vec<(String, String, i64)>) {
    let event = client.get("/api/v1/outbox-events?limit=1").await.expect(200)["items"][0].clone();
    let deliveries = event["deliveries"].as_array().unwrap().iter();
    let deliveries = deliveries.map(|one| {
        let text = |name: &str| one[name].as_str().unwrap().to_owned();
        (text("subscriber"), text("status"), one["attempts"].as_i64().unwrap())
    });
    let deliveries = deliveries.collect();
    (event, deliveries)
}

async fn every_subscriber_gets_the_whole_story(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    subscribe(&client, "memory:bi", json!({})).await;
    subscribe(&client, "memory:csi-tickets", json!({})).await;
    let id = answered(&client, "40956", json!({ "rate": 7, "has-a-complaint": "No" })).await;
    let (event, deliveries) = newest(&client).await;
    assert_eq!(event["status"], "pending");
    assert_eq!(deliveries.len(), 2);
    assert_eq!(tick(&client).await, (1, 0));
    let payload = json!({
        "eventType": "response-completed", "surveyId": survey, "surveyVersion": 1, "surveyIntegrationId": "csi-gr",
        "instancePublicId": id, "triggerId": "csi-gr-trigger", "customerRef": "cust-123",
        "recipientAddress": "+964 770 000 0001", "recipientLocale": "ar", "completedAt": "2026-05-14T05:00:00Z",
        "agentId": "agent-7", "answers": { "rate": 7, "has-a-complaint": "No" }
    });
    let sent = bed.sent();
    assert_eq!(sent.len(), 2, "the message itself was stopped by the answer");
    for (sent, channel) in sent.iter().zip(["event.memory:bi", "event.memory:csi-tickets"]) {
        assert_eq!((sent.channel.as_str(), sent.message_id.as_str()), (channel, id.as_str()));
        let notified = sent.type_data.clone().unwrap();
        for (name, value) in payload.as_object().unwrap() {
            assert_eq!(&notified[name], value, "{name}");
        }
        let candidate: Value =
            serde_json::from_str(notified["candidateMetadataJson"].as_str().unwrap()).unwrap();
        assert_eq!(candidate, visit("40956")["payload"]);
    }
    let (event, deliveries) = newest(&client).await;
    assert_eq!((&event["status"], &event["instancePublicId"]), (&json!("dispatched"), &json!(id)));
    assert!(deliveries.iter().all(|(_, status, attempts)| status == "delivered" && *attempts == 1));
    assert_eq!(tick(&client).await, (0, 0));
}

async fn r17_a_retry_reaches_only_the_one_that_failed(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    subscribe(&client, "memory:bi", json!({})).await;
    subscribe(&client, "memory:csi-tickets", json!({})).await;
    bed.captured.misbehave("event.memory:bi".parse().unwrap(), Misbehaviour::Transient, 2, "503 busy");
    answered(&client, "1", json!({ "rate": 7 })).await;
    assert_eq!(tick(&client).await, (0, 1));
    let (event, deliveries) = newest(&client).await;
    assert_eq!(event["status"], "pending", "it is tried again by itself");
    assert_eq!(deliveries[0], ("memory:bi".into(), "retrying".into(), 1));
    assert_eq!(deliveries[1], ("memory:csi-tickets".into(), "delivered".into(), 1));
    client.advance("2m").await;
    let (event, deliveries) = newest(&client).await;
    assert_eq!(
        (&event["status"], &event["deliveries"][0]["lastError"]),
        (&json!("failed"), &json!("503 busy"))
    );
    assert_eq!(deliveries[0], ("memory:bi".into(), "parked".into(), 2));
    let attention = client.get("/api/v1/attention").await.expect(200);
    assert_eq!(
        (&attention["items"][0]["kind"], &attention["counts"]["subscriber"]),
        (&json!("subscriber"), &json!(1))
    );
    let path = format!("/api/v1/outbox-events/{}/deliveries", event["id"]);
    client
        .post(&format!("{path}/memory:csi-tickets/retry"), json!({}))
        .await
        .refused(409, "state_not_allowed");
    client.post(&format!("{path}/memory:none/retry"), json!({})).await.refused(404, "not_found");
    let retried = client.post(&format!("{path}/memory:bi/retry"), json!({})).await.expect(200);
    assert_eq!(retried["status"], "pending");
    assert_eq!(tick(&client).await, (1, 0));
    let (event, deliveries) = newest(&client).await;
    assert_eq!(event["status"], "dispatched");
    assert_eq!((deliveries[0].2, deliveries[1].2), (3, 1));
    let notified =
        bed.sent().iter().filter(|sent| sent.channel.as_str() == "event.memory:csi-tickets").count();
    assert_eq!(notified, 1);
}

async fn s1_117_an_operator_retries_all_failed_deliveries_of_one_subscriber(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    for key in ["memory:bi", "memory:csi-tickets"] {
        subscribe(&client, key, json!({ "retry": { "max": 0 } })).await;
        bed.captured.misbehave(
            format!("event.{key}").parse().unwrap(),
            Misbehaviour::Transient,
            3,
            "503 busy",
        );
    }
    for wip in ["1", "2", "3"] {
        answered(&client, wip, json!({ "rate": 7 })).await;
    }
    tick(&client).await;
    assert_eq!(bed.sent().len(), 0, "all are given up");
    let path = "/api/v1/subscribers/memory:bi/retry";
    client.post(path, json!({ "why": "x" })).await.refused(422, "unknown_field");
    client.post("/api/v1/subscribers/memory:none/retry", json!({})).await.refused(404, "not_found");
    let done = client.post(path, json!({ "reason": "back again" })).await.expect(200);
    assert_eq!(done, json!({ "retried": 3, "remaining": 0 }));
    tick(&client).await;
    let notified: Vec<String> = bed.sent().iter().map(|sent| sent.channel.to_string()).collect();
    assert_eq!(notified, ["event.memory:bi"; 3], "once each, and nobody else");
    assert_eq!(bed.audit("subscriber", "memory:bi").await, ["put", "retry", "note:back again"]);
    let (_, deliveries) = newest(&client).await;
    assert_eq!(deliveries[0], ("memory:bi".into(), "delivered".into(), 2));
    assert_eq!(deliveries[1], ("memory:csi-tickets".into(), "parked".into(), 1));
    let again = client.post(path, json!({})).await.expect(200);
    assert_eq!(again, json!({ "retried": 0, "remaining": 0 }));
}

async fn s1_118_routes_of_a_trigger_come_before_those_of_its_survey(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["subscribers"] = json!([{ "key": "memory:bi" }]);
    let mut own = schema["triggers"][0].clone();
    own["id"] = json!("own-routes");
    own["filter"] = json!({ "questionId": "candidate.jobType", "op": "==", "value": "PDI" });
    own["subscribers"] = json!([{ "key": "memory:tickets" }]);
    schema["triggers"].as_array_mut().unwrap().push(own);
    published(&client, schema).await;
    for key in ["memory:bi", "memory:tickets"] {
        subscribe(&client, key, json!({})).await;
    }
    let nobody = Client { key: None, ..client.clone() };
    for (job, key) in [("GR", "memory:bi"), ("PDI", "memory:tickets")] {
        let mut item = visit(job);
        item["payload"]["jobType"] = json!(job);
        let id = instance(&client, item).await;
        let answers = json!({ "answers": { "rate": 9, "has-a-complaint": "No" } });
        nobody.post(&format!("/api/v1/public/surveys/{id}/responses"), answers).await.expect(200);
        let (_, deliveries) = newest(&client).await;
        assert_eq!(deliveries.iter().map(|one| one.0.as_str()).collect::<Vec<_>>(), [key], "{job}");
    }
    bed.leaves_open("deliveries wait");
}

async fn a_survey_routes_by_its_answers(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["subscribers"] = json!([
        { "key": "memory:bi" },
        { "key": "memory:potential-complaint-tickets", "filter": { "all": [
            { "questionId": "has-a-complaint", "op": "==", "value": "Yes" }, { "questionId": "rate", "op": "==", "value": 7 }] } },
        { "key": "webhook:not-yet", "filter": { "questionId": "candidate.dealerId", "op": "==", "value": "9" } }
    ]);
    published(&client, schema).await;
    for key in ["memory:bi", "memory:potential-complaint-tickets", "memory:not-named"] {
        subscribe(&client, key, json!({})).await;
    }
    answered(&client, "1", json!({ "rate": 9, "has-a-complaint": "No" })).await;
    let (_, deliveries) = newest(&client).await;
    assert_eq!(deliveries.iter().map(|one| one.0.as_str()).collect::<Vec<_>>(), ["memory:bi"]);
    answered(&client, "2", json!({ "rate": 7, "has-a-complaint": "Yes", "complaint": "Late" })).await;
    let (_, deliveries) = newest(&client).await;
    let keys: Vec<&str> = deliveries.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(keys, ["memory:bi", "memory:potential-complaint-tickets"]);
    client.advance("1s").await;
    // One that nobody has defined is parked, and seen.
    let mut item = visit("3");
    item["payload"]["dealerId"] = json!("9");
    let id = instance(&client, item).await;
    let nobody = Client { key: None, ..client.clone() };
    nobody
        .post(&format!("/api/v1/public/surveys/{id}/responses"), json!({ "answers": { "rate": 1 } }))
        .await
        .expect(200);
    client.advance("1s").await;
    let (event, deliveries) = newest(&client).await;
    assert_eq!(
        (&event["status"], &deliveries[1].0, &deliveries[1].1),
        (&json!("failed"), &"webhook:not-yet".into(), &"parked".into())
    );
}

async fn a_subscriber_has_a_filter_and_a_switch_of_its_own(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let own = json!({ "questionId": "surveyIntegrationId", "op": "==", "value": "csi-gr" });
    subscribe(&client, "memory:csi", json!({ "filter": own })).await;
    let other = json!({ "questionId": "surveyIntegrationId", "op": "==", "value": "voc" });
    subscribe(&client, "memory:voc", json!({ "filter": other })).await;
    subscribe(&client, "memory:off", json!({ "active": false })).await;
    answered(&client, "1", json!({ "rate": 9 })).await;
    let (_, deliveries) = newest(&client).await;
    assert_eq!(deliveries.iter().map(|one| one.0.as_str()).collect::<Vec<_>>(), ["memory:csi"]);
    client.advance("1s").await;
}

async fn a_subscriber_is_defined_looked_at_and_removed(bed: TestBed) {
    let client = Client::new(&bed).await;
    let path = "/api/v1/subscribers/memory:bi";
    client.get(path).await.refused(404, "not_found");
    let made = client.put(path, json!({ "adapter": "memory" })).await.expect(200);
    assert_eq!(
        (&made["events"], &made["active"], &made["retry"]["policy"]),
        (&json!(["response-completed"]), &json!(true), &json!("exponential"))
    );
    assert_eq!(client.get("/api/v1/subscribers").await.expect(200)["items"][0]["key"], "memory:bi");
    client.put(path, json!({ "adapter": "pigeon" })).await.refused(422, "out_of_range");
    client
        .put(path, json!({ "adapter": "memory", "events": ["moon-rises"] }))
        .await
        .refused(422, "out_of_range");
    client
        .put(path, json!({ "adapter": "memory", "filter": { "op": "==" } }))
        .await
        .refused(422, "missing_field");
    client.put("/api/v1/subscribers/BI", json!({ "adapter": "memory" })).await.refused(422, "key_invalid");
    // The key of a channel cannot be taken for that of a subscriber.
    client
        .put("/api/v1/channels/event.memory:bi", json!({ "adapter": "memory" }))
        .await
        .refused(422, "key_invalid");
    client.delete(path).await.expect(204);
    client.delete(path).await.refused(404, "not_found");
}

async fn a_subscribers_secret_is_stored_sealed_and_kept(bed: TestBed) {
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let client = Client::new(&bed).await;
    let define = async |settings: Value| {
        let body = json!({ "adapter": "webhook", "settings": settings, "events": ["response-completed"] });
        let shown = client.put("/api/v1/subscribers/webhook:bi", body).await.expect(200);
        assert_eq!(shown["secretsSet"], json!(["secret"]));
        let stored = subscribers::get(&mut bed.read().await.conn(), "webhook:bi").await.unwrap().unwrap();
        assert!(
            stored.settings.contains("sealed:1:") && !stored.settings.contains(SECRET),
            "{}",
            stored.settings
        );
        let opened = bed.engine.channels.opened_settings(&as_channel(stored.clone()));
        assert_eq!(opened["secret"], SECRET);
        stored.settings
    };
    define(json!({ "url": "https://bi.example.org/in", "secret": SECRET })).await;
    let before = define(json!({ "url": "https://bi.example.org/in", "timeoutSeconds": 5 })).await;
    let sealed = bed.engine.rekey(&Actor::named("ann"), false).await.unwrap();
    assert_eq!(sealed.channels, 0, "it has the key in use already");
    let stored = subscribers::get(&mut bed.read().await.conn(), "webhook:bi").await.unwrap().unwrap();
    assert_eq!(stored.settings, before);
}

async fn deliveries_to_subscribers_are_no_part_of_the_outbox_figures(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    subscribe(&client, "memory:bi", json!({})).await;
    answered(&client, "1", json!({ "rate": 9 })).await;
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!((&kpis["queueDepth"], &kpis["parkedCount"]), (&json!(0), &json!(0)), "{kpis}");
    client.advance("1s").await;
}
