//! What subscribers get besides answers, that they are independent of each other, and what is kept of attempts.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use punctual_channels::Misbehaviour;
use punctual_model::{ReasonCode, SendOutcome};
use punctual_testkit::{Scripted, TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    surveys::{csi_gr, ingest, instance, published, visit},
};

on_both! {
    a_subscriber_gets_messages_openings_and_ends;
    what_nobody_subscribes_to_is_not_kept;
    a_filter_of_a_subscriber_counts_for_every_event;
    r17_subscribers_are_independent_over_all_outcomes;
    the_log_has_what_was_sent_again_and_outlives_the_messages;
    results_are_the_same_counted_and_walked;
}

async fn subscribe(client: &Client, key: &str, more: Value) {
    let mut body = json!({ "adapter": "memory" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.put(&format!("/api/v1/subscribers/{key}"), body).await.expect(200);
}

async fn tick(client: &Client) {
    client.post("/api/v1/scheduler/tick", json!({})).await.expect(200);
}

async fn answer(client: &Client, id: &str, answers: Value) {
    let nobody = Client { key: None, ..client.clone() };
    let body = json!({ "answers": answers });
    nobody.post(&format!("/api/v1/public/surveys/{id}/responses"), body).await.expect(200);
}

async fn open(client: &Client, id: &str) {
    let nobody = Client { key: None, ..client.clone() };
    nobody.post(&format!("/api/v1/public/surveys/{id}/opened"), json!({})).await.expect(204);
}

/// Every event there is, newest first.
async fn events(client: &Client) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/api/v1/outbox-events?limit=200{cursor}")).await.expect(200);
        all.extend(page["items"].as_array().unwrap().iter().cloned());
        let Some(next) = page["nextCursor"].as_str() else { return all };
        cursor = format!("&cursor={next}");
    }
}

async fn a_subscriber_gets_messages_openings_and_ends(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let all = json!({ "events": ["instance-sent", "instance-opened", "instance-expired"] });
    subscribe(&client, "memory:crm", all).await;
    subscribe(&client, "memory:answers", json!({})).await;
    let (silent, asked) = (instance(&client, visit("1")).await, instance(&client, visit("2")).await);
    tick(&client).await;
    for _ in 0..2 {
        open(&client, &asked).await;
    }
    answer(&client, &asked, json!({ "rate": 7 })).await;
    client.advance("40d").await;
    let reported: Vec<(String, String, String)> = bed
        .sent()
        .iter()
        .filter(|sent| sent.channel.as_str().starts_with("event."))
        .map(|sent| {
            let payload = sent.type_data.clone().unwrap();
            let kind = payload["eventType"].as_str().unwrap().to_owned();
            (sent.channel.as_str().to_owned(), kind, sent.message_id.clone())
        })
        .collect();
    let crm = |kind: &str, id: &str| ("event.memory:crm".to_owned(), kind.to_owned(), format!("{id}:{kind}"));
    let mut expected = vec![
        crm("instance-sent", &silent),
        crm("instance-sent", &asked),
        crm("instance-opened", &asked),
        ("event.memory:answers".to_owned(), "response-completed".to_owned(), asked.clone()),
        crm("instance-expired", &silent),
    ];
    let mut found = reported;
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "each once, under an id of its own, and the reminder is no second `sent`");

    let all = events(&client).await;
    assert_eq!(all.len(), 5);
    assert!(all.iter().all(|event| event["status"] == "dispatched"), "{all:?}");
    let payload = |kind: &str| &all.iter().find(|event| event["eventType"] == kind).unwrap()["payload"];
    let expired = payload("instance-expired");
    assert_eq!(
        (&expired["status"], &expired["reasonCode"], &expired["surveyId"], &expired["surveyVersion"]),
        (&json!("expired"), &json!("not-answered"), &json!(survey), &json!(1))
    );
    assert_eq!(
        (&expired["instancePublicId"], &expired["surveyIntegrationId"], &expired["occurredAt"]),
        (&json!(silent), &json!("csi-gr"), &json!("2026-06-14T05:00:00Z"))
    );
    assert_eq!(expired["candidateMetadata"], visit("1")["payload"]);
    assert_eq!(payload("instance-opened")["status"], "opened");
    assert_eq!(payload("instance-sent")["status"], "sent");
}

