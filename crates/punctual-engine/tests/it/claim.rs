//! What a claim takes, and what a token is worth (S0.39 to S0.42, R7).

use std::sync::Arc;

use punctual_engine::Actor;
use punctual_model::{Decision, ReasonCode, WorkStatus};
use punctual_store::{Lane, work};
use punctual_testkit::{TestBed, TestWorkflow, new_work, on_both, signal};
use tokio::sync::Semaphore;

on_both! {
    a_row_that_is_due_is_claimed_with_a_lease_and_a_token;
    each_condition_alone_keeps_a_row_from_being_claimed;
    a_claim_takes_the_oldest_first_and_no_more_than_asked;
    a_claim_takes_one_kind_only;
    r07_a_stale_token_changes_nothing;
    r07_a_stalled_worker_cannot_overwrite_the_one_that_took_over;
    a_long_running_row_keeps_its_lease_while_it_is_prepared;
    a_clock_that_is_moved_waits_for_what_the_loops_prepare;
}

async fn a_row_that_is_due_is_claimed_with_a_lease_and_a_token(bed: TestBed) {
    bed.ensure_one(new_work("test", "k:1", bed.now())).await;
    let mut tx = bed.begin().await;
    let claimed = work::claim(&mut tx, "test", bed.now(), bed.after(60), 10).await.unwrap();
    tx.commit().await.unwrap();
    let row = bed.work("k:1").await;
    assert_eq!(row.status.as_str(), "processing");
    assert_eq!(row.lease_expires_at, Some(bed.after(60)));
    assert_eq!((claimed[0].version, row.version), (2, 2), "a claim raises the version by one");
    bed.leaves_open("it was only claimed");
}

/// One row that is ready, and for each condition one that fails it alone.
async fn each_condition_alone_keeps_a_row_from_being_claimed(bed: TestBed) {
    for key in ["ready", "status", "due", "retry", "hold"] {
        bed.ensure_one(new_work("test", key, bed.now())).await;
    }
    bed.ensure_one(new_work("test", "due", bed.after(1))).await;
    let id = bed.work("status").await.id;
    bed.engine.cancel_work(&Actor::named("ann"), id, None).await.unwrap();
    let other = punctual_testkit::new_work_with("test", "hold", bed.now(), &serde_json::json!(1));
    bed.ensure_one(other).await;
    // Claimed once and put back with a later retry: due, but not ready.
    let id = bed.work("retry").await.id;
    let mut tx = bed.begin().await;
    let claimed = work::claim(&mut tx, "test", bed.now(), bed.after(60), 10).await.unwrap();
    let rows: Vec<work::Settlement> = claimed
        .iter()
        .map(|row| work::Settlement {
            id: row.id,
            token: row.version,
            status: WorkStatus::Pending,
            reason: None,
            on_hold: false,
            retry_count: row.retry_count,
            retry_at: (row.id == id).then(|| bed.after(2)),
            result: None,
            open_notifications: 0,
        })
        .collect();
    assert_eq!(work::settle(&mut tx.conn(), bed.now(), &rows).await.unwrap().len(), 2);
    tx.commit().await.unwrap();

    assert_eq!(claim_keys(&bed).await, ["ready"]);
    bed.wait(1);
    assert_eq!(claim_keys(&bed).await, ["due"]);
    bed.wait(1);
    assert_eq!(claim_keys(&bed).await, ["retry"]);
    let held = bed.work("hold").await.id;
    bed.engine.release_work(&Actor::named("ann"), held, None).await.unwrap();
    assert_eq!(claim_keys(&bed).await, ["hold"], "a released hold is claimed at once");
    assert_eq!(bed.work("status").await.status.as_str(), "cancelled");
    bed.leaves_open("they were only claimed");
}

async fn claim_keys(bed: &TestBed) -> Vec<String> {
    let mut tx = bed.begin().await;
    let claimed = work::claim(&mut tx, "test", bed.now(), bed.after(60), 10).await.unwrap();
    tx.commit().await.unwrap();
    claimed.into_iter().map(|row| row.key).collect()
}

async fn a_claim_takes_the_oldest_first_and_no_more_than_asked(bed: TestBed) {
    bed.wait(100);
    let rows: Vec<_> = (0..10).map(|n| new_work("test", &format!("k:{n}"), bed.after(-n))).collect();
    bed.ensure(&rows).await;
    let mut tx = bed.begin().await;
    let claimed = work::claim(&mut tx, "test", bed.now(), bed.after(60), 3).await.unwrap();
    tx.commit().await.unwrap();
    let keys: Vec<&str> = claimed.iter().map(|row| row.key.as_str()).collect();
    assert_eq!(keys, ["k:9", "k:8", "k:7"]);
    bed.leaves_open("they were only claimed");
}

async fn a_claim_takes_one_kind_only(bed: TestBed) {
    bed.ensure(&[new_work("test", "k:1", bed.now()), new_work("other", "k:2", bed.now())]).await;
    assert_eq!(claim_keys(&bed).await, ["k:1"]);
    assert_eq!(bed.work("k:2").await.status.as_str(), "pending");
    bed.leaves_open("they were only claimed");
}

