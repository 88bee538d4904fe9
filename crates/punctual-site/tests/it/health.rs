//! The loops: what happens by itself.

use punctual_testkit::{TestBed, Way, on_both, signal};

use crate::rig::{Rig, message};

on_both! {
    what_arrives_is_forwarded_at_once_and_after_a_failure_at_the_interval;
    a_stopped_agent_keeps_what_waits;
}

async fn what_arrives_is_forwarded_at_once_and_after_a_failure_at_the_interval(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let running = agent.run();
    let stored = async |count: usize| {
        while rig.stored().await.len() < count {
            tokio::task::yield_now().await;
        }
    };
    agent.notify(message("ops", "1")).await.unwrap();
    signal("the first to arrive", stored(1)).await;
    rig.proxy.set(Way::Cut);
    agent.notify(message("ops", "2")).await.unwrap();
    let failed = async {
        while agent.health().await.unwrap().last_failure.is_none() {
            tokio::task::yield_now().await;
        }
    };
    signal("a failure", failed).await;
    rig.proxy.set(Way::Pass);
    agent.notify(message("ops", "3")).await.unwrap();
    assert_eq!(rig.stored().await.len(), 1, "not before the interval is over");
    bed.wait(10);
    signal("the rest to arrive", stored(3)).await;
    assert_eq!(rig.bodies().await, ["1", "2", "3"]);
    running.stop().await;
    bed.leaves_open("nothing ticks central");
}

async fn a_stopped_agent_keeps_what_waits(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let running = agent.run();
    rig.proxy.set(Way::HoldReplies);
    agent.notify(message("ops", "1")).await.unwrap();
    let under_way = async {
        while rig.proxy.spoiled() == 0 {
            tokio::task::yield_now().await;
        }
    };
    signal("a request under way", under_way).await;
    signal("the end", running.stop()).await;
    drop(agent);
    rig.proxy.set(Way::Pass);
    let agent = rig.agent().await;
    assert_eq!(agent.health().await.unwrap().backlog, 1);
    crate::rig::drain(&agent).await;
    assert_eq!(rig.bodies().await, ["1"]);
    bed.leaves_open("nothing ticks central");
}
