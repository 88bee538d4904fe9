//! Mail that a real server puts off: the retries that a channel of mail has where nobody chose others.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use jiff::Timestamp;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{client::Client, definitions::with_smtp};

on_both! {
    mail_outlives_greylisting_unless_its_channel_says_otherwise with with_smtp;
}

/// Python's aiosmtpd. It ends when its input does, even if this process is killed.
struct Relay {
    _child: Child,
    _folder: tempfile::TempDir,
    port: u16,
}

impl Relay {
    fn start() -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        let python = std::env::var("PUNCTUAL_TEST_PYTHON").expect("`cargo xtask test` sets it");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../punctual-channels/tests/it/smtp_server.py");
        let mut command = Command::new(python);
        command.arg(script).arg(folder.path()).arg("plain").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { port: line.trim().parse().expect("the server says its port"), _folder: folder, _child: child }
    }
}

/// The seconds from the last attempt to the next, while there is one.
fn pause(row: &Value) -> Option<i64> {
    let at = |name: &str| Some(row[name].as_str()?.parse::<Timestamp>().unwrap().as_second());
    Some(at("nextAttemptAt")? - at("lastAttemptAt")?)
}

async fn mail_outlives_greylisting_unless_its_channel_says_otherwise(bed: TestBed) {
    let relay = Relay::start();
    let client = Client::new(&bed).await;
    let settings = json!({ "host": "127.0.0.1", "port": relay.port, "tls": "none", "from": "a@b.example" });
    for (key, retry, pauses) in [
        ("email:default", None, &[60, 300, 900, 3_600, 14_400][..]),
        ("email:chosen", Some(json!({ "max": 2 })), &[60, 60][..]),
    ] {
        let mut channel = json!({ "adapter": "smtp", "settings": settings });
        if let Some(retry) = retry {
            channel["retry"] = retry;
        }
        client.put(&format!("/api/v1/channels/{key}"), channel).await.expect(200);
        // The server answers 451 after the mail, as one that does not know the sender yet.
        let mail = json!({ "targets": ["data-451@c.example"], "channel": key, "subject": "S", "body": "B" });
        let id = client.post("/api/v1/notifications", mail).await.expect(201)["id"].clone();
        let path = format!("/api/v1/notifications/{}", id.as_str().unwrap());
        client.advance("1s").await;
        for (made, wait) in (1..).zip(pauses) {
            let row = client.get(&path).await.expect(200);
            assert_eq!((&row["status"], &row["retryCount"]), (&json!("retrying"), &json!(made)), "{row}");
            assert_eq!(pause(&row), Some(*wait), "{key}: {row}");
            client.advance(&format!("{wait}s")).await;
        }
        let row = client.get(&path).await.expect(200);
        assert_eq!(
            (&row["status"], &row["retryCount"]),
            (&json!("parked"), &json!(pauses.len() + 1)),
            "{row}"
        );
        assert!(row["lastError"].as_str().unwrap().contains("451"), "{row}");
    }
}
