//! The SMTP server of these tests: a process of Python's aiosmtpd.

use std::sync::Arc;

use punctual_channels::SmtpAdapter;
use punctual_model::{Adapter, Channel};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::{open_guard, python::python, test_trust};

/// A running server with the mails it took.
pub struct Server {
    port: u16,
    folder: TempDir,
    /// It ends when its input does, even if this process is killed.
    _child: Child,
}

impl Server {
    pub async fn start(mode: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let mut child = Command::new(python())
            .arg(format!("{}/tests/it/smtp_server.py", env!("CARGO_MANIFEST_DIR")))
            .arg(folder.path())
            .arg(mode)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        let port = line.trim().parse().expect("the server says its port");
        Self { port, folder, _child: child }
    }

    /// The mails in the order in which they came.
    pub fn mails(&self) -> Vec<Value> {
        (1..)
            .map_while(|n| std::fs::read(self.folder.path().join(format!("{n}.json"))).ok())
            .map(|text| serde_json::from_slice(&text).unwrap())
            .collect()
    }

    pub fn channel(&self, changes: Value) -> Arc<dyn Channel> {
        self.channel_of(&SmtpAdapter::new(open_guard(), test_trust()), changes)
    }

    pub fn channel_of(&self, adapter: &SmtpAdapter, changes: Value) -> Arc<dyn Channel> {
        let mut settings = json!({
            "host": "127.0.0.1", "port": self.port, "tls": "none", "from": "Reminders <from@a.example>",
            "timeoutSeconds": 60,
        });
        for (name, value) in changes.as_object().unwrap() {
            settings[name] = value.clone();
        }
        adapter.open(&settings).unwrap()
    }
}
