//! WhatsApp through Infobip.
//!
//! Infobip takes an id of ours for each message and refuses one that it has seen: such a refusal means that an earlier
//! attempt was accepted, so it counts as delivered.

use punctual_model::{
    AboutAdapter, Callback, CallbackFault, CallbackTaken, Outgoing, Phone, ReasonCode, Secret, SendOutcome,
    Setting,
};
use serde_json::{Value, json};

use super::{LANGUAGE, LANGUAGES, PARAMETERS, Saying, TEMPLATE, Wording, reports};
use crate::{
    callback::{self, CALLBACK_SECRET},
    guard::{CheckedUrl, Guard},
    http::{Answer, Call, Meaning, by_status, failed, not_understood},
    provider::{Provider, ProviderAdapter, TIMEOUT},
    settings::Reader,
    short_text::{TEXT, check_number, number},
};

/// The adapter `whatsapp-infobip`.
pub type InfobipAdapter = ProviderAdapter<Infobip>;

const HOSTS: &[&str] = &["api.infobip.com"];

/// The settings of a channel over Infobip.
pub struct Infobip {
    base: CheckedUrl,
    key: Secret,
    from: Phone,
    wording: Wording,
    callback_secret: Option<Secret>,
}

impl Provider for Infobip {
    const NAME: &'static str = "whatsapp-infobip";
    const ABOUT: &'static AboutAdapter = &AboutAdapter {
        title: "WhatsApp, Infobip",
        purpose: "sends WhatsApp messages through Infobip",
        types: &["whatsapp"],
        example: r#"{"baseUrl":"https://xyz123.api.infobip.com","apiKey":"env:INFOBIP","from":"+442071234567"}"#,
        settings: &[
            Setting::url("baseUrl", "Base URL", "your own address, such as https://xyz123.api.infobip.com")
                .required(),
            Setting::text("apiKey", "API key", "a key that may send WhatsApp messages").required().secret(),
            Setting::text("from", "From", "the sending number, such as +442071234567").required(),
            TEXT,
            TEMPLATE,
            LANGUAGE,
            LANGUAGES,
            PARAMETERS,
            CALLBACK_SECRET,
            TIMEOUT,
        ],
    };

    fn read(reader: &mut Reader<'_>, guard: &Guard) -> Option<Self> {
        let base = reader.text("baseUrl");
        let base = base.and_then(|base| reader.provider_url("baseUrl", base, guard, HOSTS));
        let key = reader.needed_secret("apiKey");
        let from = reader.text("from").and_then(|text| {
            let phone = Phone::parse(text);
            if let Err(fault) = phone {
                reader.fault("from", "phone_invalid", fault.to_string());
            }
            phone.ok()
        });
        let wording = Wording::read(reader);
        let callback_secret = callback::read_secret(reader, "callbackSecret");
        Some(Self { base: base?, key: key?, from: from?, wording, callback_secret })
    }

    fn call(&self, message: &Outgoing) -> Result<Call, SendOutcome> {
        let to = number(&message.address)?;
        let mut body =
            json!({"from": self.from.digits(), "to": to.digits(), "messageId": message.message_id});
        let (kind, body) = match self.wording.of(message)? {
            Saying::Text(text) => {
                body["content"] = json!({"text": text, "previewUrl": false});
                ("text", body)
            }
            Saying::Template { name, language, parameters } => {
                body["content"] = json!({
                    "templateName": name,
                    "templateData": {"body": {"placeholders": parameters}},
                    "language": language,
                });
                ("template", json!({"messages": [body]}))
            }
        };
        Call::json(self.base.at(&["whatsapp", "1", "message", kind]), &body)
            .with_secret("authorization", &format!("App {}", self.key.expose()))?
            .with("accept", "application/json")
    }

    fn outcome(&self, answer: &Answer, message: &Outgoing) -> SendOutcome {
        classify(answer, &message.message_id)
    }

    fn check_address(address: &str) -> Result<(), String> {
        check_number(address)
    }

    fn takes_receipts(&self) -> bool {
        self.callback_secret.is_some()
    }

    fn callback(&self, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        callback::knows_secret(self.callback_secret.as_ref(), call)?;
        reports::read(call.body)
    }
}

/// What an answer of Infobip's means: a refusal may appear in a 200.
pub fn classify(answer: &Answer, own_id: &str) -> SendOutcome {
    let body = answer.json();
    if answer.is_success() {
        let message = if body["messages"].is_array() { &body["messages"][0] } else { &body };
        return accepted(answer, message, own_id);
    }
    let fault = &body["requestError"]["serviceException"];
    let Some(text) = fault["text"].as_str() else {
        return failed(answer, &answer.text, by_status(answer.status));
    };
    let word = fault["messageId"].as_str().unwrap_or_default();
    let wrong: Vec<&str> =
        fault["validationErrors"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let is_about = |part: &str| wrong.iter().any(|name| name.rsplit('.').next() == Some(part));
    let meaning = match answer.status {
        400 if is_about("to") => Meaning::Never(ReasonCode::AddressInvalid),
        400 if is_about("from") => Meaning::Never(ReasonCode::SenderInvalid),
        400 if wrong.iter().any(|name| name.contains("template")) => {
            Meaning::Never(ReasonCode::TemplateRefused)
        }
        400 => Meaning::Never(ReasonCode::ContentRefused),
        status => by_status(status),
    };
    let places = if wrong.is_empty() { String::new() } else { format!(" ({})", wrong.join(", ")) };
    failed(answer, &format!("{word} {text}{places}"), meaning)
}

fn accepted(answer: &Answer, message: &Value, own_id: &str) -> SendOutcome {
    let status = &message["status"];
    let (Some(id), Some(group)) = (message["messageId"].as_str(), status["groupId"].as_i64()) else {
        return not_understood(answer, "Infobip");
    };
    let name = status["name"].as_str().unwrap_or_default();
    let provider_id = if id.is_empty() { own_id.to_owned() } else { id.to_owned() };
    let meaning = match (group, name) {
        (0 | 1 | 3, _) | (_, "REJECTED_DUPLICATE_MESSAGE_ID") => {
            return SendOutcome::Delivered { provider_id };
        }
        (_, "REJECTED_FLOODING_FILTER" | "REJECTED_SYSTEM_ERROR") => Meaning::Later,
        (_, "REJECTED_NOT_ENOUGH_CREDITS" | "REJECTED_ACCOUNT_ACTION_REQUIRED") => {
            Meaning::Never(ReasonCode::AccountBlocked)
        }
        (_, "REJECTED_SENDER" | "REJECTED_INVALID_SENDER") => Meaning::Never(ReasonCode::SenderInvalid),
        (_, "REJECTED_INVALID_DESTINATION" | "REJECTED_PREFIX_MISSING") => {
            Meaning::Never(ReasonCode::AddressInvalid)
        }
        (_, "REJECTED_DESTINATION" | "REJECTED_NETWORK" | "REJECTED_DESTINATION_NOT_REGISTERED")
        | (2 | 4, _) => Meaning::Never(ReasonCode::RecipientUnreachable),
        _ => Meaning::Never(ReasonCode::RejectedByReceiver),
    };
    let description = status["description"].as_str().unwrap_or_default();
    failed(answer, &format!("{name} {description}"), meaning)
}
