//! What happens to planned and taken runs when a zone, a unit, a cadence or a stage changes.

use jiff::{SignedDuration, Timestamp};
use punctual_engine::EnsureOutcome;
use punctual_model::{Cause, InputHash, NewWork, Trigger};
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reports::reconcile::Walk;
use serde_json::{Value, json};

use crate::{
    client::Client,
    report_ownership::{at_stage, failing, from_failing, key_of, old, ownership_of, rollout_of},
    reports::{REPORT, client, run, runs, subscribe, weekly, with_sources},
};

on_both! {
    s2_32_a_unit_s_zone_moves_the_pending_run_and_repeats_no_period;
    s2_32_a_subscription_s_zone_and_unit_move_its_pending_run;
    s2_32_new_rules_of_a_zone_move_the_pending_run;
    s2_33_a_lowered_stage_gives_back_what_was_taken;
    s2_33_what_this_side_alone_makes_at_a_lower_stage_stays;
    s2_33_the_end_of_a_rollout_gives_back_what_is_the_unit_s;
    s2_33_reports_go_on_after_the_end_of_the_last_rollout;
    s2_24_a_cadence_changed_while_the_old_side_owns_the_run_has_a_next_one;
    s2_18_a_deleted_subscription_stays_in_the_comparison;
    s2_18_the_rollout_of_a_deleted_subscription_is_there_until_it_is_ended;
    s2_25_pausing_asks_for_the_version_that_was_seen;
    s2_1_a_cadence_that_skips_short_months_warns;
}

async fn put_unit(client: &Client, id: &str, zone: &str) {
    let body = json!({ "name": id, "timeZone": zone });
    client.put(&format!("/api/v1/business-units/{id}"), body).await.expect(200);
}

async fn next_run(client: &Client, guid: &str) -> Value {
    client.get(&format!("{REPORT}/{guid}")).await.expect(200)["nextRunAt"].clone()
}

