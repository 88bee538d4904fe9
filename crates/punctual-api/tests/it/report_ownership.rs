//! One owner for each run: whoever is first makes it, the other side makes nothing, and a way back is open at any moment.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::BoxFuture;
use punctual_model::table::Table;
use punctual_reports::{Asked, Builtin, FetchFault};
use punctual_store::Store;
use punctual_testkit::{TestBed, on_both, scale};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    client::Client,
    reports::{REPORT, client, run, runs, subscribe, weekly, with_sources},
};

on_both! {
    r13_the_old_scheduler_first_means_hold_and_no_delivery;
    r13_this_side_first_means_a_refusal_for_the_old_scheduler;
    what_the_old_scheduler_cancels_is_free_again;
    a_failing_source_is_tried_again_and_reuses_its_ownership;
    a_source_that_cannot_work_fails_and_the_next_run_is_planned;
    a_report_without_rows_is_sent_or_not_as_it_says;
    rig_reports_r13_two_schedulers_race_for_every_run;
    a_rollout_goes_from_the_shadow_to_the_cutover_and_back;
    r13_a_roll_back_in_the_middle_of_a_run_delivers_once;
    a_business_unit_moves_over_together;
    a_checklist_comes_before_the_shadow;
    a_comparison_counts_a_run_where_it_was_expected_and_ends_before_its_end;
}

pub fn ownership_of(key: &str) -> String {
    format!("/api/v1/report-runs/{key}/ownership")
}

pub fn rollout_of(guid: &str) -> String {
    format!("/api/v1/rollouts/report-subscription/subscription/{guid}")
}

pub fn old() -> Value {
    json!({ "owner": "oldScheduler", "ownerVersion": "7" })
}

pub async fn key_of(client: &Client, guid: &str) -> String {
    runs(client, guid).await[0]["key"].as_str().unwrap().to_owned()
}

pub async fn at_stage(client: &Client, guid: &str, stage: i64) {
    let body = json!({ "stage": stage, "confirm": ["deliveryPath", "oldScheduler", "ownershipStorage"] });
    client.put(&rollout_of(guid), body).await.expect(200);
}

async fn r13_the_old_scheduler_first_means_hold_and_no_delivery(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let key = key_of(&client, &guid).await;
    let asked = client.get(&ownership_of(&key)).await.expect(200);
    assert_eq!((&asked["owner"], &asked["oldSchedulerMayTake"]), (&json!(null), &json!(true)));
    let taken = client.post(&ownership_of(&key), old()).await.expect(200);
    assert_eq!(
        (&taken["owner"], &taken["status"], &taken["coordinates"]),
        (&json!("oldScheduler"), &json!("owned"), &json!(null))
    );
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 0);
    let held = run(&client, &guid, &key).await;
    assert_eq!(
        (&held["onHold"], &held["reasonCode"], &held["runOutcome"]),
        (&json!(true), &json!("ownership-conflict"), &json!("conflict"))
    );
    assert_eq!(held["artefacts"], json!([]), "nothing is made without a won guard");
    assert!(
        bed.engine
            .blobs
            .get(&format!("runs/{}/report.csv", held["storageRunKeyHash"].as_str().unwrap()))
            .await
            .unwrap()
            .is_none()
    );
    let attention = client.get("/api/v1/attention").await.expect(200);
    assert!(
        attention["items"].as_array().unwrap().iter().any(|item| item["kind"] == "runHeld"),
        "{attention}"
    );
    let failed = client.get(&format!("{REPORT}/{guid}/automation-runs/failed")).await.expect(200);
    assert_eq!(failed["items"][0]["key"], json!(key));
    let report = json!({ "owner": "oldScheduler", "status": "deliveryCreated", "coordinates": { "job": 9 } });
    let reported = client.patch(&ownership_of(&key), report).await.expect(200);
    assert_eq!(
        (&reported["status"], &reported["coordinates"]["job"]),
        (&json!("deliveryCreated"), &json!(9))
    );
    // Released by mistake, it is held again: it was delivered, and not by us.
    client.post(&format!("{REPORT}/{guid}/automation-runs/{key}/retry"), json!({})).await.expect(200);
    bed.tick().await;
    assert_eq!((bed.sent().len(), &run(&client, &guid, &key).await["onHold"]), (0, &json!(true)));
    assert_eq!(
        client.post(&ownership_of(&key), old()).await.expect(200)["coordinates"]["job"],
        9,
        "a retry gets its coordinates"
    );
    assert_eq!(
        client.get(&format!("{REPORT}/{guid}")).await.expect(200)["nextRunAt"],
        "2026-05-25T06:00:00Z",
        "the next one is planned"
    );
}