async fn what_nobody_subscribes_to_is_not_kept(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    subscribe(&client, "memory:off", json!({ "events": ["instance-sent"], "active": false })).await;
    subscribe(&client, "memory:expired", json!({ "events": ["instance-expired"] })).await;
    let id = instance(&client, visit("1")).await;
    tick(&client).await;
    open(&client, &id).await;
    assert!(events(&client).await.is_empty());
    answer(&client, &id, json!({ "rate": 7 })).await;
    let kept = events(&client).await;
    assert_eq!((kept.len(), &kept[0]["eventType"]), (1, &json!("response-completed")), "answers always are");
}

async fn a_filter_of_a_subscriber_counts_for_every_event(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    // Routes are about answers; who subscribes to messages says so itself.
    schema["subscribers"] = json!([{ "key": "memory:tickets" }]);
    published(&client, schema).await;
    let other = json!({ "questionId": "candidate.dealerId", "op": "==", "value": "2" });
    subscribe(&client, "memory:other", json!({ "events": ["instance-sent"], "filter": other })).await;
    let own = json!({ "questionId": "candidate.dealerId", "op": "==", "value": "1" });
    subscribe(&client, "memory:own", json!({ "events": ["instance-sent"], "filter": own })).await;
    instance(&client, visit("1")).await;
    tick(&client).await;
    let kept = events(&client).await;
    let deliveries = kept[0]["deliveries"].as_array().unwrap();
    assert_eq!((deliveries.len(), &deliveries[0]["subscriber"]), (1, &json!("memory:own")));
    bed.leaves_open("the reminder is planned");
}

/// A source of randomness for the plans below.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What a subscriber answers, try by try; a yes when the plan is over.
const ATTEMPTS: usize = 3;
const SUBSCRIBERS: u64 = 8;
/// A thousandth of what a release is tested with, and the least that counts.
const SEQUENCES: u64 = 100;

/// What comes of a plan: how many attempts, and whether it was given up.
fn expected(plan: &[char]) -> (usize, &'static str) {
    for n in 0..ATTEMPTS {
        match plan.get(n).copied().unwrap_or('d') {
            'd' => return (n + 1, "delivered"),
            'p' => return (n + 1, "parked"),
            _ => {}
        }
    }
    (ATTEMPTS, "parked")
}

