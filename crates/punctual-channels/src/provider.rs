//! Shared code of provider adapters. An adapter only defines its settings, its request, and the meaning of a response.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use punctual_model::{
    AboutAdapter, Adapter, Callback, CallbackFault, CallbackTaken, Channel, Outgoing, SendOutcome, Setting,
    SettingsFault, adapter_settings::Section,
};
use serde_json::Value;

use crate::{
    guard::Guard,
    http::{Answer, Call, HttpClient, encoded},
    settings::{Reader, first},
    trust::Trust,
};

/// Providers answer within a second; one that takes longer than this is in trouble.
const DEFAULT_TIMEOUT: u64 = 15;

/// The setting that every provider has.
pub const TIMEOUT: Setting =
    Setting::number("timeoutSeconds", "Time-out", "how long one attempt may take, in seconds", 1, 30)
        .usually("15")
        .section(Section::Advanced);

/// A provider that is called over HTTP. The value has the settings of one channel.
pub trait Provider: Sized + Send + Sync + 'static {
    /// The name in a channel's `adapter` field.
    const NAME: &'static str;
    /// What it is, and its settings; [`TIMEOUT`] is always one of them.
    const ABOUT: &'static AboutAdapter;
    /// How many calls may be under way at once.
    const PERMITS: usize = 16;

    /// Reads the settings; every fault is left with the reader. In `check` a secret may still be the name of its place.
    fn read(reader: &mut Reader<'_>, guard: &Guard) -> Option<Self>;

    /// The request for one message, or why there can be none.
    fn call(&self, message: &Outgoing) -> Result<Call, SendOutcome>;

    /// What an answer to the message means.
    fn outcome(&self, answer: &Answer, message: &Outgoing) -> SendOutcome;

    /// Whether this text can be an address.
    fn check_address(address: &str) -> Result<(), String>;

    /// Whether files go along.
    fn carries_files(&self) -> bool {
        false
    }

    /// Whether the channel is set up for what the provider reports later.
    fn takes_receipts(&self) -> bool {
        false
    }

    /// Reads a call of the provider's, after its signature.
    fn callback(&self, _call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        Err(CallbackFault::NotTaken)
    }
}

/// The adapter of a provider.
pub struct ProviderAdapter<P> {
    guard: Guard,
    trust: Trust,
    provider: PhantomData<fn() -> P>,
}

impl<P: Provider> ProviderAdapter<P> {
    pub fn new(guard: Guard, trust: Trust) -> Self {
        Self { guard, trust, provider: PhantomData }
    }

    fn read(&self, settings: &Value) -> Result<(P, Duration), Vec<SettingsFault>> {
        let mut reader = Reader::new(settings, P::ABOUT);
        let provider = P::read(&mut reader, &self.guard);
        let seconds = reader.integer("timeoutSeconds").unwrap_or(DEFAULT_TIMEOUT);
        reader.finish(provider.map(|provider| (provider, Duration::from_secs(seconds))))
    }
}

impl<P: Provider> Adapter for ProviderAdapter<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn about(&self) -> &'static AboutAdapter {
        P::ABOUT
    }

    fn check(&self, settings: &Value) -> Vec<SettingsFault> {
        // Settings that cannot be read whole yet, because a secret is elsewhere, have no faults for that.
        self.read(settings).err().unwrap_or_default()
    }

    fn open(&self, settings: &Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        let (provider, timeout) = self.read(settings).map_err(first)?;
        let client = HttpClient::open(&self.guard, &self.trust, timeout, hidden::<P>(settings))?;
        Ok(Arc::new(ProviderChannel { provider, client }))
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        P::check_address(address)
    }
}

/// What no answer may show: the secrets, as they are and as a form or JSON has them, and the part of a secret URL that
/// makes it one.
fn hidden<P: Provider>(settings: &Value) -> Vec<String> {
    let mut hidden = Vec::new();
    let secrets = P::ABOUT.settings.iter().filter(|setting| setting.is_secret);
    for secret in secrets.filter_map(|setting| settings.get(setting.name).and_then(Value::as_str)) {
        hidden.extend([secret.to_owned(), encoded(secret), Value::from(secret).to_string()]);
        if let Ok(url) = reqwest::Url::parse(secret) {
            hidden.push(url.path().to_owned());
            let parameters = url.query_pairs().map(|(_, value)| value.into_owned());
            hidden.extend(parameters.filter(|value| value.len() >= 16));
        }
    }
    hidden
}

struct ProviderChannel<P> {
    provider: P,
    client: HttpClient,
}

impl<P: Provider> Channel for ProviderChannel<P> {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        async move {
            let call = match self.provider.call(&message) {
                Ok(call) => call,
                Err(outcome) => return outcome,
            };
            match self.client.send(call, message.at).await {
                Ok(answer) => self.provider.outcome(&answer, &message),
                Err(outcome) => outcome,
            }
        }
        .boxed()
    }

    fn timeout(&self) -> Duration {
        self.client.timeout()
    }

    fn permits(&self) -> usize {
        P::PERMITS
    }

    fn carries_files(&self) -> bool {
        self.provider.carries_files()
    }

    fn takes_receipts(&self) -> bool {
        self.provider.takes_receipts()
    }

    fn callback(&self, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        if self.takes_receipts() { self.provider.callback(call) } else { Err(CallbackFault::NotTaken) }
    }
}
