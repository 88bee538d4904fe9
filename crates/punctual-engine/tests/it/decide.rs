//! What each decision does to its row.

use punctual_engine::{Actor, CommandError, EngineError};
use punctual_model::{Audience, Decision, NewNotification, NotificationId, ReasonCode, RetryPolicy, WorkId};
use punctual_testkit::{TestBed, TestBedBuilder, TestWorkflow, new_work, on_both};

on_both! {
    deliver_completes_the_row_and_queues_in_one_commit with deciding;
    the_id_of_a_notification_follows_from_its_row with deciding;
    one_message_wanted_twice_is_queued_once with deciding;
    skip_deactivates_with_the_reason_and_counts_no_failure with deciding;
    fail_ends_the_row_and_a_person_may_retry_it with deciding;
    hold_waits_for_a_person_and_is_audited with deciding;
    defer_waits_without_counting_a_failure with deciding;
    r12_retries_climb_the_ladder_and_then_hold with deciding;
    r12_a_daily_policy_never_gives_up with deciding;
    a_batch_that_cannot_be_written_is_split_and_the_row_at_fault_is_retried with deciding;
    a_batch_that_meets_an_outage_is_written_a_moment_later_or_retried with deciding;
    a_row_of_a_kind_that_nobody_knows_waits with deciding;
}

fn deciding(bed: TestBedBuilder) -> TestBedBuilder {
    let decide = |row: &punctual_engine::Claimed, now: jiff::Timestamp| {
        let to = |address: &str| {
            let nil = NotificationId(Default::default());
            let mut new =
                NewNotification::new(nil, Audience::Targets(vec![address.into()]), "Due", row.key.clone());
            new.channel = "memory:default".parse().ok();
            new
        };
        let later = now + jiff::SignedDuration::from_secs(600);
        match row.key.split(':').next().unwrap_or_default() {
            "deliver" => Decision::Deliver(vec![to("a@example.org"), to("b@example.org")]),
            "twice" => Decision::Deliver(vec![to("a@example.org"), to("a@example.org")]),
            "skip" => Decision::Skip(ReasonCode::SourceNoLongerValid),
            "fail" => Decision::Fail(ReasonCode::DefinitionInvalid),
            "hold" => Decision::Hold(ReasonCode::InputUnreadable),
            "defer" if row.due_at >= now => Decision::Defer(later, ReasonCode::QuietHours),
            "retry" => Decision::Retry(ReasonCode::SourceUnavailable),
            _ => Decision::Deliver(Vec::new()),
        }
    };
    bed.workflow(TestWorkflow::new("test", decide))
        .workflow(TestWorkflow::new("daily", decide).policy(RetryPolicy::Daily))
}

async fn deliver_completes_the_row_and_queues_in_one_commit(bed: TestBed) {
    bed.ensure_one(new_work("test", "deliver:1", bed.now())).await;
    bed.faults.fail("notifications.insert_absent", false, 3);
    let failed = bed.engine.due_tick(bed.now(), 10).await.unwrap();
    assert_eq!((failed.completed, failed.retried), (0, 1), "not completed without its notifications");
    assert!(bed.notifications().await.is_empty());
    let report = bed.run_for(300).await.done;
    assert_eq!((report.due.completed, report.due.notifications, report.deliveries.delivered), (1, 2, 2));
    let row = bed.work("deliver:1").await;
    let ids: Vec<String> =
        bed.notifications().await.into_iter().rev().map(|one| one.id.to_string()).collect();
    let reported: serde_json::Value = serde_json::from_str(row.result.as_deref().unwrap()).unwrap();
    let mut coordinates: Vec<&str> =
        reported["notifications"].as_array().unwrap().iter().filter_map(|id| id.as_str()).collect();
    coordinates.sort_unstable();
    assert_eq!(coordinates, ids, "the row says what it queued");
    assert_eq!(row.lease_expires_at, None);
    assert!(bed.notifications().await.iter().all(|one| one.work_id == Some(WorkId(row.id))));
}

