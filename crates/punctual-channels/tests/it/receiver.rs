//! A receiver of webhooks on loopback, written on bare sockets so that it can be as rude as it likes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// One request as it came in.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

/// The receiver; its path says how it answers.
pub struct Receiver {
    pub port: u16,
    pub requests: Arc<Mutex<Vec<Request>>>,
}

impl Receiver {
    pub async fn start() -> Self {
        Self::serve(|stream, requests| async move { drop(answer(stream, requests).await) }).await
    }

    /// The same behind TLS.
    pub async fn start_tls(acceptor: tokio_rustls::TlsAcceptor) -> Self {
        Self::serve(move |stream, requests| {
            let acceptor = acceptor.clone();
            async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    drop(answer(stream, requests).await);
                }
            }
        })
        .await
    }

    async fn serve<F, Fut>(handle: F) -> Self
    where
        F: Fn(TcpStream, Arc<Mutex<Vec<Request>>>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(handle(stream, Arc::clone(&kept)));
            }
        });
        Self { port, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn answer<S>(mut stream: S, requests: Arc<Mutex<Vec<Request>>>) -> std::io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(request) = read(&mut stream).await? {
        let path = request.path.clone();
        requests.lock().unwrap().push(request);
        let plain = |status: &str, headers: &str, body: &str| {
            format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
        };
        let reply = match path.as_str() {
            "/ok" => plain("204", "", ""),
            "/hang" => std::future::pending().await,
            "/close" => return Ok(()),
            "/nonsense" => "I am no web server\r\n\r\n".to_owned(),
            "/half" => "HTTP/1.1 200 OK\r\ncontent-le".to_owned(),
            "/slow-body" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc").await?;
                std::future::pending().await
            }
            "/endless" => {
                stream.write_all(b"HTTP/1.1 503 X\r\ntransfer-encoding: chunked\r\n\r\n").await?;
                loop {
                    stream.write_all(b"400\r\n").await?;
                    stream.write_all(&[b'x'; 0x400]).await?;
                    stream.write_all(b"\r\n").await?;
                }
            }
            "/wait-seconds" => plain("429", "retry-after: 120\r\n", "slow down"),
            "/wait-date" => plain("503", "retry-after: Tue, 03 Nov 2026 08:32:00 GMT\r\n", ""),
            "/redirect" => plain("307", "location: http://169.254.169.254/latest/meta-data?token=x\r\n", ""),
            other => plain(other.trim_start_matches('/'), "", "said <b>so</b>\r\nand more"),
        };
        stream.write_all(reply.as_bytes()).await?;
        if matches!(path.as_str(), "/nonsense" | "/half") {
            return stream.shutdown().await;
        }
    }
    Ok(())
}

/// The next request of a connection; none where it ends.
pub async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> std::io::Result<Option<Request>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).await? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some(Request { method, path, headers, body }))
}
