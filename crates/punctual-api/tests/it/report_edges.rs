//! Edges of runs and their owners: versions of a side, single runs at stage 2, attempts, and what a repair reads.

use punctual_channels::Misbehaviour;
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reports::reconcile::{Pass, Walk};
use serde_json::{Value, json};

use crate::{
    client::Client,
    report_ownership::{key_of, old, ownership_of, rollout_of},
    reports::{REPORT, client, run, runs, subscribe, weekly},
    viewer::Viewer,
};

on_both! {
    s0_84_a_lower_owner_version_never_takes_over_a_higher_one;
    s2_34_single_runs_are_chosen_at_stage_two;
    s2_28_a_run_shows_the_attempts_of_its_messages;
    s2_24_a_repair_reads_what_changed_and_nothing_else;
    s2_1_every_month_on_the_thirtieth_comes_in_february_too;
}

fn taking(version: &str) -> Value {
    json!({ "owner": "oldScheduler", "ownerVersion": version })
}

async fn s0_84_a_lower_owner_version_never_takes_over_a_higher_one(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let owned = ownership_of(&key_of(&client, &guid).await);
    assert_eq!(client.post(&owned, taking("9")).await.expect(200)["ownerVersion"], "9");
    // The version travels along: a newer one takes the run over, and keeps it from the one before.
    assert_eq!(client.post(&owned, taking("10")).await.expect(200)["ownerVersion"], "10");
    let refused = client.post(&owned, taking("9")).await.refused(409, "owned_by_other");
    assert_eq!((&refused["owner"], &refused["ownerVersion"]), (&json!("oldScheduler"), &json!("10")));
    let cancelled =
        |version: &str| json!({ "owner": "oldScheduler", "ownerVersion": version, "status": "cancelled" });
    client.patch(&owned, cancelled("9")).await.refused(409, "owned_by_other");
    client.patch(&owned, cancelled("10")).await.expect(200);
    client.post(&owned, taking("9.9")).await.refused(409, "owned_by_other");
    assert_eq!(client.get(&owned).await.expect(200)["status"], "cancelled", "a refusal changes nothing");
    assert_eq!(client.post(&owned, taking("10.0")).await.expect(200)["status"], "owned");
    // What was delivered stays with the version that did it.
    let delivered = json!({ "owner": "oldScheduler", "status": "deliveryCreated" });
    client.patch(&owned, delivered).await.expect(200);
    assert_eq!(client.post(&owned, taking("11")).await.expect(200)["ownerVersion"], "10.0");
}

async fn s2_34_single_runs_are_chosen_at_stage_two(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let (chosen, other) = ("0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071", "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6072");
    let path = rollout_of(&guid);
    let stage = |stage: i64, runs: Value| json!({ "stage": stage, "runs": runs, "confirm": ["deliveryPath", "oldScheduler", "ownershipStorage"] });
    client.put(&path, stage(3, json!([chosen]))).await.refused(422, "out_of_range");
    client.put(&path, stage(2, json!(["x"]))).await.refused(422, "key_invalid");
    let set = client.put(&path, stage(2, json!([chosen.to_uppercase()]))).await.expect(200);
    assert_eq!((&set["stage"], &set["runs"]), (&json!(2), &json!([chosen])));
    let asked = |id: &str| json!({ "manualRunGuid": id });
    let all = format!("{REPORT}/{guid}/automation-runs");
    client.post(&all, asked(other)).await.refused(409, "state_not_allowed");
    client.post(&all, asked(chosen)).await.expect(202);
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1);
    // The old scheduler is kept from the chosen one, and from no other.
    let owned = |id: &str| ownership_of(&format!("report-subscription:{guid}:manual:{id}"));
    client.post(&owned(chosen), old()).await.refused(409, "owned_by_other");
    assert_eq!(client.get(&owned(other)).await.expect(200)["oldSchedulerMayTake"], true);
    client.post(&owned(other), old()).await.expect(200);
    // Without a selection stage 2 means all that people ask for.
    let set = client.put(&path, json!({ "stage": 2 })).await.expect(200);
    assert_eq!(set.get("runs"), None);
    let third = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6073";
    client.post(&owned(third), old()).await.refused(409, "owned_by_other");
    client.post(&all, asked(third)).await.expect(202);
    bed.tick().await;
    assert_eq!(bed.sent().len(), 2);
}

