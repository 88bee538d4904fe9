//! Whether the destination of a channel can be reached, found out without sending: the name is looked up, a connection is
//! made and encrypted as the channel would do it, and a mail relay is greeted. Nothing is signed in to.

mod certificate;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use jiff::Timestamp;
use reqwest::Url;
use rustls::{CertificateError, pki_types::ServerName};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::{connect, guard::Guard, trust::Trust};

/// How long each step may take.
const STEP: Duration = Duration::from_secs(5);
/// The longest line of a relay.
const LONGEST_LINE: usize = 2_048;

/// Where a channel calls, as far as its settings say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub host: String,
    pub port: u16,
    speaks: Speaks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaks {
    /// Something that is not asked further.
    Plain,
    Tls,
    Mail,
    MailOverTls,
    MailThenTls,
}

/// A destination that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// When the certificate that was shown ends.
    pub certificate_ends: Option<Timestamp>,
}

/// Why a destination is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The name leads nowhere, or to where nothing is sent.
    #[error("{0}")]
    Address(String),
    #[error("no connection to {0}: {1}")]
    Connection(SocketAddr, String),
    #[error("its certificate {0}")]
    Certificate(WrongCertificate),
    /// It is not what the channel talks to.
    #[error("{0}")]
    Answer(String),
}

/// What is wrong with a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongCertificate {
    #[error("has ended{}", .0.map_or_else(String::new, |at| format!(", at {at}")))]
    Ended(Option<Timestamp>),
    #[error("is from an issuer that this machine does not trust")]
    UnknownIssuer,
    #[error("is for another name than `{0}`")]
    OtherName(String),
    #[error("is refused: {0}")]
    Other(String),
}

impl Destination {
    /// The destinations in the settings of a channel; none for one that stays inside, such as `memory`.
    pub fn of(adapter: &str, settings: &Value) -> Vec<Self> {
        let text = |name: &str| settings[name].as_str();
        if adapter == "smtp" {
            return Self::of_relay(settings).into_iter().collect();
        }
        let built_in = match adapter {
            "sendgrid" => Some("https://api.sendgrid.com"),
            "twilio" => Some("https://api.twilio.com"),
            "whatsapp-cloud" => Some("https://graph.facebook.com"),
            "whatsapp-360dialog" => Some("https://waba-v2.360dialog.io"),
            _ => None,
        };
        let one = text("baseUrl").or(text("url")).or(text("endpoint")).or(text("server")).or(built_in);
        let many = settings["servers"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut found: Vec<Self> = one.into_iter().chain(many).filter_map(Self::of_url).collect();
        found.dedup();
        found
    }

    fn of_relay(settings: &Value) -> Option<Self> {
        let host = settings["host"].as_str()?.to_owned();
        let port = settings["port"].as_u64().and_then(|port| u16::try_from(port).ok());
        let speaks = match settings["tls"].as_str() {
            Some("none") => Speaks::Mail,
            Some("implicit") => Speaks::MailOverTls,
            None | Some("required") if port == Some(465) => Speaks::MailOverTls,
            _ => Speaks::MailThenTls,
        };
        let usual = match speaks {
            Speaks::Mail => 25,
            Speaks::MailOverTls => 465,
            _ => 587,
        };
        Some(Self { host, port: port.unwrap_or(usual), speaks })
    }

    fn of_url(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        let (usual, speaks) = match url.scheme() {
            "https" | "wss" => (443, Speaks::Tls),
            "amqps" => (5671, Speaks::Tls),
            "http" => (80, Speaks::Plain),
            "amqp" => (5672, Speaks::Plain),
            // A server of NATS speaks first and encrypts then.
            "nats" | "tls" => (4222, Speaks::Plain),
            _ => return None,
        };
        Some(Self { host, port: url.port().unwrap_or(usual), speaks })
    }

    /// Looks it up, connects and encrypts.
    pub async fn reach(&self, guard: &Guard, trust: &Trust) -> Result<Reached, Unreachable> {
        let listed_only = false;
        let looking = tokio::time::timeout(STEP, guard.resolve(&self.host, self.port, listed_only)).await;
        let addresses = looking.map_err(|_| {
            Unreachable::Address(format!("the name `{}` is not looked up in time", self.host))
        })?;
        let addresses = addresses.map_err(|fault| Unreachable::Address(fault.to_string()))?;
        let mut last = Unreachable::Address(format!("the name `{}` has no address", self.host));
        for address in addresses {
            match connect::tcp(address, STEP).await {
                Ok(stream) => {
                    let talk = tokio::time::timeout(STEP * 2, self.talk(stream, trust)).await;
                    let silent = "it accepts connections and says nothing";
                    let talked = talk.map_err(|_| Unreachable::Answer(silent.to_owned()))?;
                    return talked.map_err(|fault| self.fault(&fault));
                }
                Err(fault) => last = Unreachable::Connection(address, fault.to_string()),
            }
        }
        Err(last)
    }

    /// What a talk failed with.
    fn fault(&self, fault: &io::Error) -> Unreachable {
        let tls = fault.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let Some(rustls::Error::InvalidCertificate(refusal)) = tls else {
            return Unreachable::Answer(fault.to_string());
        };
        Unreachable::Certificate(match refusal {
            CertificateError::Expired => WrongCertificate::Ended(None),
            CertificateError::ExpiredContext { not_after, .. } => {
                let seconds = i64::try_from(not_after.as_secs()).ok();
                WrongCertificate::Ended(seconds.and_then(|end| Timestamp::from_second(end).ok()))
            }
            CertificateError::UnknownIssuer => WrongCertificate::UnknownIssuer,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                WrongCertificate::OtherName(self.host.clone())
            }
            other => WrongCertificate::Other(other.to_string()),
        })
    }

