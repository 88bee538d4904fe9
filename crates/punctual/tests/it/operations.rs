//! The process ends between saving an event and scheduling it, and between scheduling and knowing of it. After a
//! restart the event is there, its rules come into step, and its people are notified once.

use serde_json::{Value, json};

use crate::server::{Place, Server};

/// The clock of the sandbox is until it is moved, so the minute that a pending rule is left alone costs nothing.
const SANDBOX: &str = "--sandbox";

async fn sent_once_after_a_crash_at(place: Place, point: &str) {
    let server = place.start(&[SANDBOX, "--crash-at", point]);
    server.put("/api/v1/operations/people/ann", &json!({ "name": "Ann", "email": "ann@example.org" })).await;
    let (_, clock) = server.get("/api/v1/sandbox/clock").await;
    let now: jiff::Timestamp = clock["now"].as_str().unwrap().parse().unwrap();
    let start = (now + jiff::SignedDuration::from_hours(2)).to_string();
    let end = (now + jiff::SignedDuration::from_hours(3)).to_string();
    let body = json!({ "title": "Trip", "startDate": start, "endDate": end, "creator": "ann" });
    let answer = server.post("/api/v1/operations/events", &body).await;
    assert!(answer.is_none(), "{point} was not passed: {answer:?}");
    server.until_ended(point).await;

    let server = place.start(&[SANDBOX]);
    let rules = async |server: &Server| server.get("/api/v1/operations/rules").await.1["items"].clone();
    let left = rules(&server).await;
    assert_eq!(left.as_array().unwrap().len(), 2, "{point}: what was committed is there: {left}");
    server.put("/api/v1/sandbox/clock", &json!({ "advance": "5m" })).await;
    for rule in rules(&server).await.as_array().unwrap() {
        assert_eq!(rule["syncStatus"], "synced", "{point}: {rule}");
    }
    let (_, work) = server.get("/api/v1/work?kind=operations").await;
    assert_eq!(work["items"].as_array().unwrap().len(), 2, "{point}: scheduled once");
    server.put("/api/v1/sandbox/clock", &json!({ "advance": "4h" })).await;
    let (_, sent) = server.get("/api/v1/sandbox/sent").await;
    let subjects: Vec<&Value> = sent["items"].as_array().unwrap().iter().map(|one| &one["subject"]).collect();
    assert_eq!(subjects, ["Starts: Trip", "Ends: Trip"], "{point}");
    server.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r04_a_crash_between_saving_and_scheduling_loses_no_message() {
    sent_once_after_a_crash_at(Place::sqlite(), "before:operations_rules.lock").await;
    sent_once_after_a_crash_at(Place::postgres().await, "before:operations_rules.lock").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r04_a_crash_between_scheduling_and_knowing_of_it_makes_no_second_message() {
    for point in ["after:work.insert_absent", "after:operations_rules.mark_synced"] {
        sent_once_after_a_crash_at(Place::sqlite(), point).await;
        sent_once_after_a_crash_at(Place::postgres().await, point).await;
    }
}
