//! Answers: the first valid one counts, ends the instance and stops its messages.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    surveys::{csi_gr, ingest, instance, published, visit},
};

on_both! {
    an_answer_ends_the_instance_and_stops_the_reminders;
    an_answer_before_the_first_message_stops_it;
    r18_the_first_answer_counts_and_the_same_again_is_the_same;
    answers_are_checked_against_the_pinned_version;
    a_date_is_one_of_the_calendar_between_1900_and_2200;
    opening_counts_only_when_a_person_sees_it;
    one_and_the_same_answer_for_every_link_that_leads_nowhere;
    a_forced_failure_leaves_nothing_of_an_answer;
    r18_no_reminder_starts_after_an_answer;
    results_add_up_and_can_be_taken_along;
}

fn public(client: &Client) -> Client {
    Client { key: None, ..client.clone() }
}

async fn answer(client: &Client, id: &str, body: Value) -> Reply {
    public(client).post(&format!("/api/v1/public/surveys/{id}/responses"), body).await
}

async fn an_answer_ends_the_instance_and_stops_the_reminders(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let id = instance(&client, visit("1")).await;
    client.advance("1h").await;
    let body = json!({ "submissionId": "s-1", "answers": { "rate": 7, "has-a-complaint": "Yes", "complaint": "Late" }, "agentId": "agent-7" });
    let taken = public(&client).post(&format!("/SurveyInstances/{id}/responses"), body).await.expect(200);
    assert_eq!(
        taken,
        json!({ "publicId": id, "status": "completed", "completedAt": "2026-05-14T06:00:00Z", "submissionId": "s-1" })
    );
    let row = client.get(&format!("/api/v1/surveys/{survey}/instances/{id}")).await.expect(200);
    assert_eq!((&row["status"], &row["nextSendAt"]), (&json!("completed"), &json!(null)));
    let reminder = bed.work(&format!("survey:{id}:send:2")).await;
    assert_eq!(
        (reminder.status.as_str(), reminder.reason_code.as_deref()),
        ("deactivated", Some("answered"))
    );
    client.advance("60d").await;
    assert_eq!(bed.sent().len(), 1);
    let event = &client.get("/api/v1/outbox-events").await.expect(200)["items"][0];
    assert_eq!(
        (&event["eventType"], &event["status"], &event["deliveries"]),
        (&json!("response-completed"), &json!("dispatched"), &json!([]))
    );
}

async fn an_answer_before_the_first_message_stops_it(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let id = instance(&client, visit("1")).await;
    answer(&client, &id, json!({ "answers": { "rate": 7 } })).await.expect(200);
    client.advance("40d").await;
    assert_eq!(bed.sent().len(), 0);
}

async fn r18_the_first_answer_counts_and_the_same_again_is_the_same(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let id = instance(&client, visit("1")).await;
    let first = json!({ "submissionId": "a", "answers": { "rate": 7 } });
    let taken = answer(&client, &id, first.clone()).await.expect(200);
    bed.wait(60);
    assert_eq!(answer(&client, &id, first).await.expect(200), taken);
    for other in
        [json!({ "submissionId": "b", "answers": { "rate": 1 } }), json!({ "answers": { "rate": 7 } })]
    {
        answer(&client, &id, other).await.refused(409, "state_not_allowed");
    }
    let page = public(&client).get(&format!("/api/v1/public/surveys/{id}")).await.expect(200);
    assert_eq!((&page["status"], &page["survey"]), (&json!("completed"), &json!({})));
    // Many at once: one is taken.
    let id = instance(&client, visit("2")).await;
    let race = (0..8).map(|n| {
        let (client, id) = (client.clone(), id.clone());
        tokio::spawn(async move {
            answer(&client, &id, json!({ "submissionId": n.to_string(), "answers": { "rate": n } }))
                .await
                .status
        })
    });
    let mut statuses: Vec<u16> =
        futures_util::future::join_all(race).await.into_iter().map(Result::unwrap).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(client.get("/api/v1/outbox-events").await.expect(200)["items"].as_array().unwrap().len(), 2);
}

