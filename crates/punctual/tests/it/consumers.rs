//! Events from real message brokers, with the shipped binary: taken once, acknowledged after the commit, dead letters with their
//! reason. Events here have neither time nor sequence, so that one that is taken twice shows in the version of its source.

mod amqp1;
mod bus;

use serde_json::{Value, json};

use crate::server::{Place, Server};
use bus::Bus;

/// Sources that the events of a test are about.
const SOURCES: usize = 30;
/// Those that are published while the process is killed from outside.
const MORE: usize = 20;

fn changed(id: usize) -> Value {
    json!({ "specversion": "1.0", "id": format!("e{id}"), "source": "/orders", "type": "source.changed",
        "subject": format!("order/{id}"), "data": { "state": { "number": id } } })
}

/// Structured, binary and batched ones, with one bad event inside a batch and one message that is none.
async fn publish_all(bus: &Bus) {
    for id in 0..10 {
        bus.structured(&changed(id)).await;
    }
    for id in 10..20 {
        bus.binary(&changed(id)).await;
    }
    let mut batch: Vec<Value> = (20..SOURCES).map(changed).collect();
    let mut bad = changed(99);
    bad["subject"] = json!("nothing of the kind");
    batch.insert(3, bad);
    bus.batch(&json!(batch)).await;
    bus.text("this is no event").await;
}

async fn defined(server: &Server, key: &str) -> Value {
    let (status, consumer) = server.get(&format!("/api/v1/consumers/{key}")).await;
    assert_eq!(status, 200, "{consumer}");
    consumer
}

/// Waits until everything has been taken, and each event once.
async fn taken_once(server: &Server, count: usize) {
    for id in 0..count {
        let path = format!("/api/v1/sources/order/{id}");
        let source = server
            .until(&path, async |server| {
                let (status, source) = server.get(&path).await;
                (status == 200).then_some(source)
            })
            .await;
        assert_eq!((&source["version"], &source["state"]["number"]), (&json!(1), &json!(id)), "{source}");
    }
}