async fn s2_28_a_run_shows_the_attempts_of_its_messages(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let key = key_of(&client, &guid).await;
    bed.captured.misbehave("email:default".parse().unwrap(), Misbehaviour::Transient, 1, "451 later");
    bed.run_to("2026-05-18T06:00:00Z").await;
    let failed = run(&client, &guid, &key).await;
    assert_eq!(failed["attempts"].as_array().unwrap().len(), 1, "{failed}");
    bed.run_to("2026-05-18T07:00:00Z").await;
    let done = run(&client, &guid, &key).await;
    let reported: Vec<(i64, &str, &str)> = done["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            assert_eq!(one["notification"], done["notifications"][0]["id"]);
            let text = |name: &str| one[name].as_str().unwrap();
            (one["attempt"].as_i64().unwrap(), text("target"), text("outcome"))
        })
        .collect();
    assert_eq!(reported, [(2, "a@b.example", "delivered"), (1, "a@b.example", "transient")], "{done}");
    let page = Viewer::signed_in(&bed, &client).await.page(&format!("/reports/{guid}/runs/{key}")).await;
    assert!(
        page.contains("Attempt 2,") && page.contains("Attempt 1,") && page.contains("451 later"),
        "{page}"
    );
}

async fn pass(bed: &TestBed, walk: &Walk) -> Pass {
    walk.pass(&bed.engine, bed.engine.clock.now()).await.unwrap()
}

/// Passes until one reads nothing; how many subscriptions were read.
async fn until_quiet(bed: &TestBed, walk: &Walk) -> usize {
    let mut read = 0;
    for _ in 0..20 {
        match pass(bed, walk).await.read {
            0 => return read,
            some => read += some,
        }
    }
    panic!("the repair goes on reading: {read}");
}

async fn cancel_next(client: &Client, guid: &str) {
    let next = runs(client, guid).await.into_iter().find(|run| run["status"] == "pending").unwrap();
    client.post(&format!("/api/v1/work/{}/cancel", next["id"]), json!({})).await.expect(200);
}

async fn s2_24_a_repair_reads_what_changed_and_nothing_else(bed: TestBed) {
    let client = client(&bed).await;
    let mut guids = Vec::new();
    for _ in 0..210 {
        guids.push(subscribe(&client, weekly(|_| {})).await);
    }
    bed.wait(600);
    let walk = Walk::default();
    // After a start all of them once.
    assert_eq!(until_quiet(&bed, &walk).await, 210);
    for _ in 0..3 {
        bed.wait(5);
        assert_eq!(pass(&bed, &walk).await, Pass::default(), "nothing changed");
    }
    client.patch(&format!("{REPORT}/{}", guids[7]), json!({ "name": "Other" })).await.expect(200);
    assert_eq!(pass(&bed, &walk).await, Pass { read: 1, repaired: 0 });
    bed.wait(600);
    pass(&bed, &walk).await;
    assert_eq!(pass(&bed, &walk).await, Pass::default());
    // A run that somebody cancelled leaves no gap.
    cancel_next(&client, &guids[9]).await;
    assert_eq!(pass(&bed, &walk).await, Pass { read: 1, repaired: 1 });
    let next = client.get(&format!("{REPORT}/{}", guids[9])).await.expect(200)["nextRunAt"].clone();
    assert_eq!(next, "2026-05-25T06:00:00Z");
    bed.wait(600);
    pass(&bed, &walk).await;
    assert_eq!(pass(&bed, &walk).await, Pass::default());
    // Once a day everything all the same.
    bed.wait(24 * 60 * 60);
    pass(&bed, &walk).await;
    assert_eq!(until_quiet(&bed, &walk).await, 210);
}

async fn s2_1_every_month_on_the_thirtieth_comes_in_february_too(bed: TestBed) {
    let client = client(&bed).await;
    let body = weekly(|body| {
        let rule = "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1";
        body["cadence"] = json!({ "rrule": rule, "sendTime": "08:00", "timeZone": "Europe/Berlin" });
    });
    let made = client.post(REPORT, body).await.expect(201);
    assert_eq!((&made["nextRunAt"], made.get("warnings")), (&json!("2026-05-30T06:00:00Z"), None), "{made}");
    let guid = made["guid"].as_str().unwrap();
    let coming = client.get(&format!("{REPORT}/{guid}/upcoming?count=12")).await.expect(200);
    let dates: Vec<&str> =
        coming["items"].as_array().unwrap().iter().filter_map(|one| one["runAt"].as_str()).collect();
    assert!(dates.contains(&"2027-02-28T07:00:00Z"), "{coming}");
}
