//! Every row of the ensure table.

use punctual_engine::{Actor, EnsureOutcome};
use punctual_model::{Cause, Decision, NewWork, ReasonCode};
use punctual_store::{Stage, work};
use punctual_testkit::{TestBed, TestBedBuilder, TestWorkflow, new_work, new_work_with, on_both};
use serde_json::json;

on_both! {
    a_new_key_is_created_and_asking_again_changes_nothing;
    another_due_time_moves_a_pending_row;
    another_local_plan_updates_a_pending_row;
    a_completed_row_answers_its_coordinates_and_sends_nothing with deciding;
    a_completed_row_with_another_input_is_reported_and_not_held with deciding;
    a_row_under_way_is_left_alone with deciding;
    another_input_puts_the_row_on_hold_with_both_digests with deciding;
    a_conflict_is_written_down_once with deciding;
    two_inputs_for_one_key_in_one_set_are_a_conflict with deciding;
    a_held_row_is_not_moved_past_the_person_who_must_look with deciding;
    a_failed_row_comes_back_with_its_diagnostics with deciding;
    a_deactivated_row_comes_back with deciding;
    s0_34_a_row_that_comes_back_has_all_attempts_before_it_and_those_of_before_can_be_read with deciding;
    what_a_person_cancelled_only_a_person_revives with deciding;
    what_a_machine_cancelled_a_machine_revives with deciding;
    answers_come_in_the_order_of_the_question with deciding;
}

/// Rows of kind `test` are decided by the word after the last colon of their key.
fn deciding(bed: TestBedBuilder) -> TestBedBuilder {
    bed.workflow(TestWorkflow::new("test", |row, _| match row.key.rsplit(':').next() {
        Some("fail") => Decision::Fail(ReasonCode::DefinitionInvalid),
        Some("skip") => Decision::Skip(ReasonCode::SourceNoLongerValid),
        Some("hold") => Decision::Hold(ReasonCode::InputUnreadable),
        Some("later") => Decision::Retry(ReasonCode::SourceUnavailable),
        _ => Decision::Deliver(Vec::new()),
    }))
}

fn row(bed: &TestBed, key: &str) -> NewWork {
    new_work("test", key, bed.now())
}

fn other_input(bed: &TestBed, key: &str) -> NewWork {
    new_work_with("test", key, bed.now(), &json!({ "other": 1 }))
}

async fn a_new_key_is_created_and_asking_again_changes_nothing(bed: TestBed) {
    let wanted = row(&bed, "k:1");
    let first = bed.ensure_one(wanted.clone()).await;
    assert_eq!(first.outcome, EnsureOutcome::Created);
    assert_eq!(bed.store.wake().take(Stage::Work), Some(bed.now().as_microsecond()));
    let before = bed.work("k:1").await;
    let again = bed.ensure_one(wanted).await;
    assert_eq!((again.id, again.outcome), (first.id, EnsureOutcome::Unchanged));
    assert_eq!(bed.work("k:1").await, before, "nothing was written");
    assert_eq!(bed.store.wake().take(Stage::Work), None, "nobody was woken for nothing");
    bed.leaves_open("no workflow works it");
}

async fn another_due_time_moves_a_pending_row(bed: TestBed) {
    bed.ensure_one(row(&bed, "k:1")).await;
    let mut moved = row(&bed, "k:1");
    moved.due_at = bed.after(3600);
    assert_eq!(bed.ensure_one(moved.clone()).await.outcome, EnsureOutcome::Updated);
    let now = bed.work("k:1").await;
    assert_eq!((now.due_at, now.ready_at), (moved.due_at, moved.due_at));
    assert_eq!(now.version, 2);
    assert_eq!(bed.ensure_one(moved).await.outcome, EnsureOutcome::Unchanged);
    bed.leaves_open("no workflow works it");
}

async fn another_local_plan_updates_a_pending_row(bed: TestBed) {
    bed.ensure_one(row(&bed, "k:1")).await;
    let mut local = row(&bed, "k:1");
    local.local = Some(("2026-05-14".into(), "Pacific/Auckland".into()));
    assert_eq!(bed.ensure_one(local.clone()).await.outcome, EnsureOutcome::Updated);
    assert_eq!(bed.work("k:1").await.time_zone.as_deref(), Some("Pacific/Auckland"));
    assert_eq!(bed.ensure_one(local).await.outcome, EnsureOutcome::Unchanged);
    bed.leaves_open("no workflow works it");
}