/// The process ends between the commit and the acknowledgement, twice, and another time it is killed from outside.
async fn nothing_is_lost_and_nothing_doubled(place: Place, bus: Bus) {
    let key = bus.key();
    let path = format!("/api/v1/consumers/{key}");
    let server = place.start(&[]);
    let mut body = json!({ "adapter": bus.adapter(), "settings": bus.settings(), "active": false });
    let made = server.put(&path, &body).await;
    assert_eq!((&made["health"]["state"], made["settings"].get("password")), (&json!("off"), None), "{made}");
    body["active"] = json!(true);
    server.put(&path, &body).await;
    let is_connected =
        async |server: &Server| (defined(server, &key).await["health"]["state"] == "connected").then_some(());
    server.until("the connection", is_connected).await;
    server.kill();
    publish_all(&bus).await;
    for point in ["before:consumers.acknowledge", "before:consumers.acknowledge:1"] {
        // It may have taken its batch before it says that it listens.
        if let Some(server) = place.try_start(&["--crash-at", point]) {
            server.until_ended(point).await;
        }
    }
    // The broker hands out again what was committed, and nothing comes of it.
    let server = place.start(&[]);
    let again = async |server: &Server| {
        let health = defined(server, &key).await["health"].clone();
        (health["duplicates"].as_i64() >= Some(7)).then_some(())
    };
    server.until("what comes again", again).await;
    for id in SOURCES..SOURCES + MORE {
        bus.structured(&changed(id)).await;
    }
    let path = format!("/api/v1/sources/order/{SOURCES}");
    let took_some = async |server: &Server| (server.get(&path).await.0 == 200).then_some(());
    server.until("the first of them", took_some).await;
    server.kill();
    let server = place.start(&[]);
    taken_once(&server, SOURCES + MORE).await;
    let letters = bus.dead_letters(2).await;
    let codes: Vec<&str> = letters.iter().map(|letter| letter.code.as_str()).collect();
    assert!(codes.contains(&"key_invalid"), "{letters:?}");
    let bad = letters.iter().find(|letter| letter.code == "key_invalid").unwrap();
    assert!(bad.detail.starts_with("/3/subject: "), "{bad:?}");
    assert_eq!(serde_json::from_str::<Value>(&bad.body).unwrap()["id"], "e99", "{bad:?}");
    let whole = letters.iter().find(|letter| letter.code != "key_invalid").unwrap();
    assert_eq!((whole.code.as_str(), whole.body.as_str()), ("content_type", "this is no event"));
    let settled = async |server: &Server| {
        let health = defined(server, &key).await["health"].clone();
        (health["state"] == "connected" && bus.is_empty().await).then_some(())
    };
    server.until("the end of the queue", settled).await;
    taken_once(&server, SOURCES + MORE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r04_nats_events_survive_a_kill_between_commit_and_acknowledgement() {
    nothing_is_lost_and_nothing_doubled(Place::sqlite(), Bus::nats("kill").await).await;
    nothing_is_lost_and_nothing_doubled(Place::postgres().await, Bus::nats("kill").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r04_amqp_events_survive_a_kill_between_commit_and_acknowledgement() {
    nothing_is_lost_and_nothing_doubled(Place::sqlite(), Bus::amqp("kill").await).await;
    nothing_is_lost_and_nothing_doubled(Place::postgres().await, Bus::amqp("kill").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r04_amqp1_events_survive_a_kill_between_commit_and_acknowledgement() {
    nothing_is_lost_and_nothing_doubled(Place::sqlite(), Bus::amqp1("kill").await).await;
    nothing_is_lost_and_nothing_doubled(Place::postgres().await, Bus::amqp1("kill").await).await;
}

/// PostgreSQL alone: only there can two processes share a database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_share_a_stream_and_an_event_that_comes_twice_is_taken_once() {
    let (place, bus) = (Place::postgres().await, Bus::nats("shared").await);
    let nodes = [place.start(&["--node", "a"]), place.start(&["--node", "b"])];
    let path = format!("/api/v1/consumers/{}", bus.key());
    let mut settings = bus.settings();
    settings["batch"] = json!(2);
    nodes[0].put(&path, &json!({ "adapter": "nats", "settings": settings })).await;
    let both =
        async |server: &Server| (defined(server, &bus.key()).await["health"]["nodes"] == 2).then_some(());
    nodes[1].until("both nodes", both).await;
    publish_all(&bus).await;
    publish_all(&bus).await;
    taken_once(&nodes[1], SOURCES).await;
    let all = i64::try_from(SOURCES).unwrap();
    let counted = async |server: &Server| {
        let health = defined(server, &bus.key()).await["health"].clone();
        let sum = health["accepted"].as_i64()? + health["duplicates"].as_i64()?;
        (sum == 2 * all && health["refused"] == 4).then_some(health)
    };
    let health = nodes[0].until("the counts of both nodes", counted).await;
    assert_eq!((health["accepted"].as_i64(), &health["lastError"]), (Some(all), &Value::Null), "{health}");
    let metrics = nodes[0].client.get(format!("{}/metrics", nodes[0].address)).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let connected = format!("punctual_consumer_connected{{consumer=\"{}\"}} 1", bus.key());
    assert!(metrics.contains(&connected), "{metrics}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_of_one_consumer_is_its_own_and_is_mended_by_itself() {
    let (place, bus, other) = (Place::sqlite(), Bus::nats("well").await, Bus::amqp("late").await);
    let server = place.start(&[]);
    let put = async |bus: &Bus, settings: Value| {
        let body = json!({ "adapter": bus.adapter(), "settings": settings });
        server.put(&format!("/api/v1/consumers/{}", bus.key()), &body).await
    };
    let mut missing = other.settings();
    let queue = missing["deadLetterQueue"].as_str().unwrap().to_owned();
    missing["deadLetterQueue"] = json!(format!("{queue}-late"));
    put(&other, missing).await;
    put(&bus, bus.settings()).await;
    let failed = async |server: &Server| {
        let health = defined(server, &other.key()).await["health"].clone();
        (health["state"] == "disconnected").then_some(health)
    };
    let health = server.until("the fault", failed).await;
    let expected = format!("there is no queue `{queue}-late`");
    assert_eq!(health["lastError"], json!(expected), "{health}");
    publish_all(&bus).await;
    taken_once(&server, SOURCES).await;
    other.make_queue(&format!("{queue}-late")).await;
    let well = async |server: &Server| {
        (defined(server, &other.key()).await["health"]["state"] == "connected").then_some(())
    };
    server.until("the queue to be found", well).await;
}
