//! NATS JetStream: one publish for each message, acknowledged by the stream that keeps it.
//!
//! `Nats-Msg-Id` is the same in every attempt, so that the stream itself drops a repeat within its window. The client
//! looks up names and follows what a server says about its cluster; both would lead around the guard. So it is given
//! the checked addresses themselves and set to ignore others, and the name of the certificate is fixed here.

pub(crate) mod ack;
mod certificate;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, Event, HeaderMap, Request, RequestErrorKind, ServerAddr,
    connection::State,
};
use punctual_model::{AboutAdapter, Outgoing, ReasonCode, Secret, SecretReference, SendOutcome};

use crate::{
    broker::{Broker, BrokerAdapter, Failure, HandedOver, Place, body},
    brokers::NATS,
    guard::{CheckedUrl, Scheme},
    settings::Reader,
    trust::{Trust, certificate_fault},
};

/// How long one address may take to answer, so that the next one gets its turn.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The adapter `nats`.
pub type NatsAdapter = BrokerAdapter<Nats>;

/// Where to publish on a server, and as whom.
pub struct Nats {
    subject: String,
    stream: Option<String>,
    login: Login,
}

/// How to sign in.
pub(crate) enum Login {
    None,
    Password(String, Secret),
    Token(Secret),
    NkeySeed(Secret),
    /// What a `.creds` file has: a JWT and the seed that belongs to it.
    Credentials(Secret),
}

/// What is wrong with a subject to publish to.
pub(crate) fn subject_fault(subject: &str) -> Option<&'static str> {
    if subject.len() > 255 || subject.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Some("a subject is one word of at most 255 bytes");
    }
    if subject.starts_with('$') {
        return Some("a subject that starts with `$` belongs to the server");
    }
    if subject.split('.').any(|token| token.is_empty() || token == "*" || token == ">") {
        return Some("a subject has words between its dots, and no wildcards");
    }
    None
}

pub(crate) fn login(reader: &mut Reader<'_>) -> Login {
    let password = reader.credentials();
    let seed = reader.secret("nkeySeed");
    if seed
        .as_ref()
        .is_some_and(|seed| !SecretReference::is_meant(seed.expose()) && !seed.expose().starts_with("SU"))
    {
        reader.fault("nkeySeed", "secret_invalid", "a user's seed starts with `SU`");
    }
    let credentials = reader.text("credentials").map(Secret::new);
    let is_file = |text: &Secret| {
        SecretReference::is_meant(text.expose()) || text.expose().contains("BEGIN NATS USER JWT")
    };
    if credentials.as_ref().is_some_and(|text| !is_file(text)) {
        let detail = "`credentials` is what a `.creds` file has, such as `file:nats.creds`";
        reader.fault("credentials", "secret_invalid", detail);
    }
    let ways = [
        password.map(|(username, password)| Login::Password(username, password)),
        reader.secret("token").map(Login::Token),
        seed.map(Login::NkeySeed),
        credentials.map(Login::Credentials),
    ];
    let mut ways = ways.into_iter().flatten();
    let login = ways.next().unwrap_or(Login::None);
    if ways.next().is_some() {
        let detail = "one way to sign in: `username` and `password`, `token`, `nkeySeed` or `credentials`";
        reader.fault("", "out_of_range", detail);
    }
    login
}

/// An open connection.
pub struct Live {
    client: Client,
    /// What the server last complained about. It does so beside the answers, or instead of one.
    complaint: Arc<Mutex<Option<String>>>,
}

