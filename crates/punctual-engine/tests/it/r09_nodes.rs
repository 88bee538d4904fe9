//! R9: nothing is stuck in silence. Several nodes drain one backlog, one dies in the middle, and its rows go on.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use punctual_model::{Audience, Decision, NewNotification, NotificationId};
use punctual_store::{notifications, work};
use punctual_testkit::{
    Scripted, TestBed, TestWorkflow, channel::delivered, history::Receiver, new_work, on_both, scale,
};

on_both! {
    rig_nodes_r09_two_nodes_drain_one_backlog_and_work_each_row_once;
    rig_nodes_r09_four_nodes_drain_one_backlog_and_work_each_row_once;
    rig_nodes_r09_a_node_that_dies_in_the_middle_leaves_nothing_behind;
}

/// Work that sends one message each; decisions and sends are counted.
fn counting(bed: &TestBed) -> (TestBed, Arc<AtomicUsize>, Arc<Receiver>) {
    let (decided, received) = (Arc::new(AtomicUsize::new(0)), Arc::new(Receiver::default()));
    let (decisions, log) = (decided.clone(), received.clone());
    let workflow = TestWorkflow::new("test", move |row, _| {
        decisions.fetch_add(1, Ordering::Relaxed);
        let audience = Audience::Targets(vec![format!("{}@example.org", row.key)]);
        let mut new = NewNotification::new(NotificationId(Default::default()), audience, "Due", "Now");
        new.channel = "counted:default".parse().ok();
        Decision::Deliver(vec![new])
    });
    let adapter = Scripted::new("counted", move |message| {
        log.log(&message);
        delivered()
    });
    (bed.with(|bed| bed.workflow(workflow).adapter(adapter)), decided, received)
}

async fn backlog(bed: &TestBed, rows: usize) {
    bed.channel("counted:default", "counted").await;
    for chunk in (0..rows).collect::<Vec<_>>().chunks(1000) {
        let rows: Vec<_> = chunk.iter().map(|n| new_work("test", &format!("k-{n}"), bed.now())).collect();
        bed.ensure(&rows).await;
    }
}

async fn nodes(bed: &TestBed, count: usize) -> Vec<TestBed> {
    let mut nodes = vec![bed.clone()];
    for n in 1..count {
        nodes.push(bed.node(&format!("node-{n}")).await);
    }
    nodes
}

/// Passes of all nodes at once until nothing is ready; returns how many rows each node worked.
async fn drain(nodes: &[TestBed]) -> Vec<usize> {
    let mut draining = tokio::task::JoinSet::new();
    for (n, node) in nodes.iter().cloned().enumerate() {
        draining.spawn(async move {
            let mut worked = 0;
            loop {
                let pass = node.engine.pass(node.now(), 100).await.unwrap();
                worked += pass.due.completed + pass.deliveries.delivered;
                if node.engine.next_ready().await.unwrap().is_none_or(|next| next > node.now()) {
                    return (n, worked);
                }
            }
        });
    }
    let mut worked = draining.join_all().await;
    worked.sort_unstable();
    worked.into_iter().map(|(_, worked)| worked).collect()
}

async fn check_drained(rows: usize, decided: &AtomicUsize, received: &Receiver) {
    assert_eq!(decided.load(Ordering::Relaxed), rows, "each row was decided once");
    assert_eq!(received.count(), rows);
    let verdict = received.check([]);
    assert_eq!((verdict.duplicates, verdict.repeated_attempts), (0, 0));
}

async fn rig_nodes_r09_two_nodes_drain_one_backlog_and_work_each_row_once(bed: TestBed) {
    drained_by(&bed, 2).await;
}

async fn rig_nodes_r09_four_nodes_drain_one_backlog_and_work_each_row_once(bed: TestBed) {
    drained_by(&bed, 4).await;
}

async fn drained_by(bed: &TestBed, count: usize) {
    let (bed, decided, received) = counting(bed);
    let rows = scale(3_000, 100_000);
    backlog(&bed, rows).await;
    let worked = drain(&nodes(&bed, count).await).await;
    check_drained(rows, &decided, &received).await;
    assert_eq!(worked.iter().sum::<usize>(), 2 * rows);
    assert!(worked.iter().all(|worked| *worked > 0), "every node had a share: {worked:?}");
}

async fn rig_nodes_r09_a_node_that_dies_in_the_middle_leaves_nothing_behind(bed: TestBed) {
    let (bed, decided, received) = counting(&bed);
    let rows = scale(2_000, 50_000);
    backlog(&bed, rows).await;
    let nodes = nodes(&bed, 3).await;

    // One node claims a share of the work, and later of the sends, and is gone before it settles anything.
    let mut tx = nodes[2].begin().await;
    let taken = work::claim(&mut tx, "test", bed.now(), bed.after(60), 300).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(taken.len(), 300);
    drain(&nodes[..2]).await;
    assert_eq!(decided.load(Ordering::Relaxed), rows - 300, "the others go on without it");

    // Its rows go on within the lease and one sweep.
    bed.wait(60);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    nodes[1].engine.due_tick(bed.now(), 500).await.unwrap();
    let mut tx = nodes[2].begin().await;
    let taken =
        notifications::claim(&mut tx, "counted:default", bed.now(), bed.after(60), 100).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(taken.len(), 100);
    drain(&nodes[..2]).await;
    bed.wait(60);
    drain(&nodes[..2]).await;
    check_drained(rows, &decided, &received).await;
}
