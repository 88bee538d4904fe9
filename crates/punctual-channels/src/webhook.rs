//! Webhooks: one POST for each message, signed as Standard Webhooks.
//!
//! The id of a message is the same in every attempt, so that a receiver can drop repeats; the time is that of the
//! attempt. Only a 2xx answer is success. No redirect is followed and no proxy of the environment is used, because
//! both would lead around the guard. An answer that does not come after the request was written leaves it open
//! whether the receiver took the message: that is `Uncertain`, never a plain failure.

mod body;
mod classify;
pub mod signature;

use std::{
    collections::HashMap,
    error::Error as StdError,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt};
use punctual_model::{Adapter, Channel, Outgoing, ReasonCode, SendOutcome, SettingsFault};
use reqwest::{Client, Response, header::HeaderValue, redirect};
use serde_json::Value;
use signature::SigningKey;

pub use classify::{classify, retry_after};

use crate::{
    guard::{CheckedUrl, Guard, GuardedResolver, ResolveFault, UrlFault},
    settings::{Reader, first, is_reference},
    text::tidy,
    trust::{Trust, certificate_fault, find},
};

const FIELDS: &[&str] = &["url", "secret", "previousSecret", "timeoutSeconds"];
const DEFAULT_TIMEOUT: u64 = 15;
/// At most this much of an answer is read.
const MOST_ANSWER: usize = 16 * 1024;
/// How many targets keep their connections; a channel with more of them opens new ones.
const MOST_CLIENTS: usize = 64;
/// Receivers close idle connections after seconds, and a request on a closing one is lost in doubt.
const IDLE: Duration = Duration::from_secs(5);

/// The adapter `webhook`.
#[derive(Clone, Debug)]
pub struct WebhookAdapter {
    guard: Guard,
    trust: Trust,
}

impl WebhookAdapter {
    pub fn new(guard: Guard, trust: Trust) -> Self {
        Self { guard, trust }
    }

    fn read(&self, settings: &Value, open: bool) -> Result<Settings, Vec<SettingsFault>> {
        let mut reader = Reader::new(settings, FIELDS);
        let url = reader.text("url").and_then(|text| match self.guard.check_url(text) {
            Ok(url) => Some(url),
            Err(fault) => {
                reader.fault("url", fault.code, fault.detail);
                None
            }
        });
        let secret = reader.required_text("secret", "`whsec_` and 24 to 64 random bytes in base64");
        let previous = reader.text("previousSecret");
        let mut keys = Vec::new();
        for (name, secret) in [("secret", secret), ("previousSecret", previous)] {
            match secret.map(SigningKey::parse) {
                Some(Ok(key)) => keys.push(key),
                // It is looked up when the channel is opened.
                Some(Err(_)) if !open && secret.is_some_and(is_reference) => {}
                Some(Err(fault)) => reader.fault(name, "secret_invalid", fault.to_string()),
                None => {}
            }
        }
        let seconds = reader.integer("timeoutSeconds", 1..=30).unwrap_or(DEFAULT_TIMEOUT);
        reader.finish(Some(Settings { url, keys, timeout: Duration::from_secs(seconds) }))
    }
}

struct Settings {
    url: Option<CheckedUrl>,
    keys: Vec<SigningKey>,
    timeout: Duration,
}

impl Adapter for WebhookAdapter {
    fn name(&self) -> &'static str {
        "webhook"
    }

    fn check(&self, settings: &Value) -> Vec<SettingsFault> {
        self.read(settings, false).err().unwrap_or_default()
    }

    fn open(&self, settings: &Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        let settings = self.read(settings, true).map_err(first)?;
        let tls = self.trust.client_config().map_err(|fault| SettingsFault {
            pointer: String::new(),
            code: "settings_invalid",
            detail: format!("TLS cannot be set up: {fault}"),
        })?;
        Ok(Arc::new(WebhookChannel { guard: self.guard.clone(), settings, tls, clients: Mutex::default() }))
    }

    fn secret_fields(&self) -> &'static [&'static str] {
        &["secret", "previousSecret"]
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        if looks_like_url(address) {
            return self.guard.check_url(address).map(drop).map_err(|fault| fault.detail);
        }
        if address.is_empty() || address.len() > 512 || address.chars().any(char::is_control) {
            return Err("an address is a URL, or a label if the channel has a URL of its own".to_owned());
        }
        Ok(())
    }
}