async fn s2_32_a_unit_s_zone_moves_the_pending_run_and_repeats_no_period(bed: TestBed) {
    let client = client(&bed).await;
    put_unit(&client, "nz", "Pacific/Auckland").await;
    let body = weekly(|body| {
        body["businessUnit"] = json!("nz");
        body["cadence"] = json!({ "cron": "0 8 * * MON" });
    });
    let guid = subscribe(&client, body).await;
    assert_eq!(next_run(&client, &guid).await, "2026-05-17T20:00:00Z");
    // Before its moment it moves along; the week that it reports on is that of the new zone.
    put_unit(&client, "nz", "Asia/Tokyo").await;
    assert_eq!(next_run(&client, &guid).await, "2026-05-17T23:00:00Z");
    bed.run_to("2026-05-17T23:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
    // In Berlin the same Monday is still to come, and the same week was reported already.
    put_unit(&client, "nz", "Europe/Berlin").await;
    assert_eq!(next_run(&client, &guid).await, "2026-05-25T06:00:00Z");
    let pending: Vec<Value> =
        runs(&client, &guid).await.into_iter().filter(|run| run["status"] == "pending").collect();
    assert_eq!((pending.len(), &pending[0]["timeZone"]), (1, &json!("Europe/Berlin")), "{pending:?}");
    bed.run_to("2026-05-25T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 2, "one for each week");
    weeks(&client, &guid, 2).await;
}

/// Each run that was delivered is about a week, give or take the hours between two zones, and none begins before another ends
/// by more than these.
async fn weeks(client: &Client, guid: &str, count: usize) {
    let hours = |from: Timestamp, to: Timestamp| to.duration_since(from).as_hours();
    let mut periods = Vec::new();
    for one in runs(client, guid).await.iter().filter(|run| run["status"] == "completed") {
        let whole = run(client, guid, one["key"].as_str().unwrap()).await;
        let at = |name: &str| whole[name].as_str().and_then(|text| text.parse::<Timestamp>().ok());
        periods.push(at("periodStart").zip(at("periodEnd")).unwrap_or_else(|| panic!("{whole}")));
    }
    periods.sort_unstable();
    assert_eq!(periods.len(), count, "{periods:?}");
    for (start, end) in &periods {
        assert!((24 * 6..=24 * 8).contains(&hours(*start, *end)), "{periods:?}");
    }
    for pair in periods.windows(2) {
        assert!(hours(pair[0].1, pair[1].0).abs() <= 24, "{periods:?}");
    }
}

async fn s2_32_a_subscription_s_zone_and_unit_move_its_pending_run(bed: TestBed) {
    let client = client(&bed).await;
    put_unit(&client, "nz", "Pacific/Auckland").await;
    put_unit(&client, "de", "Europe/Berlin").await;
    let guid = subscribe(&client, weekly(|body| body["businessUnit"] = json!("nz"))).await;
    let key = key_of(&client, &guid).await;
    let path = format!("{REPORT}/{guid}");
    client.patch(&path, json!({ "businessUnit": "de" })).await.expect(200);
    let row = bed.work(&key).await;
    assert_eq!((row.status.as_str(), row.business_unit.as_deref()), ("pending", Some("de")));
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
    let cadence = json!({ "cadence": { "cron": "0 8 * * MON", "timeZone": "America/New_York" } });
    client.patch(&path, cadence).await.expect(200);
    assert_eq!(next_run(&client, &guid).await, "2026-05-25T12:00:00Z");
    bed.run_to("2026-05-25T12:00:00Z").await;
    assert_eq!(bed.sent().len(), 2, "no week twice, and none left out");
    weeks(&client, &guid, 2).await;
}

/// The pending run as a program planned it that knew other rules for the zone: `shift` seconds from where it belongs.
async fn planned_by_other_rules(bed: &TestBed, key: &str, shift: i64) {
    let row = bed.work(key).await;
    let at = row.due_at + SignedDuration::from_secs(shift);
    let guid = row.setting_id.clone().unwrap();
    let other = NewWork {
        key: row.key().unwrap(),
        kind: "report-subscription",
        trigger: Trigger::ScheduledRun,
        business_unit: row.business_unit.clone(),
        source: row.source_type.clone().zip(row.source_id.clone()),
        setting_id: row.setting_id.clone(),
        due_at: at,
        local: row.local_date.clone().zip(row.time_zone.clone()),
        input_hash: InputHash::of_fields(&[("subscription", guid.as_str().into()), ("run", key.into())]),
        input: row.input.clone(),
    };
    let ensured = bed.engine.ensure(&[other], Cause::Machine).await.unwrap();
    assert_eq!(ensured[0].outcome, EnsureOutcome::Updated);
}

async fn s2_32_new_rules_of_a_zone_move_the_pending_run(bed: TestBed) {
    let client = client(&bed).await;
    // A zone of its own: no business unit has it.
    let guid = subscribe(&client, weekly(|_| {})).await;
    let (right, key) = (next_run(&client, &guid).await, runs(&client, &guid).await[0]["key"].clone());
    let key = key.as_str().unwrap();
    for shift in [-3_600, 3_600] {
        planned_by_other_rules(&bed, key, shift).await;
        assert_ne!(next_run(&client, &guid).await, right);
        // A node that starts goes over all subscriptions.
        let pass = Walk::default().pass(&bed.engine, bed.now()).await.unwrap();
        assert_eq!((pass.repaired, next_run(&client, &guid).await), (1, right.clone()), "{shift}");
    }
    let pass = Walk::default().pass(&bed.engine, bed.now()).await.unwrap();
    assert_eq!(pass.repaired, 0, "what is where it belongs stays");
    bed.leaves_open("the run is to come");
}

async fn s2_33_a_lowered_stage_gives_back_what_was_taken(bed: TestBed) {
    let (bed, client) = with_sources(&bed, |sources| sources.with_builtin(failing(5, true))).await;
    let guid = subscribe(&client, from_failing()).await;
    at_stage(&client, &guid, 3).await;
    let key = key_of(&client, &guid).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(run(&client, &guid, &key).await["ownership"]["status"], "owned");
    client.post(&ownership_of(&key), old()).await.refused(409, "owned_by_other");
    at_stage(&client, &guid, 1).await;
    let back = run(&client, &guid, &key).await;
    assert_eq!(
        (&back["status"], &back["reasonCode"], &back["ownership"]["status"]),
        (&json!("deactivated"), &json!("rolled-back"), &json!("cancelled")),
        "{back}"
    );
    client.post(&ownership_of(&key), old()).await.expect(200);
    bed.run_to("2026-05-21T00:00:00Z").await;
    assert!(bed.sent().is_empty(), "it is the old scheduler's now");
}

/// At stage 2 the old scheduler is kept from what people ask for: given back, it would be nobody's.
async fn s2_33_what_this_side_alone_makes_at_a_lower_stage_stays(bed: TestBed) {
    let (bed, client) = with_sources(&bed, |sources| sources.with_builtin(failing(2, true))).await;
    let guid = subscribe(&client, from_failing()).await;
    at_stage(&client, &guid, 3).await;
    let planned = key_of(&client, &guid).await;
    let asked = client.post(&format!("{REPORT}/{guid}/automation-runs"), json!({})).await.expect(202);
    bed.tick().await;
    let key = asked["key"].as_str().unwrap();
    assert_eq!(run(&client, &guid, key).await["ownership"]["status"], "owned", "its source is down");
    // Lowered, and said once more: it stays ours, and is made.
    for _ in 0..2 {
        at_stage(&client, &guid, 2).await;
        let own = run(&client, &guid, key).await;
        assert_eq!(
            (&own["status"], &own["ownership"]["status"]),
            (&json!("pending"), &json!("owned")),
            "{own}"
        );
    }
    client.post(&ownership_of(key), old()).await.refused(409, "owned_by_other");
    bed.run_for(3_600).await;
    assert_eq!(run(&client, &guid, key).await["ownership"]["status"], "deliveryCreated");
    assert_eq!(bed.sent().len(), 1);
    assert_eq!(client.get(&ownership_of(&planned)).await.expect(200)["oldSchedulerMayTake"], true);
}

/// Without a rollout there is no old scheduler: this side makes everything.
async fn s2_33_reports_go_on_after_the_end_of_the_last_rollout(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    for stage in [1, 2, 3] {
        at_stage(&client, &guid, stage).await;
        client.delete(&rollout_of(&guid)).await.refused(409, "state_not_allowed");
    }
    at_stage(&client, &guid, 4).await;
    client.delete(&rollout_of(&guid)).await.expect(204);
    bed.run_to("2026-05-25T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 2, "the next one and the one after it");
}

async fn s2_33_the_end_of_a_rollout_gives_back_what_is_the_unit_s(bed: TestBed) {
    let (bed, client) = with_sources(&bed, |sources| sources.with_builtin(failing(5, true))).await;
    put_unit(&client, "nz", "Pacific/Auckland").await;
    let mut body = from_failing();
    body["businessUnit"] = json!("nz");
    let guid = subscribe(&client, body).await;
    let confirmed = json!(["deliveryPath", "oldScheduler", "ownershipStorage"]);
    let unit = "/api/v1/rollouts/report-subscription/business-unit/nz";
    client.put(unit, json!({ "stage": 1, "confirm": confirmed })).await.expect(200);
    at_stage(&client, &guid, 4).await;
    let key = key_of(&client, &guid).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(run(&client, &guid, &key).await["ownership"]["status"], "owned");
    client.delete(&rollout_of(&guid)).await.expect(204);
    // Its unit is still in the shadow: the old scheduler makes it.
    assert_eq!(run(&client, &guid, &key).await["ownership"]["status"], "cancelled");
    client.post(&ownership_of(&key), old()).await.expect(200);
}

async fn s2_24_a_cadence_changed_while_the_old_side_owns_the_run_has_a_next_one(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let key = key_of(&client, &guid).await;
    client.post(&ownership_of(&key), old()).await.expect(200);
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(run(&client, &guid, &key).await["onHold"], true);
    let later = json!({ "cadence": { "cron": "0 9 * * MON", "timeZone": "Europe/Berlin" } });
    client.patch(&format!("{REPORT}/{guid}"), later).await.expect(200);
    assert_eq!(next_run(&client, &guid).await, "2026-05-25T07:00:00Z");
    assert_eq!(run(&client, &guid, &key).await["onHold"], true, "a hold is for a person to release");
    bed.run_to("2026-05-25T07:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
}

async fn s2_18_a_deleted_subscription_stays_in_the_comparison(bed: TestBed) {
    let client = Client::new(&bed).await;
    put_unit(&client, "nz", "Pacific/Auckland").await;
    let guid = subscribe(&client, weekly(|body| body["businessUnit"] = json!("nz"))).await;
    let confirmed = json!(["deliveryPath", "oldScheduler", "ownershipStorage"]);
    let unit = "/api/v1/rollouts/report-subscription/business-unit/nz";
    client.put(unit, json!({ "stage": 1, "confirm": confirmed })).await.expect(200);
    let key = key_of(&client, &guid).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    let compared = async || {
        let path = format!("{unit}/comparison?from=2026-05-11T00:00:00Z&to=2026-05-25T00:00:00Z");
        let found = client.get(&path).await.expect(200);
        found["items"].as_array().unwrap().iter().map(|item| item["key"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(compared().await, [json!(key)]);
    client.delete(&format!("{REPORT}/{guid}")).await.expect(204);
    assert_eq!(compared().await, [json!(key)], "it was expected, whatever came after");
}

async fn s2_18_the_rollout_of_a_deleted_subscription_is_there_until_it_is_ended(bed: TestBed) {
    let client = Client::new(&bed).await;
    put_unit(&client, "nz", "Pacific/Auckland").await;
    let guid = subscribe(&client, weekly(|body| body["businessUnit"] = json!("nz"))).await;
    let path = rollout_of(&guid);
    at_stage(&client, &guid, 1).await;
    let key = key_of(&client, &guid).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    client.delete(&format!("{REPORT}/{guid}")).await.expect(204);
    let range = "from=2026-05-11T00:00:00Z&to=2026-05-25T00:00:00Z";
    let compared = client.get(&format!("{path}/comparison?{range}")).await.expect(200);
    assert_eq!(compared["items"][0]["key"], json!(key), "it was expected, whatever came after");
    client.get(&format!("{path}/figures?{range}")).await.expect(200);
    // A caller of its unit finds it as well, in the list and by its address.
    let limited = client.new_key(&["read"], Some(&["nz"])).await;
    let listed = limited.get("/api/v1/rollouts/report-subscription").await.expect(200);
    assert_eq!(listed["items"][0]["id"], json!(guid));
    limited.get(&path).await.expect(200);
    at_stage(&client, &guid, 4).await;
    client.delete(&path).await.expect(204);
    client.get(&path).await.refused(404, "not_found");
    let confirmed = json!(["deliveryPath", "oldScheduler", "ownershipStorage"]);
    client.put(&path, json!({ "stage": 1, "confirm": confirmed })).await.refused(404, "not_found");
}

async fn s2_25_pausing_asks_for_the_version_that_was_seen(bed: TestBed) {
    let client = client(&bed).await;
    let made = client.post(REPORT, weekly(|_| {})).await.expect(201);
    let (guid, version) = (made["guid"].as_str().unwrap(), made["version"].as_i64().unwrap());
    let path = format!("{REPORT}/{guid}/pause");
    client.post(&path, json!({ "version": version + 1 })).await.refused(409, "stale_version");
    client.post(&path, json!({ "versoin": version })).await.refused(422, "unknown_field");
    assert_eq!(client.get(&format!("{REPORT}/{guid}")).await.expect(200)["paused"], false);
    let body = json!({ "version": version, "reason": "holidays" });
    assert_eq!(client.post(&path, body).await.expect(200)["paused"], true);
    assert_eq!(bed.audit("report-subscription", guid).await, ["create", "pause", "note:holidays"]);
    let resume = format!("{REPORT}/{guid}/resume");
    client.post(&resume, json!({ "version": version })).await.refused(409, "stale_version");
    client.post(&resume, json!({})).await.expect(200);
    // Going back takes a reason too.
    at_stage(&client, guid, 3).await;
    let back = format!("{}/rollback", rollout_of(guid));
    client.post(&back, json!({ "reason": "the figures differ" })).await.expect(200);
    let entries = bed.audit("rollout", &format!("report-subscription/subject/{guid}")).await;
    assert_eq!(entries, ["stage", "roll-back", "note:the figures differ"]);
}

async fn s2_1_a_cadence_that_skips_short_months_warns(bed: TestBed) {
    let client = client(&bed).await;
    let monthly = |cadence: Value| weekly(|body| body["cadence"] = cadence);
    let warned = async |cadence: Value| {
        let made = client.post(REPORT, monthly(cadence)).await.expect(201);
        let warnings = made["warnings"].as_array().cloned().unwrap_or_default();
        warnings.iter().any(|warning| warning["code"] == "months_skipped")
    };
    let zone = "Europe/Berlin";
    for day in [29, 30, 31] {
        let rule = json!({ "rrule": format!("FREQ=MONTHLY;BYMONTHDAY={day}"), "sendTime": "08:00", "timeZone": zone });
        assert!(warned(rule).await, "{day}");
        assert!(warned(json!({ "cron": format!("0 8 {day} * *"), "timeZone": zone })).await, "{day}");
    }
    for rule in ["FREQ=MONTHLY;BYMONTHDAY=28", "FREQ=MONTHLY;BYMONTHDAY=-1", "FREQ=WEEKLY;BYDAY=MO"] {
        assert!(!warned(json!({ "rrule": rule, "sendTime": "08:00", "timeZone": zone })).await, "{rule}");
    }
}
