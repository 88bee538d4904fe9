//! Claims start behind what was settled. PostgreSQL alone: on SQLite the entries of settled rows are gone at once, and there are
//! no marks.

use jiff::SignedDuration;
use punctual_model::{ChannelKey, Decision};
use punctual_store::{
    Lane, Tx,
    notifications::{self, NotificationRow},
    work,
};
use punctual_testkit::{Database, TestBed, TestWorkflow, new_work};

async fn bed() -> TestBed {
    let workflow = TestWorkflow::new("test", |_: &punctual_engine::Claimed, _| Decision::Deliver(Vec::new()));
    TestBed::on(Database::Postgres).await.with(|bed| bed.workflow(workflow))
}

async fn done(bed: &TestBed, key: &str) -> bool {
    bed.work(key).await.status.as_str() == "completed"
}

async fn ensure(bed: &TestBed, prefix: &str, rows: usize, seconds_ago: i64) {
    let due = bed.now() - SignedDuration::from_secs(seconds_ago);
    let rows: Vec<_> = (0..rows).map(|n| new_work("test", &format!("{prefix}:{n}"), due)).collect();
    bed.ensure(&rows).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_was_committed_behind_the_mark_is_claimed_after_one_sweep() {
    let bed = bed().await;
    // Begun before the others are claimed, and committed after that; nothing notifies.
    let mut open = bed.store.begin(Lane::Intake).await.unwrap();
    let late = new_work("test", "late", bed.now() - SignedDuration::from_secs(120));
    work::insert_absent(&mut open.conn(), bed.now(), &[&late]).await.unwrap();
    ensure(&bed, "first", 10, 60).await;
    assert_eq!(bed.engine.due_tick(bed.now(), 10).await.unwrap().completed, 10);
    open.commit().await.unwrap();
    ensure(&bed, "second", 10, 30).await;
    assert_eq!(bed.engine.due_tick(bed.now(), 5).await.unwrap().completed, 5);
    assert!(!done(&bed, "late").await, "the claim started behind the mark, or this test shows nothing");
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!(bed.engine.due_tick(bed.now(), 1).await.unwrap().completed, 1);
    assert!(done(&bed, "late").await);
    assert_eq!(bed.engine.due_tick(bed.now(), 10).await.unwrap().completed, 5);
    bed.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_finds_nothing_behind_the_mark_starts_at_the_beginning() {
    let bed = bed().await;
    let mut open = bed.store.begin(Lane::Intake).await.unwrap();
    let late = new_work("test", "late", bed.now() - SignedDuration::from_secs(120));
    work::insert_absent(&mut open.conn(), bed.now(), &[&late]).await.unwrap();
    ensure(&bed, "first", 10, 60).await;
    assert_eq!(bed.engine.due_tick(bed.now(), 10).await.unwrap().completed, 10);
    open.commit().await.unwrap();
    assert_eq!(bed.engine.due_tick(bed.now(), 10).await.unwrap().completed, 1);
    assert!(done(&bed, "late").await);
    bed.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_this_process_writes_behind_the_mark_is_claimed_next() {
    let bed = bed().await;
    ensure(&bed, "first", 10, 60).await;
    assert_eq!(bed.engine.due_tick(bed.now(), 10).await.unwrap().completed, 10);
    ensure(&bed, "second", 10, 30).await;
    ensure(&bed, "late", 1, 120).await;
    assert_eq!(bed.engine.due_tick(bed.now(), 5).await.unwrap().completed, 5);
    assert!(done(&bed, "late:0").await, "oldest first");
    assert_eq!(bed.engine.due_tick(bed.now(), 10).await.unwrap().completed, 6);
    bed.finish().await;
}

/// A message that was ready so many seconds ago.
async fn message(tx: &mut Tx, bed: &TestBed, address: &str, seconds_ago: i64) -> String {
    let channel = ChannelKey::stored("memory:default");
    let mut row = NotificationRow::new(bed.message(address), channel, bed.now());
    row.ready_at = bed.now() - SignedDuration::from_secs(seconds_ago);
    notifications::insert_absent(&mut tx.conn(), &[&row]).await.unwrap();
    row.id.to_string()
}

async fn messages(bed: &TestBed, count: usize, seconds_ago: i64) {
    let mut tx = bed.begin().await;
    for n in 0..count {
        message(&mut tx, bed, &format!("{seconds_ago}-{n}@example.org"), seconds_ago).await;
    }
    tx.commit().await.unwrap();
}

async fn delivered(bed: &TestBed, limit: i64) -> usize {
    bed.engine.delivery_tick(bed.now(), limit).await.unwrap().delivered
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_was_committed_behind_the_mark_is_sent_after_one_sweep() {
    let bed = bed().await;
    let mut open = bed.store.begin(Lane::Intake).await.unwrap();
    let late = message(&mut open, &bed, "late@example.org", 120).await;
    messages(&bed, 10, 60).await;
    assert_eq!(delivered(&bed, 10).await, 10);
    open.commit().await.unwrap();
    messages(&bed, 10, 30).await;
    assert_eq!(delivered(&bed, 5).await, 5);
    let status = bed.notification(&late).await.status;
    assert_eq!(status.as_str(), "pending", "the claim started behind the mark, or this test shows nothing");
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!(delivered(&bed, 1).await, 1);
    assert_eq!(bed.notification(&late).await.status.as_str(), "delivered");
    assert_eq!(delivered(&bed, 10).await, 5);
    bed.finish().await;
}
