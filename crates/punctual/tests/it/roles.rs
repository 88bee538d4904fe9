//! Roles: who answers, and who works.

use serde_json::json;

use crate::server::Place;

/// PostgreSQL alone: only there can two processes share a database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_answers_and_the_other_works() {
    let place = Place::postgres().await;
    let answers = place.start(&["--role", "api"]);
    let id = {
        let body =
            json!({ "targets": ["a@example.org"], "channel": "memory:default", "subject": "s", "body": "b" });
        let (status, made) = answers.post("/api/v1/notifications", &body).await.unwrap();
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap().to_owned()
    };
    let works = place.start(&["--role", "worker"]);
    assert_eq!(works.get("/readyz").await.0, 200);
    let (status, refused) = works.get("/api/v1/notifications").await;
    assert_eq!((status, &refused["code"]), (404, &json!("not_found")));
    assert!(refused["detail"].as_str().unwrap().contains("role `worker`"), "{refused}");
    answers
        .until("the delivery", async |server| {
            let (_, row) = server.get(&format!("/api/v1/notifications/{id}")).await;
            (row["status"] == "delivered").then_some(())
        })
        .await;
}