/// Every write of a worker carries its token, and the id and "still processing" are not enough.
async fn r07_a_stale_token_changes_nothing(bed: TestBed) {
    bed.ensure_one(new_work("test", "k:1", bed.now())).await;
    let claim = async || {
        let mut tx = bed.begin().await;
        let claimed = work::claim(&mut tx, "test", bed.now(), bed.after(60), 10).await.unwrap();
        tx.commit().await.unwrap();
        claimed.into_iter().next().unwrap()
    };
    let old = claim().await;
    bed.wait(61);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    let new = claim().await;
    assert_eq!((old.id, old.version + 2), (new.id, new.version));
    let before = bed.work("k:1").await;

    let mut tx = bed.store.begin(Lane::Settle).await.unwrap();
    let stale = [(old.id, old.version)];
    assert!(work::renew(&mut tx.conn(), bed.after(600), &stale).await.unwrap().is_empty());
    assert_eq!(work::release(&mut tx.conn(), bed.now(), &stale).await.unwrap(), 0);
    let settlement = work::Settlement {
        id: old.id,
        token: old.version,
        status: WorkStatus::Completed,
        reason: Some(ReasonCode::Answered),
        on_hold: false,
        retry_count: 0,
        retry_at: None,
        result: Some("{}".into()),
        open_notifications: 0,
    };
    assert!(work::settle(&mut tx.conn(), bed.now(), &[settlement]).await.unwrap().is_empty());
    tx.commit().await.unwrap();
    assert_eq!(bed.work("k:1").await, before);
    bed.leaves_open("they were only claimed");
}

/// Where rows of kind `long` wait while they are prepared.
#[derive(Clone)]
struct Gate {
    arrivals: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

fn long_running(bed: TestBed) -> (TestBed, Gate) {
    let gate = Gate { arrivals: Arc::new(Semaphore::new(0)), go: Arc::new(Semaphore::new(0)) };
    let inside = gate.clone();
    let workflow =
        TestWorkflow::new("long", |_, _| Decision::Skip(ReasonCode::NoLongerWanted)).prepared_by(move |_| {
            let gate = inside.clone();
            async move {
                gate.arrivals.add_permits(1);
                gate.go.acquire().await.unwrap().forget();
                Ok(())
            }
        });
    (bed.with(|bed| bed.workflow(workflow)), gate)
}

impl Gate {
    async fn arrived(&self) {
        signal("the preparation", self.arrivals.acquire()).await.unwrap().forget();
    }

    fn let_go(&self) {
        self.go.add_permits(1);
    }
}

async fn r07_a_stalled_worker_cannot_overwrite_the_one_that_took_over(bed: TestBed) {
    let (bed, gate) = long_running(bed);
    bed.ensure_one(new_work("long", "k:1", bed.now())).await;
    let other = bed.node("b").await;
    let stalled = tokio::spawn({
        let (engine, now) = (bed.engine.clone(), bed.now());
        async move { engine.due_tick(now, 10).await }
    });
    gate.arrived().await;
    // The stalled worker's clock does not run: it renews nothing, and its lease runs out.
    let later = bed.after(61);
    assert_eq!(other.engine.sweep_tick(later).await.unwrap().work, 1);
    let taken_over = tokio::spawn({
        let engine = other.engine.clone();
        async move { engine.due_tick(later, 10).await }
    });
    gate.arrived().await;
    let before = bed.work("k:1").await;
    gate.let_go();
    let stalled = signal("the stalled worker's end", stalled).await.unwrap().unwrap();
    assert_eq!((stalled.lost, stalled.deactivated), (1, 0));
    assert_eq!(bed.work("k:1").await, before, "its late result changed nothing");
    gate.let_go();
    let taken_over = signal("the other worker's end", taken_over).await.unwrap().unwrap();
    assert_eq!(taken_over.deactivated, 1);
    assert_eq!(bed.work("k:1").await.version, before.version + 1);
}

async fn a_long_running_row_keeps_its_lease_while_it_is_prepared(bed: TestBed) {
    let (bed, gate) = long_running(bed);
    bed.ensure_one(new_work("long", "k:1", bed.now())).await;
    let working = tokio::spawn({
        let (engine, now) = (bed.engine.clone(), bed.now());
        async move { engine.due_tick(now, 10).await }
    });
    gate.arrived().await;
    for _ in 0..6 {
        signal("the worker's sleep until its next renewal", async {
            while bed.clock.next_wake() != Some(bed.after(20)) {
                tokio::task::yield_now().await;
            }
        })
        .await;
        bed.wait(20);
        let until = bed.after(60);
        signal("the renewal", async {
            while bed.work("k:1").await.lease_expires_at < Some(until) {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(bed.engine.sweep_tick(bed.now()).await.unwrap().work, 0);
    }
    gate.let_go();
    let done = signal("the worker's end", working).await.unwrap().unwrap();
    assert_eq!((done.deactivated, done.lost), (1, 0), "twice as long as its lease, and still its own");
}

async fn a_clock_that_is_moved_waits_for_what_the_loops_prepare(bed: TestBed) {
    let (bed, gate) = long_running(bed);
    bed.ensure_one(new_work("long", "k:1", bed.now())).await;
    let running = bed.engine.run();
    gate.arrived().await;
    let (before, until) = (bed.now(), bed.after(24 * 3600));
    let moving = tokio::spawn({
        let (engine, clock) = (bed.engine.clone(), bed.clock.clone());
        async move { engine.advance(&clock, until).await }
    });
    // Time enough to move it, were it not to wait.
    for _ in 0..20 {
        bed.work("k:1").await;
    }
    assert_eq!(bed.now(), before);
    gate.let_go();
    signal("the clock", moving).await.unwrap().unwrap();
    let row = bed.work("k:1").await;
    assert_eq!((row.status.as_str(), row.retry_count), ("deactivated", 0), "prepared once, with its lease");
    running.stop().await;
}
