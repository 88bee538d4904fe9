//! Retention removes only what is finished, and forgetting never reopens an id (R3, R24).

use punctual_channels::Misbehaviour;
use punctual_engine::{Accepted, Actor, CommandError, EngineError};
use punctual_model::NotificationStatus;
use punctual_store::notifications::{self, NotificationRow};
use punctual_testkit::{Database, TestBed, TestBedBuilder, on_both, scale};

on_both! {
    r24_only_what_is_finished_and_past_its_window_is_removed;
    r03_a_purged_id_never_sends_again;
    r03_an_id_that_is_being_purged_is_not_reopened;
    r03_a_tombstone_with_an_unknown_status_stops_its_own_id_alone;
    r03_a_purge_waits_for_transactions_that_do_not_see_its_tombstones;
    r24_a_purge_and_an_operators_retry_never_lose_a_live_row with small_batches;
    r24_a_clock_two_years_ahead_removes_no_live_row;
    r24_a_purge_of_an_unusual_share_waits_for_a_person with cautious;
    r24_an_installation_that_went_quiet_purges_by_itself with cautious;
    a_purge_says_what_it_did_and_forgets_old_answers;
    a_purge_removes_sessions_and_links_that_have_ended;
}

const DAY: i64 = 86_400;

fn small_batches(bed: TestBedBuilder) -> TestBedBuilder {
    bed.config(|config| config.purge_batch = 7)
}

fn cautious(bed: TestBedBuilder) -> TestBedBuilder {
    bed.config(|config| config.purge_unasked = 3)
}

/// As a later version might have written it: the table has no CHECK.
async fn r03_a_tombstone_with_an_unknown_status_stops_its_own_id_alone(bed: TestBed) {
    let (bad, good) = (bed.message("bad@example.org"), bed.message("good@example.org"));
    bed.accept(vec![bad.clone(), good.clone()]).await;
    bed.tick().await;
    bed.wait(366 * DAY);
    bed.engine.purge_confirmed(bed.now()).await.unwrap();
    // tidy-allow: an id of the test's own
    bed.run_sql(&format!("UPDATE tombstones SET status = 'bounced' WHERE id = '{}'", bad.id)).await.unwrap();
    let mut other = bad.clone();
    other.subject = "something else".to_owned();
    let answers = bed.accept(vec![bad.clone(), good, bed.message("new@example.org")]).await;
    let status = NotificationStatus::Delivered;
    assert_eq!(answers, [Accepted::Unreadable, Accepted::Duplicate { status }, Accepted::Created]);
    assert_eq!(bed.accept(vec![other]).await, [Accepted::IdReused], "its content is known all the same");
    // What a site hands over again is a duplicate, whatever has become of it.
    assert_eq!(bed.engine.take_from_site("x", vec![bad]).await.unwrap(), [Accepted::Unreadable]);
    bed.tick().await;
    assert_eq!(bed.sent_to().len(), 3);
}

async fn r24_a_purge_of_an_unusual_share_waits_for_a_person(bed: TestBed) {
    let to = |name: &str, count: usize| {
        (0..count).map(|n| bed.message(&format!("{name}{n}@example.org"))).collect()
    };
    bed.accept(to("old", 6)).await;
    bed.tick().await;
    bed.wait(366 * DAY);
    let held = bed.engine.purge(bed.now()).await.unwrap();
    assert_eq!((held.removed, held.held_back), (0, Some(6)), "everything at once is no usual day");
    assert_eq!(bed.engine.last_purge().await.unwrap(), Some(held), "and people can see that it waits");
    assert_eq!(bed.notifications().await.len(), 6);
    bed.accept(to("young", 6)).await;
    bed.tick().await;
    let usual = bed.engine.purge(bed.now()).await.unwrap();
    assert_eq!((usual.removed, usual.held_back), (6, None), "half of them is not more than half");
    bed.wait(366 * DAY);
    assert_eq!(bed.engine.purge(bed.now()).await.unwrap().held_back, Some(6));
    let confirmed = bed.engine.purge_confirmed(bed.now()).await.unwrap();
    assert_eq!((confirmed.removed, confirmed.held_back), (6, None));
}