async fn r17_subscribers_are_independent_over_all_outcomes(bed: TestBed) {
    type Calls = HashMap<(String, String), Vec<char>>;
    let plans: Arc<Mutex<Calls>> = Arc::default();
    let calls: Arc<Mutex<Calls>> = Arc::default();
    let (own_plans, own_calls) = (plans.clone(), calls.clone());
    let bed = bed.with(|builder| {
        builder.adapter(Scripted::new("script", move |message| {
            let at = (message.message_id.clone(), message.address.clone());
            let mut calls = own_calls.lock().unwrap();
            let calls = calls.entry(at.clone()).or_default();
            let answer = own_plans.lock().unwrap()[&at].get(calls.len()).copied().unwrap_or('d');
            calls.push(answer);
            match answer {
                'd' => SendOutcome::Delivered { provider_id: "x".into() },
                'p' => SendOutcome::Permanent { reason: ReasonCode::RejectedByReceiver, error: "no".into() },
                'u' => SendOutcome::Uncertain { error: "silence".into() },
                _ => SendOutcome::Transient { error: "busy".into(), retry_after: None },
            }
        }))
    });
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    for n in 0..SUBSCRIBERS {
        let filter = json!({ "questionId": "candidate.subscribers", "op": ">", "value": n });
        let retry = json!({ "policy": "fixed", "max": ATTEMPTS - 1, "intervalSeconds": 60 });
        let body = json!({ "adapter": "script", "filter": filter, "retry": retry });
        client.put(&format!("/api/v1/subscribers/script:{n}"), body).await.expect(200);
    }
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let items: Vec<Value> = (0..SEQUENCES)
        .map(|n| {
            let mut item = visit(&n.to_string());
            item["payload"]["subscribers"] = json!(1 + dice.below(SUBSCRIBERS));
            item
        })
        .collect();
    let reported = ingest(&client, json!(items)).await;
    for (item, reported) in items.iter().zip(reported["items"].as_array().unwrap()) {
        let id = reported["instances"][0]["publicId"].as_str().unwrap();
        for n in 0..item["payload"]["subscribers"].as_u64().unwrap() {
            let plan =
                (0..dice.below(5)).map(|_| ['t', 't', 'u', 'p', 'd'][dice.below(5) as usize]).collect();
            plans.lock().unwrap().insert((id.to_owned(), format!("script:{n}")), plan);
        }
        answer(&client, id, json!({ "rate": 7 })).await;
    }
    client.advance("10m").await;
    let plans = plans.lock().unwrap().clone();
    let before = calls.lock().unwrap().clone();
    for (at, plan) in &plans {
        let (attempts, _) = expected(plan);
        assert_eq!(before[at].len(), attempts, "{plan:?}");
        let yes = before[at].iter().position(|answer| *answer == 'd');
        assert!(yes.is_none_or(|yes| yes + 1 == attempts), "called again after a yes: {:?}", before[at]);
    }
    // The state of an event is that of its deliveries, and a person's retry is for one of them alone.
    let mut again = Vec::new();
    for event in events(&client).await {
        let id = event["instancePublicId"].as_str().unwrap();
        let mut parked = Vec::new();
        for one in event["deliveries"].as_array().unwrap() {
            let key = one["subscriber"].as_str().unwrap();
            let (attempts, status) = expected(&plans[&(id.to_owned(), key.to_owned())]);
            assert_eq!(
                (one["status"].as_str(), one["attempts"].as_u64()),
                (Some(status), Some(attempts as u64))
            );
            if status == "parked" {
                parked.push(key.to_owned());
            }
        }
        assert_eq!(event["status"], if parked.is_empty() { "dispatched" } else { "failed" });
        if let Some(key) = parked.first() {
            let path = format!("/api/v1/outbox-events/{}/deliveries/{key}/retry", event["id"]);
            client.post(&path, json!({})).await.expect(200);
            again.push((id.to_owned(), key.clone()));
        }
    }
    assert!(again.len() > 20 && plans.len() > 300, "{} of {}", again.len(), plans.len());
    client.advance("10m").await;
    let after = calls.lock().unwrap().clone();
    for (at, calls) in &after {
        let is_again = again.contains(at);
        assert_eq!(calls.len() > before[at].len(), is_again, "{at:?} {:?} {calls:?}", before[at]);
        assert!(calls.len() - before[at].len() <= ATTEMPTS, "retries are bounded");
    }
}

async fn the_log_has_what_was_sent_again_and_outlives_the_messages(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let log = async |id: &str| {
        let row = client.get(&format!("/api/v1/surveys/{survey}/instances/{id}")).await.expect(200);
        let entries = row["deliveryLog"].as_array().unwrap().clone();
        let numbers: Vec<i64> = entries.iter().map(|entry| entry["attempt"].as_i64().unwrap()).collect();
        assert_eq!(numbers, (1..=entries.len() as i64).collect::<Vec<_>>());
        entries
    };
    let short = |entries: &[Value]| -> Vec<(i64, String)> {
        let one = |entry: &Value| {
            (entry["ordinal"].as_i64().unwrap(), entry["status"].as_str().unwrap().to_owned())
        };
        entries.iter().map(one).collect()
    };
    bed.captured.misbehave("memory:default".parse().unwrap(), Misbehaviour::Transient, 1, "451 later");
    let id = instance(&client, visit("1")).await;
    client.advance("2m").await;
    // Sent once more by hand, more often than one look finds.
    let key = format!("survey:{id}:send:1");
    for _ in 0..5 {
        let row = bed.work(&key).await;
        client.post(&format!("/api/v1/work/{}/retry", row.id), json!({})).await.expect(200);
        client.advance("1m").await;
    }
    client.advance("2d").await;
    let before = log(&id).await;
    let delivered = |ordinal: i64| (ordinal, "delivered".to_owned());
    let mut expected = vec![(1, "failed".to_owned())];
    expected.extend(std::iter::repeat_n(delivered(1), 6));
    expected.push(delivered(2));
    assert_eq!(short(&before), expected);

    // One that was never tried.
    let mut unknown = csi_gr();
    unknown["triggers"][0]["channel"] = json!("pigeon:default");
    unknown["triggers"][0]["eventKind"] = json!("service-visit-closed");
    let other = published(&client, unknown).await;
    ingest(&client, json!([visit("2")])).await;
    client.advance("100d").await;
    let listed = client.get(&format!("/api/v1/surveys/{other}/instances")).await.expect(200);
    let parked = listed["items"][0]["deliveryLog"].clone();
    assert_eq!(parked[0]["status"], "no-channel", "{listed}");

    client.advance("400d").await;
    bed.engine.purge_confirmed(bed.now()).await.unwrap();
    let notification = punctual_store::notifications::list(
        &mut bed.read().await.conn(),
        &punctual_model::Reach::Everything,
        &punctual_store::notifications::NotificationFilter { limit: 10, ..Default::default() },
    )
    .await
    .unwrap();
    assert!(notification.is_empty(), "everything was purged: {notification:?}");
    assert_eq!(log(&id).await, before, "and the log is what it was");
    let listed = client.get(&format!("/api/v1/surveys/{other}/instances")).await.expect(200);
    assert_eq!(listed["items"][0]["deliveryLog"], parked);
}

