//! Subscribers behind real message brokers, with the shipped binary: an answer arrives, and what cannot arrive is seen.

use serde_json::{Value, json};

use crate::{
    server::{Place, Server},
    surveys::{links, published},
};

/// Where a broker is; nothing is skipped where there is none.
fn broker(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
}

async fn ask(client: &async_nats::Client, what: &str, body: Value) -> Value {
    let answer = client.request(format!("$JS.API.{what}"), body.to_string().into()).await.unwrap();
    serde_json::from_slice(&answer.payload).unwrap()
}

async fn delivery(server: &Server, subscriber: &str, status: &str) -> Value {
    server
        .until(&format!("{subscriber} to be {status}"), async |server| {
            let (_, page) = server.get("/api/v1/outbox-events?limit=1").await;
            let deliveries = page["items"][0]["deliveries"].as_array()?.clone();
            deliveries.into_iter().find(|one| one["subscriber"] == subscriber && one["status"] == status)
        })
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_reaches_the_stream_and_a_missing_queue_is_tried_again() {
    let (nats, rabbitmq) = (broker("PUNCTUAL_TEST_NATS"), broker("PUNCTUAL_TEST_RABBITMQ"));
    let options = async_nats::ConnectOptions::with_user_and_password("punctual".into(), "nats-secret".into());
    let admin = options.connect(&nats).await.unwrap();
    let stream = format!("binary-{}", std::process::id());
    let config = json!({ "name": stream, "subjects": [stream], "storage": "memory" });
    let made = ask(&admin, &format!("STREAM.CREATE.{stream}"), config).await;
    assert!(made.get("error").is_none(), "{made}");

    let place = Place::sqlite();
    let log = place.folder().join("server.log");
    let server = place.start_with_log(&[], &log);
    published(&server).await;
    let settings =
        json!({ "url": nats, "subject": stream, "username": "punctual", "password": "nats-secret" });
    let subscriber = json!({ "adapter": "nats", "settings": settings });
    let shown = server.put("/api/v1/subscribers/nats:csi-tickets", &subscriber).await;
    assert_eq!((&shown["secretsSet"], shown["settings"].get("password")), (&json!(["password"]), None));
    let targets = [
        ("amqp", json!({ "queue": format!("{stream}-missing") })),
        ("amqp1", json!({ "address": format!("/queue/{stream}") })),
    ];
    for (adapter, target) in targets {
        let mut settings = json!({ "url": rabbitmq, "username": "punctual", "password": "rabbit-secret" });
        settings.as_object_mut().unwrap().extend(target.as_object().unwrap().clone());
        let subscriber = json!({ "adapter": adapter, "settings": settings });
        server.put(&format!("/api/v1/subscribers/{adapter}:tickets"), &subscriber).await;
    }
    // A message over a broker works too: it is a channel like any other.
    let channel = json!({ "adapter": "nats", "settings": subscriber["settings"] });
    server.put("/api/v1/channels/nats:alerts", &channel).await;
    let (status, tried) =
        server.post("/api/v1/channels/nats:alerts/test", &json!({ "address": "ops" })).await.unwrap();
    assert_eq!((status, &tried["outcome"]), (200, &json!("delivered")), "{tried}");

    let id = links(&server, 0).await.remove(0);
    let body = json!({ "answers": { "rate": 9 } });
    let (status, _) = server.post(&format!("/api/v1/public/surveys/{id}/responses"), &body).await.unwrap();
    assert_eq!(status, 200);
    delivery(&server, "nats:csi-tickets", "delivered").await;
    delivery(&server, "amqp1:tickets", "delivered").await;
    let waiting = delivery(&server, "amqp:tickets", "retrying").await;
    assert!(waiting["lastError"].as_str().unwrap().contains("no queue takes this message"), "{waiting}");
    let kept = ask(&admin, &format!("STREAM.MSG.GET.{stream}"), json!({ "last_by_subj": stream })).await;
    let headers = base64(kept["message"]["hdrs"].as_str().unwrap());
    assert!(headers.contains(&format!("Nats-Msg-Id: {id}")), "{headers}");
    let reported: Value = serde_json::from_str(&base64(kept["message"]["data"].as_str().unwrap())).unwrap();
    assert_eq!((&reported["instancePublicId"], &reported["answers"]["rate"]), (&json!(id), &json!(9)));
    server.kill();
    let log = std::fs::read_to_string(log).unwrap();
    for secret in ["nats-secret", "rabbit-secret"] {
        assert!(!log.contains(secret), "a secret stands in the log");
    }
    assert!(!log.contains("\"rate\":9"), "what somebody answered stands in the log");
}

fn base64(text: &str) -> String {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    String::from_utf8(bytes).unwrap()
}
