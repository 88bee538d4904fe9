//! Edges of surveys: what was sent after the answer, links that stayed open for ever, and messages that arrived late.

use std::sync::{Arc, Mutex};

use punctual_channels::Misbehaviour;
use punctual_model::SendOutcome;
use punctual_testkit::{Scripted, TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    surveys::{csi_gr, ingest, instance, published, visit},
};

on_both! {
    s1_79_a_resend_by_hand_that_waits_for_a_retry_is_withdrawn_by_the_answer;
    s1_79_a_link_that_is_held_for_a_digest_is_not_sent_after_the_answer;
    s1_79_a_digest_that_is_queued_loses_the_links_that_are_over;
    s1_97_a_link_that_arrives_in_a_digest_counts_as_sent;
    s1_94_a_cancelled_reminder_does_not_leave_its_link_open_for_ever;
    s1_94_a_resend_by_hand_moves_the_expiry;
    s1_70_an_instance_that_nothing_looks_after_gets_its_end_from_the_sweep;
    s1_97_a_first_message_that_is_retried_as_work_counts_as_sent;
    s1_73_a_message_that_would_leave_too_late_is_not_sent;
    s1_114_every_instance_says_whether_it_is_new;
    s1_115_agent_and_moment_of_an_answer_are_read_from_meta;
    s1_69_answers_to_removed_questions_and_of_deleted_links_stay_in_the_results;
    s1_56_a_tick_works_on_a_hundred_rows_unless_configured;
    s1_116_publishing_a_changed_recipe_warns_that_everybody_is_asked_again;
    s1_116_a_republished_survey_recognises_events_of_before;
    s1_119_a_channel_with_templates_of_its_own_gets_language_and_values;
}

fn public(client: &Client) -> Client {
    Client { key: None, ..client.clone() }
}

async fn answer(client: &Client, id: &str) {
    let body = json!({ "answers": { "rate": 7, "has-a-complaint": "No" } });
    public(client).post(&format!("/api/v1/public/surveys/{id}/responses"), body).await.expect(200);
}

async fn row(client: &Client, survey: i64, public_id: &str) -> Value {
    client.get(&format!("/api/v1/surveys/{survey}/instances/{public_id}")).await.expect(200)
}

/// What a person does to a work row.
async fn act(client: &Client, bed: &TestBed, key: &str, action: &str) {
    let row = bed.work(key).await;
    client.post(&format!("/api/v1/work/{}/{action}", row.id), json!({})).await.expect(200);
}

fn fails(bed: &TestBed, times: u64) {
    bed.captured.misbehave("memory:default".parse().unwrap(), Misbehaviour::Transient, times, "451 later");
}

async fn s1_79_a_resend_by_hand_that_waits_for_a_retry_is_withdrawn_by_the_answer(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let id = instance(&client, visit("1")).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1);
    // Sent again by hand, and that once more: both wait for their next attempt.
    fails(&bed, 2);
    act(&client, &bed, &format!("survey:{id}:send:1"), "retry").await;
    bed.tick().await;
    act(&client, &bed, &format!("survey:{id}:send:1:support-retry:1"), "retry").await;
    bed.tick().await;
    answer(&client, &id).await;
    client.advance("2h").await;
    assert_eq!(bed.sent().len(), 1, "nothing is sent after the answer");
    let statuses: Vec<String> =
        bed.notifications().await.iter().map(|row| row.status.as_str().to_owned()).collect();
    assert_eq!(statuses, ["withdrawn", "withdrawn", "delivered"], "the newest first");
}

/// Two visits of one person on a day on which they get one message; returns the second one's link.
async fn held_for_digest(client: &Client, bed: &TestBed) -> String {
    client.put("/api/v1/delivery-policy", json!({ "dailyCap": 1, "digestAt": "07:00" })).await.expect(200);
    instance(client, visit("1")).await;
    bed.tick().await;
    let id = instance(client, visit("2")).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1);
    id
}

async fn s1_79_a_link_that_is_held_for_a_digest_is_not_sent_after_the_answer(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let id = held_for_digest(&client, &bed).await;
    answer(&client, &id).await;
    bed.run_to("2026-05-15T10:00:00Z").await;
    let links: Vec<String> = bed.sent().iter().map(|sent| sent.body.clone()).collect();
    assert!(!links.iter().any(|text| text.contains(&id)), "{links:?}");
    assert_eq!(row(&client, survey, &id).await["status"], "completed");
    bed.leaves_open("the end of the first");
}