async fn r13_this_side_first_means_a_refusal_for_the_old_scheduler(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let key = key_of(&client, &guid).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    let refused = client.post(&ownership_of(&key), old()).await.refused(409, "owned_by_other");
    assert_eq!(
        (&refused["owner"], &refused["ownershipStatus"]),
        (&json!("automationScheduler"), &json!("deliveryCreated"))
    );
    let report = json!({ "owner": "oldScheduler", "status": "deliveryCreated" });
    client.patch(&ownership_of(&key), report).await.refused(409, "owned_by_other");
    assert_eq!(bed.sent().len(), 1);
    client.post("/api/v1/report-runs/message:1/ownership", old()).await.refused(404, "not_found");
    client.post(&ownership_of(&key), json!({ "owner": "me" })).await.refused(422, "out_of_range");
}

async fn what_the_old_scheduler_cancels_is_free_again(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let key = key_of(&client, &guid).await;
    client.post(&ownership_of(&key), old()).await.expect(200);
    let cancelled = client
        .patch(&ownership_of(&key), json!({ "owner": "oldScheduler", "status": "cancelled" }))
        .await
        .expect(200);
    assert_eq!(
        (&cancelled["status"], &cancelled["oldSchedulerMayTake"]),
        (&json!("cancelled"), &json!(true))
    );
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(
        (bed.sent().len(), &run(&client, &guid, &key).await["ownership"]["owner"]),
        (1, &json!("automationScheduler"))
    );
    client
        .patch(&ownership_of(&key), json!({ "owner": "automationScheduler", "status": "cancelled" }))
        .await
        .refused(409, "state_not_allowed");
}

/// A source that fails so often, and then gives nothing.
struct Failing {
    left: AtomicUsize,
    may_pass: bool,
}

impl Builtin for Failing {
    fn key(&self) -> &'static str {
        "failing"
    }

    fn fetch<'a>(
        &'a self,
        _own: &'a Store,
        _asked: &'a Asked,
        _settings: &'a Value,
    ) -> BoxFuture<'a, Result<Table, FetchFault>> {
        let fails =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        let fault =
            FetchFault { may_pass: self.may_pass, code: "source-unavailable", detail: "it is down".into() };
        Box::pin(async move { if fails { Err(fault) } else { Ok(Table::default()) } })
    }
}

pub fn failing(times: usize, may_pass: bool) -> Arc<dyn Builtin> {
    Arc::new(Failing { left: AtomicUsize::new(times), may_pass })
}

pub fn from_failing() -> Value {
    weekly(|body| body["report"]["source"] = json!({ "builtin": "failing" }))
}

