//! The live connection: it greets, reports changes, and ends when the server stops.
//!
//! On SQLite alone: what it uses is tested on both in the store.

use std::{sync::Arc, time::Duration};

use punctual_console::{ConsoleState, router};
use punctual_engine::keys::ensure_admin_key;
use punctual_reports::Sources;
use punctual_testkit::{Database, TestBedBuilder, WallClock, run};
use punctual_workflows::reports::with_built_ins;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

use crate::client::ADMIN;

#[test]
fn a_watcher_gets_a_change_and_keeps_no_server_from_stopping() {
    run(TestBedBuilder::new(Database::Sqlite), async |bed| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        ensure_admin_key(&bed.store, bed.now(), ADMIN).await.unwrap();
        let stop = CancellationToken::new();
        let state = ConsoleState {
            sign_on: Default::default(),
            engine: bed.engine.clone(),
            wall: Arc::new(WallClock),
            sandbox: None,
            surveys: Default::default(),
            public: Default::default(),
            reports: with_built_ins(Sources::default()),
            stop: stop.clone(),
        };
        let server =
            axum::serve(listener, router(state)).with_graceful_shutdown(stop.clone().cancelled_owned());
        let server = tokio::spawn(server.into_future());

        let body = format!("key={ADMIN}");
        let sign_in = format!(
            "POST /sign-in HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-origin\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut signing = TcpStream::connect(address).await.unwrap();
        signing.write_all(sign_in.as_bytes()).await.unwrap();
        let mut answer = String::new();
        signing.read_to_string(&mut answer).await.unwrap();
        let cookie = answer.split("set-cookie: ").nth(1).and_then(|rest| rest.split(';').next()).unwrap();

        let mut watcher = TcpStream::connect(address).await.unwrap();
        let ask = format!("GET /live HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\n\r\n");
        watcher.write_all(ask.as_bytes()).await.unwrap();
        let mut shown = Replies { watcher, text: String::new() };
        shown.until("event: hello").await;
        assert!(shown.text.contains("content-type: text/event-stream"), "{}", shown.text);
        // The first look may come after the first row; one of several is seen for sure.
        while !shown.text.contains("event: change") {
            bed.accept_to(&["a@example.org"]).await;
            bed.tick().await;
            shown.some().await;
        }
        stop.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(60), server).await;
        assert!(ended.is_ok(), "the server waits for a watcher");
    });
}

struct Replies {
    watcher: TcpStream,
    text: String,
}

impl Replies {
    async fn until(&mut self, wanted: &str) {
        while !self.text.contains(wanted) {
            let read = tokio::time::timeout(Duration::from_secs(60), self.read()).await;
            assert!(read.is_ok(), "{wanted} never came: {}", self.text);
        }
    }

    /// What comes within a moment.
    async fn some(&mut self) {
        let _ = tokio::time::timeout(Duration::from_millis(1_500), self.read()).await;
    }

    async fn read(&mut self) {
        let mut bytes = [0; 4_096];
        let read = self.watcher.read(&mut bytes).await.unwrap();
        assert!(read > 0, "the connection ended: {}", self.text);
        self.text.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
}
