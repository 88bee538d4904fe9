//! The generic adapter for brokers, with the parts that each broker provides.

use std::{
    marker::PhantomData,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt};
use punctual_model::{AboutAdapter, Adapter, Channel, Outgoing, SecretReference, SendOutcome, SettingsFault};
use serde_json::Value;

use super::{Failure, HandedOver, Kept, Place, within};
use crate::{
    guard::{CheckedUrl, Guard, Scheme},
    settings::{Reader, first},
    trust::Trust,
};

/// A broker acknowledges within milliseconds; one that takes longer than this is in trouble.
const DEFAULT_TIMEOUT: u64 = 15;

/// How one kind of broker is spoken to. The value has the settings of one channel.
pub trait Broker: Sized + Send + Sync + 'static {
    /// The name in a channel's `adapter` field.
    const NAME: &'static str;
    /// What it is, and its settings; `url` and `timeoutSeconds` are always among them.
    const ABOUT: &'static AboutAdapter;
    const SCHEMES: &'static [Scheme];

    /// An open connection.
    type Live: Send + Sync + 'static;

    /// Reads the settings beside the URL; every fault is left with the reader.
    fn read(reader: &mut Reader<'_>, url: Option<&CheckedUrl>) -> Option<Self>;

    /// Connects and signs in, for this message and those after it.
    fn connect(
        &self,
        place: &Place,
        trust: &Trust,
        message: &Outgoing,
    ) -> impl Future<Output = Result<Self::Live, Failure>> + Send;

    fn works(live: &Self::Live) -> bool;

    /// Hands a message over and waits for the acknowledgement; returns its id.
    fn send(
        &self,
        live: &Self::Live,
        message: &Outgoing,
        handed_over: &HandedOver,
    ) -> impl Future<Output = Result<String, Failure>> + Send;

    /// What it means that no acknowledgement came, where the connection has received something else.
    fn in_doubt(&self, _live: &Self::Live, error: String) -> SendOutcome {
        SendOutcome::Uncertain { error }
    }
}

/// The adapter of a kind of broker.
pub struct BrokerAdapter<B> {
    guard: Guard,
    trust: Trust,
    broker: PhantomData<fn() -> B>,
}

impl<B> BrokerAdapter<B> {
    pub fn new(guard: Guard, trust: Trust) -> Self {
        Self { guard, trust, broker: PhantomData }
    }
}

impl<B: Broker> BrokerAdapter<B> {
    fn read(&self, settings: &Value) -> Result<(B, Place, Duration), Vec<SettingsFault>> {
        let mut reader = Reader::new(settings, B::ABOUT);
        let url = reader.broker_url(&self.guard, B::SCHEMES);
        let broker = B::read(&mut reader, url.as_ref());
        let seconds = reader.integer("timeoutSeconds").unwrap_or(DEFAULT_TIMEOUT);
        let place = url.map(|url| Place::new(&self.guard, &url));
        let read = broker.zip(place).map(|(broker, place)| (broker, place, Duration::from_secs(seconds)));
        reader.finish(read)
    }
}

impl<B: Broker> Adapter for BrokerAdapter<B> {
    fn name(&self) -> &'static str {
        B::NAME
    }

    fn about(&self) -> &'static AboutAdapter {
        B::ABOUT
    }

    fn check(&self, settings: &Value) -> Vec<SettingsFault> {
        self.read(settings).err().unwrap_or_default()
    }

    fn check_destination<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Vec<SettingsFault>> {
        Box::pin(async move {
            let Ok((_, place, _)) = self.read(settings) else { return Vec::new() };
            place.faults().await
        })
    }

    fn open(&self, settings: &Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        let (broker, place, timeout) = self.read(settings).map_err(first)?;
        Ok(Arc::new(BrokerChannel {
            broker,
            place,
            trust: self.trust.clone(),
            timeout,
            kept: Kept::default(),
        }))
    }

    /// The address of a message over a broker is a name for people: where it goes is in the settings.
    fn check_address(&self, address: &str) -> Result<(), String> {
        if address.is_empty() || address.len() > 512 || address.chars().any(char::is_control) {
            return Err(
                "an address is a name for people, such as `tickets`; the channel has one place".to_owned()
            );
        }
        Ok(())
    }
}

struct BrokerChannel<B: Broker> {
    broker: B,
    place: Place,
    trust: Trust,
    timeout: Duration,
    kept: Kept<B::Live>,
}

impl<B: Broker> BrokerChannel<B> {
    async fn hand_over(
        &self,
        message: &Outgoing,
        handed_over: &HandedOver,
        used: &OnceLock<Arc<B::Live>>,
    ) -> Result<String, Failure> {
        let connect = || self.broker.connect(&self.place, &self.trust, message);
        let live = self.kept.get(B::works, connect).await?;
        let live = used.get_or_init(|| live);
        self.broker.send(live, message, handed_over).await
    }
}

impl<B: Broker> Channel for BrokerChannel<B> {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        async move {
            let (handed_over, used) = (HandedOver::default(), OnceLock::new());
            let work = self.hand_over(&message, &handed_over, &used);
            match (within(self.timeout, &handed_over, work).await, used.get()) {
                (SendOutcome::Uncertain { error }, Some(live)) => {
                    // Whatever is wrong with it, another connection may not have it.
                    self.kept.forget(live);
                    self.broker.in_doubt(live, error)
                }
                (outcome, _) => outcome,
            }
        }
        .boxed()
    }

    fn carries_files(&self) -> bool {
        true
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }
}

/// What the settings of brokers have in common.
impl Reader<'_> {
    pub(crate) fn broker_url(&mut self, guard: &Guard, schemes: &[Scheme]) -> Option<CheckedUrl> {
        let text = self.text("url")?;
        match guard.check_broker_url(text, schemes) {
            Ok(url) => Some(url),
            Err(fault) => {
                self.fault("url", fault.code, fault.for_admins());
                None
            }
        }
    }

    /// A name of something at the broker, such as a queue: short and without control characters.
    pub(crate) fn broker_name(&mut self, name: &str) -> Option<String> {
        let text = self.text(name)?;
        // What the protocol can carry in a short text.
        if text.len() > 255 || text.chars().any(char::is_control) || SecretReference::is_meant(text) {
            self.fault(name, "out_of_range", format!("`{name}` is a name of at most 255 bytes"));
            return None;
        }
        Some(text.to_owned())
    }
}
