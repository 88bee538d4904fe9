//! A webhook receiver in the test process: it notes every id it accepted, also while the sender dies.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    seen: Arc<Mutex<HashMap<String, Vec<String>>>>,
}

impl Receiver {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let seen: Arc<Mutex<HashMap<String, Vec<String>>>> = Arc::default();
        let kept = seen.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kept = kept.clone();
                tokio::spawn(async move {
                    let _ = take(stream, kept).await;
                });
            }
        });
        Self { url, seen }
    }

    /// By notification, the message id of every time it was accepted.
    pub fn accepted(&self) -> HashMap<String, Vec<String>> {
        self.seen.lock().unwrap().clone()
    }
}

async fn take(mut stream: TcpStream, seen: Arc<Mutex<HashMap<String, Vec<String>>>>) -> std::io::Result<()> {
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
        let id = header("webhook-id").unwrap_or_default();
        let json: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let notification =
            json.pointer("/data/notificationId").and_then(|v| v.as_str()).unwrap_or_default().to_owned();
        seen.lock().unwrap().entry(notification).or_default().push(id);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await?;
        data.clear();
    }
}
