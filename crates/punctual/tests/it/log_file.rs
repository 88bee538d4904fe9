//! What a server writes to a log that is no terminal: no colours, and a line with ids for what will not go on by itself.

use serde_json::json;

use crate::server::Place;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_file_has_no_colours_and_names_what_was_parked() {
    let place = Place::sqlite();
    for format in ["text", "json"] {
        let log = place.folder().join(format!("{format}.log"));
        let server = place.start_with_log(&["--log-format", format], &log);
        let nowhere = json!({ "targets": ["x"], "channel": "teams:nowhere", "subject": "S", "body": "B" });
        let (status, made) = server.post("/api/v1/notifications", &nowhere).await.unwrap();
        assert_eq!(status, 201, "{made}");
        let id = made["id"].as_str().unwrap();
        let path = format!("/api/v1/notifications/{id}");
        let parked = async |server: &crate::server::Server| {
            (server.get(&path).await.1["status"] == "parked").then_some(())
        };
        server.until("a message without a channel is parked", parked).await;
        server.kill();
        let written = std::fs::read_to_string(&log).unwrap();
        assert!(!written.contains('\u{1b}'), "a file gets no colours");
        let line = written.lines().find(|line| line.contains("WARN") && line.contains(id));
        let line = line.unwrap_or_else(|| panic!("no line about {id}:\n{written}"));
        assert!(line.contains("parked") && line.contains("no-channel"), "{line}");
    }
}
