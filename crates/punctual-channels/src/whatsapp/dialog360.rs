//! WhatsApp through 360dialog, which passes Meta's Cloud API through.

use punctual_model::{
    AboutAdapter, Callback, CallbackFault, CallbackTaken, Outgoing, Secret, SendOutcome, Setting,
    adapter_settings::Section,
};

use super::{LANGUAGE, LANGUAGES, PARAMETERS, TEMPLATE, Wording, cloud, statuses};
use crate::{
    callback::{self, CALLBACK_SECRET},
    guard::{CheckedUrl, Guard},
    http::{Answer, Call},
    provider::{Provider, ProviderAdapter, TIMEOUT},
    settings::Reader,
    short_text::{TEXT, check_number, number},
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
    const ABOUT: &'static AboutAdapter = &AboutAdapter {
        title: "WhatsApp, 360dialog",
        purpose: "sends WhatsApp messages through 360dialog",
        types: &["whatsapp"],
        example: r#"{"apiKey":"env:DIALOG360"}"#,
        settings: &[
            Setting::text("apiKey", "API key", "the key of the number, from 360dialog's hub")
                .required()
                .secret(),
            TEXT,
            TEMPLATE,
            LANGUAGE,
            LANGUAGES,
            PARAMETERS,
            CALLBACK_SECRET,
            Setting::url("baseUrl", "Base URL", "the address of 360dialog's API")
                .usually("https://waba-v2.360dialog.io")
                .section(Section::Advanced),
            TIMEOUT,
        ],
    };

    fn read(reader: &mut Reader<'_>, guard: &Guard) -> Option<Self> {
        let base = reader.text("baseUrl").unwrap_or("https://waba-v2.360dialog.io");
        let base = reader.provider_url("baseUrl", base, guard, HOSTS);
        let key = reader.needed_secret("apiKey");
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
