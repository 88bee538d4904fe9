//! The message of an event, all the way to a mail server: a process of Python's aiosmtpd.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use punctual_channels::{AllowList, Guard, SmtpAdapter, Trust};
use punctual_store::channels::{self, ChannelRow};
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use super::*;

on_both! {
    s3_66_an_event_s_message_arrives_at_a_real_mail_server;
}

/// It ends when its input does, even if this process is killed.
struct Server {
    _child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        let python = std::env::var("PUNCTUAL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../punctual-channels/tests/it/smtp_server.py");
        let mut child = Command::new(python)
            .arg(script)
            .arg(folder.path())
            .arg("plain")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a Python with aiosmtpd: run the tests with `cargo xtask test`");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().expect("the server says its port");
        Self { _child: child, folder, port }
    }

    fn mails(&self) -> Vec<Value> {
        (1..)
            .map_while(|n| std::fs::read(self.folder.path().join(format!("{n}.json"))).ok())
            .map(|text| serde_json::from_slice(&text).unwrap())
            .collect()
    }
}

async fn s3_66_an_event_s_message_arrives_at_a_real_mail_server(bed: TestBed) {
    let server = Server::start();
    let guard = Guard::new("127.0.0.0/8".parse::<AllowList>().unwrap());
    let bed = bed.with(|builder| builder.adapter(SmtpAdapter::new(guard, Trust::platform())));
    let settings = json!({
        "host": "127.0.0.1", "port": server.port, "tls": "none", "from": "Events <events@a.example>",
        "timeoutSeconds": 60,
    });
    let row = ChannelRow {
        key: "email:default".into(),
        adapter: "smtp".into(),
        settings: settings.to_string(),
        retry: json!({ "max": 3, "intervalSeconds": 60 }).to_string(),
        at_most_once: false,
        policy: "{}".into(),
        version: 0,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = bed.begin().await;
    channels::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    tx.commit().await.unwrap();
    bed.engine.channels.invalidate();
    person(&bed, "ann").await;
    // The server refuses this one for now and for good: the first is not sent again because of it.
    put_person(&bed, "ben", Some("rcpt-550@example.org"), &["email"], json!({})).await;
    let mut new = event(&bed, Some(bed.after(60)), None);
    new.people = vec!["ben".into()];
    let id = create(&bed, &new).await;
    bed.run_for(600).await;

    let mails = server.mails();
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert_eq!(mails[0]["to"], json!(["ann@example.org"]));
    assert_eq!(mails[0]["from"], "events@a.example");
    let headers = mails[0]["headers"].as_array().unwrap();
    let subject = headers.iter().find(|header| header[0] == "Subject").unwrap();
    assert_eq!(subject[1], "Starts: Stand-up");
    let text = mails[0]["parts"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Stand-up starts "), "{text}");
    let rule = only_rule(&bed, &id).await;
    assert_eq!(rule.last_sent_occurrence, rule.occurrence, "marked as sent once it had arrived");
    let message = bed.notifications().await.remove(0);
    assert_eq!(message.reason_code.as_deref(), Some("mailbox-unavailable"), "{:?}", message.last_error);
}