async fn a_failing_source_is_tried_again_and_reuses_its_ownership(bed: TestBed) {
    let (bed, client) = with_sources(&bed, |sources| sources.with_builtin(failing(5, true))).await;
    let guid = subscribe(&client, from_failing()).await;
    let key = key_of(&client, &guid).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    let waiting = run(&client, &guid, &key).await;
    assert_eq!(
        (&waiting["status"], &waiting["reasonCode"], &waiting["fault"]["detail"]),
        (&json!("pending"), &json!("source-unavailable"), &json!("it is down"))
    );
    assert_eq!(
        (&waiting["ownership"]["owner"], &waiting["ownership"]["status"]),
        (&json!("automationScheduler"), &json!("owned"))
    );
    client.post(&ownership_of(&key), old()).await.refused(409, "owned_by_other");
    assert_eq!(
        client.get(&format!("{REPORT}/{guid}")).await.expect(200)["nextRunAt"],
        "2026-05-25T06:00:00Z"
    );
    // After 5 min, 15 min and 1 h once a day; a person may ask for a try in between.
    bed.run_to("2026-05-19T00:00:00Z").await;
    assert_eq!(run(&client, &guid, &key).await["tries"], 4);
    client.post(&format!("{REPORT}/{guid}/automation-runs/{key}/retry"), json!({})).await.expect(200);
    bed.tick().await;
    assert_eq!((bed.sent().len(), &run(&client, &guid, &key).await["tries"]), (0, &json!(5)));
    bed.run_to("2026-05-20T12:00:00Z").await;
    let done = run(&client, &guid, &key).await;
    assert_eq!(
        (&done["status"], &done["ownership"]["status"], bed.sent().len()),
        (&json!("completed"), &json!("deliveryCreated"), 1),
        "{done}"
    );
}

async fn a_source_that_cannot_work_fails_and_the_next_run_is_planned(bed: TestBed) {
    let (bed, client) = with_sources(&bed, |sources| sources.with_builtin(failing(1, false))).await;
    let guid = subscribe(&client, from_failing()).await;
    let key = key_of(&client, &guid).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    let failed = run(&client, &guid, &key).await;
    assert_eq!((&failed["status"], &failed["runOutcome"]), (&json!("failed"), &json!("failed")));
    let queue = client.get("/api/v1/report-runs/failed").await.expect(200);
    assert_eq!(queue["items"][0]["key"], json!(key));
    assert_eq!(
        client.get(&format!("{REPORT}/{guid}")).await.expect(200)["nextRunAt"],
        "2026-05-25T06:00:00Z"
    );
    client.post(&format!("{REPORT}/{guid}/automation-runs/{key}/retry"), json!({})).await.expect(200);
    bed.tick().await;
    assert_eq!((bed.sent().len(), &run(&client, &guid, &key).await["status"]), (1, &json!("completed")));
    assert_eq!(client.get("/api/v1/report-runs/failed").await.expect(200)["items"], json!([]));
}

async fn a_report_without_rows_is_sent_or_not_as_it_says(bed: TestBed) {
    let client = client(&bed).await;
    subscribe(&client, weekly(|_| {})).await;
    let quiet = subscribe(&client, weekly(|body| body["whenEmpty"] = json!("skip"))).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
    let skipped = runs(&client, &quiet).await.pop().unwrap();
    assert_eq!((&skipped["status"], &skipped["reasonCode"]), (&json!("deactivated"), &json!("report-empty")));
}

/// Two schedulers want every run of many subscriptions: each is delivered once, by one of them.
async fn rig_reports_r13_two_schedulers_race_for_every_run(bed: TestBed) {
    let (subscriptions, days) = (scale(100, 1_000), 10);
    let client = client(&bed).await;
    let body = weekly(|body| {
        body["cadence"]["cron"] = json!("0 8 * * *");
        body["channel"] = json!("memory:default");
        body["recipients"] = json!({ "addresses": ["x"] });
    });
    let mut guids = Vec::new();
    for _ in 0..subscriptions {
        guids.push(subscribe(&client, body.clone()).await);
    }
    let second = bed.node("b").await;
    let (mut by_old, mut keys) = (0, 0);
    for day in 0..days {
        bed.clock.set(format!("2026-05-{}T06:00:00Z", 15 + day).parse().unwrap());
        let start = format!("{}T220000Z", 20_260_513 + day);
        let mut wanted: Vec<String> =
            guids.iter().map(|guid| format!("report-subscription:{guid}:scheduled:{start}")).collect();
        if day % 2 == 0 {
            wanted.reverse();
        }
        keys += wanted.len();
        let rival = client.clone();
        let old_scheduler = tokio::spawn(async move {
            let mut won = 0;
            for key in wanted {
                let reply = rival.post(&ownership_of(&key), old()).await;
                match reply.status {
                    200 if won % 10 > 0 => won += 1,
                    200 => {
                        let report = json!({ "owner": "oldScheduler", "status": "deliveryCreated" });
                        rival.patch(&ownership_of(&key), report).await.expect(200);
                        won += 1;
                    }
                    _ => drop(reply.refused(409, "owned_by_other")),
                }
            }
            won
        });
        let other = second.clone();
        let other = tokio::spawn(async move { other.tick().await });
        bed.tick().await;
        other.await.unwrap();
        by_old += old_scheduler.await.unwrap();
        bed.tick().await;
    }
    let by_us = bed.sent().len();
    assert_eq!(by_us + by_old, keys, "each run once: {by_us} here, {by_old} there");
    assert!(by_us > 0 && by_old > 0, "{by_us} here, {by_old} there: no race");
    let held =
        client.get("/api/v1/work?hold=true&limit=200").await.expect(200)["items"].as_array().unwrap().len();
    assert_eq!(held, by_old.min(200), "what the other side won is held here");
    println!("{keys} runs: {by_us} delivered here, {by_old} by the old scheduler, none twice");
}

