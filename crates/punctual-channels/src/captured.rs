//! Messages that stay in memory: for the memory channel, and in the sandbox for every channel.
//!
//! One bounded store keeps the messages of all channels in order, and tests can make a channel fail.

use std::{
    collections::{HashMap, VecDeque},
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt, ready};
use jiff::Timestamp;
use punctual_model::{Channel, ChannelKey, Envelope, NotificationId, Outgoing, ReasonCode, SendOutcome};

/// How many messages are kept; older ones make room.
const MOST_MESSAGES: usize = 10_000;
/// How much text is kept, so that large bodies do not fill the memory either.
const MOST_TEXT: usize = 64 * 1024 * 1024;
/// A send takes no time; the lease only needs some bound.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Fewer would protect nothing outside.
const PERMITS: usize = 4096;

/// One message as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// Counts from 1 over all channels of the store.
    pub number: u64,
    pub channel: ChannelKey,
    pub address: String,
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    pub kind: String,
    pub attempt: i64,
    pub at: Timestamp,
    pub notification: NotificationId,
    pub message_id: String,
    pub type_data: Option<serde_json::Value>,
    /// Names of the files that went along; their contents are not kept.
    pub attachments: Vec<String>,
    /// Where answers go, and the headers it brought.
    pub envelope: Envelope,
    /// Where its recipient says no with one click.
    pub unsubscribe: Option<String>,
}

impl Sent {
    fn text_len(&self) -> usize {
        self.subject.len() + self.body.len() + self.html.as_ref().map_or(0, String::len)
    }
}

/// What a channel does instead of delivering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Behaves well after all.
    Delivered,
    Transient,
    Permanent,
    /// Takes the message and loses the answer on the way back.
    LostReply,
}

/// A word that is none of the outcomes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the outcome must be `delivered`, `transient`, `permanent` or `lostReply`")]
pub struct UnknownOutcome;

impl FromStr for Misbehaviour {
    type Err = UnknownOutcome;
    fn from_str(word: &str) -> Result<Self, UnknownOutcome> {
        match word {
            "delivered" => Ok(Self::Delivered),
            "transient" => Ok(Self::Transient),
            "permanent" => Ok(Self::Permanent),
            "lostReply" => Ok(Self::LostReply),
            _ => Err(UnknownOutcome),
        }
    }
}

/// The store of what was sent, and of how channels are to behave.
#[derive(Debug, Default)]
pub struct Captured(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    count: u64,
    text: usize,
    sent: VecDeque<Arc<Sent>>,
    moods: HashMap<ChannelKey, Mood>,
}

#[derive(Debug)]
struct Mood {
    outcome: Misbehaviour,
    times: u64,
    error: String,
}

impl Captured {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// What was sent, oldest first; at most the last ten thousand messages.
    pub fn sent(&self) -> Vec<Arc<Sent>> {
        self.state().sent.iter().cloned().collect()
    }

    /// What was sent after a number that was seen before.
    pub fn sent_since(&self, number: u64) -> Vec<Arc<Sent>> {
        let state = self.state();
        let from = state.sent.partition_point(|sent| sent.number <= number);
        state.sent.range(from..).cloned().collect()
    }

    /// How many messages were ever sent, those that made room included.
    pub fn count(&self) -> u64 {
        self.state().count
    }

    /// Forgets what was sent; numbers continue counting.
    pub fn clear(&self) {
        let mut state = self.state();
        state.sent.clear();
        state.text = 0;
    }

    /// Makes the next sends of a channel come out like this; it replaces what was asked before.
    pub fn misbehave(
        &self,
        channel: ChannelKey,
        outcome: Misbehaviour,
        times: u64,
        error: impl Into<String>,
    ) {
        self.state().moods.insert(channel, Mood { outcome, times, error: error.into() });
    }

    /// Takes one message as its channel's mood wants it.
    pub fn take(&self, message: Outgoing) -> SendOutcome {
        let mut state = self.state();
        let (outcome, error) = state.next_mood(&message.channel);
        match outcome {
            Misbehaviour::Transient => SendOutcome::Transient { error, retry_after: None },
            Misbehaviour::Permanent => {
                SendOutcome::Permanent { reason: ReasonCode::RejectedByReceiver, error }
            }
            Misbehaviour::LostReply => {
                state.keep(message);
                SendOutcome::Uncertain { error }
            }
            Misbehaviour::Delivered => {
                SendOutcome::Delivered { provider_id: format!("mem-{}", state.keep(message)) }
            }
        }
    }

    /// Nothing here can leave the state half changed, so that a panic elsewhere does not spoil it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_mood(&mut self, channel: &ChannelKey) -> (Misbehaviour, String) {
        let Some(mood) = self.moods.get_mut(channel).filter(|mood| mood.times > 0) else {
            self.moods.remove(channel);
            return (Misbehaviour::Delivered, String::new());
        };
        mood.times -= 1;
        (mood.outcome, mood.error.clone())
    }

    fn keep(&mut self, message: Outgoing) -> u64 {
        self.count += 1;
        let sent = Sent {
            number: self.count,
            channel: message.channel,
            address: message.address,
            subject: message.subject,
            body: message.body,
            html: message.html,
            kind: message.kind,
            attempt: message.attempt,
            at: message.at,
            notification: message.notification,
            message_id: message.message_id,
            type_data: message.type_data,
            attachments: message.attachments.into_iter().map(|file| file.file_name).collect(),
            envelope: message.envelope,
            unsubscribe: message.unsubscribe,
        };
        self.text += sent.text_len();
        self.sent.push_back(Arc::new(sent));
        while self.sent.len() > MOST_MESSAGES || (self.text > MOST_TEXT && self.sent.len() > 1) {
            if let Some(oldest) = self.sent.pop_front() {
                self.text -= oldest.text_len();
            }
        }
        self.count
    }
}

/// A channel whose messages go into a store. The message names its channel, so that one serves all.
#[derive(Clone, Debug)]
pub struct CapturedChannel(Arc<Captured>);

impl CapturedChannel {
    pub fn new(store: Arc<Captured>) -> Self {
        Self(store)
    }
}

impl Channel for CapturedChannel {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        ready(self.0.take(message)).boxed()
    }

    fn carries_files(&self) -> bool {
        true
    }

    fn waits(&self) -> bool {
        false
    }

    fn timeout(&self) -> Duration {
        TIMEOUT
    }

    fn permits(&self) -> usize {
        PERMITS
    }
}
