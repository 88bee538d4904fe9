//! Mail over SMTP to a relay.
//!
//! The dialogue is driven step by step over lettre's connection instead of its pooled transport, for two reasons.
//! The connection must go to an address that the guard has checked, and it must be known how far a failed attempt
//! got: lost before the final dot nothing was accepted, lost after it nobody knows.
//!
//! TLS by policy: `required` (the default) is TLS from the first byte on port 465 and STARTTLS on any other;
//! `starttls` and `implicit` ask for one of them on any port; none of them ever falls back to plain text. `none` has
//! to be asked for. A certificate that is not accepted is a permanent failure: trying again would not mend it.

mod classify;
mod compose;
mod cork;
mod dialogue;
mod replies;
mod session;

use std::{
    error::Error as StdError,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dialogue::Relay;
use futures_util::future::{BoxFuture, FutureExt};
use lettre::{
    Address,
    message::Mailbox,
    transport::smtp::{
        authentication::Credentials,
        client::{Certificate, CertificateStore, TlsParameters},
        extension::ClientId,
    },
};
use punctual_model::{
    AboutAdapter, Adapter, Channel, Outgoing, ReasonCode, Secret, SecretReference, SendOutcome, Setting,
    SettingsFault, adapter_settings::Section,
};
use rustls::pki_types::ServerName;
use serde_json::Value;
use session::{Failure, Protection};

pub use classify::classify;
pub(crate) use compose::{ONE_CLICK, check_attachment, is_link, message_id, own_headers, reply_to};

use crate::{
    guard::Guard,
    settings::{Reader, first},
    text::is_header_text,
    trust::Trust,
};

pub(crate) const ABOUT: AboutAdapter = AboutAdapter {
    title: "Mail over SMTP",
    purpose: "sends mail to a relay",
    types: &["email"],
    example: r#"{"host":"mail.example.com","from":"reminders@example.com"}"#,
    settings: &[
        Setting::text("host", "Host", "the name of the relay, such as mail.example.com").required(),
        Setting::number(
            "port",
            "Port",
            "587 for STARTTLS, 465 for TLS from the start, 25 without",
            1,
            65_535,
        ),
        Setting::choice(
            "tls",
            "Encryption",
            "how the connection is protected; a password is sent over TLS only",
            &[
                ("required", "required: TLS from the start on port 465, else STARTTLS"),
                ("starttls", "STARTTLS on any port"),
                ("implicit", "TLS from the start on any port"),
                ("none", "none"),
            ],
        ),
        Setting::text("from", "From", "the sender, such as reminders@example.com").required(),
        Setting::text(
            "replyTo",
            "Reply to",
            "where answers go, if not to the sender and the message names no other",
        ),
        Setting::text("username", "User name", "the account at the relay, with a password")
            .section(Section::SignIn),
        Setting::text("password", "Password", "the account's password").secret().section(Section::SignIn),
        Setting::text("helo", "Greeting", "the full name of this host, such as mail.example.com")
            .section(Section::Advanced),
        Setting::lines(
            "ca",
            "Certificate authority",
            "certificates in PEM that are trusted too, as `file:NAME`",
        )
        .secret()
        .section(Section::Advanced),
        Setting::number("timeoutSeconds", "Time-out", "how long one attempt may take, in seconds", 1, 600)
            .usually("60")
            .section(Section::Advanced),
    ],
};
/// A relay that takes longer is in trouble; a slow one may have up to ten minutes, which the standard allows.
const DEFAULT_TIMEOUT: u64 = 60;

/// The adapter `smtp`.
#[derive(Clone, Debug)]
pub struct SmtpAdapter {
    guard: Guard,
    trust: Trust,
}

/// How a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Security {
    None,
    StartTls,
    Implicit,
}

struct Settings {
    host: String,
    port: u16,
    security: Security,
    credentials: Option<(String, Secret)>,
    from: Mailbox,
    reply_to: Option<Mailbox>,
    hello: ClientId,
    trust: Trust,
    timeout: Duration,
}

