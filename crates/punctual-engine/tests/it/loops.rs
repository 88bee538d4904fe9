//! The loops by themselves: woken when something is written, on time, and gone without a trace when they are stopped.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use punctual_engine::Accepted;
use punctual_model::{Arrival, Decision, NewNotification, ReasonCode};
use punctual_testkit::{Gated, TestBed, TestBedBuilder, TestWorkflow, new_work, on_both, signal};
use tokio::sync::mpsc;

on_both! {
    a_row_written_now_is_handled_without_the_poll with hourly_poll;
    a_row_of_the_near_future_is_handled_at_its_moment with hourly_poll;
    a_notification_written_now_is_sent_without_the_poll with hourly_poll;
    what_a_working_node_accepts_it_sends_without_a_claim with hourly_poll;
    of_an_id_handed_in_twice_the_first_is_sent with hourly_poll;
    a_backlog_is_drained_to_its_end with hourly_poll;
    a_row_moved_forward_is_handled_at_its_new_moment with hourly_poll;
    a_node_without_workers_wakes_the_others with |bed| hourly_poll(bed).notifies_nodes();
    long_running_rows_follow_one_another_without_the_poll with hourly_poll;
    work_that_sends_is_sent_at_once with hourly_poll;
    a_stop_lets_what_is_under_way_finish with hourly_poll;
    a_stop_gives_back_what_does_not_finish with hourly_poll;
    a_dead_workers_rows_are_taken_by_the_sweep with hourly_poll;
}

/// The system's clock, and a poll so rare that only a wake-up can explain what happens.
fn hourly_poll(bed: TestBedBuilder) -> TestBedBuilder {
    bed.wall_clock().config(|config| {
        config.poll_every = Duration::from_secs(3600);
        config.grace = Duration::from_millis(200);
    })
}

/// Arrivals, with how late they were.
fn listening(bed: &TestBed) -> (TestBed, mpsc::UnboundedReceiver<(String, i64)>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let clock = punctual_testkit::WallClock;
    let hear = move |arrival: &Arrival| {
        let late = punctual_model::Clock::now(&clock).as_microsecond() - arrival.due_at.as_microsecond();
        sender.send((arrival.id.clone(), late)).map_err(|error| error.to_string())
    };
    (bed.with(|bed| bed.listener("*", hear)), receiver)
}

async fn a_row_written_now_is_handled_without_the_poll(bed: TestBed) {
    let (bed, mut received) = listening(&bed);
    let running = bed.engine.run();
    for n in 0..20 {
        bed.until_idle().await;
        bed.schedule(&n.to_string(), "t", bed.now()).await;
        let (id, late) = signal("the arrival", received.recv()).await.unwrap();
        assert_eq!(id, format!("schedule:{n}"));
        assert!(late < 5_000_000, "{late} us");
    }
    running.stop().await;
}

async fn a_row_of_the_near_future_is_handled_at_its_moment(bed: TestBed) {
    let (bed, mut received) = listening(&bed);
    let running = bed.engine.run();
    bed.until_idle().await;
    for n in 0..20 {
        let at = bed.now() + jiff::SignedDuration::from_millis(30 + 10 * n);
        bed.schedule(&n.to_string(), "t", at).await;
    }
    for _ in 0..20 {
        let (id, late) = signal("the arrival", received.recv()).await.unwrap();
        assert!((0..5_000_000).contains(&late), "{id} came {late} us after its moment");
    }
    running.stop().await;
}

async fn a_notification_written_now_is_sent_without_the_poll(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = bed.with(|bed| bed.adapter(adapter));
    bed.channel("gated:default", "gated").await;
    let running = bed.engine.run();
    gate.let_go(20);
    for n in 0..20 {
        bed.until_idle().await;
        bed.accept_one(bed.message_over("gated:default", &[&format!("{n}@example.org")])).await;
        assert_eq!(gate.arrived().await.address, format!("{n}@example.org"));
    }
    running.stop().await;
}