async fn answers_are_checked_against_the_pinned_version(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let id = instance(&client, visit("1")).await;
    let check = async |answers: Value, code: &str, pointers: &[&str]| {
        let refused = answer(&client, &id, json!({ "answers": answers })).await.refused(422, code);
        assert_eq!(Reply::pointers(&refused), pointers, "{answers}");
    };
    check(json!({}), "missing_field", &["/answers/rate"]).await;
    check(json!({ "rate": 11 }), "out_of_range", &["/answers/rate"]).await;
    check(json!({ "rate": 1, "nothing": 1 }), "unknown_field", &["/answers/nothing"]).await;
    check(json!({ "rate": 1, "has-a-complaint": "Yes" }), "missing_field", &["/answers/complaint"]).await;
    check(
        json!({ "rate": 1, "has-a-complaint": "No", "complaint": "x" }),
        "field_conflict",
        &["/answers/complaint"],
    )
    .await;
    answer(&client, &id, json!({ "answers": 7 })).await.refused(422, "wrong_type");
    let large = json!({ "answers": { "rate": 1, "has-a-complaint": "Yes", "complaint": "x".repeat(9_000) } });
    answer(&client, &id, large).await.refused(422, "out_of_range");
    let huge = json!({ "answers": { "rate": 1, "complaint": "x".repeat(70_000) } });
    answer(&client, &id, huge).await.refused(413, "body_too_large");
    answer(&client, &id, json!({ "answers": { "rate": 1 } })).await.expect(200);
}

async fn opening_counts_only_when_a_person_sees_it(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let id = instance(&client, visit("1")).await;
    client.advance("1s").await;
    let nobody = public(&client);
    let status = async || {
        client.get(&format!("/api/v1/surveys/{survey}/instances/{id}")).await.expect(200)["status"].clone()
    };
    let page = nobody.get(&format!("/api/v1/public/surveys/{id}")).await.expect(200);
    assert_eq!(
        (&page["locale"], &page["rightToLeft"], &page["status"]),
        (&json!("ar"), &json!(true), &json!("open"))
    );
    assert!(page["survey"]["triggers"].is_null(), "what the author set up is nobody's business: {page}");
    assert_eq!(status().await, "sent");
    nobody.post(&format!("/api/v1/public/surveys/{id}/opened"), json!({})).await.expect(204);
    assert_eq!(status().await, "opened");
    client.advance("1d").await;
    assert_eq!((bed.sent().len(), status().await), (2, json!("opened")));
    client.advance("30d").await;
    assert_eq!(status().await, "expired");
    nobody.post(&format!("/api/v1/public/surveys/{id}/opened"), json!({})).await.refused(404, "not_found");
}