impl SmtpAdapter {
    pub fn new(guard: Guard, trust: Trust) -> Self {
        Self { guard, trust }
    }

    fn read(&self, settings: &Value) -> Result<Settings, Vec<SettingsFault>> {
        let mut reader = Reader::new(settings, &ABOUT);
        let host = reader.text("host");
        let host = host.filter(|host| {
            let plain = !host.contains(|c: char| c.is_control() || c.is_whitespace() || "/@[]".contains(c))
                // Colons are an address's own; a port has its own setting.
                && (!host.contains(':') || host.parse::<Ipv6Addr>().is_ok());
            if !plain {
                reader.fault("host", "host_invalid", "`host` must be only a host name or an address");
            }
            plain
        });
        let port = reader.integer("port").and_then(|port| u16::try_from(port).ok());
        let by_port = if port == Some(465) { Security::Implicit } else { Security::StartTls };
        let choices = [
            ("required", by_port),
            ("starttls", Security::StartTls),
            ("implicit", Security::Implicit),
            ("none", Security::None),
        ];
        let security = reader.choice("tls", &choices).unwrap_or(Security::StartTls);
        let port = port.unwrap_or(match security {
            Security::None => 25,
            Security::StartTls => 587,
            Security::Implicit => 465,
        });
        let credentials = reader.credentials();
        if credentials.is_some() && security == Security::None && !host.is_some_and(is_local) {
            reader.fault("tls", "out_of_range", "a password is sent over TLS only: set `tls` to `required`");
        }
        let mut mailbox = |name: &'static str| {
            let text = reader.text(name)?;
            let mailbox = text.parse::<Mailbox>().ok().filter(|_| is_header_text(text));
            if mailbox.is_none() {
                let detail = format!("`{name}` is no mail address; write a@b.example");
                reader.fault(name, "address_invalid", detail);
            }
            mailbox
        };
        let (from, reply_to) = (mailbox("from"), mailbox("replyTo"));
        let helo = reader.text("helo").filter(|name| {
            let is_full = is_full_name(name);
            if !is_full {
                let detail = "`helo` is the full name of this host, such as mail.example.com";
                reader.fault("helo", "host_invalid", detail);
            }
            is_full
        });
        let trust = match reader.text("ca") {
            // It is looked up when the channel is opened.
            Some(text) if SecretReference::is_meant(text) => self.trust.clone(),
            Some(text) => self.trust.with_pem(text.as_bytes()).unwrap_or_else(|fault| {
                reader.fault("ca", "out_of_range", format!("`ca`: {fault}; write `file:NAME`"));
                self.trust.clone()
            }),
            None => self.trust.clone(),
        };
        let seconds = reader.integer("timeoutSeconds").unwrap_or(DEFAULT_TIMEOUT);
        let read = host.zip(from).map(|(host, from)| Settings {
            hello: hello(helo, &from),
            trust,
            host: host.to_owned(),
            port,
            security,
            credentials,
            from,
            reply_to,
            timeout: Duration::from_secs(seconds),
        });
        reader.finish(read)
    }
}

impl Settings {
    fn protection(&self) -> Result<Protection, Box<dyn StdError>> {
        Ok(match self.security {
            Security::None => Protection::None,
            Security::StartTls => Protection::StartTls(self.starttls()?),
            Security::Implicit => Protection::Implicit(
                ServerName::try_from(self.host.clone())?,
                Arc::new(self.trust.client_config()?),
            ),
        })
    }

    fn starttls(&self) -> Result<TlsParameters, lettre::transport::smtp::Error> {
        let mut builder = TlsParameters::builder(self.host.clone()).certificate_store(CertificateStore::None);
        for certificate in self.trust.certificates() {
            builder = builder.add_root_certificate(Certificate::from_der(certificate.to_vec())?);
        }
        builder.build_rustls()
    }
}