/// Whether an address is meant as a URL; a label such as `team:ops` is not.
fn looks_like_url(address: &str) -> bool {
    address.contains("://")
}

struct WebhookChannel {
    guard: Guard,
    settings: Settings,
    tls: rustls::ClientConfig,
    /// One client for each host and port, because the guard needs the port and a resolver is told the name alone.
    clients: Mutex<HashMap<(String, u16, bool), Client>>,
}

impl Channel for WebhookChannel {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        async move {
            match self.post(&message).await {
                Ok(outcome) | Err(outcome) => outcome,
            }
        }
        .boxed()
    }

    fn timeout(&self) -> Duration {
        self.settings.timeout
    }
}

impl WebhookChannel {
    async fn post(&self, message: &Outgoing) -> Result<SendOutcome, SendOutcome> {
        let target = self.target(&message.address)?;
        let client = self.client(&target)?;
        let body = body::of(message);
        let timestamp = message.at.as_second();
        let signatures = signature::sign(&self.settings.keys, &message.message_id, timestamp, &body);
        let header = |text: &str| {
            HeaderValue::from_str(text)
                .map_err(|_| permanent("message-id-invalid", "the message id cannot stand in a header"))
        };
        let sent = client
            .post(target.url)
            .header("content-type", "application/json")
            .header("webhook-id", header(&message.message_id)?)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", header(&signatures)?)
            .timeout(self.settings.timeout)
            .body(body)
            .send()
            .await;
        match sent {
            Ok(response) => Ok(answered(response, message).await),
            Err(fault) => Err(self.failed(&fault)),
        }
    }

    /// The address if it is a URL, and else the channel's own.
    fn target(&self, address: &str) -> Result<CheckedUrl, SendOutcome> {
        if looks_like_url(address) {
            return self
                .guard
                .check_url(address)
                .map_err(|UrlFault { code, detail }| permanent(code, &detail));
        }
        let missing = "the address is no URL and the channel has none of its own";
        self.settings.url.clone().ok_or_else(|| permanent("address_invalid", missing))
    }

    fn client(&self, target: &CheckedUrl) -> Result<Client, SendOutcome> {
        let key = (target.host.clone(), target.port, target.listed_only);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let (port, listed_only) = (target.port, target.listed_only);
        let client = Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .dns_resolver(Arc::new(GuardedResolver { guard: self.guard.clone(), port, listed_only }))
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .user_agent("punctual")
            // Shorter than the whole, so that a slow connect shows as one: nothing was written then.
            .connect_timeout(self.settings.timeout * 2 / 3)
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
            return permanent("url_forbidden", &refused.to_string());
        }
        if fault.is_connect() || fault.is_builder() {
            let error = certificate_fault(fault)
                .unwrap_or_else(|| format!("the receiver cannot be reached: {}", causes(fault)));
            return transient(tidy(&error));
        }
        let error = if fault.is_timeout() {
            format!("no answer within {} s", self.settings.timeout.as_secs())
        } else {
            format!("the connection broke before an answer came: {}", causes(fault))
        };
        SendOutcome::Uncertain { error: tidy(&error) }
    }
}

async fn answered(mut response: Response, message: &Outgoing) -> SendOutcome {
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let wait = header("retry-after").and_then(|text| retry_after(text, message.at));
    let location = header("location").map(str::to_owned);
    // The status decides, whatever becomes of the rest. It is read so that the connection can be used again.
    let mut answer = Vec::new();
    while answer.len() < MOST_ANSWER {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                answer.extend_from_slice(&chunk[..chunk.len().min(MOST_ANSWER - answer.len())])
            }
            Ok(None) | Err(_) => break,
        }
    }
    let said = String::from_utf8_lossy(&answer);
    match classify(status, &said, wait, location.as_deref()) {
        SendOutcome::Delivered { .. } => SendOutcome::Delivered { provider_id: message.message_id.clone() },
        other => other,
    }
}

fn permanent(reason: &'static str, error: &str) -> SendOutcome {
    SendOutcome::Permanent { reason: ReasonCode::new(reason), error: error.to_owned() }
}

fn transient(error: String) -> SendOutcome {
    SendOutcome::Transient { error, retry_after: None }
}

/// The causes of a fault in a row, without the URL: it may carry a right of its own.
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
