//! SIGTERM: stop claiming, finish or give back, leave no lease to run out.

use std::process::Command;

use serde_json::json;

use crate::server::{Place, Server};

fn terminate(server: &Server) {
    let sent = Command::new("kill").args(["-TERM", &server.child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminated_server_ends_in_order_and_the_next_one_goes_on_at_once() {
    for place in [Place::sqlite(), Place::postgres().await] {
        let mut server = place.start(&[]);
        let items: Vec<_> = (0..200)
            .map(|n| json!({ "targets": [format!("u{n}@example.org")], "channel": "memory:default", "subject": "s", "body": "b" }))
            .collect();
        let (status, _) = server.post("/api/v1/notifications", &json!(items)).await.unwrap();
        assert_eq!(status, 200);
        terminate(&server);
        assert!(server.child.wait().unwrap().success(), "a graceful stop is a success");
        let next = place.start(&[]);
        next.until("the rest to be delivered", async |server| {
            let (_, kpis) = server.get("/api/v1/notifications/kpis").await;
            (kpis["queueDepth"] == 0).then_some(())
        })
        .await;
        let (_, page) = next.get("/api/v1/notifications?status=delivered&limit=200").await;
        assert_eq!(page["items"].as_array().unwrap().len(), 200);
        assert!(
            page["items"].as_array().unwrap().iter().all(|row| row["uncertain"].as_u64().unwrap_or(0) == 0)
        );
    }
}