async fn results_are_the_same_counted_and_walked(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    let questions = schema["questions"].as_array_mut().unwrap();
    questions.push(json!({ "id": "parts", "type": "multiChoice", "text": { "en": "What?" }, "options": ["a", "b", "c"] }));
    questions.push(json!({ "id": "km", "type": "number", "text": { "en": "How far?" } }));
    questions.push(json!({ "id": "day", "type": "date", "text": { "en": "When?" } }));
    questions.push(json!({ "id": "again", "type": "yesNo", "text": { "en": "Again?" } }));
    let mut second = schema["triggers"][0].clone();
    second["id"] = json!("again");
    second["dedupRecipe"] = json!(["templateId", "recipient.address", "candidate.wip", "candidate.VIN"]);
    schema["triggers"].as_array_mut().unwrap().push(second);
    let survey = published(&client, schema).await;
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for day in 0..5 {
        let items: Vec<Value> = (0..6).map(|n| visit(&format!("{day}-{n}"))).collect();
        let reported = ingest(&client, json!(items)).await;
        client.advance("3h").await;
        for item in reported["items"].as_array().unwrap() {
            for instance in item["instances"].as_array().unwrap() {
                let id = instance["publicId"].as_str().unwrap();
                match dice.below(4) {
                    0 => {}
                    1 => drop(
                        client.delete(&format!("/api/v1/surveys/{survey}/instances/{id}")).await.expect(204),
                    ),
                    _ => {
                        bed.wait(dice.below(100) as i64);
                        let mut answers = json!({
                            "rate": dice.below(11), "km": dice.below(50) as f64 / 4.0, "again": dice.below(2) == 1,
                            "day": format!("2026-05-{:02}", 1 + dice.below(5)), "parts": ["a", "c"],
                            "has-a-complaint": "No",
                        });
                        if dice.below(2) == 1 {
                            answers["has-a-complaint"] = json!("Yes");
                            answers["complaint"] = json!(format!("number {}", dice.below(9)));
                        }
                        answer(&client, id, answers).await;
                    }
                }
            }
        }
        client.advance("1d").await;
    }
    let path = format!("/api/v1/surveys/{survey}/results");
    let ranges = [
        "",
        "&triggerId=again",
        "&from=2026-05-15T00:00:00Z",
        "&to=2026-05-17T00:00:00Z",
        "&from=2030-01-01T00:00:00Z",
    ];
    for range in ranges {
        // Every event has this field, so the second is the first; it is only found another way.
        let counted = client.get(&format!("{path}?{}", range.trim_start_matches('&'))).await.expect(200);
        let walked = client.get(&format!("{path}?candidate.jobType=GR{range}")).await.expect(200);
        let sorted = |mut results: Value| {
            // By when they were answered, and by when their events happened.
            for question in results["questions"].as_array_mut().unwrap() {
                question["texts"].as_array_mut().unwrap().sort_by_key(Value::to_string);
            }
            results
        };
        assert_eq!(sorted(counted.clone()), sorted(walked), "{range}");
        if range.is_empty() {
            assert!(counted["answered"].as_i64().unwrap() > 20, "{counted}");
        }
    }
    bed.leaves_open("some were not answered");
}
