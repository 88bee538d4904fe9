//! The inbox: a channel whose messages are read in the console.
//!
//! It is the only adapter that needs the store, so it is part of the engine. An address is the name of a person: that of the
//! key they sign in with. Keys of one name may belong to different business units; each sees what its own units send, and the
//! installation.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use punctual_model::{AboutAdapter, Adapter, Channel, Outgoing, SendOutcome, SettingsFault};
use punctual_store::{
    Lane, Store, StoreError,
    inbox::{self, InboxRow},
};
use serde_json::Value;

/// The name of the adapter.
pub const INBOX: &str = "inbox";
/// One row in our own database.
const TIMEOUT: Duration = Duration::from_secs(5);
/// What a name may have.
const LONGEST_NAME: usize = 200;

/// A person's name as it is compared.
pub fn person(name: &str) -> String {
    name.trim().to_lowercase()
}

const ABOUT: AboutAdapter = AboutAdapter {
    title: "Inbox",
    purpose: "puts messages into people's inboxes in the console",
    types: &["inbox"],
    example: "{}",
    settings: &[],
};

/// The adapter `inbox`.
pub(crate) struct InboxAdapter(pub(crate) Store);

impl Adapter for InboxAdapter {
    fn name(&self) -> &'static str {
        INBOX
    }

    fn about(&self) -> &'static AboutAdapter {
        &ABOUT
    }

    fn check(&self, settings: &Value) -> Vec<SettingsFault> {
        let fault =
            |pointer: String, code, detail: &str| SettingsFault { pointer, code, detail: detail.to_owned() };
        match settings {
            Value::Null => Vec::new(),
            Value::Object(fields) => fields
                .keys()
                .map(|name| fault(format!("/{name}"), "unknown_field", "the inbox has no settings"))
                .collect(),
            _ => vec![fault(String::new(), "wrong_type", "the settings must be an object")],
        }
    }

    fn open(&self, settings: &Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        match self.check(settings).into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(Arc::new(InboxChannel(self.0.clone()))),
        }
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        let plain = address.chars().all(|c| !c.is_control());
        if plain && !address.trim().is_empty() && address.len() <= LONGEST_NAME {
            return Ok(());
        }
        Err("it is the name of a person's key, on one line".to_owned())
    }
}

struct InboxChannel(Store);

async fn keep(store: &Store, message: &Outgoing) -> Result<(), StoreError> {
    let mut tx = store.begin(Lane::Settle).await?;
    let notification_id = message.notification.to_string();
    let row = InboxRow {
        seq: 0,
        id: message.message_id.clone(),
        person: person(&message.address),
        business_unit: inbox::unit_of(&mut tx.conn(), &notification_id).await?,
        notification_id,
        channel: message.channel.to_string(),
        kind: message.kind.clone(),
        subject: message.subject.clone(),
        body: message.body.clone(),
        created_at: message.at,
        read_at: None,
    };
    inbox::put(&mut tx.conn(), &row).await?;
    tx.commit().await
}

impl Channel for InboxChannel {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        async move {
            let (store, id) = (self.0.clone(), message.message_id.clone());
            // On its own: whoever sends settles what has an answer while other sends are under way, and polls none of
            // them meanwhile. One that had its turn at SQLite's writer would then keep it, and both would wait for ever.
            let kept = tokio::spawn(async move { keep(&store, &message).await }).await;
            let failed = |error: &dyn std::fmt::Display| SendOutcome::Transient {
                error: format!("it could not be stored: {error}"),
                retry_after: None,
            };
            match kept {
                // The id is the same in every attempt, so that a second one finds the message there.
                Ok(Ok(())) => SendOutcome::Delivered { provider_id: id },
                Ok(Err(error)) => failed(&error),
                Err(error) => failed(&error),
            }
        }
        .boxed()
    }

    fn timeout(&self) -> Duration {
        TIMEOUT
    }
}
