//! The HTTP client for all adapters that use HTTP.
//!
//! No redirect is followed and no proxy of the environment is used, because both would lead around the guard. Nothing
//! is repeated here: that is the engine's. At most 16 KiB of an answer is read, unless a caller wants data and says how much. An answer that does not come after the
//! request was written leaves it open whether the other side took the message: that is `Uncertain`, never a plain
//! failure. What is secret is taken out of an answer before anybody sees it, for some receivers repeat what they got.

mod classify;

use std::{
    collections::HashMap,
    error::Error as StdError,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use punctual_model::{ReasonCode, SendOutcome, SettingsFault};
use reqwest::{
    Client, Method, Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use serde_json::Value;

pub use classify::{Meaning, by_status, classify, failed, not_understood, retry_after};

use crate::{
    connect,
    guard::{CheckedUrl, Guard, GuardedResolver, ResolveFault},
    text::tidy,
    trust::{Trust, certificate_fault, find},
};

/// At most this much of an answer is read.
const MOST_ANSWER: usize = 16 * 1024;
/// How many targets keep their connections; a channel with more of them opens new ones.
const MOST_CLIENTS: usize = 64;
/// Receivers close idle connections after seconds, and a request on a closing one is lost in doubt.
const IDLE: Duration = Duration::from_secs(5);
/// Shorter texts occur in answers at random.
const SHORTEST_SECRET: usize = 6;

/// One request, ready to leave.
pub struct Call {
    method: Method,
    url: CheckedUrl,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Call {
    pub fn new(url: CheckedUrl, content_type: &'static str, body: Vec<u8>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Self { method: Method::POST, url, headers, body }
    }

    /// A question: it changes nothing on the other side.
    pub fn get(url: CheckedUrl) -> Self {
        Self { method: Method::GET, url, headers: HeaderMap::new(), body: Vec::new() }
    }

    pub fn json(url: CheckedUrl, body: &Value) -> Self {
        Self::new(url, "application/json", body.to_string().into_bytes())
    }

    pub fn form<'a>(url: CheckedUrl, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut written = String::new();
        for (name, value) in fields {
            let between = if written.is_empty() { "" } else { "&" };
            written.push_str(&format!("{between}{}={}", encoded(name), encoded(value)));
        }
        Self::new(url, "application/x-www-form-urlencoded", written.into_bytes())
    }

    pub fn with(self, name: &str, value: &str) -> Result<Self, SendOutcome> {
        self.with_header(name, value, false)
    }

    /// A header that must not be seen in logs or answers.
    pub fn with_secret(self, name: &str, value: &str) -> Result<Self, SendOutcome> {
        self.with_header(name, value, true)
    }

    fn with_header(mut self, name: &str, value: &str, is_secret: bool) -> Result<Self, SendOutcome> {
        let made = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
        let Some((name, mut value)) = made else {
            return Err(permanent(ReasonCode::SettingsInvalid, "a header of the request cannot be written"));
        };
        value.set_sensitive(is_secret);
        self.headers.insert(name, value);
        Ok(self)
    }
}

/// A text as a form has it. The query of a URL is written just alike.
pub(crate) fn encoded(text: &str) -> String {
    let Ok(mut page) = Url::parse("http://form.invalid/") else { return String::new() };
    page.query_pairs_mut().append_key_only(text);
    page.query().unwrap_or_default().to_owned()
}

/// What the other side said.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    /// There was more of it than is read.
    pub is_cut: bool,
    /// When the request was made, for waits that are given as a date.
    pub at: Timestamp,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn is_success(&self) -> bool {
        (200..=299).contains(&self.status)
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    pub fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after").and_then(|text| retry_after(text, self.at))
    }
}

/// The HTTP client of one channel.
pub struct HttpClient {
    guard: Guard,
    tls: rustls::ClientConfig,
    timeout: Duration,
    hidden: Vec<String>,
    most_answer: usize,
    /// One client for each host and port, because the guard needs the port and a resolver gets the name alone.
    clients: Mutex<HashMap<(String, u16, bool), Client>>,
}

impl HttpClient {
    /// `hidden` are texts that no answer may show.
    pub fn open(
        guard: &Guard,
        trust: &Trust,
        timeout: Duration,
        hidden: Vec<String>,
    ) -> Result<Self, SettingsFault> {
        let tls = trust.client_config().map_err(|fault| SettingsFault {
            pointer: String::new(),
            code: "settings_invalid",
            detail: format!("TLS cannot be set up: {fault}"),
        })?;
        let hidden = hidden.into_iter().filter(|text| text.len() >= SHORTEST_SECRET).collect();
        let (guard, most_answer) = (guard.clone(), MOST_ANSWER);
        Ok(Self { guard, tls, timeout, hidden, most_answer, clients: Mutex::default() })
    }

    /// Reads this much of an answer, instead of the little that shows the outcome of a message.
    #[must_use]
    pub fn reading(self, most_answer: usize) -> Self {
        Self { most_answer, ..self }
    }

    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Makes the call; what is not an answer is already an outcome.
    pub async fn send(&self, call: Call, at: Timestamp) -> Result<Answer, SendOutcome> {
        let client = self.client(&call.url)?;
        let mut hidden = self.hidden.clone();
        for value in call.headers.values().filter(|value| value.is_sensitive()) {
            let text = value.to_str().unwrap_or_default();
            // Without its scheme too: `Bearer abc` is often repeated as `abc`.
            hidden.extend(text.split_once(' ').map(|(_, credential)| credential.to_owned()));
            hidden.push(text.to_owned());
        }
        let request = client.request(call.method, call.url.url).headers(call.headers);
        match request.timeout(self.timeout).body(call.body).send().await {
            Ok(response) => Ok(read(response, self.most_answer, &hidden, at).await),
            Err(fault) => Err(self.failed(&fault)),
        }
    }

    fn client(&self, target: &CheckedUrl) -> Result<Client, SendOutcome> {
        let key = (target.host.clone(), target.port, target.listed_only);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let (port, listed_only) = (target.port, target.listed_only);
        let client = connect::http()
            .tls_backend_preconfigured(self.tls.clone())
            .dns_resolver(Arc::new(GuardedResolver { guard: self.guard.clone(), port, listed_only }))
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .user_agent("punctual")
            // Shorter than the whole, so that a slow connect shows as one: nothing was written then.
            .connect_timeout(self.timeout * 2 / 3)
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(|fault| transient(format!("the HTTP client cannot be set up: {}", causes(&fault))))?;
        if clients.len() >= MOST_CLIENTS {
            clients.clear();
        }
        clients.insert(key, client.clone());
        Ok(client)
    }

    fn failed(&self, fault: &reqwest::Error) -> SendOutcome {
        let refused =
            |cause: &(dyn StdError + 'static)| matches!(cause.downcast_ref(), Some(ResolveFault::Refused(_)));
        if let Some(refused) = find(fault, &refused) {
            return permanent(ReasonCode::UrlForbidden, &refused.to_string());
        }
        if fault.is_connect() || fault.is_builder() {
            let error = certificate_fault(fault)
                .unwrap_or_else(|| format!("the receiver cannot be reached: {}", causes(fault)));
            return transient(tidy(&error));
        }
        let error = if fault.is_timeout() {
            format!("no answer within {} s", self.timeout.as_secs())
        } else {
            format!("the connection broke before an answer came: {}", causes(fault))
        };
        SendOutcome::Uncertain { error: tidy(&error) }
    }
}

/// The status decides, whatever becomes of the rest. It is read so that the connection can be used again.
async fn read(mut response: Response, most: usize, hidden: &[String], at: Timestamp) -> Answer {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut bytes = Vec::new();
    let is_cut = loop {
        match response.chunk().await {
            Ok(Some(chunk)) if chunk.len() > most - bytes.len() => {
                bytes.extend_from_slice(&chunk[..most - bytes.len()]);
                break true;
            }
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    for secret in hidden.iter().filter(|secret| secret.len() >= SHORTEST_SECRET) {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), "***");
        }
    }
    Answer { status, headers, text, is_cut, at }
}

pub(crate) fn permanent(reason: ReasonCode, error: &str) -> SendOutcome {
    SendOutcome::Permanent { reason, error: error.to_owned() }
}

fn transient(error: String) -> SendOutcome {
    SendOutcome::Transient { error, retry_after: None }
}

/// The causes of a fault in a row, without the URL: it may carry its own right.
fn causes(fault: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut next = fault.source();
    while let Some(cause) = next {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    if text.is_empty() { "unknown cause".to_owned() } else { text }
}
