//! WhatsApp through 360dialog, which passes Meta's Cloud API through.

use punctual_model::{Callback, CallbackFault, CallbackTaken, Outgoing, Secret, SendOutcome};

use super::{Wording, cloud, statuses};
use crate::{
    callback,
    guard::{CheckedUrl, Guard},
    http::{Answer, Call},
    provider::{Provider, ProviderAdapter},
    settings::Reader,
    short_text::{check_number, number},
};

/// The adapter `whatsapp-360dialog`.
pub type Dialog360Adapter = ProviderAdapter<Dialog360>;

const HOSTS: &[&str] = &["360dialog.io"];

/// The settings of a channel over 360dialog. The key belongs to one number, which is the sender.
pub struct Dialog360 {
    url: CheckedUrl,
    key: Secret,
    wording: Wording,
    callback_secret: Option<Secret>,
}

impl Provider for Dialog360 {
    const NAME: &'static str = "whatsapp-360dialog";
    const FIELDS: &'static [&'static str] = &[
        "apiKey",
        "text",
        "template",
        "language",
        "languages",
        "parameters",
        "callbackSecret",
        "baseUrl",
        "timeoutSeconds",
    ];
    const SECRETS: &'static [&'static str] = &["apiKey", "callbackSecret"];

    fn read(reader: &mut Reader<'_>, guard: &Guard) -> Option<Self> {
        let base = reader.text("baseUrl").unwrap_or("https://waba-v2.360dialog.io");
        let base = reader.provider_url("baseUrl", base, guard, HOSTS);
        let key = reader.required_secret("apiKey", "the key of the number, from 360dialog's hub");
        let wording = Wording::read(reader);
        let callback_secret = callback::read_secret(reader, "callbackSecret");
        Some(Self { url: base?.at(&["messages"]), key: key?, wording, callback_secret })
    }

    fn call(&self, message: &Outgoing) -> Result<Call, SendOutcome> {
        let body = cloud::body(&number(&message.address)?, &self.wording.of(message)?, &message.message_id);
        Call::json(self.url.clone(), &body).with_secret("d360-api-key", self.key.expose())
    }

    fn outcome(&self, answer: &Answer, _message: &Outgoing) -> SendOutcome {
        cloud::classify(answer, "360dialog")
    }

    fn check_address(address: &str) -> Result<(), String> {
        check_number(address)
    }

    fn takes_receipts(&self) -> bool {
        self.callback_secret.is_some()
    }

    fn callback(&self, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        callback::knows_secret(self.callback_secret.as_ref(), call)?;
        statuses::read(call.body)
    }
}
