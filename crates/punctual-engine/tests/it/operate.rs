//! What people do: each act is audited, and refused clearly where the state does not allow it.

use punctual_channels::Misbehaviour;
use punctual_engine::{
    Actor, CommandError, EngineError,
    operate::{NotificationAction, WorkAction},
};
use punctual_model::{Audience, Decision, NewNotification, NotificationId, ReasonCode};
use punctual_store::work::WorkRow;
use punctual_testkit::{TestBed, TestWorkflow, new_work, on_both};

on_both! {
    a_support_retry_is_a_new_row_linked_to_the_old_one;
    r03_a_completed_row_is_repeated_once_for_each_time_it_was_seen;
    a_row_that_waits_is_not_retried;
    a_cancelled_row_is_brought_back_by_a_person;
    a_row_under_way_is_not_cancelled;
    a_discarded_notification_stays_and_is_not_retried;
    what_is_not_parked_is_neither_retried_nor_discarded;
    what_is_not_there_is_not_found;
    a_row_that_has_moved_on_is_left_alone_with_its_audit;
}

fn sending(bed: &TestBed) -> TestBed {
    bed.with(|bed| {
        bed.workflow(TestWorkflow::new("test", |row, _| {
            if row.key.starts_with("skip") {
                return Decision::Skip(ReasonCode::NoRecipients);
            }
            let audience = Audience::Targets(vec!["a@example.org".into()]);
            let mut new = NewNotification::new(NotificationId(Default::default()), audience, "Due", "Now");
            new.channel = "memory:default".parse().ok();
            Decision::Deliver(vec![new])
        }))
    })
}

