//! A relay inside the test that answers at once and remembers what it received, write by write.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use punctual_channels::SmtpAdapter;
use punctual_model::{Adapter, Channel};
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{open_guard, test_trust, webhook::acceptor};

/// How a sink behaves.
#[derive(Clone, Copy, Default)]
pub struct Behaviour {
    pub starttls: bool,
    pub implicit: bool,
    /// Offers PIPELINING, and says nothing to MAIL and RCPT before DATA has come.
    pub pipelines: bool,
    /// Closes a connection after this many mails, without a word.
    pub closes_after: Option<usize>,
    /// What MAIL is answered with, where it is not taken.
    pub refuses_senders: Option<&'static str>,
    /// What taken content is answered with; `250 taken` where nothing is said.
    pub taken: Option<&'static [u8]>,
    /// Takes DATA although it refused the recipient, as some relays do.
    pub takes_data_from_nobody: bool,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    mails: AtomicUsize,
    /// The first word of every command.
    commands: Mutex<Vec<String>>,
}

pub struct Sink {
    port: u16,
    behaviour: Behaviour,
    seen: Arc<Seen>,
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

impl Sink {
    pub async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Seen>::default();
        let shared = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let seen = Arc::clone(&shared);
                tokio::spawn(async move { drop(serve(stream, behaviour, &seen).await) });
            }
        });
        Self { port, behaviour, seen }
    }

    pub fn channel(&self) -> Arc<dyn Channel> {
        let tls = match self.behaviour {
            Behaviour { implicit: true, .. } => "implicit",
            Behaviour { starttls: true, .. } => "starttls",
            _ => "none",
        };
        let settings = json!({
            "host": "127.0.0.1", "port": self.port, "tls": tls, "from": "from@a.example", "timeoutSeconds": 5,
        });
        SmtpAdapter::new(open_guard(), test_trust()).open(&settings).unwrap()
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::Relaxed)
    }

    pub fn mails(&self) -> usize {
        self.seen.mails.load(Ordering::Relaxed)
    }

    /// The commands since the last look.
    pub fn commands(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.commands.lock().unwrap())
    }
}

async fn serve(stream: TcpStream, behaviour: Behaviour, seen: &Seen) -> std::io::Result<()> {
    let mut stream: Box<dyn Duplex> = if behaviour.implicit {
        Box::new(acceptor("server").accept(stream).await?)
    } else {
        Box::new(stream)
    };
    stream.write_all(b"220 sink\r\n").await?;
    if talk(&mut stream, behaviour, behaviour.starttls, seen).await? {
        let mut stream = acceptor("server").accept(stream).await?;
        talk(&mut stream, behaviour, false, seen).await?;
    }
    Ok(())
}

/// Answers until the client goes; true when it asked for TLS.
async fn talk(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    behaviour: Behaviour,
    offers_tls: bool,
    seen: &Seen,
) -> std::io::Result<bool> {
    let (mut input, mut answers) = (Vec::new(), String::new());
    let (mut in_content, mut refused, mut taken) = (false, false, 0);
    loop {
        while let Some(line) = next(&mut input, in_content) {
            if in_content {
                in_content = false;
                taken += 1;
                seen.mails.fetch_add(1, Ordering::Relaxed);
                stream.write_all(behaviour.taken.unwrap_or(b"250 taken\r\n")).await?;
                continue;
            }
            let word = line.split([' ', ':']).next().unwrap_or_default().to_uppercase();
            seen.commands.lock().unwrap().push(word.clone());
            let answer = match word.as_str() {
                "EHLO" => {
                    let tls = if offers_tls { "250-STARTTLS\r\n" } else { "" };
                    let pipelining = if behaviour.pipelines { "250-PIPELINING\r\n" } else { "" };
                    format!("250-sink\r\n{tls}{pipelining}250 8BITMIME")
                }
                "STARTTLS" => {
                    stream.write_all(b"220 go on\r\n").await?;
                    return Ok(true);
                }
                "MAIL" if behaviour.refuses_senders.is_some() => {
                    behaviour.refuses_senders.unwrap_or_default().to_owned()
                }
                "RCPT" => {
                    refused = line.contains("<refused@");
                    if refused { "550 no such mailbox".to_owned() } else { "250 fine".to_owned() }
                }
                "DATA" if refused && !behaviour.takes_data_from_nobody => {
                    "503 nobody to send it to".to_owned()
                }
                "DATA" => {
                    in_content = true;
                    "354 go on".to_owned()
                }
                _ => "250 fine".to_owned(),
            };
            answers.push_str(&answer);
            answers.push_str("\r\n");
            if behaviour.pipelines && ["MAIL", "RCPT"].contains(&word.as_str()) {
                continue;
            }
            stream.write_all(answers.as_bytes()).await?;
            answers.clear();
        }
        if behaviour.closes_after.is_some_and(|most| taken >= most) {
            return Ok(false);
        }
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(false);
        }
    }
}

/// Takes the next command from the input, or the rest of the content with its dot.
fn next(input: &mut Vec<u8>, in_content: bool) -> Option<String> {
    let end: &[u8] = if in_content { b"\r\n.\r\n" } else { b"\r\n" };
    let at = input.windows(end.len()).position(|window| window == end)?;
    let rest = input.split_off(at + end.len());
    let line = std::mem::replace(input, rest);
    Some(String::from_utf8_lossy(&line[..at]).into_owned())
}