impl Broker for Nats {
    const NAME: &'static str = "nats";
    const ABOUT: &'static AboutAdapter = &NATS;
    const SCHEMES: &'static [Scheme] = &[
        Scheme { name: "tls", port: 4222, secure: true },
        Scheme { name: "nats", port: 4222, secure: false },
    ];

    type Live = Live;

    fn read(reader: &mut Reader<'_>, _url: Option<&CheckedUrl>) -> Option<Self> {
        let subject = reader.text("subject");
        let fault = subject.and_then(subject_fault);
        if let Some(detail) = fault {
            reader.fault("subject", "out_of_range", detail);
        }
        let stream = reader.broker_name("stream");
        let login = login(reader);
        subject.map(|subject| Self { subject: subject.to_owned(), stream, login })
    }

    async fn connect(&self, place: &Place, trust: &Trust, _message: &Outgoing) -> Result<Live, Failure> {
        connect(&self.login, place, trust).await
    }

    fn works(live: &Live) -> bool {
        live.client.connection_state() == State::Connected
    }

    async fn send(
        &self,
        live: &Live,
        message: &Outgoing,
        handed_over: &HandedOver,
    ) -> Result<String, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", message.message_id.as_str());
        headers.insert("Content-Type", "application/json");
        if let Some(stream) = &self.stream {
            headers.insert("Nats-Expected-Stream", stream.as_str());
        }
        // How long to wait is decided around this call.
        let request = Request::new().headers(headers).payload(body(message).into()).timeout(None);
        handed_over.mark();
        let answer = live.client.send_request(self.subject.clone(), request).await;
        let answer = answer.map_err(|fault| match fault.kind() {
            RequestErrorKind::NoResponders => {
                Failure::Later("no stream takes this subject, or JetStream is not there".to_owned())
            }
            RequestErrorKind::MaxPayloadExceeded => {
                Failure::never(ReasonCode::MessageTooLarge, fault.to_string())
            }
            RequestErrorKind::InvalidSubject => {
                Failure::never(ReasonCode::SettingsInvalid, fault.to_string())
            }
            RequestErrorKind::TimedOut | RequestErrorKind::Other => {
                Failure::Lost(format!("the connection broke before an answer came: {fault}"))
            }
        })?;
        ack::read(&answer.payload)
    }

    /// Silence has a reason more often than not.
    fn in_doubt(&self, live: &Live, error: String) -> SendOutcome {
        let complaint = live.complaint.lock().unwrap_or_else(PoisonError::into_inner).take();
        ack::silence(error, complaint, &self.subject)
    }
}

/// Connects to a checked address and signs in.
pub(crate) async fn connect(login: &Login, place: &Place, trust: &Trust) -> Result<Live, Failure> {
    let scheme = if place.secure { "tls" } else { "nats" };
    let addresses: Vec<ServerAddr> = place
        .addresses()
        .await?
        .into_iter()
        .filter_map(|address| format!("{scheme}://{address}").parse().ok())
        .collect();
    let complaint: Arc<Mutex<Option<String>>> = Arc::default();
    let shared = Arc::clone(&complaint);
    let options = login
        .options()?
        .name("punctual")
        .connection_timeout(CONNECT_TIMEOUT)
        .request_timeout(None)
        // One round: who needs the connection then makes another, to addresses that were looked up again.
        .max_reconnects(addresses.len())
        .retain_servers_order()
        .ignore_discovered_servers()
        .require_tls(place.secure)
        .event_callback(move |event| {
            if let Event::ServerError(fault) = event {
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault.to_string());
            }
            std::future::ready(())
        });
    let options = match certificate::config(trust, &place.host) {
        Ok(tls) => options.tls_client_config(tls),
        Err(fault) if place.secure => return Err(fault),
        // A plain connection needs no certificates; a server that asks for TLS nevertheless is not believed.
        Err(_) => options,
    };
    let client = options.connect(addresses).await.map_err(|fault| match fault.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => Failure::never(
            ReasonCode::CredentialsRefused,
            format!("the server refused the credentials: {fault}"),
        ),
        _ => Failure::Later(
            certificate_fault(&fault).unwrap_or_else(|| format!("the server cannot be reached: {fault}")),
        ),
    })?;
    Ok(Live { client, complaint })
}

impl Live {
    pub(crate) fn into_client(self) -> Client {
        self.client
    }
}

impl Login {
    fn options(&self) -> Result<ConnectOptions, Failure> {
        let options = ConnectOptions::new();
        Ok(match self {
            Self::None => options,
            Self::Password(username, password) => {
                options.user_and_password(username.clone(), password.expose().to_owned())
            }
            Self::Token(token) => options.token(token.expose().to_owned()),
            Self::NkeySeed(seed) => options.nkey(seed.expose().to_owned()),
            Self::Credentials(text) => options.credentials(text.expose()).map_err(|_| {
                Failure::never(ReasonCode::SettingsInvalid, "`credentials` is not what a `.creds` file has")
            })?,
        })
    }
}