async fn s1_79_a_digest_that_is_queued_loses_the_links_that_are_over(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let second = held_for_digest(&client, &bed).await;
    let third = instance(&client, visit("3")).await;
    bed.tick().await;
    bed.run_to("2026-05-15T06:59:00Z").await;
    fails(&bed, 1);
    bed.run_to("2026-05-15T07:00:00Z").await;
    let digest = async || {
        let all = bed.notifications().await;
        all.into_iter().find(|row| row.kind == "digest").expect("a digest that waits for its next attempt")
    };
    let before = digest().await;
    assert_eq!(before.status.as_str(), "retrying");
    assert!(before.body.contains(&second) && before.body.contains(&third), "{}", before.body);
    answer(&client, &second).await;
    let shorter = digest().await;
    assert!(!shorter.body.contains(&second) && shorter.body.contains(&third), "{}", shorter.body);
    assert_eq!(bed.audit("notification", &shorter.id.to_string()).await, ["change:answered"]);
    client.delete(&format!("/api/v1/surveys/{survey}/instances/{third}")).await.expect(204);
    assert_eq!(digest().await.status.as_str(), "withdrawn", "nothing is left to say");
    bed.run_to("2026-05-16T00:00:00Z").await;
    let links: Vec<String> = bed.sent().iter().map(|sent| sent.body.clone()).collect();
    assert!(!links.iter().any(|text| text.contains(&second) || text.contains(&third)), "{links:?}");
    bed.leaves_open("the end of the first");
}

async fn s1_97_a_link_that_arrives_in_a_digest_counts_as_sent(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let id = held_for_digest(&client, &bed).await;
    let held = row(&client, survey, &id).await;
    assert_eq!((&held["status"], &held["lastSentAt"]), (&json!("pending"), &json!(null)), "{held}");
    bed.run_to("2026-05-15T08:00:00Z").await;
    assert!(bed.sent().iter().any(|sent| sent.body.contains(&id)));
    let sent = row(&client, survey, &id).await;
    assert_eq!((&sent["status"], &sent["remindersRemaining"]), (&json!("sent"), &json!(0)), "{sent}");
    let at = sent["lastSentAt"].as_str().unwrap().to_owned();
    assert!(at.starts_with("2026-05-15T07:0"), "{at}");
    bed.leaves_open("reminders and ends");
}

async fn s1_94_a_cancelled_reminder_does_not_leave_its_link_open_for_ever(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let id = instance(&client, visit("1")).await;
    bed.tick().await;
    act(&client, &bed, &format!("survey:{id}:send:2"), "cancel").await;
    client.advance("29d").await;
    let open = row(&client, survey, &id).await;
    assert_eq!((&open["status"], &open["nextSendAt"]), (&json!("sent"), &json!(null)), "{open}");
    client.advance("1d").await;
    let ended = row(&client, survey, &id).await;
    assert_eq!((&ended["status"], &ended["reasonCode"]), (&json!("expired"), &json!("not-answered")));
    assert_eq!(bed.sent().len(), 1);
}

async fn s1_94_a_resend_by_hand_moves_the_expiry(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let id = instance(&client, visit("1")).await;
    client.advance("1d").await;
    assert_eq!(bed.sent().len(), 2);
    client.advance("20d").await;
    act(&client, &bed, &format!("survey:{id}:send:2"), "retry").await;
    client.advance("1m").await;
    assert_eq!(bed.sent().len(), 3);
    client.advance("29d").await;
    assert_eq!(row(&client, survey, &id).await["status"], "sent", "30 days from the last message");
    client.advance("1d").await;
    assert_eq!(row(&client, survey, &id).await["status"], "expired");
}

async fn s1_70_an_instance_that_nothing_looks_after_gets_its_end_from_the_sweep(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let id = instance(&client, visit("1")).await;
    client.advance("1d").await;
    // As a fault would leave it: its end has gone, and nothing else is planned.
    let end = format!("survey:{id}:expire");
    let mut tx = bed.begin().await;
    punctual_store::work::deactivate(&mut tx.conn(), bed.now(), "panic", vec![end.clone()]).await.unwrap();
    tx.commit().await.unwrap();
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!(
        bed.work(&end).await.status.as_str(),
        "deactivated",
        "what has just changed is left to whoever changes it"
    );
    bed.wait(601);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!(bed.work(&end).await.status.as_str(), "pending");
    client.advance("30d").await;
    assert_eq!(row(&client, survey, &id).await["status"], "expired");
}

async fn s1_97_a_first_message_that_is_retried_as_work_counts_as_sent(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["channel"] = json!("whatsapp:default");
    let survey = published(&client, schema).await;
    let id = instance(&client, visit("1")).await;
    bed.tick().await;
    assert_eq!(row(&client, survey, &id).await["status"], "pending");
    bed.channel("whatsapp:default", "memory").await;
    client.advance("1h").await;
    act(&client, &bed, &format!("survey:{id}:send:1"), "retry").await;
    client.advance("1m").await;
    let sent = row(&client, survey, &id).await;
    assert_eq!((&sent["status"], &sent["remindersRemaining"]), (&json!("sent"), &json!(0)), "{sent}");
    assert_eq!(sent["nextSendAt"], "2026-05-15T06:00:00Z");
    // The one that was given up is over: it is not sent a second time.
    assert_eq!(bed.notifications().await[1].status.as_str(), "withdrawn");
    client.advance("1d").await;
    assert_eq!(bed.sent().len(), 2);
    bed.leaves_open("the end is planned");
}

