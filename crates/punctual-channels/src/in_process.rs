//! Handlers in this process, for subscribers in programs that embed Punctual.
//!
//! A channel or subscriber with the adapter `in-process` names a handler that was registered before the start. `log` is
//! always there: it writes a line and is content.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use punctual_model::{
    AboutAdapter, Adapter, Channel, DuplicateKey, Outgoing, SendOutcome, Setting, SettingsFault,
    nearest::listed,
};

use crate::settings::{Reader, first};

/// What is called with a message. It is quick, or hands on.
pub type Handler = Arc<dyn Fn(&Outgoing) -> SendOutcome + Send + Sync>;

/// A handler takes no longer than this; it is code of this process.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) const ABOUT: AboutAdapter = AboutAdapter {
    title: "In process",
    purpose: "calls a handler that was registered in this process",
    types: &["in-process"],
    example: r#"{"handler":"log"}"#,
    settings: &[Setting::text(
        "handler",
        "Handler",
        "the name of a registered handler; `log` is always there",
    )
    .required()],
};

/// The adapter `in-process`.
#[derive(Clone)]
pub struct InProcessAdapter {
    handlers: BTreeMap<String, Handler>,
}

impl Default for InProcessAdapter {
    fn default() -> Self {
        let log: Handler = Arc::new(|message: &Outgoing| {
            tracing::info!(
                channel.key = message.channel.as_str(),
                message.id = message.message_id,
                subject = message.subject,
                "handed over in process"
            );
            SendOutcome::Delivered { provider_id: message.message_id.clone() }
        });
        Self { handlers: BTreeMap::from([("log".to_owned(), log)]) }
    }
}

impl InProcessAdapter {
    /// Adds a handler; refuses a second one of the same name.
    pub fn with(mut self, name: &str, handler: Handler) -> Result<Self, DuplicateKey> {
        if self.handlers.contains_key(name) {
            return Err(DuplicateKey { what: "handlers", key: name.to_owned() });
        }
        self.handlers.insert(name.to_owned(), handler);
        Ok(self)
    }

    fn handler(&self, settings: &serde_json::Value) -> Result<Handler, Vec<SettingsFault>> {
        let mut reader = Reader::new(settings, &ABOUT);
        let names: Vec<&str> = self.handlers.keys().map(String::as_str).collect();
        let known = listed(&names);
        let name = reader.text("handler");
        let handler = name.and_then(|name| self.handlers.get(name)).cloned();
        if name.is_some() && handler.is_none() {
            reader.fault("handler", "out_of_range", format!("there is no such handler; there are {known}"));
        }
        reader.finish(handler)
    }
}

impl Adapter for InProcessAdapter {
    fn name(&self) -> &'static str {
        "in-process"
    }

    fn about(&self) -> &'static AboutAdapter {
        &ABOUT
    }

    fn check(&self, settings: &serde_json::Value) -> Vec<SettingsFault> {
        self.handler(settings).err().unwrap_or_default()
    }

    fn open(&self, settings: &serde_json::Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        let handler = self.handler(settings).map_err(first)?;
        Ok(Arc::new(InProcessChannel(handler)))
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        if address.is_empty() { Err("an address is a text".to_owned()) } else { Ok(()) }
    }
}

struct InProcessChannel(Handler);

impl Channel for InProcessChannel {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        async move { (self.0)(&message) }.boxed()
    }

    fn carries_files(&self) -> bool {
        true
    }

    fn timeout(&self) -> Duration {
        TIMEOUT
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_named_handler_is_called_and_others_are_refused() {
        let received: Arc<Mutex<Vec<String>>> = Arc::default();
        let listener = received.clone();
        let handler: Handler = Arc::new(move |message: &Outgoing| {
            listener.lock().unwrap().push(message.message_id.clone());
            SendOutcome::Delivered { provider_id: "x".into() }
        });
        let adapter = InProcessAdapter::default().with("tickets", handler.clone()).unwrap();
        assert!(adapter.clone().with("tickets", handler).is_err(), "two with the same name");
        assert!(adapter.check(&json!({ "handler": "log" })).is_empty());
        let fault = adapter.check(&json!({ "handler": "none" })).remove(0);
        assert_eq!((fault.pointer.as_str(), fault.code), ("/handler", "out_of_range"));
        assert!(fault.detail.contains("`log`, `tickets`"), "{fault}");
        let channel = adapter.open(&json!({ "handler": "tickets" })).unwrap();
        assert!(matches!(channel.send(crate::test_message()).await, SendOutcome::Delivered { .. }));
        assert_eq!(*received.lock().unwrap(), ["msg-7"]);
    }
}