async fn a_rollout_goes_from_the_shadow_to_the_cutover_and_back(bed: TestBed) {
    let client = client(&bed).await;
    let body = weekly(|body| body["cadence"]["cron"] = json!("0 8 * * *"));
    let guid = subscribe(&client, body).await;
    at_stage(&client, &guid, 1).await;
    let manual = format!("{REPORT}/{guid}/automation-runs");
    client.post(&manual, json!({})).await.refused(409, "state_not_allowed");
    // The shadow: nothing is owned here; the old scheduler runs twice of three times, once late, and once too often.
    let day = |n: i64| format!("report-subscription:{guid}:scheduled:{}T220000Z", 20_260_512 + n);
    bed.run_to("2026-05-14T06:00:07Z").await;
    client.post(&ownership_of(&day(0)), old()).await.expect(200);
    bed.run_to("2026-05-15T06:00:00Z").await;
    bed.run_to("2026-05-16T06:05:00Z").await;
    client.post(&ownership_of(&day(2)), old()).await.expect(200);
    client
        .post(
            &ownership_of(&format!("report-subscription:{guid}:manual:0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071")),
            old(),
        )
        .await
        .expect(200);
    assert_eq!(bed.sent().len(), 0);
    let compared = client.get(&format!("{}/comparison", rollout_of(&guid))).await.expect(200);
    assert_eq!(compared["counts"], json!({ "match": 2, "missing": 1, "extra": 1 }), "{compared}");
    let verdicts: Vec<(&str, Option<i64>)> = compared["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["verdict"].as_str().unwrap(), item["differenceSeconds"].as_i64()))
        .collect();
    assert_eq!(verdicts, [("match", Some(7)), ("missing", None), ("match", Some(300)), ("extra", None)]);
    assert_eq!(
        run(&client, &guid, &day(1)).await["ownership"]["owner"],
        json!(null),
        "shadow rows never own"
    );

    // Runs that people ask for are made here, and only those; the old scheduler is kept from them.
    at_stage(&client, &guid, 2).await;
    let asked = client.post(&manual, json!({})).await.expect(202);
    client.post(&ownership_of(asked["key"].as_str().unwrap()), old()).await.refused(409, "owned_by_other");
    bed.run_to("2026-05-17T06:00:00Z").await;
    assert_eq!((bed.sent().len(), &run(&client, &guid, &day(3)).await["runOutcome"]), (1, &json!("shadow")));
    client.post(&ownership_of(&day(3)), old()).await.expect(200);

    // Planned ones too, by whoever is first.
    at_stage(&client, &guid, 3).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 2);
    client.post(&ownership_of(&day(4)), old()).await.refused(409, "owned_by_other");
    client.post(&ownership_of(&day(5)), old()).await.expect(200);
    bed.run_to("2026-05-19T06:00:00Z").await;
    assert_eq!((bed.sent().len(), &run(&client, &guid, &day(5)).await["onHold"]), (2, &json!(true)));

    // Cutover: the old scheduler is kept from all of them.
    at_stage(&client, &guid, 4).await;
    client.post(&ownership_of(&day(6)), old()).await.refused(409, "owned_by_other");
    bed.run_to("2026-05-20T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 3);

    // And back, at once: what was delivered stays so, the rest is the old scheduler's.
    let back = client.post(&format!("{}/rollback", rollout_of(&guid)), json!({})).await.expect(200);
    assert_eq!((&back["rollout"]["stage"], &back["givenBack"]), (&json!(1), &json!([])));
    client.post(&ownership_of(&day(6)), old()).await.refused(409, "owned_by_other");
    client.post(&ownership_of(&day(7)), old()).await.expect(200);
    bed.run_to("2026-05-21T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 3);

    let figures = client.get(&format!("{}/figures", rollout_of(&guid))).await.expect(200);
    let stages: Vec<(i64, i64, i64, i64)> = figures["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| {
            (
                stage["stage"].as_i64().unwrap(),
                stage["shadow"].as_i64().unwrap(),
                stage["delivered"].as_i64().unwrap(),
                stage["conflicts"].as_i64().unwrap(),
            )
        })
        .collect();
    assert_eq!(stages, [(1, 4, 0, 0), (2, 1, 1, 0), (3, 0, 1, 1), (4, 0, 1, 0)], "{figures}");
    let reported = bed.audit("rollout", &format!("report-subscription/subject/{guid}")).await;
    assert_eq!(reported, ["stage", "stage", "stage", "stage", "roll-back"]);
}

/// A source that waits to be let go.
struct Gate {
    started: Arc<Semaphore>,
    may_end: Arc<Semaphore>,
}

impl Builtin for Gate {
    fn key(&self) -> &'static str {
        "gate"
    }

    fn fetch<'a>(
        &'a self,
        _own: &'a Store,
        _asked: &'a Asked,
        _settings: &'a Value,
    ) -> BoxFuture<'a, Result<Table, FetchFault>> {
        Box::pin(async move {
            self.started.add_permits(1);
            drop(self.may_end.acquire().await);
            Ok(Table::default())
        })
    }
}

