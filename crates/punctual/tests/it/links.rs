//! Links in messages: a server whose links nobody else can open says so when it starts.

use serde_json::json;

use crate::server::Place;

const WARNING: &str = "links in mail point to this machine only";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_lead_nowhere_are_shouted_about_where_mail_is_configured() {
    let place = Place::sqlite();
    let log = place.folder().join("start.log");
    let said = async |more: &[&str]| {
        let server = place.start_with_log(more, &log);
        // It answers after it has looked.
        server.get("/api/v1/lists").await;
        server.kill();
        std::fs::read_to_string(&log).unwrap()
    };
    assert!(!said(&[]).await.contains(WARNING), "nothing sends mail yet");
    let server = place.start(&[]);
    let settings = json!({ "host": "127.0.0.1", "port": 2525, "tls": "none", "from": "a@b.example" });
    server.put("/api/v1/channels/email:default", &json!({ "adapter": "smtp", "settings": settings })).await;
    server.kill();
    let shouted = said(&[]).await;
    assert!(shouted.contains(WARNING) && shouted.contains("--public-url"), "{shouted}");
    assert!(!said(&["--public-url", "https://punctual.example.org"]).await.contains(WARNING));
}