async fn a_completed_row_answers_its_coordinates_and_sends_nothing(bed: TestBed) {
    bed.ensure_one(row(&bed, "k:1")).await;
    bed.tick().await;
    let done = bed.work("k:1").await;
    assert_eq!(done.status.as_str(), "completed");
    let mut again = row(&bed, "k:1");
    again.due_at = bed.after(60);
    let answer = bed.ensure_one(again).await;
    assert_eq!(answer.outcome, EnsureOutcome::Completed);
    assert_eq!(answer.result.as_deref(), Some(r#"{"notifications":[]}"#));
    assert_eq!(bed.work("k:1").await, done);
    assert_eq!(bed.run_for(3600).await.done.due.claimed, 0);
}

async fn a_completed_row_with_another_input_is_reported_and_not_held(bed: TestBed) {
    bed.ensure_one(row(&bed, "k:1")).await;
    bed.tick().await;
    assert_eq!(bed.ensure_one(other_input(&bed, "k:1")).await.outcome, EnsureOutcome::Completed);
    assert!(!bed.work("k:1").await.on_hold);
}

async fn a_row_under_way_is_left_alone(bed: TestBed) {
    let id = bed.ensure_one(row(&bed, "k:1")).await.id;
    let mut tx = bed.begin().await;
    let claimed = work::claim(&mut tx, "test", bed.now(), bed.after(60), 10).await.unwrap();
    tx.commit().await.unwrap();
    let before = bed.work("k:1").await;
    for asked in [row(&bed, "k:1"), other_input(&bed, "k:1"), new_work("test", "k:1", bed.after(99))] {
        let answer = bed.ensure_one(asked).await;
        assert_eq!((answer.id, answer.outcome), (id, EnsureOutcome::InProgress));
    }
    assert_eq!(bed.work("k:1").await, before);
    assert_eq!(claimed.len(), 1);
    bed.leaves_open("a worker has it");
}

async fn another_input_puts_the_row_on_hold_with_both_digests(bed: TestBed) {
    let id = bed.ensure_one(row(&bed, "k:1")).await.id;
    let (stored, given) =
        (row(&bed, "k:1").input_hash.to_string(), other_input(&bed, "k:1").input_hash.to_string());
    let answer = bed.ensure_one(other_input(&bed, "k:1")).await;
    assert_eq!(answer.outcome, EnsureOutcome::Conflict { stored: stored.clone(), given: given.clone() });
    let held = bed.work("k:1").await;
    assert!(held.on_hold);
    assert_eq!((held.status.as_str(), held.reason_code.as_deref()), ("pending", Some("input-conflict")));
    assert_eq!(held.input_hash, stored, "nothing is overwritten");
    assert_eq!(bed.tick().await.due.claimed, 0, "a held row is not claimed");
    let entries = punctual_store::audit::of(
        &mut bed.read().await.conn(),
        &punctual_model::Reach::Everything,
        "work",
        &id.to_string(),
    )
    .await
    .unwrap();
    assert_eq!(entries[0].action, "conflict");
    assert_eq!(
        entries[0].data.as_deref(),
        Some(json!({ "stored": stored, "given": given }).to_string().as_str())
    );
    assert_eq!(entries[0].version, Some(held.version));
}

async fn a_conflict_is_written_down_once(bed: TestBed) {
    let id = bed.ensure_one(row(&bed, "k:1")).await.id;
    for _ in 0..3 {
        let answer = bed.ensure_one(other_input(&bed, "k:1")).await;
        assert!(matches!(answer.outcome, EnsureOutcome::Conflict { .. }));
    }
    assert_eq!(bed.audit("work", &id.to_string()).await, ["conflict:input-conflict"]);
    assert_eq!(bed.work("k:1").await.version, 2);
}

async fn two_inputs_for_one_key_in_one_set_are_a_conflict(bed: TestBed) {
    let rows = [row(&bed, "k:1"), other_input(&bed, "k:1"), row(&bed, "k:1")];
    let outcomes: Vec<&str> = bed.ensure(&rows).await.iter().map(|one| one.outcome.as_str()).collect();
    assert_eq!(outcomes, ["created", "conflict", "unchanged"]);
    let held = bed.work("k:1").await;
    assert_eq!((held.on_hold, held.input_hash), (true, rows[0].input_hash.to_string()));
    assert_eq!(bed.audit("work", &held.id.to_string()).await, ["conflict:input-conflict"]);
}

async fn a_held_row_is_not_moved_past_the_person_who_must_look(bed: TestBed) {
    bed.ensure_one(row(&bed, "k:hold")).await;
    bed.tick().await;
    let before = bed.work("k:hold").await;
    assert!(before.on_hold);
    let mut moved = row(&bed, "k:hold");
    moved.due_at = bed.after(60);
    assert_eq!(bed.ensure_one(moved).await.outcome, EnsureOutcome::Unchanged);
    assert_eq!(bed.work("k:hold").await, before);
}

async fn a_failed_row_comes_back_with_its_diagnostics(bed: TestBed) {
    bed.ensure_one(row(&bed, "k:fail")).await;
    bed.tick().await;
    let failed = bed.work("k:fail").await;
    assert_eq!(
        (failed.status.as_str(), failed.reason_code.as_deref()),
        ("failed", Some("definition-invalid"))
    );
    let again = new_work("test", "k:fail", bed.after(60));
    assert_eq!(bed.ensure_one(again).await.outcome, EnsureOutcome::Reactivated);
    let back = bed.work("k:fail").await;
    assert_eq!((back.status.as_str(), back.retry_count), ("pending", 0));
    assert_eq!(back.reason_code, None, "it is not over any more");
    assert_eq!(back.earlier_reason.as_deref(), Some("definition-invalid"), "its diagnostics stay");
    assert_eq!(back.result, failed.result, "its coordinates stay");
    assert_eq!(bed.run_for(60).await.done.due.failed, 1);
}

async fn a_deactivated_row_comes_back(bed: TestBed) {
    bed.ensure_one(row(&bed, "k:skip")).await;
    bed.tick().await;
    assert_eq!(bed.work("k:skip").await.status.as_str(), "deactivated");
    assert_eq!(bed.ensure_one(row(&bed, "k:skip")).await.outcome, EnsureOutcome::Reactivated);
    assert_eq!(bed.tick().await.due.deactivated, 1);
}

async fn s0_34_a_row_that_comes_back_has_all_attempts_before_it_and_those_of_before_can_be_read(
    bed: TestBed,
) {
    let id = bed.ensure_one(row(&bed, "k:later")).await.id;
    bed.tick().await;
    bed.run_for(300).await;
    assert_eq!(bed.work("k:later").await.retry_count, 2);
    bed.engine.cancel_work(&Actor::named("ann"), id, None).await.unwrap();
    let back = bed.engine.ensure(&[row(&bed, "k:later")], Cause::Person).await.unwrap();
    assert_eq!(back[0].outcome, EnsureOutcome::Reactivated);
    let back = bed.work("k:later").await;
    assert_eq!((back.id, back.status.as_str(), back.retry_count), (id, "pending", 0));
    assert_eq!((back.reason_code.as_deref(), back.earlier_attempts), (None, 2));
    assert_eq!(back.earlier_reason.as_deref(), Some("cancelled"), "why it had ended can be read");
    assert_eq!(back.next_retry_at, None, "it is due when it was asked for");
    // The whole ladder again: 5 min, 15 min, 1 h, and only then a hold.
    bed.tick().await;
    for (failures, pause) in [(1, 300), (2, 900), (3, 3_600)] {
        let waits = bed.work("k:later").await;
        assert_eq!((waits.retry_count, waits.earlier_attempts, waits.on_hold), (failures, 2, false));
        assert_eq!(waits.next_retry_at, Some(bed.after(pause)));
        bed.run_for(pause).await;
    }
    let held = bed.work("k:later").await;
    assert_eq!((held.on_hold, held.retry_count, held.earlier_attempts), (true, 4, 2));
    bed.engine.release_work(&Actor::named("ann"), id, None).await.unwrap();
    let released = bed.work("k:later").await;
    assert_eq!((released.retry_count, released.earlier_attempts, released.reason_code), (0, 6, None));
    bed.leaves_open("it fails");
}

async fn what_a_person_cancelled_only_a_person_revives(bed: TestBed) {
    let id = bed.ensure_one(row(&bed, "k:1")).await.id;
    bed.engine.cancel_work(&Actor::named("ann"), id, None).await.unwrap();
    assert_eq!(bed.ensure_one(row(&bed, "k:1")).await.outcome, EnsureOutcome::LeftCancelled);
    assert_eq!(bed.work("k:1").await.status.as_str(), "cancelled");
    assert_eq!(bed.tick().await.due.claimed, 0);
    let revived = bed.engine.ensure(&[row(&bed, "k:1")], Cause::Person).await.unwrap();
    assert_eq!(revived[0].outcome, EnsureOutcome::Reactivated);
    assert_eq!(
        bed.ensure_one(row(&bed, "k:1")).await.outcome,
        EnsureOutcome::Unchanged,
        "it is an ordinary row again"
    );
    assert_eq!(bed.tick().await.due.completed, 1);
}

async fn what_a_machine_cancelled_a_machine_revives(bed: TestBed) {
    let id = bed.ensure_one(row(&bed, "k:1")).await.id;
    let mut tx = bed.begin().await;
    work::cancel(&mut tx.conn(), bed.now(), id, false).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    assert_eq!(bed.ensure_one(row(&bed, "k:1")).await.outcome, EnsureOutcome::Reactivated);
    assert_eq!(bed.tick().await.due.completed, 1);
}

async fn answers_come_in_the_order_of_the_question(bed: TestBed) {
    bed.ensure(&[row(&bed, "k:b"), row(&bed, "k:d")]).await;
    let asked = ["k:d", "k:c", "k:b", "k:a", "k:c"];
    let rows: Vec<NewWork> = asked.iter().map(|key| row(&bed, key)).collect();
    let answers = bed.ensure(&rows).await;
    let outcomes: Vec<&str> = answers.iter().map(|answer| answer.outcome.as_str()).collect();
    assert_eq!(outcomes, ["unchanged", "created", "unchanged", "created", "unchanged"]);
    for (key, answer) in asked.iter().zip(&answers) {
        assert_eq!(bed.work(key).await.id, answer.id, "{key}");
    }
    assert_eq!(bed.tick().await.due.completed, 4);
}
