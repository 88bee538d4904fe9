//! What a transaction promises: all or nothing, a wake-up only with the commit, and faults where a test puts them.

use futures_util::FutureExt;
use punctual_store::{Lane, Stage, StoreError, attempts, facts};
use punctual_testkit::{TestBed, on_both, signal};

on_both! {
    what_is_not_committed_never_was;
    a_wake_up_comes_with_the_commit_and_names_the_earliest;
    a_fault_hits_the_statement_it_is_put_at_and_no_other;
    a_commit_may_fail_before_or_after_it_happened;
    a_caller_that_gives_up_leaves_no_transaction_open;
    a_set_that_fails_half_way_can_only_be_rolled_back;
    many_writers_take_turns;
    readers_are_not_held_up_by_a_writer;
    a_checkpoint_does_no_harm;
    a_node_that_notifies_others_does_so_once_a_commit with |bed| bed.notifies_nodes();
    a_node_with_workers_notifies_nobody;
}

async fn fact(bed: &TestBed, name: &str) -> Option<String> {
    facts::get(&mut bed.read().await.conn(), name).await.unwrap()
}

async fn what_is_not_committed_never_was(bed: TestBed) {
    let mut tx = bed.begin().await;
    facts::put(&mut tx.conn(), bed.now(), "x", "1").await.unwrap();
    assert_eq!(facts::get(&mut tx.conn(), "x").await.unwrap().as_deref(), Some("1"));
    assert_eq!(fact(&bed, "x").await, None, "nobody else sees it");
    drop(tx);
    let mut tx = bed.begin().await;
    assert_eq!(facts::get(&mut tx.conn(), "x").await.unwrap(), None);
}

async fn a_wake_up_comes_with_the_commit_and_names_the_earliest(bed: TestBed) {
    let wake = bed.store.wake();
    let mut tx = bed.begin().await;
    tx.raise(Stage::Work, bed.after(9));
    tx.raise(Stage::Work, bed.after(5));
    tx.raise(Stage::Delivery, bed.after(7));
    assert_eq!(wake.take(Stage::Work), None);
    tx.commit().await.unwrap();
    assert_eq!(wake.take(Stage::Work), Some(bed.after(5).as_microsecond()));
    assert_eq!(wake.take(Stage::Delivery), Some(bed.after(7).as_microsecond()));
    let mut tx = bed.begin().await;
    tx.raise(Stage::Work, bed.now());
    drop(tx);
    assert_eq!(wake.take(Stage::Work), None, "what was not committed wakes nobody");
}

async fn a_fault_hits_the_statement_it_is_put_at_and_no_other(bed: TestBed) {
    bed.faults.fail("facts.put", false, 1);
    let mut tx = bed.begin().await;
    let failed = facts::put(&mut tx.conn(), bed.now(), "x", "1").await;
    assert!(matches!(failed, Err(StoreError::Injected("facts.put"))), "{failed:?}");
    assert_eq!(facts::get(&mut tx.conn(), "x").await.unwrap(), None, "it did not run");
    facts::put(&mut tx.conn(), bed.now(), "x", "1").await.unwrap();
    bed.faults.fail("facts.put", true, 1);
    assert!(facts::put(&mut tx.conn(), bed.now(), "x", "2").await.is_err());
    assert_eq!(
        facts::get(&mut tx.conn(), "x").await.unwrap().as_deref(),
        Some("2"),
        "it ran and said that it had not"
    );
}

async fn a_commit_may_fail_before_or_after_it_happened(bed: TestBed) {
    for (executes, name) in [(false, "before"), (true, "after")] {
        bed.faults.fail("commit", executes, 1);
        let mut tx = bed.begin().await;
        facts::put(&mut tx.conn(), bed.now(), name, "1").await.unwrap();
        assert!(tx.commit().await.is_err());
        assert_eq!(fact(&bed, name).await.is_some(), executes);
    }
}

async fn a_caller_that_gives_up_leaves_no_transaction_open(bed: TestBed) {
    for n in 0..20 {
        drop(bed.store.begin(Lane::Intake).now_or_never());
        let mut tx = signal("a turn", bed.begin()).await;
        assert_eq!(facts::get(&mut tx.conn(), "given up").await.unwrap(), None);
        facts::put(&mut tx.conn(), bed.now(), "kept", &n.to_string()).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = bed.begin().await;
        drop(facts::put(&mut tx.conn(), bed.now(), "given up", "1").now_or_never());
        drop(tx);
        drop(fact(&bed, "kept").now_or_never());
        assert_eq!(signal("a read", fact(&bed, "kept")).await, Some(n.to_string()));
    }
    // Whether this one happens nobody can say; the next one has its turn all the same.
    drop(bed.begin().await.commit().now_or_never());
    signal("a turn", bed.begin()).await.commit().await.unwrap();
    assert_eq!(fact(&bed, "given up").await, None);
}