async fn r24_an_installation_that_went_quiet_purges_by_itself(bed: TestBed) {
    bed.engine.purge(bed.now()).await.unwrap();
    let all = (0..6).map(|n| bed.message(&format!("{n}@example.org"))).collect();
    bed.accept(all).await;
    bed.tick().await;
    // Nothing comes any more, and the purge runs every day.
    for _ in 0..365 {
        bed.wait(DAY);
        assert_eq!(bed.engine.purge(bed.now()).await.unwrap().held_back, None);
    }
    assert_eq!(bed.notifications().await.len(), 6);
    bed.wait(DAY);
    let last = bed.engine.purge(bed.now()).await.unwrap();
    assert_eq!((last.removed, last.held_back), (6, None), "all that there is, day by day");
    // A clock that leaps is another thing, also on the days after it.
    bed.accept((0..6).map(|n| bed.message(&format!("new{n}@example.org"))).collect()).await;
    bed.tick().await;
    bed.wait(800 * DAY);
    for _ in 0..2 {
        let held = bed.engine.purge(bed.now()).await.unwrap();
        assert_eq!((held.removed, held.held_back), (0, Some(6)));
        bed.wait(DAY);
    }
}

async fn parked(bed: &TestBed, address: &str) -> String {
    bed.captured.misbehave("memory:default".parse().unwrap(), Misbehaviour::Permanent, 1, "no");
    let id = bed.accept_one(bed.message(address)).await;
    bed.tick().await;
    id
}

async fn r24_only_what_is_finished_and_past_its_window_is_removed(bed: TestBed) {
    let mut future = bed.message("future@example.org");
    future.not_before = Some(bed.after(800 * DAY));
    let live = bed.accept_one(future).await;
    let old = [bed.accept_to(&["a@example.org"]).await.remove(0), parked(&bed, "b@example.org").await];
    let discarded = parked(&bed, "c@example.org").await;
    bed.engine.discard_notification(&Actor::named("ann"), &discarded, None).await.unwrap();
    bed.wait(DAY);
    let young = bed.accept_to(&["d@example.org"]).await.remove(0);
    bed.tick().await;
    bed.wait(364 * DAY);
    assert_eq!(bed.engine.purge(bed.now()).await.unwrap().removed, 0, "exactly a year is kept");
    bed.wait(1);
    assert_eq!(bed.engine.purge(bed.now()).await.unwrap().removed, 3);
    let mut left: Vec<String> = bed.notifications().await.into_iter().map(|row| row.id.to_string()).collect();
    let mut expected = vec![live, young];
    left.sort();
    expected.sort();
    assert_eq!(left, expected);
    for id in old {
        assert!(matches!(
            bed.engine.notification_row(&punctual_model::Reach::Everything, &id).await,
            Err(EngineError::NotFound)
        ));
    }
    bed.leaves_open("one lies in the future");
}

async fn r03_a_purged_id_never_sends_again(bed: TestBed) {
    let new: Vec<_> = (0..300).map(|n| bed.message(&format!("{n}@example.org"))).collect();
    bed.accept(new.clone()).await;
    bed.tick().await;
    bed.wait(366 * DAY);
    assert_eq!(bed.engine.purge(bed.now()).await.unwrap().removed, 300);
    let again = bed.accept(new.clone()).await;
    assert!(
        again.iter().all(|answer| *answer == Accepted::Duplicate { status: NotificationStatus::Delivered }),
        "{again:?}"
    );
    let mut other = new[0].clone();
    other.body = "Other".into();
    assert_eq!(bed.accept(vec![other]).await, [Accepted::IdReused], "its digest is remembered too");
    assert_eq!(bed.tick().await.deliveries.claimed, 0);
    assert_eq!(bed.sent().len(), 300);
    assert_eq!(bed.notifications().await.len(), 0);
}

