//! Receivers that hang and long lists of slow ones, beside ordinary load: other channels go on.

use std::time::Duration;

use punctual_testkit::{
    history::stored::Stored,
    rig::{Outcome, Rig},
};
use serde_json::{Value, json};

use super::scene::{Scene, now, pause};
use crate::{
    receiver::Receiver,
    server::{Place, Server},
};

/// Nothing on another channel waits longer, on a busy machine too: 0.15 s was measured, and 3.8 s on a channel that is shared.
const LONGEST: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_flood_t15_receivers_that_hang_hold_up_no_other_channel_on_sqlite() {
    let mut rig = Rig::new("flood", "sqlite", 2, 200);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &flood(Place::sqlite()).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_flood_t15_receivers_that_hang_hold_up_no_other_channel_on_postgres() {
    let mut rig = Rig::new("flood", "postgres", 2, 200);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &flood(Place::postgres().await).await);
    }
}

async fn flood(place: Place) -> Outcome {
    let server = place.start(&[]);
    let hanging = Receiver::slow(Duration::from_secs(3_600)).await;
    let slow = Receiver::slow(Duration::from_millis(400)).await;
    channel(&server, "webhook:hangs", &hanging).await;
    channel(&server, "webhook:slow", &slow).await;
    let mut scene = Scene::open(&server, Stored::at(place.database_url()), Duration::ZERO).await;
    scene.recovered(now()).await;
    let list: Vec<String> = (0..100).map(|target| format!("hook-{target}")).collect();
    let floods = [
        ("receiver that hangs", vec![message("webhook:hangs", &["hook".to_owned()]); 60]),
        ("long list of a slow receiver", vec![message("webhook:slow", &list); 2]),
    ];
    for (kind, messages) in floods {
        ask(&server, messages).await;
        scene.injected(kind);
        for _ in 0..5 {
            let asked = now();
            scene.recovered(asked).await;
            assert!(asked.elapsed() < LONGEST, "another channel was held up for {:?}", asked.elapsed());
            pause(100).await;
        }
    }
    // What floods is no part of what is judged.
    scene.judge_with(|history| history.stored.retain(|message| message.key != "flood")).await
}

fn message(channel: &str, targets: &[String]) -> Value {
    json!({ "targets": targets, "channel": channel, "subject": "flood", "body": "b" })
}

async fn ask(server: &Server, messages: Vec<Value>) {
    let (status, answer) = server.post("/api/v1/notifications", &json!(messages)).await.unwrap();
    assert_eq!(status, 200, "{answer}");
}

async fn channel(server: &Server, key: &str, receiver: &Receiver) {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let settings = json!({ "url": receiver.url, "secret": secret, "timeoutSeconds": 2 });
    let retry = json!({ "policy": "fixed", "max": 1, "intervalSeconds": 1 });
    let channel = json!({ "adapter": "webhook", "settings": settings, "retry": retry, "circuit": false });
    server.put(&format!("/api/v1/channels/{key}"), &channel).await;
}

/// The guard is that each channel is worked by itself. On one that all share the others are held up, and that must be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_flood_control_who_shares_a_channel_is_held_up() {
    let place = Place::sqlite();
    let server = place.start(&[]);
    let hanging = Receiver::slow(Duration::from_secs(3_600)).await;
    let mut scene = Scene::open(&server, Stored::at(place.database_url()), Duration::ZERO).await;
    scene.recovered(now()).await;
    ask(&server, vec![message("webhook:test", std::slice::from_ref(&hanging.url)); 400]).await;
    let mut longest = Duration::ZERO;
    for _ in 0..10 {
        let asked = now();
        scene.recovered(asked).await;
        longest = longest.max(asked.elapsed());
        if longest > LONGEST {
            return;
        }
        pause(200).await;
    }
    panic!("400 calls that hang held nobody up: {longest:?}");
}