async fn r13_a_roll_back_in_the_middle_of_a_run_delivers_once(bed: TestBed) {
    let (started, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let gate = Arc::new(Gate { started: started.clone(), may_end: may_end.clone() });
    let (bed, client) = with_sources(&bed, |sources| sources.with_builtin(gate)).await;
    let body = weekly(|body| body["report"]["source"] = json!({ "builtin": "gate" }));
    let guid = subscribe(&client, body).await;
    at_stage(&client, &guid, 4).await;
    let key = key_of(&client, &guid).await;
    bed.clock.set("2026-05-18T06:00:00Z".parse().unwrap());
    let working = bed.clone();
    let working = tokio::spawn(async move { working.tick().await });
    punctual_testkit::signal("the query", started.acquire()).await.unwrap().forget();
    assert_eq!(
        client.get(&ownership_of(&key)).await.expect(200)["status"],
        "owned",
        "won before anything is made"
    );
    let back =
        client.post(&format!("{}/rollback", rollout_of(&guid)), json!({ "stage": 1 })).await.expect(200);
    assert_eq!(back["givenBack"], json!([key]));
    client.post(&ownership_of(&key), old()).await.expect(200);
    may_end.add_permits(100);
    working.await.unwrap();
    assert_eq!(bed.sent().len(), 0, "the old scheduler has it now");
    let over = run(&client, &guid, &key).await;
    assert_eq!((&over["status"], &over["reasonCode"]), (&json!("deactivated"), &json!("rolled-back")));
    assert_eq!(over["ownership"]["owner"], "oldScheduler");
    // What was made for it and never sent goes with the purge.
    let files = over["artefacts"].as_array().unwrap().clone();
    assert!(!files.is_empty(), "{over}");
    client.post(&format!("{REPORT}/{guid}/pause"), json!({})).await.expect(200);
    bed.wait(400 * 86_400);
    let purged = client.post("/api/v1/retention/purge", json!({ "confirm": true })).await.expect(200);
    assert_eq!(purged["files"], files.len(), "{purged}");
    for file in files {
        assert!(bed.engine.blobs.get(file["blob"].as_str().unwrap()).await.unwrap().is_none());
    }
    client.post(&format!("{REPORT}/{guid}/resume"), json!({})).await.expect(200);
}

async fn a_business_unit_moves_over_together(bed: TestBed) {
    let client = client(&bed).await;
    let of_unit = weekly(|body| body["businessUnit"] = json!("nz"));
    let (first, second) = (subscribe(&client, of_unit.clone()).await, subscribe(&client, of_unit).await);
    let other = subscribe(&client, weekly(|_| {})).await;
    let unit = "/api/v1/rollouts/report-subscription/business-unit/nz";
    let body = json!({ "stage": 1, "confirm": ["deliveryPath", "oldScheduler", "ownershipStorage"] });
    client.put(unit, body.clone()).await.expect(200);
    // One of them is further than the rest.
    at_stage(&client, &second, 3).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 2, "the one further on, and the one of no unit");
    let latest = async |guid: &str| runs(&client, guid).await[1]["runOutcome"].clone();
    assert_eq!(
        [latest(&first).await, latest(&second).await, latest(&other).await],
        [json!("shadow"), json!("delivered"), json!("delivered")]
    );
    let all = client.get("/api/v1/rollouts/report-subscription").await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
    client.delete(unit).await.refused(409, "state_not_allowed");
    client.put(unit, json!({ "stage": 4 })).await.expect(200);
    client.delete(unit).await.expect(204);
    client.get(unit).await.refused(404, "not_found");
}

