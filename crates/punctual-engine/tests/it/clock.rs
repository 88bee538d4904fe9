//! What a node does while it does not know the time well enough.

use std::time::Duration;

use punctual_engine::NotReady;
use punctual_model::{Clock, Doubt};
use punctual_testkit::{TestBed, on_both};

on_both! {
    r21_while_the_time_is_in_doubt_nothing_is_claimed_or_swept_and_the_node_is_not_ready;
}

async fn r21_while_the_time_is_in_doubt_nothing_is_claimed_or_swept_and_the_node_is_not_ready(bed: TestBed) {
    bed.accept_to(&["a@example.org"]).await;
    bed.schedule("s", "topic", bed.now()).await;
    bed.clock.set_doubt(Some(Doubt::NoSample { age: Duration::from_secs(31) }));
    let engine = &bed.engine;
    let now = bed.clock.now();
    assert!(engine.due_tick(now, 10).await.unwrap_err().is_unavailable());
    assert!(engine.delivery_tick(now, 10).await.unwrap_err().is_unavailable());
    assert!(engine.sweep_tick(now).await.unwrap_err().is_unavailable());
    assert!(engine.purge(now).await.unwrap_err().is_unavailable());
    let why = engine.readiness(false).await.unwrap_err();
    assert!(matches!(why, NotReady::Clock(_)), "{why:?}");
    assert!(bed.sent().is_empty());
    // What is asked for meanwhile is stored.
    bed.accept_to(&["b@example.org"]).await;
    bed.clock.set_doubt(None);
    bed.tick().await;
    engine.readiness(true).await.unwrap();
    let mut sent = bed.sent_to();
    sent.sort();
    assert_eq!(sent, ["a@example.org", "b@example.org"]);
    bed.finish().await;
}
