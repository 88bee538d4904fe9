//! Scheduling may fail without harm: what was asked for is saved, and the reconciler brings every rule into step.

use punctual_model::SyncStatus;
use punctual_store::operations::rules::{RuleRow, Synced};
use punctual_testkit::{TestBed, new_work, on_both};

use super::*;

on_both! {
    a_rule_that_cannot_be_scheduled_says_so_and_is_repaired;
    one_rules_failure_does_not_stop_the_other;
    a_store_that_fails_every_second_time_fails_nothing_and_all_is_repaired;
    a_crash_before_scheduling_leaves_a_rule_that_the_reconciler_finds;
    a_crash_after_scheduling_makes_no_second_row;
    a_row_that_no_rule_points_to_is_ended;
    a_failed_move_is_made_good;
    a_failed_delete_is_made_good;
    two_nodes_reconcile_without_harm;
    what_is_out_of_step_needs_a_person_and_can_be_repaired;
}

async fn synced(bed: &TestBed) -> bool {
    let rows = rules::page(&mut bed.read().await.conn(), &punctual_model::Reach::Everything, "", 1_000)
        .await
        .unwrap();
    rows.iter().all(|row| {
        row.sync_status == SyncStatus::Synced && row.sync_due_at.is_none() && row.schedule_id.is_some()
    })
}

