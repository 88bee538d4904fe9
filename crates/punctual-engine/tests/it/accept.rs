//! Intake of notifications: once by id, one commit for many, and one bad request harms only itself.

use std::sync::Arc;

use punctual_engine::{Accepted, EngineError, Handed};
use punctual_model::{NewNotification, NotificationStatus};
use punctual_testkit::{TestBed, on_both};

on_both! {
    the_same_id_with_the_same_content_is_a_duplicate_and_answers_its_state;
    the_same_id_with_other_content_is_refused_and_changes_nothing;
    repeats_inside_one_set_are_resolved_the_same_way;
    many_at_once_are_gathered_and_each_gets_its_own_answer;
    one_id_handed_in_by_many_at_once_is_stored_once;
    a_group_that_fails_is_tried_one_by_one;
    a_group_that_meets_an_outage_is_answered_at_once;
    a_commit_that_was_not_confirmed_is_found_when_it_is_asked_again;
    a_request_that_is_given_up_does_not_take_the_others_with_it;
    nothing_handed_in_is_nothing_stored;
    a_message_may_say_not_before;
    figures_equal_a_recount;
}

async fn the_same_id_with_the_same_content_is_a_duplicate_and_answers_its_state(bed: TestBed) {
    let new = bed.message("a@example.org");
    assert_eq!(bed.accept(vec![new.clone()]).await, [Accepted::Created]);
    assert_eq!(
        bed.accept(vec![new.clone()]).await,
        [Accepted::Duplicate { status: NotificationStatus::Pending }]
    );
    bed.tick().await;
    assert_eq!(bed.accept(vec![new]).await, [Accepted::Duplicate { status: NotificationStatus::Delivered }]);
    assert_eq!(bed.tick().await.deliveries.claimed, 0);
    assert_eq!(bed.sent().len(), 1);
}

async fn the_same_id_with_other_content_is_refused_and_changes_nothing(bed: TestBed) {
    let new = bed.message("a@example.org");
    let id = bed.accept_one(new.clone()).await;
    let before = bed.notification(&id).await;
    let changes: [fn(&mut NewNotification); 4] = [
        |other| other.subject = "Other".into(),
        |other| other.body.push(' '),
        |other| other.source.site = Some("plant-7".into()),
        |other| other.audience = punctual_model::Audience::List("ops".into()),
    ];
    for change in changes {
        let mut other = new.clone();
        change(&mut other);
        assert_eq!(bed.accept(vec![other]).await, [Accepted::IdReused]);
    }
    assert_eq!(bed.notification(&id).await, before);
    assert_eq!(bed.tick().await.deliveries.delivered, 1);
}

async fn repeats_inside_one_set_are_resolved_the_same_way(bed: TestBed) {
    let (new, second) = (bed.message("a@example.org"), bed.message("b@example.org"));
    let mut other = new.clone();
    other.subject = "Other".into();
    let set = vec![new.clone(), second.clone(), new.clone(), other.clone()];
    let duplicate = Accepted::Duplicate { status: NotificationStatus::Pending };
    assert_eq!(
        bed.accept(set.clone()).await,
        [Accepted::Created, Accepted::Created, duplicate.clone(), Accepted::IdReused]
    );
    let again = bed.accept(set).await;
    assert_eq!(again, [duplicate.clone(), duplicate.clone(), duplicate, Accepted::IdReused]);
    assert_eq!(bed.tick().await.deliveries.delivered, 2);
}

async fn many_at_once_are_gathered_and_each_gets_its_own_answer(bed: TestBed) {
    let known = bed.message("known@example.org");
    bed.accept_one(known.clone()).await;
    let mut asking = tokio::task::JoinSet::new();
    for n in 0..200 {
        let engine = bed.engine.clone();
        let item = if n % 10 == 0 { known.clone() } else { bed.message(&format!("{n}@example.org")) };
        asking.spawn(async move { (n, engine.accept(vec![Handed::stored(item)]).await.unwrap()) });
    }
    for (n, answer) in asking.join_all().await {
        let expected = if n % 10 == 0 {
            Accepted::Duplicate { status: NotificationStatus::Pending }
        } else {
            Accepted::Created
        };
        assert_eq!(answer, [expected], "{n}");
    }
    assert_eq!(bed.tick().await.deliveries.delivered, 181);
}

