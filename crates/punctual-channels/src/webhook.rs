//! Webhooks: one POST for each message, signed as Standard Webhooks.
//!
//! The id of a message is the same in every attempt, so that a receiver can drop repeats; the time is that of the
//! attempt. Only a 2xx answer is success.

mod body;
pub mod signature;

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use punctual_model::{
    AboutAdapter, Adapter, Channel, Outgoing, ReasonCode, SecretReference, SendOutcome, Setting,
    SettingsFault,
};
use serde_json::Value;
use signature::SigningKey;

use crate::{
    guard::{CheckedUrl, Guard},
    http::{Call, HttpClient, classify, permanent},
    provider::TIMEOUT,
    settings::{Reader, first},
    trust::Trust,
};

#[cfg(any(feature = "nats", feature = "amqp", feature = "amqp1"))]
pub(crate) use body::of as body_of;

pub(crate) const ABOUT: AboutAdapter = AboutAdapter {
    title: "Webhook",
    purpose: "posts signed JSON to a URL",
    types: &["webhook"],
    example: r#"{"url":"https://crm.example.com/punctual","secret":"env:WEBHOOK"}"#,
    settings: &[
        Setting::url("url", "URL", "the URL that messages are posted to, unless a target is itself a URL"),
        Setting::text("secret", "Signing secret", "`whsec_` and 24 to 64 random bytes in base64")
            .required()
            .secret(),
        Setting::text(
            "previousSecret",
            "Previous secret",
            "the one before, with which messages are signed too",
        )
        .secret(),
        TIMEOUT,
    ],
};
const DEFAULT_TIMEOUT: u64 = 15;

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
        let mut reader = Reader::new(settings, &ABOUT);
        let url = reader.text("url").and_then(|text| match self.guard.check_url(text) {
            Ok(url) => Some(url),
            Err(fault) => {
                reader.fault("url", fault.code, fault.for_admins());
                None
            }
        });
        let secret = reader.text("secret");
        let previous = reader.text("previousSecret");
        let mut keys = Vec::new();
        for (name, secret) in [("secret", secret), ("previousSecret", previous)] {
            match secret.map(SigningKey::parse) {
                Some(Ok(key)) => keys.push(key),
                // It is looked up when the channel is opened.
                Some(Err(_)) if !open && secret.is_some_and(SecretReference::is_meant) => {}
                Some(Err(fault)) => reader.fault(name, "secret_invalid", fault.to_string()),
                None => {}
            }
        }
        let seconds = reader.integer("timeoutSeconds").unwrap_or(DEFAULT_TIMEOUT);
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

    fn about(&self) -> &'static AboutAdapter {
        &ABOUT
    }

    fn check(&self, settings: &Value) -> Vec<SettingsFault> {
        self.read(settings, false).err().unwrap_or_default()
    }

    fn check_destination<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Vec<SettingsFault>> {
        Box::pin(async move {
            let Ok(Settings { url: Some(url), .. }) = self.read(settings, false) else { return Vec::new() };
            let fault = self.guard.destination_fault("url", &url.host, url.port, url.listed_only).await;
            fault.into_iter().collect()
        })
    }

    fn open(&self, settings: &Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        let settings = self.read(settings, true).map_err(first)?;
        let client = HttpClient::open(&self.guard, &self.trust, settings.timeout, Vec::new())?;
        Ok(Arc::new(WebhookChannel { guard: self.guard.clone(), settings, client }))
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        if looks_like_url(address) {
            return self.guard.check_url(address).map(drop).map_err(|fault| fault.detail);
        }
        if address.is_empty() || address.len() > 512 || address.chars().any(char::is_control) {
            return Err("an address is a URL, or a label if the channel has its own URL".to_owned());
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
    client: HttpClient,
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
        self.client.timeout()
    }

    fn permits(&self) -> usize {
        // Many hosts share the channel, and what hangs at one of them is not to hold up the others.
        64
    }

    fn carries_files(&self) -> bool {
        true
    }

    fn host_of(&self, address: &str) -> Option<String> {
        let url = looks_like_url(address).then(|| self.guard.check_url(address).ok())??;
        Some(url.host.to_ascii_lowercase())
    }
}

impl WebhookChannel {
    async fn post(&self, message: &Outgoing) -> Result<SendOutcome, SendOutcome> {
        let target = self.target(&message.address)?;
        let body = body::of(message);
        let timestamp = message.at.as_second();
        let signatures = signature::sign(&self.settings.keys, &message.message_id, timestamp, &body);
        let call = Call::new(target, "application/json", body)
            .with("webhook-id", &message.message_id)
            .map_err(|_| permanent(ReasonCode::MessageIdInvalid, "the message id is not valid in a header"))?
            .with("webhook-timestamp", &timestamp.to_string())?
            .with("webhook-signature", &signatures)?;
        let call = match &message.envelope.traceparent {
            Some(traceparent) => call.with("traceparent", traceparent)?,
            None => call,
        };
        let answer = self.client.send(call, message.at).await?;
        Ok(match classify(&answer) {
            SendOutcome::Delivered { .. } => {
                SendOutcome::Delivered { provider_id: message.message_id.clone() }
            }
            other => other,
        })
    }

    /// The address if it is a URL, and else the channel's own.
    fn target(&self, address: &str) -> Result<CheckedUrl, SendOutcome> {
        if looks_like_url(address) {
            return self.guard.check_url(address).map_err(|fault| permanent(fault.reason(), &fault.detail));
        }
        let missing = "the address is not a URL, and the channel has no URL";
        self.settings.url.clone().ok_or_else(|| permanent(ReasonCode::AddressInvalid, missing))
    }
}