async fn what_a_working_node_accepts_it_sends_without_a_claim(bed: TestBed) {
    let running = bed.engine.run();
    // Before the first one the node does not know the channel, and the delivery loop, where it happens to look for more
    // at that very moment, holds the permits: then it claims the row. That cannot happen every time.
    let mut seen = Vec::new();
    for _ in 0..20 {
        let id = bed.accept_one(bed.message("a@example.org")).await;
        let row = signal("the delivery", async {
            loop {
                let row = bed.notification(&id).await;
                if row.status.as_str() == "delivered" {
                    return row;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
        seen.push((row.attempts, row.version));
        if seen.ends_with(&[(1, 2)]) {
            break;
        }
    }
    running.stop().await;
    assert_eq!(seen.last(), Some(&(1, 2)), "inserted claimed, and settled: {seen:?}");
}

async fn of_an_id_handed_in_twice_the_first_is_sent(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = bed.with(|bed| bed.adapter(adapter));
    bed.channel("gated:default", "gated").await;
    let running = bed.engine.run();
    bed.until_idle().await;
    gate.let_go(2);
    let first = bed.message_over("gated:default", &["a@example.org"]);
    let second = NewNotification { subject: "Other".into(), ..first.clone() };
    assert_eq!(bed.accept(vec![first, second]).await, [Accepted::Created, Accepted::IdReused]);
    assert_eq!(gate.arrived().await.subject, "Hello");
    running.stop().await;
    assert_eq!(bed.notifications().await.len(), 1);
    assert!(gate.nobody_else_arrived().await);
}

async fn a_backlog_is_drained_to_its_end(bed: TestBed) {
    let (bed, mut received) = listening(&bed);
    let rows: Vec<_> =
        (0..2_500).map(|n| punctual_testkit::new_schedule(&format!("k{n}"), "t", bed.now())).collect();
    bed.ensure(&rows).await;
    let running = bed.engine.run();
    let mut reported = std::collections::HashSet::new();
    for _ in 0..rows.len() {
        reported.insert(signal("an arrival", received.recv()).await.unwrap().0);
    }
    running.stop().await;
    assert_eq!(reported.len(), rows.len(), "each once");
    assert_eq!(bed.engine.next_ready().await.unwrap(), None);
}

async fn a_row_moved_forward_is_handled_at_its_new_moment(bed: TestBed) {
    let (bed, mut received) = listening(&bed);
    let running = bed.engine.run();
    let id = bed.schedule("a", "t", bed.after(3600)).await;
    bed.until_idle().await;
    punctual_workflows::schedules::reschedule(
        &bed.engine,
        &punctual_engine::Actor::named("test"),
        id,
        bed.now(),
    )
    .await
    .unwrap();
    signal("the arrival", received.recv()).await.unwrap();
    running.stop().await;
}

async fn a_node_without_workers_wakes_the_others(bed: TestBed) {
    let (bed, mut received) = listening(&bed);
    let other = bed.node("front").await;
    let running = bed.engine.run();
    bed.until_idle().await;
    // Until the node listens, nothing wakes it: a row a little ahead is announced again by the next one.
    signal("a wake-up from the other node", async {
        for n in 0.. {
            other.schedule(&n.to_string(), "t", other.now()).await;
            if tokio::time::timeout(Duration::from_millis(200), received.recv()).await.is_ok() {
                return;
            }
        }
    })
    .await;
    other.schedule("last", "t", other.now()).await;
    signal("all arrivals", async {
        while received.recv().await.is_some_and(|(id, _)| id != "schedule:last") {}
    })
    .await;
    running.stop().await;
}

async fn long_running_rows_follow_one_another_without_the_poll(bed: TestBed) {
    let (sender, mut done) = mpsc::unbounded_channel();
    let workflow = TestWorkflow::new("long", |_, _| Decision::Skip(ReasonCode::NoLongerWanted)).prepared_by(
        move |row| {
            let (sender, key) = (sender.clone(), row.key.clone());
            async move {
                sender.send(key).unwrap();
                Ok(())
            }
        },
    );
    let bed = bed.with(|bed| bed.workflow(workflow));
    let rows: Vec<_> = (0..12).map(|n| new_work("long", &format!("k:{n}"), bed.now())).collect();
    bed.ensure(&rows).await;
    let running = bed.engine.run();
    for _ in 0..12 {
        signal("the next long-running row", done.recv()).await.unwrap();
    }
    running.stop().await;
}

async fn work_that_sends_is_sent_at_once(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let workflow = TestWorkflow::new("test", |row, _| {
        let audience = punctual_model::Audience::Targets(vec![row.key.clone()]);
        let nil = punctual_model::NotificationId(Default::default());
        let mut new = punctual_model::NewNotification::new(nil, audience, "Due", "Now");
        new.channel = "gated:default".parse().ok();
        Decision::Deliver(vec![new])
    });
    let bed = bed.with(|bed| bed.workflow(workflow).adapter(adapter));
    bed.channel("gated:default", "gated").await;
    let running = bed.engine.run();
    bed.until_idle().await;
    gate.let_go(100);
    let rows: Vec<_> = (0..100).map(|n| new_work("test", &format!("k:{n}"), bed.now())).collect();
    bed.ensure(&rows).await;
    let mut sent = Vec::new();
    for _ in 0..100 {
        sent.push(gate.arrived().await.address);
    }
    sent.sort();
    sent.dedup();
    assert_eq!(sent.len(), 100, "each once");
    running.stop().await;
    for row in bed.notifications().await {
        assert_eq!((row.status.as_str(), row.attempts), ("delivered", 1));
    }
}

async fn a_stop_lets_what_is_under_way_finish(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = bed.with(|bed| bed.adapter(adapter).config(|config| config.grace = Duration::from_secs(60)));
    bed.channel("gated:default", "gated").await;
    let running = bed.engine.run();
    let id = bed.accept_one(bed.message_over("gated:default", &["a@example.org"])).await;
    gate.arrived().await;
    let stopping = tokio::spawn(running.stop());
    tokio::task::yield_now().await;
    assert!(!stopping.is_finished());
    gate.let_go(1);
    signal("the stop", stopping).await.unwrap();
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
    bed.accept_one(bed.message_over("gated:default", &["b@example.org"])).await;
    bed.leaves_open("a stopped node sends nothing more");
}

async fn a_stop_gives_back_what_does_not_finish(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = bed.with(|bed| bed.adapter(adapter));
    bed.channel("gated:default", "gated").await;
    let running = bed.engine.run();
    let id = bed.accept_one(bed.message_over("gated:default", &["a@example.org"])).await;
    gate.arrived().await;
    signal("the stop", running.stop()).await;
    let row = bed.notification(&id).await;
    assert_eq!(
        (row.status.as_str(), row.lease_expires_at),
        ("retrying", None),
        "no lease is left to run out"
    );
    assert_eq!(row.uncertain, 1, "it may have been sent");
    bed.leaves_open("another node would send it again");
}

async fn a_dead_workers_rows_are_taken_by_the_sweep(bed: TestBed) {
    let received = Arc::new(Mutex::new(0));
    let (log, (sender, mut arrived)) = (received.clone(), mpsc::unbounded_channel());
    let bed = bed.with(|bed| {
        bed.config(|config| config.sweep_every = Duration::from_millis(50)).listener(
            "t",
            move |_: &Arrival| {
                *log.lock().unwrap() += 1;
                sender.send(()).map_err(|error| error.to_string())
            },
        )
    });
    bed.schedule("a", "t", bed.now()).await;
    let mut tx = bed.begin().await;
    let lease = bed.now() + jiff::SignedDuration::from_millis(300);
    punctual_store::work::claim(&mut tx, "schedule", bed.now(), lease, 10).await.unwrap();
    tx.commit().await.unwrap();
    let running = bed.engine.run();
    signal("the arrival", arrived.recv()).await.unwrap();
    running.stop().await;
    assert_eq!(*received.lock().unwrap(), 1);
}