async fn one_id_handed_in_by_many_at_once_is_stored_once(bed: TestBed) {
    let other_node = bed.node("b").await;
    for round in 0..20 {
        let new = bed.message(&format!("{round}@example.org"));
        let mut asking = tokio::task::JoinSet::new();
        for n in 0..8 {
            let engine = if n % 2 == 0 { bed.engine.clone() } else { other_node.engine.clone() };
            let new = new.clone();
            asking.spawn(async move { engine.accept(vec![Handed::stored(new)]).await.unwrap().remove(0) });
        }
        let answers = asking.join_all().await;
        assert_eq!(answers.iter().filter(|answer| **answer == Accepted::Created).count(), 1, "{answers:?}");
    }
    assert_eq!(bed.tick().await.deliveries.delivered, 20);
}

/// The commit slot is kept busy while the group gathers, so that all of it is in one commit.
async fn a_group_that_fails_is_tried_one_by_one(bed: TestBed) {
    // The group fails once, and then two of its jobs on their own: those two alone get the error.
    let blocker = bed.begin().await;
    let leading = bed.message("leading@example.org");
    let mut asking = tokio::task::JoinSet::new();
    if bed.store.is_single_process() {
        // SQLite's writer is taken, so the leading request waits in its commit.
        let engine = bed.engine.clone();
        asking.spawn(async move { engine.accept(vec![Handed::stored(leading)]).await });
    }
    for n in 0..20 {
        let engine = bed.engine.clone();
        let new = bed.message(&format!("{n}@example.org"));
        asking.spawn(async move { engine.accept(vec![Handed::stored(new)]).await });
    }
    tokio::task::yield_now().await;
    bed.faults.fail("notifications.insert_absent", false, 3);
    drop(blocker);
    let answers = asking.join_all().await;
    let failed = answers.iter().filter(|answer| matches!(answer, Err(EngineError::Store(_)))).count();
    let stored =
        answers.iter().filter(|answer| matches!(answer, Ok(one) if *one == [Accepted::Created])).count();
    assert!((1..=3).contains(&failed), "three failures harm three requests at most: {answers:?}");
    assert_eq!(failed + stored, answers.len());
    assert_eq!(
        bed.notifications().await.len(),
        stored,
        "acknowledged means stored, and refused means absent"
    );
    assert_eq!(bed.tick().await.deliveries.delivered, stored);
}

/// The database is gone for one statement: with each request retried alone, all but the first would be stored.
async fn a_group_that_meets_an_outage_is_answered_at_once(bed: TestBed) {
    let blocker = bed.begin().await;
    let mut asking = tokio::task::JoinSet::new();
    for n in 0..20 {
        let engine = bed.engine.clone();
        let new = bed.message(&format!("{n}@example.org"));
        asking.spawn(async move { engine.accept(vec![Handed::stored(new)]).await });
    }
    tokio::task::yield_now().await;
    bed.faults.lose_server("notifications.insert_absent", 3);
    drop(blocker);
    let answers = asking.join_all().await;
    let failed: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert!(failed.iter().all(|error| error.is_unavailable()), "{failed:?}");
    let shared = failed.iter().filter(|error| matches!(error, EngineError::Outage(_))).count();
    assert!(shared >= 9, "requests of one group get one answer: {answers:?}");
    let stored = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(bed.notifications().await.len(), stored);
}

async fn a_commit_that_was_not_confirmed_is_found_when_it_is_asked_again(bed: TestBed) {
    let new = bed.message("a@example.org");
    bed.faults.fail("commit", true, 1);
    assert!(
        bed.engine.accept(vec![Handed::stored(new.clone())]).await.is_err(),
        "nothing is acknowledged that is not certain"
    );
    assert_eq!(bed.accept(vec![new]).await, [Accepted::Duplicate { status: NotificationStatus::Pending }]);
    assert_eq!(bed.tick().await.deliveries.delivered, 1);
    assert_eq!(bed.sent().len(), 1);
}

async fn a_request_that_is_given_up_does_not_take_the_others_with_it(bed: TestBed) {
    let mut given_up = Vec::new();
    for n in 0..50 {
        let engine = bed.engine.clone();
        let new = bed.message(&format!("gone-{n}@example.org"));
        given_up.push(tokio::spawn(async move { engine.accept(vec![Handed::stored(new)]).await }));
    }
    let mut staying = tokio::task::JoinSet::new();
    for n in 0..50 {
        let engine = bed.engine.clone();
        let new = bed.message(&format!("stays-{n}@example.org"));
        staying.spawn(async move { engine.accept(vec![Handed::stored(new)]).await });
    }
    given_up.iter().for_each(tokio::task::JoinHandle::abort);
    let stored = staying.join_all().await;
    assert!(stored.iter().all(|answer| matches!(answer, Ok(one) if *one == [Accepted::Created])));
    // A request that was given up may or may not have been stored; its group is, and settles like any other.
    for task in given_up {
        let _ = task.await;
    }
    bed.accept_one(bed.message("last@example.org")).await;
    assert!(bed.tick().await.deliveries.delivered >= 51);
}

