//! The contract of a consumer, which receives events from a stream or queue of a message broker.
//!
//! An adapter knows its broker and the broker's CloudEvents binding. It returns messages in order, and settles each one when
//! the engine reports its outcome. The engine interprets the events and decides when they are accepted.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde_json::Value;

use crate::{AboutAdapter, SettingsFault, channel::DESTINATION_FIELDS};

/// One message of a broker, with its headers taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// What names the message when it is settled.
    pub tag: u64,
    /// Attributes of an event that are in headers, by their names in CloudEvents: the binary mode. Or why they cannot be read.
    pub attributes: Result<Vec<(String, String)>, String>,
    pub content_type: Option<String>,
    pub body: Vec<u8>,
    /// When it was sent, as far as the message says so. It is the same each time the message is handed out.
    pub sent_at: Option<Timestamp>,
}

/// The outcome of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    pub tag: u64,
    /// What goes to the dead letters, each with its reason. The message itself is done with in any case.
    pub refused: Vec<DeadLetter>,
}

/// Something that was refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// One event of a batch, as JSON; the whole message, as it came, where there is none.
    pub event: Option<String>,
    /// The code of the problem, such as `missing_field`.
    pub code: String,
    pub detail: String,
}

/// Why a broker cannot be worked with now. It is tried again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FeedFault(pub String);

/// An open connection that hands out messages.
pub trait Feed: Send {
    /// Waits for messages, at most so long, and returns those that are there, in their order and no more than a batch. They stay
    /// the broker's until they are settled; it hands them out again when the connection ends before.
    fn receive(&mut self, wait: Duration) -> BoxFuture<'_, Result<Vec<Received>, FeedFault>>;

    /// Sends what was refused to the dead letters and acknowledges the messages. One whose dead letter was not stored is not
    /// acknowledged.
    fn settle<'a>(&'a mut self, settled: &'a [Settled]) -> BoxFuture<'a, Result<(), FeedFault>>;

    /// How many messages wait at the broker, where it says so.
    fn lag(&self) -> Option<u64> {
        None
    }
}

/// A stream or queue that events are taken from.
pub trait Consumer: Send + Sync {
    /// Connects and checks that everything it needs is there: what is to be read, and where dead letters go. The name is one that no
    /// other connection to the broker has at the same time.
    fn connect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Feed>, FeedFault>>;
}

/// A kind of broker that events can be taken from.
pub trait ConsumerAdapter: Send + Sync {
    /// The name in a consumer's `adapter` field.
    fn name(&self) -> &'static str;

    /// Returns why nothing can be taken with this adapter, where this build does not include it.
    fn disabled_reason(&self) -> Option<String> {
        None
    }

    /// Every fault of these settings, so that a person can mend them at once.
    fn check(&self, settings: &Value) -> Vec<SettingsFault>;

    /// The faults that show only when names are looked up: a broker that must not be connected to. One that cannot be looked up now is
    /// none.
    fn check_destination<'a>(&'a self, _settings: &'a Value) -> BoxFuture<'a, Vec<SettingsFault>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Opens the consumer; `settings` have secrets filled in. Nothing is connected yet.
    fn open(&self, settings: &Value) -> Result<Arc<dyn Consumer>, SettingsFault>;

    /// What it is and which settings it has: whatever checks or shows settings goes by this.
    fn about(&self) -> &'static AboutAdapter;

    /// The settings that are secret: write-only in the API.
    fn secret_fields(&self) -> Vec<&'static str> {
        let secrets = self.about().settings.iter().filter(|setting| setting.is_secret);
        secrets.map(|setting| setting.name).collect()
    }

    /// The settings that decide where the secrets are sent: when one of them changes, kept secrets must be given again.
    fn destination_fields(&self) -> &'static [&'static str] {
        DESTINATION_FIELDS
    }
}