async fn a_checklist_comes_before_the_shadow(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let path = rollout_of(&guid);
    let refused = client.put(&path, json!({ "stage": 1 })).await.refused(409, "state_not_allowed");
    assert_eq!(refused["open"], json!(["deliveryPath", "oldScheduler", "ownershipStorage"]));
    client.get(&path).await.refused(404, "not_found");
    let begun = client.put(&path, json!({ "stage": 0, "confirm": ["oldScheduler"] })).await.expect(200);
    let points: Vec<bool> = begun["checklist"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["confirmed"].as_bool().unwrap())
        .collect();
    assert_eq!(points, [false, true, false]);
    assert!(begun["checklist"][1]["by"].as_str().unwrap().starts_with("key:"));
    client.put(&path, json!({ "stage": 0, "confirm": ["all"] })).await.refused(422, "out_of_range");
    client.put(&path, json!({ "stage": 5 })).await.refused(422, "out_of_range");
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 0, "nothing runs while the design is read");
    assert_eq!(runs(&client, &guid).await[1]["reasonCode"], "rollout-not-begun");
    client
        .put(&path, json!({ "stage": 1, "confirm": ["deliveryPath", "ownershipStorage"] }))
        .await
        .expect(200);
}

async fn a_comparison_counts_a_run_where_it_was_expected_and_ends_before_its_end(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    at_stage(&client, &guid, 1).await;
    let key = key_of(&client, &guid).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    bed.wait(5);
    client.post(&ownership_of(&key), old()).await.expect(200);
    let counts = async |from: &str, to: &str| {
        let day = "2026-05-18T";
        let path = format!("{}/comparison?from={day}{from}Z&to={day}{to}Z", rollout_of(&guid));
        let compared = client.get(&path).await.expect(200);
        let count = |verdict: &str| compared["counts"][verdict].as_i64().unwrap();
        (count("match"), count("missing"), count("extra"))
    };
    assert_eq!(counts("00:00:00", "06:00:00").await, (0, 0, 0), "the end is no part of it");
    assert_eq!(counts("00:00:00", "06:00:01").await, (1, 0, 0), "taken later, and yet its partner");
    assert_eq!(counts("06:00:00", "07:00:00").await, (1, 0, 0), "the beginning is part of it");
    assert_eq!(counts("06:00:01", "07:00:00").await, (0, 0, 0), "taken here and expected before: no extra");
}