fn refused<T: std::fmt::Debug>(answer: Result<T, CommandError>) -> String {
    match answer {
        Err(CommandError::Engine(error @ EngineError::StateNotAllowed { .. })) => error.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

async fn a_support_retry_is_a_new_row_linked_to_the_old_one(bed: TestBed) {
    let bed = sending(&bed);
    let id = bed.ensure_one(new_work("test", "k:1", bed.now())).await.id;
    bed.tick().await;
    let before = bed.work_by_id(id).await;
    for n in 1..=2 {
        let retry = bed.engine.retry_work(&Actor::named("ann"), id, None).await.unwrap();
        assert_eq!((retry.key, retry.retry_of), (format!("k:1:support-retry:{n}"), Some(id)));
        assert_eq!(bed.tick().await.deliveries.delivered, 1);
    }
    assert_eq!(bed.sent().len(), 3, "a support retry sends again, under its own key");
    let after = bed.work_by_id(id).await;
    assert_eq!(after.version, before.version + 2, "each repeat gives the first row a new version");
    assert_eq!(WorkRow { version: before.version, ..after }, before, "in all else it is as it was");
    let ids: std::collections::HashSet<String> =
        bed.notifications().await.into_iter().map(|row| row.id.to_string()).collect();
    assert_eq!(ids.len(), 3);
}

async fn r03_a_completed_row_is_repeated_once_for_each_time_it_was_seen(bed: TestBed) {
    let bed = sending(&bed);
    let id = bed.ensure_one(new_work("test", "k:1", bed.now())).await.id;
    bed.tick().await;
    let ann = Actor::named("ann");
    let seen = Some(bed.work_by_id(id).await.version);
    // A double click: both requests say what was seen before the first of them.
    let clicks = futures_util::future::join_all((0..4).map(|_| bed.engine.retry_work(&ann, id, seen))).await;
    assert_eq!(clicks.iter().filter(|click| click.is_ok()).count(), 1, "{clicks:?}");
    bed.tick().await;
    assert!(matches!(bed.engine.retry_work(&ann, id, seen).await, Err(CommandError::Stale)));
    assert_eq!(bed.sent().len(), 2);
    let seen = Some(bed.work_by_id(id).await.version);
    bed.engine.retry_work(&ann, id, seen).await.unwrap();
    bed.tick().await;
    assert_eq!(bed.sent().len(), 3, "who looks again may repeat it again");
}

async fn a_row_that_waits_is_not_retried(bed: TestBed) {
    let id = bed.ensure_one(new_work("test", "k:1", bed.now())).await.id;
    assert!(refused(bed.engine.retry_work(&Actor::named("ann"), id, None).await).contains("pending"));
    bed.leaves_open("nothing works it");
}

async fn a_cancelled_row_is_brought_back_by_a_person(bed: TestBed) {
    let bed = sending(&bed);
    let id = bed.ensure_one(new_work("test", "skip:1", bed.now())).await.id;
    bed.engine.cancel_work(&Actor::named("ann"), id, None).await.unwrap();
    assert_eq!(bed.tick().await.due.claimed, 0);
    bed.engine.retry_work(&Actor::named("bob"), id, None).await.unwrap();
    assert_eq!(bed.tick().await.due.deactivated, 1);
    let entries = punctual_store::audit::of(
        &mut bed.read().await.conn(),
        &punctual_model::Reach::Everything,
        "work",
        &id.to_string(),
    )
    .await
    .unwrap();
    let reported: Vec<_> =
        entries.iter().map(|row| (row.actor.as_str(), row.action.as_str(), row.version)).collect();
    assert_eq!(
        reported,
        [("ann", "cancel", Some(2)), ("bob", "retry", Some(3)), ("engine", "deactivate", Some(4))]
    );
}

async fn a_row_under_way_is_not_cancelled(bed: TestBed) {
    let id = bed.ensure_one(new_work("test", "k:1", bed.now())).await.id;
    let mut tx = bed.begin().await;
    punctual_store::work::claim(&mut tx, "test", bed.now(), bed.after(60), 1).await.unwrap();
    tx.commit().await.unwrap();
    let text = refused(bed.engine.cancel_work(&Actor::named("ann"), id, None).await);
    assert_eq!(text, "work is processing; only pending and failed rows can be cancelled");
    assert!(bed.audit("work", &id.to_string()).await.is_empty(), "what did not happen is not written down");
    bed.leaves_open("a worker has it");
}

async fn parked(bed: &TestBed) -> String {
    bed.captured.misbehave("memory:default".parse().unwrap(), Misbehaviour::Permanent, 1, "no");
    let id = bed.accept_one(bed.message("a@example.org")).await;
    bed.tick().await;
    id
}

async fn a_discarded_notification_stays_and_is_not_retried(bed: TestBed) {
    let id = parked(&bed).await;
    let row = bed.engine.discard_notification(&Actor::named("ann"), &id, None).await.unwrap();
    assert_eq!(row.status.as_str(), "discarded");
    assert!(
        refused(bed.engine.retry_notification(&Actor::named("ann"), &id, None).await).contains("discarded")
    );
    assert_eq!(
        bed.audit("notification", &id).await,
        ["park:rejected-by-receiver", "discard:rejected-by-receiver"]
    );
}

async fn what_is_not_parked_is_neither_retried_nor_discarded(bed: TestBed) {
    let id = bed.accept_one(bed.message("a@example.org")).await;
    for state in ["pending", "delivered"] {
        assert!(
            refused(bed.engine.retry_notification(&Actor::named("ann"), &id, None).await).contains(state)
        );
        assert!(
            refused(bed.engine.discard_notification(&Actor::named("ann"), &id, None).await).contains(state)
        );
        bed.tick().await;
    }
}

async fn what_is_not_there_is_not_found(bed: TestBed) {
    let ann = Actor::named("ann");
    for action in [WorkAction::Release, WorkAction::Retry, WorkAction::Cancel] {
        let refused = bed.engine.act_on_work(&ann, action, 99, None).await;
        assert!(matches!(refused, Err(CommandError::NotFound { .. })), "{refused:?}");
    }
    let id = NotificationId(Default::default()).to_string();
    for action in [NotificationAction::Retry, NotificationAction::Discard, NotificationAction::Acknowledge] {
        let refused = bed.engine.act_on_notification(&ann, action, &id, None).await;
        assert!(matches!(refused, Err(CommandError::NotFound { .. })), "{refused:?}");
    }
    assert!(matches!(
        bed.engine.timeline(&punctual_model::Reach::Everything, &id).await,
        Err(EngineError::NotFound)
    ));
}

async fn a_row_that_has_moved_on_is_left_alone_with_its_audit(bed: TestBed) {
    let held = bed.ensure_one(new_work("test", "waits", bed.after(60))).await.id;
    let row = bed.engine.work_row(&punctual_model::Reach::Everything, held).await.unwrap();
    let ann = Actor::named("ann").because(Some("not this year"));
    let stale = bed.engine.cancel_work(&ann, held, Some(row.version + 1)).await;
    assert!(matches!(stale, Err(CommandError::Stale)), "{stale:?}");
    let limited = Actor::key("limited", Some(vec!["nz".to_owned()]));
    let foreign = bed.engine.cancel_work(&limited, held, Some(row.version)).await;
    assert!(matches!(foreign, Err(CommandError::NotFound { .. })), "{foreign:?}");
    assert_eq!(bed.engine.work_row(&punctual_model::Reach::Everything, held).await.unwrap(), row);
    assert!(bed.audit("work", &held.to_string()).await.is_empty());

    // The action and the reason that was given for it are one commit: where it fails there is neither.
    bed.faults.fail("audit.append", false, 1);
    assert!(bed.engine.cancel_work(&ann, held, Some(row.version)).await.is_err());
    assert_eq!(bed.engine.work_row(&punctual_model::Reach::Everything, held).await.unwrap(), row);
    bed.engine.cancel_work(&ann, held, Some(row.version)).await.unwrap();
    assert_eq!(bed.audit("work", &held.to_string()).await, ["cancel", "note:not this year"]);
}
