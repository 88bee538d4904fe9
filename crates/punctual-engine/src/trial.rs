//! Sends a test message over a channel, directly and without the pipeline.

use jiff::SignedDuration;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, ChannelKey, Clock, Envelope, NotificationId, Outgoing, SendOutcome};
use punctual_store::StoreError;
use uuid::Uuid;

use crate::{Actor, Engine};

/// What is sent.
#[derive(Clone, Debug)]
pub struct TrialMessage {
    pub id: Uuid,
    pub address: String,
    pub subject: Option<String>,
    pub body: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// There is no such channel.
    NoChannel,
    /// The channel says that this can be no address of its.
    Address(String),
    /// The channel cannot be opened.
    Broken(String),
    Sent {
        outcome: SendOutcome,
        took: SignedDuration,
    },
}

impl Engine {
    /// Sends the message; `wall` measures how long it takes, because the engine's own clock may be stopped.
    #[boxed]
    pub async fn try_channel(
        &self,
        wall: &dyn Clock,
        by: &Actor,
        key: &ChannelKey,
        message: TrialMessage,
    ) -> Result<Trial, StoreError> {
        self.send_beside(wall, Some(by), key, message).await
    }

    /// Sends a message beside the outbox. It is a test of the channel where somebody asked for one.
    pub(crate) async fn send_beside(
        &self,
        wall: &dyn Clock,
        tested_by: Option<&Actor>,
        key: &ChannelKey,
        message: TrialMessage,
    ) -> Result<Trial, StoreError> {
        let now = self.clock.now();
        let mut reader = self.store.read().await?;
        self.channels.refresh(&mut reader.conn(), now).await?;
        drop(reader);
        let Some(opened) = self.channels.get(key.as_str()) else {
            let broken = self.channels.broken(key.as_str());
            return Ok(broken.map_or(Trial::NoChannel, |broken| Trial::Broken(broken.why)));
        };
        if let Some(Err(why)) = self.channels.check_address(key.as_str(), &message.address) {
            return Ok(Trial::Address(why));
        }
        if let Some(by) = tested_by {
            self.record_act(by, AuditAction::Test, "channel", key.as_str(), Some(&message.address)).await?;
        }
        let subject = message.subject.unwrap_or_else(|| "Punctual: this channel works".to_owned());
        let body = message.body.unwrap_or_else(|| "This is a test message.".to_owned());
        let outgoing = Outgoing {
            notification: NotificationId(message.id),
            channel: key.clone(),
            address: message.address,
            attempt: 1,
            message_id: message.id.to_string(),
            kind: "test".to_owned(),
            subject,
            body,
            html: None,
            type_data: None,
            locale: None,
            context: None,
            attachments: Vec::new(),
            envelope: Envelope::default(),
            unsubscribe: None,
            at: now,
        };
        let started = wall.now();
        let sent = tokio::time::timeout(opened.channel.timeout() * 2, opened.channel.send(outgoing)).await;
        let took = wall.now().duration_since(started);
        let outcome = sent.unwrap_or_else(|_| SendOutcome::Uncertain {
            error: "the channel did not answer in time".to_owned(),
        });
        Ok(Trial::Sent { outcome, took })
    }
}
