//! A stand-in for a provider: it speaks as much of the published API as the test gives it, and can be made to misbehave.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use punctual_model::{Adapter, SendOutcome};
use serde_json::Value;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};

use crate::{
    outgoing,
    receiver::{Request, read},
};

/// What the stand-in does with a request.
#[derive(Clone, Debug)]
pub enum Reply {
    Say(u16, Vec<(&'static str, String)>, String),
    /// Repeats everything it was sent, as some servers do in their errors.
    Echo(u16),
    Hang,
    Close,
    Nonsense,
    /// An answer whose body never ends.
    Endless(u16),
}

impl Reply {
    pub fn json(status: u16, body: &Value) -> Self {
        Self::Say(status, vec![("content-type", "application/json".to_owned())], body.to_string())
    }

    pub fn text(status: u16, body: &str) -> Self {
        Self::Say(status, Vec::new(), body.to_owned())
    }

    pub fn with(self, name: &'static str, value: &str) -> Self {
        match self {
            Self::Say(status, mut headers, body) => {
                headers.push((name, value.to_owned()));
                Self::Say(status, headers, body)
            }
            other => other,
        }
    }
}

type Handler = fn(&Request) -> Reply;

pub struct StandIn {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    scripted: Arc<Mutex<VecDeque<Reply>>>,
}

impl StandIn {
    /// Returns with `handler`, unless a reply is scripted.
    pub async fn start(handler: Handler) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, scripted) =
            (Arc::<Mutex<Vec<Request>>>::default(), Arc::<Mutex<VecDeque<Reply>>>::default());
        let shared = (requests.clone(), scripted.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (requests, scripted) = shared.clone();
                tokio::spawn(async move { drop(talk(stream, handler, &requests, &scripted).await) });
            }
        });
        Self { port, requests, scripted }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The reply to the next request, whatever it asks.
    pub fn next(&self, reply: Reply) {
        self.scripted.lock().unwrap().push_back(reply);
    }

    /// What came in since the last look.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

async fn talk(
    mut stream: TcpStream,
    handler: Handler,
    requests: &Mutex<Vec<Request>>,
    scripted: &Mutex<VecDeque<Reply>>,
) -> std::io::Result<()> {
    while let Some(request) = read(&mut stream).await? {
        let next = scripted.lock().unwrap().pop_front();
        let reply = next.unwrap_or_else(|| handler(&request));
        requests.lock().unwrap().push(request.clone());
        let (status, headers, body) = match reply {
            Reply::Say(status, headers, body) => (status, headers, body),
            Reply::Echo(status) => {
                let body = String::from_utf8_lossy(&request.body).into_owned();
                (status, Vec::new(), format!("{} {:?} {body}", request.path, request.headers))
            }
            Reply::Hang => std::future::pending().await,
            Reply::Close => return Ok(()),
            Reply::Nonsense => {
                stream.write_all(b"I am no web server\r\n\r\n").await?;
                return stream.shutdown().await;
            }
            Reply::Endless(status) => {
                let head = format!("HTTP/1.1 {status} X\r\ntransfer-encoding: chunked\r\n\r\n");
                stream.write_all(head.as_bytes()).await?;
                loop {
                    stream.write_all(b"400\r\n").await?;
                    stream.write_all(&[b'x'; 0x400]).await?;
                    stream.write_all(b"\r\n").await?;
                }
            }
        };
        let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await?;
    }
    Ok(())
}

/// An outcome in one word, with the reason of a refusal.
pub fn word(outcome: &SendOutcome) -> String {
    match outcome {
        SendOutcome::Delivered { .. } => "delivered".to_owned(),
        SendOutcome::Transient { .. } => "transient".to_owned(),
        SendOutcome::Permanent { reason, .. } => reason.to_string(),
        SendOutcome::Uncertain { .. } => "uncertain".to_owned(),
    }
}

pub fn error(outcome: &SendOutcome) -> &str {
    match outcome {
        SendOutcome::Delivered { .. } => "",
        SendOutcome::Transient { error, .. }
        | SendOutcome::Permanent { error, .. }
        | SendOutcome::Uncertain { error } => error,
    }
}

/// Sends one message over a channel with these settings.
pub async fn send(adapter: &dyn Adapter, settings: &Value, address: &str) -> SendOutcome {
    let channel = adapter.open(settings).unwrap_or_else(|fault| panic!("{fault:?}"));
    channel.send(outgoing("memory:x", address)).await
}

/// What every adapter makes of a server that misbehaves. `page` is the outcome of a 200 with a page in it, which a
/// provider that has no shape of its own for a yes cannot tell from one.
pub async fn check_failures(
    adapter: &dyn Adapter,
    stand_in: &StandIn,
    settings: &Value,
    secrets: &[&str],
    address: &str,
    page: &str,
) {
    for (reply, expected) in [
        (Reply::text(429, "slow down").with("retry-after", "30"), "transient"),
        (Reply::text(503, "<h1>Maintenance</h1>"), "transient"),
        (Reply::text(500, ""), "transient"),
        (Reply::Endless(503), "transient"),
        (Reply::text(200, "<html>Please sign in to the hotel's network</html>"), page),
        (Reply::text(302, "").with("location", "http://169.254.169.254/x?token=y"), "redirect-not-followed"),
        (Reply::Close, "uncertain"),
        (Reply::Nonsense, "uncertain"),
        (Reply::Hang, "uncertain"),
    ] {
        let mut settings = settings.clone();
        // Long enough for a busy machine, and short where it has to run out.
        settings["timeoutSeconds"] = if matches!(reply, Reply::Hang) { 1.into() } else { 30.into() };
        stand_in.next(reply.clone());
        let outcome = send(adapter, &settings, address).await;
        let requests = stand_in.requests();
        assert_eq!((word(&outcome).as_str(), requests.len()), (expected, 1), "{reply:?}: {outcome:?}");
        assert_eq!(requests[0].method, "POST");
        if let SendOutcome::Transient { retry_after, .. } = &outcome {
            let asked = matches!(reply, Reply::Say(429, ..)).then(|| std::time::Duration::from_secs(30));
            assert_eq!(*retry_after, asked, "{reply:?}");
        }
        let error = error(&outcome);
        assert!(error.len() < 600 && !error.contains('\n') && !error.contains("token=y"), "{error}");
    }
    for status in [200, 400, 401, 503] {
        stand_in.next(Reply::Echo(status));
        let outcome = send(adapter, settings, address).await;
        for secret in secrets {
            assert!(!format!("{outcome:?}").contains(secret), "{status} shows `{secret}`: {outcome:?}");
        }
        if page == "uncertain" || status != 200 {
            assert!(error(&outcome).contains("***"), "{status}: the test needs an echo: {outcome:?}");
        }
    }
    stand_in.requests();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let elsewhere = settings.to_string().replace(&stand_in.url(), &format!("http://127.0.0.1:{gone}"));
    let outcome = send(adapter, &serde_json::from_str(&elsewhere).unwrap(), address).await;
    assert_eq!(word(&outcome), "transient", "{outcome:?}");
    assert!(error(&outcome).contains("cannot be reached"), "{outcome:?}");
}

/// The fields of a form.
pub fn form(request: &Request) -> std::collections::HashMap<String, String> {
    let query = String::from_utf8(request.body.clone()).unwrap();
    let page = reqwest::Url::parse(&format!("http://form.invalid/?{query}")).unwrap();
    page.query_pairs().into_owned().collect()
}

pub fn json_of(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap_or(Value::Null)
}

pub fn header<'r>(request: &'r Request, name: &str) -> &'r str {
    request.headers.get(name).map_or("", String::as_str)
}