async fn s1_73_a_message_that_would_leave_too_late_is_not_sent(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["maxLateness"] = json!("1h");
    let survey = published(&client, schema).await;
    let late = instance(&client, visit("1")).await;
    fails(&bed, 1);
    bed.tick().await;
    bed.wait(3_601);
    bed.tick().await;
    assert!(bed.sent().is_empty(), "decided in time, and too late when it would leave");
    let message = &bed.notifications().await[0];
    assert_eq!((message.status.as_str(), message.reason_code.as_deref()), ("withdrawn", Some("too-late")));
    client.advance("30d").await;
    assert_eq!(row(&client, survey, &late).await["status"], "expired");
    assert!(bed.sent().is_empty());
}

async fn s1_114_every_instance_says_whether_it_is_new(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    ingest(&client, json!([visit("1")])).await;
    let mut other = csi_gr();
    other["triggers"][0]["dedupRecipe"] = json!(["templateId", "candidate.wip"]);
    published(&client, other).await;
    let reported = ingest(&client, json!([visit("1"), visit("1"), visit("2")])).await;
    let outcomes = |item: usize| -> Vec<Value> {
        let all = reported["items"][item]["instances"].as_array().unwrap();
        all.iter().map(|one| one["outcome"].clone()).collect()
    };
    assert_eq!(outcomes(0), ["Skipped", "Created"], "{reported}");
    assert_eq!(outcomes(1), ["Skipped", "Skipped"], "{reported}");
    assert_eq!(outcomes(2), ["Created", "Created"], "{reported}");
    let items: Vec<&Value> = (0..3).map(|item| &reported["items"][item]["outcome"]).collect();
    assert_eq!(items, ["Created", "Skipped", "Created"]);
    bed.leaves_open("messages");
}

async fn s1_115_agent_and_moment_of_an_answer_are_read_from_meta(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let id = instance(&client, visit("1")).await;
    client.advance("1h").await;
    let body = json!({ "answers": { "rate": 7, "has-a-complaint": "No" },
        "meta": { "agentId": "agent-7", "completedAt": "2026-05-14T05:30:00Z" } });
    let taken =
        public(&client).post(&format!("/api/v1/public/surveys/{id}/responses"), body).await.expect(200);
    assert_eq!(taken["completedAt"], "2026-05-14T05:30:00Z");
    let table = client.get(&format!("/api/v1/surveys/{survey}/results.csv")).await;
    assert!(table.text.contains("agent-7") && table.text.contains("2026-05-14T05:30:00Z"), "{}", table.text);
}