async fn a_rule_that_cannot_be_scheduled_says_so_and_is_repaired(bed: TestBed) {
    bed.faults.fail_every("work.insert_absent", false, 1);
    let id = starting_in(&bed, 3_600).await;
    let rule = only_rule(&bed, &id).await;
    assert_eq!((rule.sync_status.as_str(), rule.schedule_id), ("failed", None));
    assert!(rule.sync_error.unwrap().contains("work.insert_absent"));
    bed.faults.heal();
    bed.tick().await;
    assert_eq!(only_rule(&bed, &id).await.sync_status, SyncStatus::Failed, "it is left alone for a minute");
    bed.wait(60);
    bed.tick().await;
    let rule = only_rule(&bed, &id).await;
    assert_eq!((rule.sync_status.as_str(), rule.sync_error, rule.sync_attempts), ("synced", None, 0));
    bed.run_for(3_600).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn one_rules_failure_does_not_stop_the_other(bed: TestBed) {
    person(&bed, "ann").await;
    // The first try is of both together, the second of the first rule alone.
    bed.faults.fail("work.insert_absent", false, 2);
    let id = create(&bed, &event(&bed, Some(bed.after(60)), Some(bed.after(120)))).await;
    let states: Vec<SyncStatus> =
        rules_of(&bed, &id).await.into_iter().map(|rule| rule.sync_status).collect();
    assert_eq!(states, [SyncStatus::Failed, SyncStatus::Synced]);
    bed.wait(60);
    bed.tick().await;
    assert!(synced(&bed).await);
    bed.run_for(60).await;
    assert_eq!(bed.sent().len(), 2, "the first within its grace, the second on time");
}

async fn a_store_that_fails_every_second_time_fails_nothing_and_all_is_repaired(bed: TestBed) {
    person(&bed, "ann").await;
    for name in ["work.insert_absent", "work.deactivate", "operations_rules.mark_synced"] {
        bed.faults.fail_every(name, false, 2);
    }
    bed.faults.fail_every("work.lock_existing", true, 2);
    let mut kept = Vec::new();
    for n in 0..20_i64 {
        let at = bed.after(7_200 + n);
        let id = create(&bed, &event(&bed, Some(at), Some(at + jiff::SignedDuration::from_mins(5)))).await;
        match n % 4 {
            0 => delete(&bed, &id).await,
            1 => {
                start_at(&bed, &id, Some(bed.after(7_100 + n))).await;
                kept.push(id);
            }
            2 => {
                start_at(&bed, &id, None).await;
                start_at(&bed, &id, Some(at)).await;
                kept.push(id);
            }
            _ => kept.push(id),
        }
    }
    // It goes on failing every second time, and still everything comes into step.
    for _ in 0..30 {
        bed.wait(60);
        bed.tick().await;
    }
    assert!(synced(&bed).await);
    bed.faults.heal();
    for id in &kept {
        for rule in rules_of(&bed, id).await {
            let work = bed.work(&key_of(&rule)).await;
            assert_eq!((Some(work.id), work.status.as_str()), (rule.schedule_id, "pending"));
        }
    }
    bed.run_for(20_000).await;
    assert_eq!(bed.sent().len(), kept.len() * 2);
}

async fn a_crash_before_scheduling_leaves_a_rule_that_the_reconciler_finds(bed: TestBed) {
    // What a process that ends between the two transactions leaves: the rule pending, and nothing scheduled. The marks
    // fail as well, as they do when nobody is there to write them.
    bed.faults.fail_every("operations_rules.lock", false, 1);
    bed.faults.fail_every("operations_rules.mark_failed", false, 1);
    let id = starting_in(&bed, 3_600).await;
    bed.faults.heal();
    let rule = only_rule(&bed, &id).await;
    assert_eq!((rule.sync_status.as_str(), rule.sync_error, rule.schedule_id), ("pending", None, None));
    bed.wait(59);
    bed.tick().await;
    assert_eq!(
        only_rule(&bed, &id).await.sync_status,
        SyncStatus::Pending,
        "whoever wrote it may still be at it"
    );
    bed.wait(1);
    bed.tick().await;
    assert!(synced(&bed).await);
    bed.run_for(3_600).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_crash_after_scheduling_makes_no_second_row(bed: TestBed) {
    let id = starting_in(&bed, 3_600).await;
    let rule = only_rule(&bed, &id).await;
    // The row is there and the rule does not know: as an outside scheduler would leave it.
    let mut tx = bed.begin().await;
    rules::mark_pending(&mut tx.conn(), bed.now(), &rule.id).await.unwrap();
    let unknown = Synced { id: rule.id.clone(), schedule_id: None, occurrence: None, run_at: None };
    rules::mark_synced(&mut tx.conn(), bed.now(), &[unknown]).await.unwrap();
    rules::mark_pending(&mut tx.conn(), bed.now(), &rule.id).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(only_rule(&bed, &id).await.schedule_id, None);
    bed.tick().await;
    let again = only_rule(&bed, &id).await;
    assert_eq!((again.schedule_id, again.occurrence), (rule.schedule_id, rule.occurrence));
    // A commit whose answer was lost looks the same: done, and thought to have failed.
    bed.faults.fail("commit", true, 2);
    commands::repair_rule(&bed.engine, &Actor::named("test"), &rule.id).await.unwrap_err();
    bed.wait(120);
    bed.tick().await;
    assert!(synced(&bed).await);
    bed.run_for(3_600).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_row_that_no_rule_points_to_is_ended(bed: TestBed) {
    let id = starting_in(&bed, 3_600).await;
    let rule = only_rule(&bed, &id).await;
    let mut stray =
        new_work("operations", &format!("operations:{}:20300101T000000Z", rule.id), bed.after(900));
    stray.setting_id = Some(rule.id.clone());
    let mut lost = new_work("operations", "operations:nobody:20300101T000000Z", bed.after(900));
    lost.setting_id = Some("nobody".into());
    bed.ensure(&[stray, lost]).await;
    bed.tick().await;
    for key in
        [format!("operations:{}:20300101T000000Z", rule.id), "operations:nobody:20300101T000000Z".into()]
    {
        let work = bed.work(&key).await;
        assert_eq!((work.status.as_str(), work.reason_code.as_deref()), ("deactivated", Some("orphaned")));
    }
    assert_eq!(bed.work(&key_of(&rule)).await.status.as_str(), "pending");
    bed.run_for(3_600).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_failed_move_is_made_good(bed: TestBed) {
    let id = starting_in(&bed, 600).await;
    bed.faults.fail_every("work.deactivate", true, 1);
    start_at(&bed, &id, Some(bed.after(1_200))).await;
    bed.faults.heal();
    bed.run_for(601).await;
    assert!(bed.sent().is_empty());
    bed.run_for(600).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_failed_delete_is_made_good(bed: TestBed) {
    let id = starting_in(&bed, 600).await;
    let rule = only_rule(&bed, &id).await;
    bed.faults.fail_every("work.deactivate", false, 1);
    delete(&bed, &id).await;
    bed.faults.heal();
    assert_eq!(bed.work(&key_of(&rule)).await.status.as_str(), "pending");
    bed.wait(60);
    bed.tick().await;
    assert_eq!(bed.work(&key_of(&rule)).await.status.as_str(), "deactivated");
    assert_eq!(super::rule(&bed, &rule.id).await.sync_status, SyncStatus::Synced);
}

async fn two_nodes_reconcile_without_harm(bed: TestBed) {
    bed.faults.fail_every("work.insert_absent", false, 1);
    person(&bed, "ann").await;
    for n in 0..10 {
        create(&bed, &event(&bed, Some(bed.after(3_600 + n)), None)).await;
    }
    bed.faults.heal();
    let other = bed.node("b").await;
    bed.wait(60);
    let now = bed.now();
    let (one, two) = tokio::join!(bed.engine.sweep_tick(now), other.engine.sweep_tick(now));
    assert!(one.unwrap().repaired + two.unwrap().repaired >= 10);
    assert!(synced(&bed).await);
    bed.run_for(4_000).await;
    assert_eq!(bed.sent().len(), 10);
}

async fn what_is_out_of_step_needs_a_person_and_can_be_repaired(bed: TestBed) {
    bed.faults.fail_every("work.insert_absent", false, 1);
    let id = starting_in(&bed, 3_600).await;
    let rule: RuleRow = only_rule(&bed, &id).await;
    let waiting = bed.engine.attention(&punctual_model::Reach::Everything, 10).await.unwrap();
    assert_eq!(waiting.counts, [(punctual_engine::attention::Kind::Sync, 1)]);
    let item = &waiting.items[0];
    assert_eq!(
        (item.title.as_str(), item.link.as_str()),
        ("Stand-up", format!("/operations/events/{id}").as_str())
    );
    assert!(item.reason.starts_with("It could not be scheduled: "), "{}", item.reason);
    let still = commands::repair_rule(&bed.engine, &Actor::named("test"), &rule.id).await.unwrap();
    assert_eq!(still.sync_status, SyncStatus::Failed);
    bed.faults.heal();
    let mended = commands::repair_rule(&bed.engine, &Actor::named("test"), &rule.id).await.unwrap();
    assert_eq!(mended.sync_status, SyncStatus::Synced);
    assert_eq!(bed.engine.attention(&punctual_model::Reach::Everything, 10).await.unwrap().total(), 0);
    bed.run_for(3_600).await;
    assert_eq!(bed.sent().len(), 1);
}
