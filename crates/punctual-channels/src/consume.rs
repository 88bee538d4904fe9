//! Shared code of the consumers of all message brokers.
//!
//! A consumer reaches its broker as a channel does: at an address that the guard has checked, over TLS where its URL says so. The
//! settings always name where refused messages go, so that nothing that was acknowledged is lost.

#[cfg(feature = "amqp")]
pub mod amqp;
#[cfg(feature = "amqp1")]
pub mod amqp1;
mod attributes;
#[cfg(feature = "nats")]
pub mod nats;

use std::{marker::PhantomData, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use punctual_model::{AboutAdapter, Consumer, ConsumerAdapter, DeadLetter, Feed, FeedFault, SettingsFault};
use serde_json::Value;

use crate::{
    broker::{Failure, Place},
    guard::{CheckedUrl, Guard, Scheme},
    settings::{Reader, first},
    text::tidy,
    trust::Trust,
};

/// How long connecting, and each thing that is asked of the broker, may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// What arrives so shortly after the first message of a batch goes with it: one commit for all of them.
const LINGER: Duration = Duration::from_millis(10);
/// Messages at once, unless the settings say another number.
const BATCH: u64 = 100;

/// The headers of a dead letter.
const CODE: &str = "punctual-code";
const DETAIL: &str = "punctual-detail";
/// The content type of one event of a batch that was refused.
const STRUCTURED: &str = "application/cloudevents+json; charset=utf-8";

/// How events are taken from one kind of broker. The value has the settings of one consumer.
pub trait Source: Sized + Send + Sync + 'static {
    const NAME: &'static str;
    /// Its settings; `url` and `batch` are always among them.
    const ABOUT: &'static AboutAdapter;
    const SCHEMES: &'static [Scheme];

    /// Reads the settings beside the URL; every fault is left with the reader.
    fn read(reader: &mut Reader<'_>, url: Option<&CheckedUrl>, batch: usize) -> Option<Self>;

    /// Connects, signs in and finds what is to be read. No other connection has this name.
    fn connect(
        &self,
        place: &Place,
        trust: &Trust,
        name: &str,
    ) -> impl Future<Output = Result<Box<dyn Feed>, Failure>> + Send;
}

/// The adapter of a kind of broker.
pub struct SourceAdapter<S> {
    guard: Guard,
    trust: Trust,
    source: PhantomData<fn() -> S>,
}

impl<S: Source> SourceAdapter<S> {
    pub fn new(guard: Guard, trust: Trust) -> Self {
        Self { guard, trust, source: PhantomData }
    }

    fn read(&self, settings: &Value) -> Result<(S, Place), Vec<SettingsFault>> {
        let mut reader = Reader::new(settings, S::ABOUT);
        let url = reader.broker_url(&self.guard, S::SCHEMES);
        let batch = reader.integer("batch").unwrap_or(BATCH);
        let source = S::read(&mut reader, url.as_ref(), usize::try_from(batch).unwrap_or(1));
        let place = url.map(|url| Place::new(&self.guard, &url));
        reader.finish(source.zip(place))
    }
}

impl<S: Source> ConsumerAdapter for SourceAdapter<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn check(&self, settings: &Value) -> Vec<SettingsFault> {
        self.read(settings).err().unwrap_or_default()
    }

    fn check_destination<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Vec<SettingsFault>> {
        Box::pin(async move {
            let Ok((_, place)) = self.read(settings) else { return Vec::new() };
            place.faults().await
        })
    }

    fn open(&self, settings: &Value) -> Result<Arc<dyn Consumer>, SettingsFault> {
        let (source, place) = self.read(settings).map_err(first)?;
        Ok(Arc::new(SourceConsumer { source, place, trust: self.trust.clone() }))
    }

    fn about(&self) -> &'static AboutAdapter {
        S::ABOUT
    }
}

struct SourceConsumer<S> {
    source: S,
    place: Place,
    trust: Trust,
}

impl<S: Source> Consumer for SourceConsumer<S> {
    fn connect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Feed>, FeedFault>> {
        Box::pin(async {
            let connecting = self.source.connect(&self.place, &self.trust, name);
            match tokio::time::timeout(ANSWER_TIMEOUT, connecting).await {
                Ok(connected) => connected.map_err(fault),
                Err(_) => Err(no_answer()),
            }
        })
    }
}

fn fault(failure: Failure) -> FeedFault {
    match failure {
        Failure::Lost(error) | Failure::Later(error) | Failure::Unsure(error) => FeedFault(tidy(&error)),
        Failure::Never { error, .. } => FeedFault(tidy(&error)),
    }
}

fn no_answer() -> FeedFault {
    FeedFault(format!("the broker has not answered within {} s", ANSWER_TIMEOUT.as_secs()))
}

/// Waits for an answer of the broker, and not for ever.
async fn answered<T, E: Into<FeedFault>>(asked: impl Future<Output = Result<T, E>>) -> Result<T, FeedFault> {
    match tokio::time::timeout(ANSWER_TIMEOUT, asked).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(no_answer()),
    }
}

/// Where messages are read and where dead letters go, which must not be the same.
#[cfg(any(feature = "amqp", feature = "amqp1"))]
fn two_places(reader: &mut Reader<'_>, [from, to]: [&'static str; 2]) -> (Option<String>, Option<String>) {
    let read = reader.text(from).and_then(|_| reader.broker_name(from));
    let dead = reader.text(to).and_then(|_| reader.broker_name(to));
    if read.is_some() && read == dead {
        reader.fault(to, "out_of_range", "dead letters would be read as events again; use another place");
    }
    (read, dead)
}

/// The reason of a dead letter in one line, as headers carry it.
fn reason(letter: &DeadLetter) -> [(&'static str, String); 2] {
    [(CODE, letter.code.clone()), (DETAIL, tidy(&letter.detail))]
}

#[cfg(all(test, feature = "nats", feature = "amqp", feature = "amqp1"))]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../docs/consumers.md");

    #[test]
    fn every_setting_is_on_its_page() {
        let all = [nats::NatsStream::ABOUT, amqp::AmqpQueue::ABOUT, amqp1::Amqp1Address::ABOUT];
        for name in all.iter().flat_map(|about| about.settings.iter().map(|setting| setting.name)) {
            assert!(PAGE.contains(&format!("`{name}`")), "docs/consumers.md says nothing about `{name}`");
        }
    }
}