async fn s1_69_answers_to_removed_questions_and_of_deleted_links_stay_in_the_results(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let ids = [instance(&client, visit("1")).await, instance(&client, visit("2")).await];
    bed.tick().await;
    for (id, rate) in ids.iter().zip([9, 3]) {
        let body = json!({ "answers": { "rate": rate, "has-a-complaint": "No" } });
        public(&client).post(&format!("/api/v1/public/surveys/{id}/responses"), body).await.expect(200);
    }
    instance(&client, visit("3")).await;
    // The next version no longer asks about complaints, and a link that was answered is taken back.
    let mut schema = csi_gr();
    schema["questions"] = json!([schema["questions"][0]]);
    client
        .put(&format!("/api/v1/surveys/{survey}"), json!({ "name": "E2E CSI-GR", "schema": schema }))
        .await
        .expect(200);
    client.post(&format!("/api/v1/surveys/{survey}/publish"), json!({})).await.expect(200);
    client.delete(&format!("/api/v1/surveys/{survey}/instances/{}", ids[1])).await.expect(204);
    let results = client.get(&format!("/api/v1/surveys/{survey}/results")).await.expect(200);
    // Of three that were asked, two were reached and both have answered.
    assert_eq!(
        (&results["answered"], &results["sent"], &results["responseRate"]),
        (&json!(2), &json!(2), &json!(1.0)),
        "{results}"
    );
    let questions: Vec<(&str, i64)> = results["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["id"].as_str().unwrap(), one["answered"].as_i64().unwrap()))
        .collect();
    assert_eq!(questions, [("rate", 2), ("has-a-complaint", 2), ("complaint", 0)]);
    assert_eq!(results["questions"][0]["csat"], json!({ "score": 50.0, "satisfied": 1 }));
    let table = client.get(&format!("/api/v1/surveys/{survey}/results.csv")).await.text;
    assert!(table.lines().next().unwrap().contains("has-a-complaint"), "{table}");
    assert_eq!(table.lines().count(), 3, "{table}");
    bed.leaves_open("the third");
}

async fn s1_56_a_tick_works_on_a_hundred_rows_unless_configured(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let visits: Vec<Value> = (0..800).map(|n| visit(&n.to_string())).collect();
    ingest(&client, json!(visits)).await;
    let tick = async |body: Value| {
        client.post("/api/v1/scheduler/tick", body).await.expect(200)["processed"].as_i64().unwrap()
    };
    assert_eq!(tick(json!({})).await, 100);
    assert_eq!(tick(json!({ "batchSize": 600 })).await, 600);
    bed.leaves_open("the rest");
}

async fn s1_116_publishing_a_changed_recipe_warns_that_everybody_is_asked_again(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let first = instance(&client, visit("1")).await;
    let publish = async |schema: Value| {
        let body = json!({ "name": "E2E CSI-GR", "schema": schema });
        client.put(&format!("/api/v1/surveys/{survey}"), body).await.expect(200);
        let done = client.post(&format!("/api/v1/surveys/{survey}/publish"), json!({})).await.expect(200);
        let warnings = done["warnings"].as_array().unwrap().clone();
        warnings.into_iter().filter(|one| one["code"] == "recipe_changed").collect::<Vec<_>>()
    };
    let mut schema = csi_gr();
    schema["title"] = json!({ "en": "How was it?" });
    assert_eq!(publish(schema.clone()).await, [] as [Value; 0]);
    let again = ingest(&client, json!([visit("1")])).await;
    assert_eq!(
        again["items"][0]["instances"][0]["publicId"],
        json!(first),
        "a new version knows events of before"
    );
    schema["triggers"][0]["dedupRecipe"] = json!(["templateId", "candidate.wip"]);
    assert_eq!(publish(schema).await[0]["pointer"], "/schema/triggers/0/dedupRecipe");
    bed.leaves_open("the first message");
}

async fn s1_116_a_republished_survey_recognises_events_of_before(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let first = instance(&client, visit("1")).await;
    let mut changed = csi_gr();
    changed["title"] = json!({ "en": "How was it?", "ar": "كيف كان؟" });
    let place = format!("/api/v1/surveys/{survey}");
    client.put(&place, json!({ "name": "E2E CSI-GR", "schema": changed })).await.expect(200);
    let said = client.post(&format!("{place}/publish"), json!({})).await.expect(200);
    assert_eq!((&said["version"], &said["warnings"]), (&json!(2), &json!([])));
    let again = ingest(&client, json!([visit("1"), visit("2")])).await;
    assert_eq!((&again["created"], &again["skipped"]), (&json!(1), &json!(1)), "{again}");
    assert_eq!(again["items"][0]["instances"][0]["publicId"], json!(first));
    bed.leaves_open("messages are planned");
}

async fn s1_119_a_channel_with_templates_of_its_own_gets_language_and_values(bed: TestBed) {
    type Got = Vec<(Option<String>, Option<Value>)>;
    let got: Arc<Mutex<Got>> = Arc::default();
    let seen = got.clone();
    let relay = Scripted::new("relay", move |message| {
        seen.lock().unwrap().push((message.locale, message.type_data));
        SendOutcome::Delivered { provider_id: "1".into() }
    });
    let bed = bed.with(|bed| bed.adapter(relay));
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    for channel in ["whatsapp:default", "sms:default"] {
        bed.channel(channel, "relay").await;
        let mut schema = csi_gr();
        schema["triggers"][0]["channel"] = json!(channel);
        let path = format!("/api/v1/surveys/{survey}");
        client.put(&path, json!({ "name": "E2E CSI-GR", "schema": schema })).await.expect(200);
        client.post(&format!("{path}/publish"), json!({})).await.expect(200);
        let id = instance(&client, visit(channel)).await;
        bed.tick().await;
        let (locale, values) = got.lock().unwrap().pop().unwrap_or_else(|| panic!("{channel}"));
        assert_eq!(locale.as_deref(), Some("ar"), "{channel}");
        let values = values.unwrap_or_else(|| panic!("{channel}: no values"));
        assert_eq!(values["candidateMetadata"]["CustomerName"], "Kadhem Owaid", "{channel}: {values}");
        assert_eq!((&values["publicId"], &values["attemptNumber"]), (&json!(id), &json!(1)), "{values}");
        assert!(values["surveyUrl"].as_str().unwrap().contains(&id), "{channel}: {values}");
    }
    bed.leaves_open("the reminders");
}