async fn the_id_of_a_notification_follows_from_its_row(bed: TestBed) {
    let row = bed.ensure_one(new_work("test", "deliver:1", bed.now())).await.id;
    bed.tick().await;
    let expected =
        NotificationId::derived(WorkId(row), "deliver:1", "memory:default", "targets=a@example.org")
            .to_string();
    assert_eq!(bed.notification(&expected).await.status.as_str(), "delivered");
}

async fn one_message_wanted_twice_is_queued_once(bed: TestBed) {
    bed.ensure_one(new_work("test", "twice:1", bed.now())).await;
    let report = bed.tick().await;
    assert_eq!((report.due.notifications, report.deliveries.delivered), (1, 1));
    assert_eq!(bed.sent_to(), ["a@example.org"]);
}

async fn skip_deactivates_with_the_reason_and_counts_no_failure(bed: TestBed) {
    let id = bed.ensure_one(new_work("test", "skip:1", bed.now())).await.id;
    assert_eq!(bed.tick().await.due.deactivated, 1);
    let row = bed.work("skip:1").await;
    assert_eq!(
        (row.status.as_str(), row.reason_code.as_deref()),
        ("deactivated", Some("SourceNoLongerValid"))
    );
    assert_eq!(row.retry_count, 0);
    assert_eq!(bed.audit("work", &id.to_string()).await, ["deactivate:SourceNoLongerValid"]);
}

async fn fail_ends_the_row_and_a_person_may_retry_it(bed: TestBed) {
    let id = bed.ensure_one(new_work("test", "fail:1", bed.now())).await.id;
    assert_eq!(bed.tick().await.due.failed, 1);
    assert_eq!(bed.run_for(86_400).await.done.due.claimed, 0, "nothing happens by itself");
    let retried = bed.engine.retry_work(&Actor::named("ann"), id, None).await.unwrap();
    assert_eq!((retried.id, retried.status.as_str()), (id, "pending"));
    assert_eq!(bed.tick().await.due.failed, 1);
    assert_eq!(
        bed.audit("work", &id.to_string()).await,
        ["fail:definition-invalid", "retry", "fail:definition-invalid"]
    );
}

async fn hold_waits_for_a_person_and_is_audited(bed: TestBed) {
    let id = bed.ensure_one(new_work("test", "hold:1", bed.now())).await.id;
    assert_eq!(bed.tick().await.due.held, 1);
    let row = bed.work("hold:1").await;
    assert_eq!(
        (row.status.as_str(), row.on_hold, row.reason_code.as_deref()),
        ("pending", true, Some("input-unreadable"))
    );
    assert_eq!(bed.run_for(86_400).await.done.due.claimed, 0);
    let released = bed.engine.release_work(&Actor::named("ann"), id, None).await.unwrap();
    assert!(!released.on_hold);
    assert_eq!(bed.tick().await.due.held, 1, "a released hold is claimed at once");
    assert_eq!(
        bed.audit("work", &id.to_string()).await,
        ["hold:input-unreadable", "release:input-unreadable", "hold:input-unreadable"]
    );
    bed.engine.cancel_work(&Actor::named("ann"), id, None).await.unwrap();
    let refused = bed.engine.release_work(&Actor::named("ann"), id, None).await;
    assert!(matches!(refused, Err(CommandError::Engine(EngineError::StateNotAllowed { .. }))), "{refused:?}");
}

async fn defer_waits_without_counting_a_failure(bed: TestBed) {
    bed.ensure_one(new_work("test", "defer:1", bed.now())).await;
    assert_eq!(bed.tick().await.due.deferred, 1);
    let row = bed.work("defer:1").await;
    assert_eq!((row.status.as_str(), row.retry_count), ("pending", 0));
    assert_eq!((row.ready_at, row.due_at), (bed.after(600), bed.now()));
    assert_eq!(row.reason_code.as_deref(), Some("quiet-hours"));
    assert_eq!(bed.run_for(599).await.done.due.claimed, 0);
    assert_eq!(bed.run_for(1).await.done.due.completed, 1);
}