    async fn talk(&self, stream: TcpStream, trust: &Trust) -> io::Result<Reached> {
        match self.speaks {
            Speaks::Plain => Ok(Reached { certificate_ends: None }),
            Speaks::Tls => Ok(shown(&self.encrypt(stream, trust).await?)),
            Speaks::Mail => {
                greet(&mut BufReader::new(stream)).await?;
                Ok(Reached { certificate_ends: None })
            }
            Speaks::MailOverTls => {
                let mut stream = BufReader::new(self.encrypt(stream, trust).await?);
                greet(&mut stream).await?;
                Ok(shown(stream.get_ref()))
            }
            Speaks::MailThenTls => {
                let mut plain = BufReader::new(stream);
                greet(&mut plain).await?;
                expect(&mut plain, "STARTTLS\r\n", "220").await?;
                let stream = self.encrypt(plain.into_inner(), trust).await?;
                Ok(shown(&stream))
            }
        }
    }

    async fn encrypt(&self, stream: TcpStream, trust: &Trust) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let config = trust.client_config().map_err(io::Error::other)?;
        connect::tls(stream, name, Arc::new(config)).await
    }
}

fn shown(stream: &TlsStream<TcpStream>) -> Reached {
    let (_, session) = stream.get_ref();
    let certificate = session.peer_certificates().and_then(|all| all.first());
    Reached { certificate_ends: certificate.and_then(|one| certificate::ends(one.as_ref())) }
}

/// When the first certificate of a PEM text ends.
pub fn certificate_ends(pem: &[u8]) -> Option<Timestamp> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    CertificateDer::from_pem_slice(pem).ok().and_then(|one| certificate::ends(one.as_ref()))
}

/// The greeting of a relay, and ours.
async fn greet<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut BufReader<S>) -> io::Result<()> {
    answer(stream, "220").await?;
    expect(stream, "EHLO doctor.invalid\r\n", "250").await
}

async fn expect<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufReader<S>,
    said: &str,
    code: &str,
) -> io::Result<()> {
    stream.write_all(said.as_bytes()).await?;
    stream.flush().await?;
    answer(stream, code).await
}

/// Reads a reply, of several lines perhaps.
async fn answer<S: AsyncRead + Unpin>(stream: &mut BufReader<S>, code: &str) -> io::Result<()> {
    loop {
        let mut line = Vec::new();
        let mut limited = tokio::io::AsyncReadExt::take(&mut *stream, LONGEST_LINE as u64);
        limited.read_until(b'\n', &mut line).await?;
        let line = String::from_utf8_lossy(&line);
        if !line.starts_with(code) {
            let line = line.trim();
            let said = if line.is_empty() { "nothing" } else { line };
            return Err(io::Error::other(format!("the relay answers {said}, not {code}")));
        }
        if line.as_bytes().get(3) != Some(&b'-') {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn destinations_follow_from_settings() {
        let of = |adapter: &str, settings: Value| {
            let found = Destination::of(adapter, &settings);
            found.into_iter().map(|one| (one.host, one.port, one.speaks)).collect::<Vec<_>>()
        };
        let mail = |settings| of("smtp", settings).remove(0);
        assert_eq!(mail(json!({ "host": "m.example" })), ("m.example".into(), 587, Speaks::MailThenTls));
        assert_eq!(mail(json!({ "host": "m.example", "port": 465 })).2, Speaks::MailOverTls);
        assert_eq!(
            mail(json!({ "host": "m.example", "tls": "none" })),
            ("m.example".into(), 25, Speaks::Mail)
        );
        assert_eq!(
            of("webhook", json!({ "url": "https://h.example/x" })),
            [("h.example".into(), 443, Speaks::Tls)]
        );
        assert_eq!(of("webhook", json!({ "url": "http://[::1]:81/" })), [("::1".into(), 81, Speaks::Plain)]);
        assert_eq!(of("twilio", json!({})), [("api.twilio.com".into(), 443, Speaks::Tls)]);
        assert_eq!(of("memory", json!({})), []);
        assert_eq!(of("nats", json!({ "servers": ["nats://a:4333", "nats://b"] })).len(), 2);
    }
}