/// A repeat that arrives while its id is being purged finds the row or its tombstone, and waits for nobody.
async fn r03_an_id_that_is_being_purged_is_not_reopened(bed: TestBed) {
    let new = bed.message("a@example.org");
    bed.accept_one(new.clone()).await;
    bed.tick().await;
    bed.wait(366 * DAY);
    let known = [Accepted::Duplicate { status: NotificationStatus::Delivered }];
    let mut burying = bed.begin().await;
    let buried = notifications::bury(&mut burying.conn(), bed.now(), bed.after(-1), 10).await.unwrap();
    assert_eq!(buried.len(), 1);
    if bed.database() == Database::Postgres {
        // Its tombstone cannot be seen yet, and the row is there.
        assert_eq!(bed.accept(vec![new.clone()]).await, known);
    }
    burying.commit().await.unwrap();
    assert_eq!(bed.accept(vec![new.clone()]).await, known);
    let mut removing = bed.begin().await;
    notifications::remove_buried(&mut removing.conn(), bed.after(-1), buried).await.unwrap();
    if bed.database() == Database::Postgres {
        assert_eq!(bed.accept(vec![new.clone()]).await, known);
    }
    removing.commit().await.unwrap();
    assert_eq!(bed.accept(vec![new]).await, known);
    assert_eq!(bed.notifications().await.len(), 0);
    assert_eq!(bed.tick().await.deliveries.claimed, 0);
}

/// On PostgreSQL: a statement that began before the tombstones could be seen may insert. Rows go once it has ended.
async fn r03_a_purge_waits_for_transactions_that_do_not_see_its_tombstones(bed: TestBed) {
    bed.accept_one(bed.message("a@example.org")).await;
    bed.tick().await;
    bed.wait(366 * DAY);
    if bed.database() == Database::Sqlite {
        assert_eq!(bed.engine.purge(bed.now()).await.unwrap().removed, 1);
        return;
    }
    let mut writing = bed.begin().await;
    let row =
        NotificationRow::new(bed.message("b@example.org"), "memory:default".parse().unwrap(), bed.now());
    notifications::insert_absent(&mut writing.conn(), &[&row]).await.unwrap();
    let purging = tokio::spawn({
        let (engine, now) = (bed.engine.clone(), bed.now());
        async move { engine.purge(now).await.unwrap().removed }
    });
    // It has buried the row, and looks again and again whether the writer has ended.
    let writers = async || notifications::writers(&mut bed.read().await.conn()).await.unwrap().len();
    for _ in 0..20 {
        assert_eq!(writers().await, 1);
    }
    assert_eq!(bed.notifications().await.len(), 1, "the old row is still there");
    assert!(!purging.is_finished());
    writing.commit().await.unwrap();
    assert_eq!(purging.await.unwrap(), 1);
    bed.tick().await;
}

/// Ends in a live row or a clear refusal, never in a deleted pending row.
async fn r24_a_purge_and_an_operators_retry_never_lose_a_live_row(bed: TestBed) {
    let rounds = scale(10, 200);
    for round in 0..rounds {
        let mut ids = Vec::new();
        bed.captured.misbehave("memory:default".parse().unwrap(), Misbehaviour::Permanent, 40, "no");
        for n in 0..40 {
            ids.push(bed.accept_one(bed.message(&format!("{round}-{n}@example.org"))).await);
        }
        bed.tick().await;
        bed.wait(400 * DAY);
        let purging = tokio::spawn({
            let (engine, now) = (bed.engine.clone(), bed.now());
            async move { engine.purge(now).await.unwrap().removed }
        });
        let mut retrying = tokio::task::JoinSet::new();
        for id in ids {
            let engine = bed.engine.clone();
            retrying
                .spawn(async move { (engine.retry_notification(&Actor::named("ann"), &id, None).await, id) });
        }
        let mut retried = 0;
        for (answer, id) in retrying.join_all().await {
            match answer {
                Ok(row) => {
                    retried += 1;
                    assert_eq!(row.status.as_str(), "pending");
                    assert_eq!(
                        bed.notification(&id).await.status.as_str(),
                        "pending",
                        "a live row is not purged"
                    );
                }
                Err(CommandError::NotFound { .. } | CommandError::Engine(EngineError::NotFound)) => {}
                Err(other) => panic!("not a clear refusal: {other}"),
            }
        }
        let removed = purging.await.unwrap();
        assert_eq!(removed + retried, 40);
        assert_eq!(bed.tick().await.deliveries.delivered, retried);
        bed.wait(400 * DAY);
        bed.engine.purge(bed.now()).await.unwrap();
    }
}