async fn one_and_the_same_answer_for_every_link_that_leads_nowhere(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let (expired, deleted) = (instance(&client, visit("1")).await, instance(&client, visit("2")).await);
    client.delete(&format!("/api/v1/surveys/{survey}/instances/{deleted}")).await.expect(204);
    client.advance("40d").await;
    let nobody = public(&client);
    let unknown = "8f3a1c4e-0000-4000-8000-000000000001".to_owned();
    let mut bodies = Vec::new();
    for id in [expired, deleted, unknown] {
        let mut body = nobody.get(&format!("/api/v1/public/surveys/{id}")).await.refused(404, "not_found");
        let mut posted =
            answer(&client, &id, json!({ "answers": { "rate": 7 } })).await.refused(404, "not_found");
        body["requestId"] = json!(null);
        posted["requestId"] = json!(null);
        bodies.extend([body, posted]);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:#?}");
}

async fn a_forced_failure_leaves_nothing_of_an_answer(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    client.put("/api/v1/subscribers/memory:bi", json!({ "adapter": "memory" })).await.expect(200);
    let id = instance(&client, visit("1")).await;
    client.advance("1s").await;
    for statement in [
        "survey_responses.insert",
        "work.deactivate",
        "outbox_events.insert",
        "outbox_deliveries.insert",
        "notifications.insert_absent",
    ] {
        bed.faults.fail(statement, true, 1);
        answer(&client, &id, json!({ "answers": { "rate": 7 } })).await.refused(503, "storage_unavailable");
        let row = client.get(&format!("/api/v1/surveys/{survey}/instances/{id}")).await.expect(200);
        assert_eq!(
            (&row["status"], &row["nextSendAt"]),
            (&json!("sent"), &json!("2026-05-15T05:00:00Z")),
            "{statement}"
        );
        assert_eq!(client.get("/api/v1/outbox-events").await.expect(200)["items"], json!([]), "{statement}");
        let results = client.get(&format!("/api/v1/surveys/{survey}/results")).await.expect(200);
        assert_eq!(results["answered"], 0, "{statement}");
        assert_eq!(bed.work(&format!("survey:{id}:send:2")).await.status.as_str(), "pending", "{statement}");
    }
    answer(&client, &id, json!({ "answers": { "rate": 7 } })).await.expect(200);
    client.advance("1s").await;
    assert_eq!(bed.sent().len(), 2, "the message and the event");
}

/// Answers race the reminders of the same instances, which two nodes send at once.
async fn r18_no_reminder_starts_after_an_answer(bed: TestBed) {
    let races = punctual_testkit::scale(2_000, 50_000);
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let other = bed.node("b").await;
    let (mut done, mut round, mut late) = (0, 0, 0);
    while done < races {
        let count = 250.min(races - done);
        let items: Vec<Value> = (0..count).map(|n| visit(&format!("{round}-{n}"))).collect();
        let reported = ingest(&client, json!(items)).await;
        let ids: Vec<String> = (0..count)
            .map(|n| reported["items"][n]["instances"][0]["publicId"].as_str().unwrap().to_owned())
            .collect();
        bed.tick().await;
        // Every reminder is due now.
        bed.wait(86_400);
        let senders = [bed.engine.clone(), other.engine.clone()].map(|engine| {
            let now = bed.now();
            tokio::spawn(async move {
                for _ in 0..14 {
                    engine.pass(now, 20).await.unwrap();
                }
            })
        });
        let answers = ids.chunks(63).map(|own| {
            let (client, own, captured) = (client.clone(), own.to_vec(), bed.captured.clone());
            tokio::spawn(async move {
                let mut seen = Vec::new();
                for id in own {
                    let reply = answer(&client, &id, json!({ "answers": { "rate": 5 } })).await;
                    assert_eq!(reply.status, 200, "{}", reply.text);
                    seen.push((id, captured.sent().last().map_or(0, |sent| sent.number)));
                }
                seen
            })
        });
        let answered = futures_util::future::join_all(answers).await;
        for sender in senders {
            sender.await.unwrap();
        }
        bed.tick().await;
        // A reminder that went out after the answer was on its way at that moment, and is recorded as such.
        let mut after: std::collections::HashMap<String, (u64, String)> = Default::default();
        for sent in bed.sent() {
            let id = sent.body.trim().rsplit('/').next().unwrap().to_owned();
            after.insert(id, (sent.number, sent.notification.to_string()));
        }
        for (id, seen) in answered.into_iter().flat_map(Result::unwrap) {
            let (number, notification) = after[&id].clone();
            if number > seen {
                late += 1;
                let audit = bed.audit("notification", &notification).await;
                assert!(audit.contains(&"withdraw-too-late:answered".to_owned()), "{id}: {audit:?}");
            }
        }
        let sent = bed.sent().len();
        bed.run_for(86_400).await;
        assert_eq!(bed.sent().len(), sent, "something was sent a day after the answers");
        done += count;
        round += 1;
    }
    println!("{races} races, {late} reminders were on their way");
}

async fn results_add_up_and_can_be_taken_along(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["questions"][0] = json!({ "id": "rate", "type": "nps", "text": "Recommend?", "required": true });
    let survey = published(&client, schema).await;
    let mut ids = Vec::new();
    for n in 0..10 {
        let mut item = visit(&n.to_string());
        item["payload"]["dealerId"] = json!(if n < 6 { "1" } else { "2" });
        ids.push(instance(&client, item).await);
    }
    client.advance("1h").await;
    for (n, rate) in [10, 9, 8, 3, 10].into_iter().enumerate() {
        let complaint = if rate < 7 {
            json!({ "rate": rate, "has-a-complaint": "Yes", "complaint": "=HYPERLINK(1)" })
        } else {
            json!({ "rate": rate, "has-a-complaint": "No" })
        };
        answer(&client, &ids[n * 2], json!({ "answers": complaint })).await.expect(200);
    }
    let path = format!("/api/v1/surveys/{survey}/results");
    let results = client.get(&path).await.expect(200);
    let typed: punctual_wire::surveys::results::SurveyResults =
        serde_json::from_value(results.clone()).unwrap();
    assert_eq!((typed.instances, typed.sent, typed.answered, typed.response_rate), (10, 10, 5, Some(0.5)));
    assert_eq!(typed.median_seconds_to_answer, Some(3_600));
    let nps = typed.questions[0].nps.as_ref().unwrap();
    assert_eq!((nps.score, nps.promoters, nps.passives, nps.detractors), (40.0, 3, 1, 1));
    assert_eq!(typed.questions[0].average, Some(8.0));
    let choices: Vec<(&str, i64, f64)> =
        typed.questions[1].counts.iter().map(|one| (one.text.as_str(), one.count, one.share)).collect();
    assert_eq!(choices, [("Yes", 1, 0.2), ("No", 4, 0.8)]);
    assert_eq!(typed.questions[2].texts, ["=HYPERLINK(1)"]);
    assert_eq!(
        (typed.by_day[0].day.as_str(), typed.by_day[0].triggered, typed.by_day[0].answered),
        ("2026-05-14", 10, 5)
    );
    assert_eq!(
        (typed.by_trigger[0].trigger_id.as_str(), typed.by_trigger[0].answered),
        ("csi-gr-trigger", 5)
    );
    let of_one = client.get(&format!("{path}?candidate.dealerId=2")).await.expect(200);
    assert_eq!((&of_one["instances"], &of_one["answered"]), (&json!(4), &json!(2)));
    let none = client.get(&format!("{path}?triggerId=other")).await.expect(200);
    assert_eq!((&none["instances"], &none["responseRate"]), (&json!(0), &json!(null)));
    let csv = client.get(&format!("{path}.csv")).await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    let lines: Vec<&str> = csv.text.split("\r\n").collect();
    assert_eq!(lines.len(), 7, "{}", csv.text);
    assert!(lines[0].ends_with(",rate,has-a-complaint,complaint"));
    assert!(csv.text.contains("\"'=HYPERLINK(1)\""), "{}", csv.text);
    let sheet = client.get(&format!("{path}.xlsx")).await;
    assert_eq!((sheet.status, &sheet.text[..2]), (200, "PK"));
    assert!(sheet.headers["content-disposition"].to_str().unwrap().ends_with(".xlsx\""));
    bed.leaves_open("reminders are planned");
}

async fn a_date_is_one_of_the_calendar_between_1900_and_2200(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut survey = csi_gr();
    survey["questions"] = json!([{ "id": "on", "type": "date", "text": { "en": "When?" } }]);
    published(&client, survey).await;
    let id = instance(&client, visit("1")).await;
    for (on, code) in [
        ("9999-12-31", "date_out_of_range"),
        ("1899-12-31", "date_out_of_range"),
        ("0001-01-01", "date_out_of_range"),
        ("2026-02-30", "date_invalid"),
        ("20260514", "date_invalid"),
        ("2026-W20-4", "date_invalid"),
        ("2026-05-14T09:00", "date_invalid"),
        ("-000044-03-15", "date_invalid"),
    ] {
        let problem = answer(&client, &id, json!({ "answers": { "on": on } })).await.refused(422, code);
        assert_eq!(Reply::pointers(&problem), ["/answers/on"], "{on}");
    }
    answer(&client, &id, json!({ "answers": { "on": "2026-05-14" } })).await.expect(200);
}