async fn r12_retries_climb_the_ladder_and_then_hold(bed: TestBed) {
    let id = bed.ensure_one(new_work("test", "retry:1", bed.now())).await.id;
    for (failures, wait) in [(1, 300), (2, 900), (3, 3600)] {
        assert_eq!(bed.tick().await.due.retried, 1);
        let row = bed.work("retry:1").await;
        assert_eq!(row.retry_count, failures);
        assert_eq!(row.next_retry_at, Some(bed.after(wait)));
        assert_eq!(row.reason_code.as_deref(), Some("source-unavailable"));
        bed.wait(wait - 1);
        assert_eq!(bed.tick().await.due.claimed, 0, "not a second too soon");
        bed.wait(1);
    }
    assert_eq!(bed.tick().await.due.held, 1);
    let row = bed.work("retry:1").await;
    assert_eq!((row.on_hold, row.retry_count), (true, 4));
    assert_eq!(bed.audit("work", &id.to_string()).await, ["hold:source-unavailable"]);
    let released = bed.engine.release_work(&Actor::named("ann"), id, None).await.unwrap();
    assert_eq!((released.retry_count, released.next_retry_at), (0, None), "a release starts the count again");
    assert_eq!(bed.tick().await.due.retried, 1);
    bed.leaves_open("it is retried for good");
}

async fn r12_a_daily_policy_never_gives_up(bed: TestBed) {
    bed.ensure_one(new_work("daily", "retry:1", bed.now())).await;
    for wait in [300, 900, 3600, 86_400, 86_400, 86_400] {
        assert_eq!(bed.tick().await.due.retried, 1);
        assert_eq!(bed.work("retry:1").await.next_retry_at, Some(bed.after(wait)));
        bed.wait(wait);
    }
    bed.leaves_open("it is retried for good");
}

async fn a_batch_that_cannot_be_written_is_split_and_the_row_at_fault_is_retried(bed: TestBed) {
    let rows: Vec<_> = (0..10).map(|n| new_work("test", &format!("deliver:{n}"), bed.now())).collect();
    bed.ensure(&rows).await;
    // The notifications of one row are refused: the other nine do not suffer.
    let refused = bed.work("deliver:4").await.id;
    bed.refuse("notifications", "INSERT", &format!("NEW.work_id = {refused}")).await;
    let report = bed.engine.due_tick(bed.now(), 100).await.unwrap();
    assert_eq!((report.completed, report.retried), (9, 1));
    bed.tick().await;
    assert_eq!(bed.sent().len(), 18);
    bed.leaves_open("what the database refuses is retried later");
}

async fn a_batch_that_meets_an_outage_is_written_a_moment_later_or_retried(bed: TestBed) {
    let rows: Vec<_> = (0..10).map(|n| new_work("test", &format!("deliver:{n}"), bed.now())).collect();
    bed.ensure(&rows[..5]).await;
    // Locked, and claimed: the next attempt works.
    bed.faults.fail("notifications.insert_absent", false, 2);
    let report = bed.engine.due_tick(bed.now(), 100).await.unwrap();
    assert_eq!((report.completed, report.retried), (5, 0));
    bed.ensure(&rows[5..]).await;
    bed.faults.fail("notifications.insert_absent", false, 3);
    let report = bed.engine.due_tick(bed.now(), 100).await.unwrap();
    assert_eq!((report.completed, report.retried), (0, 5));
    let report = bed.run_for(300).await.done;
    assert_eq!(report.due.completed, 5);
    assert_eq!(bed.sent().len(), 20);
}

async fn a_row_of_a_kind_that_nobody_knows_waits(bed: TestBed) {
    bed.ensure_one(new_work("unheard-of", "k:1", bed.now())).await;
    assert_eq!(bed.tick().await.due.claimed, 0);
    assert_eq!(bed.work("k:1").await.status.as_str(), "pending");
    bed.leaves_open("no workflow knows its kind");
}
