//! The server around the routes: connections, bounds, panics, and a graceful end.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_engine::{EventSink, StoredEvent, events::Touched};
use punctual_store::{StoreError, Tx};
use punctual_testkit::{TestBed, on_both, signal};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::sync::CancellationToken;

use crate::client::{ADMIN, Client};

on_both! {
    requests_arrive_over_a_real_connection;
    what_is_under_way_is_finished_before_the_end;
    a_panic_is_an_answer_and_not_the_end;
    a_body_that_does_not_come_is_given_up;
    a_refusal_is_read_by_a_client_that_still_writes;
}

struct Server {
    stream: TcpStream,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
}

impl Server {
    async fn start(client: &Client) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let running = tokio::spawn(punctual_api::serve(listener, client.router.clone(), stop.clone()));
        Self { stream: TcpStream::connect(address).await.unwrap(), stop, running }
    }

    async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until the text has come.
    async fn reads(&mut self, expected: &str) -> String {
        let mut text = String::new();
        let mut buffer = [0; 4096];
        signal(expected, async {
            while !text.contains(expected) {
                let count = self.stream.read(&mut buffer).await.unwrap();
                assert!(count > 0, "the connection ended: {text}");
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        })
        .await;
        text
    }
}

async fn requests_arrive_over_a_real_connection(bed: TestBed) {
    let mut server = Server::start(&Client::new(&bed).await).await;
    server.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
    server.reads("\"ok\"").await;
    // On loopback the figures need no key.
    server.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
    server.reads("punctual_rows{state=").await;
    let body = r#"{"targets":["x"],"channel":"memory:default","subject":"S","body":"B"}"#;
    let head = format!(
        "POST /api/v1/notifications HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    server.send(&head).await;
    server.send(body).await;
    let text = server.reads("\"pending\"").await;
    assert!(text.starts_with("HTTP/1.1 201"), "{text}");
    server.stop.cancel();
    signal("the end", server.running).await.unwrap();
    bed.tick().await;
    assert_eq!(bed.sent_to(), ["x"]);
}

/// Takes an event when the test lets it, or panics.
struct Slow {
    started: Arc<Semaphore>,
    may_end: Arc<Semaphore>,
}

impl EventSink for Slow {
    fn subscribes_to(&self, kind: &str) -> bool {
        matches!(kind, "slow" | "boom")
    }

    fn take<'a>(
        &'a self,
        _tx: &'a mut Tx,
        _now: Timestamp,
        events: &'a [StoredEvent<'a>],
    ) -> BoxFuture<'a, Result<Vec<Touched>, StoreError>> {
        Box::pin(async move {
            assert!(events.iter().all(|one| one.event.kind == "slow"), "boom");
            self.started.add_permits(1);
            drop(self.may_end.acquire().await);
            Ok(vec![Touched::default(); events.len()])
        })
    }
}

pub async fn with_slow_sink(bed: &TestBed) -> (Client, Arc<Semaphore>, Arc<Semaphore>) {
    let (started, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let sink = Arc::new(Slow { started: started.clone(), may_end: may_end.clone() });
    let client = Client::with(bed, |state| {
        state.sinks.add(sink);
    });
    (client.await, started, may_end)
}

pub const SLOW: &str = r#"{"specversion":"1.0","id":"1","source":"/t","type":"slow"}"#;

async fn what_is_under_way_is_finished_before_the_end(bed: TestBed) {
    let (client, started, may_end) = with_slow_sink(&bed).await;
    let mut server = Server::start(&client).await;
    let request = format!(
        "POST /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{SLOW}",
        SLOW.len()
    );
    server.send(&request).await;
    drop(signal("the request", started.acquire()).await);
    server.stop.cancel();
    may_end.add_permits(1);
    server.reads("\"accepted\"").await;
    signal("the end", server.running).await.unwrap();
}

async fn a_panic_is_an_answer_and_not_the_end(bed: TestBed) {
    let (client, ..) = with_slow_sink(&bed).await;
    let event = json!({ "specversion": "1.0", "id": "1", "source": "/t", "type": "boom" });
    let problem = client.post("/api/v1/events", event).await.refused(500, "internal");
    assert!(!problem.to_string().contains("boom"));
    client.get("/api/v1/work").await.expect(200);
    let again = client.put("/api/v1/sources/document/1", json!({})).await;
    again.expect(200);
}

async fn a_body_that_does_not_come_is_given_up(bed: TestBed) {
    let client =
        Client::with(&bed, |state| state.options.body_time = std::time::Duration::from_millis(1)).await;
    let mut server = Server::start(&client).await;
    let head = format!(
        "POST /api/v1/notifications HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n\
         Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{{"
    );
    server.send(&head).await;
    let text = server.reads("request_timeout").await;
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
    server.stop.cancel();
}

/// A connection that is closed while bytes of the body are on their way is reset, and takes the refusal along.
async fn a_refusal_is_read_by_a_client_that_still_writes(bed: TestBed) {
    const LENGTH: usize = 24 << 20;
    let mut server = Server::start(&Client::new(&bed).await).await;
    for (key, status) in [(ADMIN, "413"), ("nobody-s-key-0123456789", "401"), (ADMIN, "413")] {
        let head = format!(
            "POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {LENGTH}\r\n\r\n"
        );
        server.send(&head).await;
        let chunk = vec![b' '; 64 << 10];
        for _ in 0..LENGTH / chunk.len() {
            server.stream.write_all(&chunk).await.unwrap();
        }
        let text = server.reads("\"requestId\"").await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
    }
    // The connection goes on.
    server.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
    server.reads("\"ok\"").await;
    server.stop.cancel();
    signal("the end", server.running).await.unwrap();
}
