//! A webhook receiver in the test process: it notes every id it accepted, also while the sender dies.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use jiff::Timestamp;
use punctual_testkit::history::judge::Call;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    seen: Arc<Mutex<HashMap<String, Vec<Seen>>>>,
    answers_after: Duration,
}

/// A message that arrived.
struct Seen {
    message: String,
    at: Timestamp,
    call: Call,
}

impl Receiver {
    pub async fn start() -> Self {
        Self::slow(Duration::ZERO).await
    }

    /// One that takes this long to answer.
    pub async fn slow(answers_after: Duration) -> Self {
        Self::at("127.0.0.1", answers_after).await
    }

    /// The same, listening on this address.
    pub async fn at(own: &str, answers_after: Duration) -> Self {
        let listener = TcpListener::bind((own, 0)).await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let receiver = Self { url, seen: Arc::default(), answers_after };
        let own = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let own = own.clone();
                tokio::spawn(async move {
                    let _ = own.take(stream).await;
                });
            }
        });
        receiver
    }

    /// By notification, the message id of every time it was accepted.
    pub fn accepted(&self) -> HashMap<String, Vec<String>> {
        let seen = self.seen.lock().unwrap();
        let ids = |seen: &Vec<Seen>| seen.iter().map(|seen| seen.message.clone()).collect();
        seen.iter().map(|(id, seen)| (id.clone(), ids(seen))).collect()
    }

    /// Every call, by the key in its subject, for the judge of a trial.
    pub fn calls(&self) -> Vec<Call> {
        self.seen.lock().unwrap().values().flatten().map(|seen| seen.call.clone()).collect()
    }

    /// How many calls were received.
    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().values().map(Vec::len).sum()
    }

    /// When a notification arrived for the first time.
    pub fn first_at(&self, notification: &str) -> Timestamp {
        self.seen.lock().unwrap()[notification][0].at
    }

    async fn take(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut data = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            let read = stream.read(&mut chunk).await?;
            if read == 0 {
                return Ok(());
            }
            data.extend_from_slice(&chunk[..read]);
            let text = String::from_utf8_lossy(&data).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let header = |name: &str| {
                head.lines().find_map(|line| {
                    let (key, value) = line.split_once(':')?;
                    key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
                })
            };
            let length: usize = header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
            if body.len() < length {
                continue;
            }
            self.note(header("webhook-id").unwrap_or_default(), body);
            self.wait().await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await?;
            data.clear();
        }
    }

    #[expect(clippy::disallowed_methods, reason = "real messages at a real moment")]
    fn note(&self, message: String, body: &str) {
        let json: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let now = Timestamp::now();
        let text = |pointer| json.pointer(pointer).and_then(|v| v.as_str()).unwrap_or_default();
        let call = Call {
            key: text("/data/subject").to_owned(),
            target: text("/data/target").to_owned(),
            message_id: message.clone(),
            started_at: text("/timestamp").parse().unwrap_or(Timestamp::MIN),
            arrived_at: now,
        };
        let mut seen = self.seen.lock().unwrap();
        let of = seen.entry(text("/data/notificationId").to_owned()).or_default();
        of.push(Seen { message, at: now, call });
    }

    #[expect(clippy::disallowed_methods, reason = "a slow receiver on real time")]
    async fn wait(&self) {
        if !self.answers_after.is_zero() {
            // tidy-allow: a slow receiver on real time
            tokio::time::sleep(self.answers_after).await;
        }
    }
}
