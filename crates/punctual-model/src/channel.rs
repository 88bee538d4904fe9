//! The contract of a channel: send one message to one target and return the outcome.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use jiff::Timestamp;

use crate::{
    AboutAdapter, Callback, CallbackFault, CallbackTaken, ChannelKey, Envelope, NotificationId, ReasonCode,
};

/// One message to one target, rendered and ready to leave.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    pub notification: NotificationId,
    pub channel: ChannelKey,
    pub address: String,
    /// The number of this attempt, from 1.
    pub attempt: i64,
    /// The same in every attempt, for receivers that drop repeats (Message-ID, webhook-id).
    pub message_id: String,
    pub kind: String,
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    pub type_data: Option<serde_json::Value>,
    /// The language of the reader, where it is known.
    pub locale: Option<String>,
    /// The template variables of the message, for channels with their own templates.
    pub context: Option<serde_json::Value>,
    pub attachments: Vec<Attachment>,
    /// Where answers go, headers of the mail, and the trace it belongs to.
    pub envelope: Envelope,
    /// Where the recipient says that they do not want such messages, with one click; for mail.
    pub unsubscribe: Option<String>,
    /// When this attempt is made.
    pub at: Timestamp,
}

/// A file that is sent along.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    pub file_name: String,
    pub media_type: String,
    pub content: Vec<u8>,
    /// What the HTML of the message calls it, where it is shown inside: `cid:…`.
    pub content_id: Option<String>,
}

/// The result of one attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum SendOutcome {
    /// The other side took it.
    Delivered { provider_id: String },
    /// It may work later.
    Transient { error: String, retry_after: Option<Duration> },
    /// It will not work later either.
    Permanent { reason: ReasonCode, error: String },
    /// It was sent and no answer came: it may or may not have arrived.
    Uncertain { error: String },
}

/// A configured way out. One per channel key; it holds its own connections and knows no database.
pub trait Channel: Send + Sync {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome>;

    /// How long a send may take; the lease of what is being sent must outlive it.
    fn timeout(&self) -> Duration;

    /// How many sends may be under way at once from one node.
    fn permits(&self) -> usize {
        16
    }

    /// Whether a send waits for anything outside of this process. One that does is its own task.
    fn waits(&self) -> bool {
        true
    }

    /// Whether files go along. What cannot is not sent without them: it is refused or parked.
    fn carries_files(&self) -> bool {
        false
    }

    /// The host that this address names itself, where it leads somewhere else than the channel's own settings: calls then
    /// fail by host, and one host that does not answer holds back nobody else.
    fn host_of(&self, _address: &str) -> Option<String> {
        None
    }

    /// Whether the provider reports later the outcome of a message: its id is then kept where a receipt finds it.
    fn takes_receipts(&self) -> bool {
        false
    }

    /// Reads a call of the provider's, after its signature; pure.
    fn callback(&self, _call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        Err(CallbackFault::NotTaken)
    }
}

/// A kind of channel: checks settings when they are saved, and opens a channel from them.
pub trait Adapter: Send + Sync {
    /// The name in a channel's `adapter` field.
    fn name(&self) -> &'static str;

    /// What it is and which settings it has: whatever checks or shows settings goes by this.
    fn about(&self) -> &'static AboutAdapter {
        &AboutAdapter::NONE
    }

    /// Returns why nothing can be sent with this adapter, where this build does not include it.
    fn disabled_reason(&self) -> Option<String> {
        None
    }

    /// Every fault of these settings, so that a person can mend them at once.
    fn check(&self, settings: &serde_json::Value) -> Vec<SettingsFault>;

    /// The faults that show only when names are looked up: a destination that must not be called. One that cannot be looked
    /// up now is none.
    fn check_destination<'a>(
        &'a self,
        _settings: &'a serde_json::Value,
    ) -> BoxFuture<'a, Vec<SettingsFault>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Opens the channel; `settings` have secrets filled in.
    fn open(&self, settings: &serde_json::Value) -> Result<Arc<dyn Channel>, SettingsFault>;

    /// The settings that are secret: write-only in the API.
    fn secret_fields(&self) -> Vec<&'static str> {
        let secrets = self.about().settings.iter().filter(|setting| setting.is_secret);
        secrets.map(|setting| setting.name).collect()
    }

    /// The settings that decide where the secrets are sent: when one of them changes, kept secrets must be given again.
    fn destination_fields(&self) -> &'static [&'static str] {
        DESTINATION_FIELDS
    }

    /// Whether this text can be an address of this channel; the message says what would be right.
    fn check_address(&self, address: &str) -> Result<(), String>;
}

/// What settings with a destination are called. An adapter that uses another name says so itself.
pub const DESTINATION_FIELDS: &[&str] = &[
    "host",
    "port",
    // A password that was sent encrypted would otherwise be sent in the clear.
    "tls",
    "url",
    "baseUrl",
    "callbackUrl",
    "endpoint",
    "server",
    "servers",
    "virtualHost",
    // The place of a token inside the request.
    "tokenIn",
];

/// One fault in a channel's settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct SettingsFault {
    /// A JSON pointer inside the settings, such as `/port`.
    pub pointer: String,
    /// A stable code such as `missing_field`.
    pub code: &'static str,
    pub detail: String,
}