async fn a_set_that_fails_half_way_can_only_be_rolled_back(bed: TestBed) {
    let intent =
        |target: &str| attempts::Intent { seq: 1, target: target.into(), n: 1, channel: "memory".into() };
    let mut tx = bed.begin().await;
    let twice = [intent("a"), intent("b"), intent("a")];
    let failed = attempts::intend(&mut tx.conn(), bed.now(), "a", &twice).await;
    assert!(matches!(&failed, Err(error) if !error.is_unavailable()), "{failed:?}");
    let next = facts::put(&mut tx.conn(), bed.now(), "x", "1").await;
    assert!(next.is_err(), "the transaction went on with half a set");
    drop(tx.commit().await);
    assert_eq!(fact(&bed, "x").await, None);
    let written = attempts::of(&mut bed.read().await.conn(), vec![1]).await.unwrap();
    assert_eq!(written, []);
}

async fn many_writers_take_turns(bed: TestBed) {
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..16 {
        let bed = bed.clone();
        writers.spawn(async move {
            for _ in 0..10 {
                let lane = if n % 2 == 0 { Lane::Settle } else { Lane::Intake };
                let mut tx = bed.store.begin(lane).await.unwrap();
                facts::put(&mut tx.conn(), bed.now(), &format!("f-{n}"), "1").await.unwrap();
                tx.commit().await.unwrap();
            }
        });
    }
    signal("every turn", writers.join_all()).await;
    for n in 0..16 {
        assert!(fact(&bed, &format!("f-{n}")).await.is_some());
    }
}

async fn readers_are_not_held_up_by_a_writer(bed: TestBed) {
    let mut tx = bed.begin().await;
    facts::put(&mut tx.conn(), bed.now(), "x", "1").await.unwrap();
    for _ in 0..20 {
        assert_eq!(signal("a read", fact(&bed, "x")).await, None);
    }
    tx.commit().await.unwrap();
    assert_eq!(fact(&bed, "x").await.as_deref(), Some("1"));
}

async fn a_checkpoint_does_no_harm(bed: TestBed) {
    for n in 0..50 {
        let mut tx = bed.begin().await;
        facts::put(&mut tx.conn(), bed.now(), &format!("f-{n}"), &"x".repeat(2000)).await.unwrap();
        tx.commit().await.unwrap();
        bed.store.checkpoint().await.unwrap();
    }
    assert!(fact(&bed, "f-49").await.is_some());
}

async fn a_node_that_notifies_others_does_so_once_a_commit(bed: TestBed) {
    let Some(mut listener) = bed.store.listener().await.unwrap() else {
        assert!(bed.store.is_single_process(), "without other nodes there is nothing to listen to");
        return;
    };
    let mut tx = bed.begin().await;
    tx.raise(Stage::Work, bed.after(9));
    tx.raise(Stage::Delivery, bed.after(5));
    tx.commit().await.unwrap();
    let payload = signal("a notification", listener.recv()).await.unwrap();
    assert_eq!(payload, bed.after(5).as_microsecond().to_string());
    let mut tx = bed.begin().await;
    facts::put(&mut tx.conn(), bed.now(), "x", "nothing is ready").await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = bed.begin().await;
    tx.raise(Stage::Work, bed.after(11));
    tx.commit().await.unwrap();
    let payload = signal("the next notification", listener.recv()).await.unwrap();
    assert_eq!(
        payload,
        bed.after(11).as_microsecond().to_string(),
        "one a commit, and none without something ready"
    );
}

async fn a_node_with_workers_notifies_nobody(bed: TestBed) {
    let other = bed.node("b").await;
    let Some(mut listener) = bed.store.listener().await.unwrap() else { return };
    let mut tx = other.begin().await;
    tx.raise(Stage::Work, bed.now());
    tx.commit().await.unwrap();
    let mut conn = <sqlx::PgConnection as sqlx::Connection>::connect(bed.url()).await.unwrap();
    sqlx::query("SELECT pg_notify('punctual_ready', 'mark')").execute(&mut conn).await.unwrap();
    assert_eq!(signal("the mark", listener.recv()).await.unwrap(), "mark");
}