async fn nothing_handed_in_is_nothing_stored(bed: TestBed) {
    assert_eq!(bed.accept(Vec::new()).await, []);
    assert_eq!(bed.notifications().await, []);
}

async fn a_message_may_say_not_before(bed: TestBed) {
    let mut new = bed.message("a@example.org");
    new.not_before = Some(bed.after(600));
    let id = bed.accept_one(new).await;
    assert_eq!(bed.tick().await.deliveries.claimed, 0);
    assert_eq!(bed.notification(&id).await.ready_at, bed.after(600));
    let advanced = bed.run_for(600).await;
    assert_eq!((advanced.steps, advanced.done.deliveries.delivered), (1, 1));
}

/// Every figure equals a plain recount on the same rows.
async fn figures_equal_a_recount(bed: TestBed) {
    use punctual_channels::Misbehaviour::{LostReply, Permanent, Transient};
    let channel: punctual_model::ChannelKey = "memory:default".parse().unwrap();
    let hand_in = async |count: usize, site: Option<&str>| {
        let items = (0..count).map(|n| {
            let mut new = bed.message(&format!("{n}@example.org"));
            new.source.site = site.map(str::to_owned);
            if n == 0 {
                new.kind = "event".into();
            }
            new
        });
        bed.accept(items.collect()).await;
    };
    hand_in(5, None).await;
    hand_in(7, Some("plant-7")).await;
    bed.tick().await;
    bed.captured.misbehave(channel.clone(), Permanent, 4, "550 no");
    hand_in(4, Some("plant-7")).await;
    bed.tick().await;
    bed.captured.misbehave(channel.clone(), Transient, 3, "451 later");
    hand_in(3, None).await;
    bed.tick().await;
    bed.captured.misbehave(channel, LostReply, 2, "no answer");
    hand_in(2, Some("plant-8")).await;
    bed.tick().await;
    bed.wait(30);
    let mut later = bed.message("later@example.org");
    later.not_before = Some(bed.after(7200));
    bed.accept_one(later).await;
    for minutes in [0, 11] {
        bed.wait(minutes * 60);
        let kpis = bed.engine.outbox_kpis(None).await.unwrap();
        let of_plant = bed.engine.outbox_kpis(Some("plant-7")).await.unwrap().total;
        let now = bed.now().as_microsecond();
        let all = Arc::new(bed.notifications().await);
        let count =
            |site: Option<&str>, wanted: &dyn Fn(&punctual_store::notifications::NotificationRow) -> bool| {
                let of_site = |row: &&punctual_store::notifications::NotificationRow| {
                    site.is_none_or(|site| row.source_site.as_deref() == Some(site))
                };
                all.iter().filter(of_site).filter(|row| row.kind != "event" && wanted(row)).count() as i64
            };
        let live = |row: &punctual_store::notifications::NotificationRow| {
            matches!(row.status.as_str(), "pending" | "retrying")
        };
        let before = |seconds: i64| jiff::Timestamp::from_microsecond(now - seconds * 1_000_000).unwrap();
        let old = before(600);
        for (site, total) in [(None, &kpis.total), (Some("plant-7"), &of_plant)] {
            assert_eq!(total.queue_depth, count(site, &live));
            let stuck = |row: &punctual_store::notifications::NotificationRow| {
                live(row) && row.created_at < old && (row.status.as_str() == "retrying" || row.ready_at < old)
            };
            assert_eq!(total.stuck, count(site, &stuck));
            assert_eq!(total.parked, count(site, &|row| row.status.as_str() == "parked"));
            assert_eq!(
                total.delivered,
                count(site, &|row| row.delivered_at.is_some_and(|at| at >= before(60)))
            );
            assert_eq!(total.uncertain, count(site, &|row| row.uncertain > 0));
        }
        assert!(kpis.total.queue_depth > 0 && kpis.total.parked > 0 && kpis.total.uncertain > 0);
        assert_eq!(kpis.total.stuck > 0, minutes > 0);
        let oldest =
            all.iter().filter(|row| live(row) && row.kind != "event").map(|row| row.created_at).min();
        assert_eq!(kpis.total.oldest_created_at, oldest.map(|at| at.as_microsecond()));
        for site in &kpis.by_site {
            assert_eq!(site.queue_depth, count(Some(&site.site), &live), "{}", site.site);
            assert_eq!(
                site.parked,
                count(Some(&site.site), &|row| row.status.as_str() == "parked"),
                "{}",
                site.site
            );
        }
    }
    bed.leaves_open("some are retried later");
}