/// The name that the relay is greeted with: the one that was set, the domain of the sender, or the host's own full name. Many
/// relays refuse a bare host name.
fn hello(set: Option<&str>, from: &Mailbox) -> ClientId {
    if let Some(name) = set {
        return ClientId::Domain(name.to_owned());
    }
    match (compose::ascii_domain(from), ClientId::default()) {
        (Some(domain), _) => ClientId::Domain(domain),
        (None, ClientId::Domain(host)) if !is_full_name(&host) => ClientId::Ipv4(Ipv4Addr::LOCALHOST),
        (None, own) => own,
    }
}

fn is_full_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.contains('.') && name.split('.').all(is_label)
}

/// Whether a host is this machine, where a password crosses no network.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl Adapter for SmtpAdapter {
    fn name(&self) -> &'static str {
        "smtp"
    }

    fn about(&self) -> &'static AboutAdapter {
        &ABOUT
    }

    fn check(&self, settings: &Value) -> Vec<SettingsFault> {
        self.read(settings).err().unwrap_or_default()
    }

    fn check_destination<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Vec<SettingsFault>> {
        async move {
            let Ok(settings) = self.read(settings) else { return Vec::new() };
            let (host, port) = (&settings.host, settings.port);
            self.guard.destination_fault("host", host, port, false).await.into_iter().collect()
        }
        .boxed()
    }

    fn open(&self, settings: &Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        let settings = self.read(settings).map_err(first)?;
        let protection = settings.protection().map_err(|fault| SettingsFault {
            pointer: "/host".to_owned(),
            code: "host_invalid",
            detail: format!("TLS cannot be set up for this host: {fault}"),
        })?;
        let credentials = settings
            .credentials
            .map(|(username, password)| Credentials::new(username, password.expose().to_owned()));
        Ok(Arc::new(SmtpChannel {
            relay: Relay::new(
                self.guard.clone(),
                settings.host,
                settings.port,
                protection,
                credentials,
                settings.hello,
            ),
            from: settings.from,
            reply_to: settings.reply_to,
            timeout: settings.timeout,
        }))
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        parse_address(address).map(drop)
    }
}

/// An address as the envelope needs it; nothing is ever pasted into a header unparsed.
pub(crate) fn parse_address(address: &str) -> Result<Address, String> {
    let wrong = || "this is no mail address; write a@b.example".to_owned();
    // 254 bytes is what a path of SMTP can carry.
    if address.len() > 254 || address.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err(wrong());
    }
    address.parse().map_err(|_| wrong())
}

struct SmtpChannel {
    relay: Relay,
    from: Mailbox,
    /// Where answers go unless the message says otherwise.
    reply_to: Option<Mailbox>,
    timeout: Duration,
}

impl Channel for SmtpChannel {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        async move {
            match self.deliver(message).await {
                Ok(outcome) | Err(outcome) => outcome,
            }
        }
        .boxed()
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn carries_files(&self) -> bool {
        true
    }

    fn permits(&self) -> usize {
        // What relays accept at once from one client; lettre's own pool has ten.
        10
    }
}

impl SmtpChannel {
    async fn deliver(&self, message: Outgoing) -> Result<SendOutcome, SendOutcome> {
        let refused = |reason: ReasonCode, error| SendOutcome::Permanent { reason, error };
        let to =
            parse_address(&message.address).map_err(|error| refused(ReasonCode::AddressInvalid, error))?;
        let at = message.at;
        let mail = compose::compose(&self.from, self.reply_to.as_ref(), to, message)
            .map_err(|fault| refused(fault.reason, fault.detail))?;
        let dot_sent = AtomicBool::new(false);
        let sent = tokio::time::timeout(self.timeout, self.relay.send(&mail, at, &dot_sent)).await;
        let failure = match sent {
            Ok(Ok(queued)) => return Ok(SendOutcome::Delivered { provider_id: queued }),
            Ok(Err(failure)) => failure,
            Err(_) => Failure::Lost(format!("no answer within {} s", self.timeout.as_secs())),
        };
        Err(failure.into_outcome(dot_sent.load(Ordering::Relaxed)))
    }
}