async fn r24_a_clock_two_years_ahead_removes_no_live_row(bed: TestBed) {
    bed.captured.misbehave("memory:default".parse().unwrap(), Misbehaviour::Transient, 1, "busy");
    let ids = bed.accept_to(&["a@example.org"]).await;
    bed.engine.delivery_tick(bed.now(), 10).await.unwrap();
    let pending = bed.accept_to(&["b@example.org"]).await;
    bed.wait(730 * DAY);
    assert_eq!(bed.engine.purge(bed.now()).await.unwrap().removed, 0);
    assert_eq!(bed.notification(&ids[0]).await.status.as_str(), "retrying");
    assert_eq!(bed.notification(&pending[0]).await.status.as_str(), "pending");
    assert_eq!(bed.tick().await.deliveries.delivered, 2);
}

async fn a_purge_removes_sessions_and_links_that_have_ended(bed: TestBed) {
    use punctual_store::{
        invitations,
        sessions::{self, Owner},
        sign_on_answers,
    };
    let (now, ann) = (bed.now(), Owner::User("ann".to_owned()));
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    for (word, lasts) in [("ended", 60), ("open", 2 * DAY)] {
        let end = bed.after(lasts);
        sessions::insert(conn, now, &format!("{word}-session"), &ann, None, end).await.unwrap();
        sessions::insert_link(conn, now, &format!("{word}-link"), "key", end).await.unwrap();
        sign_on_answers::use_once(conn, now, &format!("{word}-answer"), end).await.unwrap();
        invitations::put(conn, now, &format!("{word}-invitation"), word, end).await.unwrap();
    }
    tx.commit().await.unwrap();
    let tables = ["invitations.hash", "sessions.hash", "sign_in_links.hash", "sign_on_answers.hash"]
        .map(str::to_owned);
    let with = async |text| {
        let mut found = bed.columns_with(text).await;
        found.retain(|column| column.ends_with(".hash"));
        found.sort_unstable();
        found
    };
    assert_eq!(with("ended-").await, tables);
    bed.wait(DAY);
    bed.engine.purge(bed.now()).await.unwrap();
    assert_eq!(with("ended-").await, Vec::<String>::new());
    assert_eq!(with("open-").await, tables, "what has not ended stays");
}

async fn a_purge_says_what_it_did_and_forgets_old_answers(bed: TestBed) {
    use punctual_store::idempotency::{self, Answered};
    assert_eq!(bed.engine.last_purge().await.unwrap(), None);
    let answer = Answered { digest: "d".into(), status: 201, body: "{}".into() };
    let mut tx = bed.begin().await;
    idempotency::remember(&mut tx.conn(), bed.now(), "ann", "k", &answer).await.unwrap();
    tx.commit().await.unwrap();
    bed.wait(DAY + 1);
    let report = bed.engine.purge(bed.now()).await.unwrap();
    assert_eq!(bed.engine.last_purge().await.unwrap(), Some(report.clone()));
    assert_eq!((report.removed, report.keep_for_days, report.at), (0, 365, bed.now()));
    assert_eq!(idempotency::find(&mut bed.read().await.conn(), "ann", "k").await.unwrap(), None);
}
