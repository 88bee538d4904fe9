//! WhatsApp through Meta's Cloud API.
//!
//! Meta takes no idempotency key; our message id is sent along as `biz_opaque_callback_data` and comes back with the status of
//! the message.

use punctual_model::{
    AboutAdapter, Callback, CallbackFault, CallbackTaken, Outgoing, Phone, ReasonCode, Secret, SendOutcome,
    Setting, adapter_settings::Section,
};
use serde_json::{Value, json};

use super::{LANGUAGE, LANGUAGES, PARAMETERS, Saying, TEMPLATE, Wording, statuses};
use crate::{
    guard::{CheckedUrl, Guard},
    http::{Answer, Call, Meaning, by_status, failed, not_understood},
    provider::{Provider, ProviderAdapter, TIMEOUT},
    settings::Reader,
    short_text::{TEXT, check_number, number},
};

/// The adapter `whatsapp-cloud`.
pub type WhatsAppCloudAdapter = ProviderAdapter<WhatsAppCloud>;

const HOSTS: &[&str] = &["graph.facebook.com"];
/// Meta keeps a version for about two years.
const DEFAULT_VERSION: &str = "v23.0";

/// The settings of a channel over Meta.
pub struct WhatsAppCloud {
    url: CheckedUrl,
    token: Secret,
    wording: Wording,
    /// What Meta signs its calls with, and what it must know when it asks whether the address is ours.
    app_secret: Option<Secret>,
    verify_token: Option<Secret>,
}

impl Provider for WhatsAppCloud {
    const NAME: &'static str = "whatsapp-cloud";
    const ABOUT: &'static AboutAdapter = &AboutAdapter {
        title: "WhatsApp, Meta Cloud API",
        purpose: "sends WhatsApp messages through Meta",
        types: &["whatsapp"],
        example: r#"{"phoneNumberId":"106540352242922","accessToken":"env:WHATSAPP"}"#,
        settings: &[
            Setting::text(
                "phoneNumberId",
                "Phone number id",
                "the id of the sending number, which is not the number",
            )
            .required(),
            Setting::text("accessToken", "Access token", "the token of a system user that may send messages")
                .required()
                .secret(),
            TEXT,
            TEMPLATE,
            LANGUAGE,
            LANGUAGES,
            PARAMETERS,
            Setting::text("appSecret", "App secret", "the app's secret, with which Meta signs its calls")
                .secret()
                .section(Section::Receipts),
            Setting::text(
                "verifyToken",
                "Verify token",
                "what Meta must know when it asks whether the address is ours",
            )
            .secret()
            .section(Section::Receipts),
            Setting::text("apiVersion", "API version", "a version of Meta's API, written like `v23.0`")
                .usually(DEFAULT_VERSION)
                .section(Section::Advanced),
            Setting::url("baseUrl", "Base URL", "the address of Meta's API")
                .usually("https://graph.facebook.com")
                .section(Section::Advanced),
            TIMEOUT,
        ],
    };

    fn read(reader: &mut Reader<'_>, guard: &Guard) -> Option<Self> {
        let base = reader.text("baseUrl").unwrap_or("https://graph.facebook.com");
        let base = reader.provider_url("baseUrl", base, guard, HOSTS);
        let id = reader.text("phoneNumberId");
        if id.is_some_and(|id| !(5..=20).contains(&id.len()) || !id.bytes().all(|b| b.is_ascii_digit())) {
            reader.fault("phoneNumberId", "out_of_range", "`phoneNumberId` is 5 to 20 digits");
        }
        let version = reader.text("apiVersion").unwrap_or(DEFAULT_VERSION);
        let number = version.strip_prefix('v').and_then(|number| number.split_once('.'));
        if number.is_none_or(|(major, minor)| major.parse::<u16>().is_err() || minor.parse::<u16>().is_err())
        {
            let detail = format!("`apiVersion` is written like `{DEFAULT_VERSION}`");
            reader.fault("apiVersion", "out_of_range", detail);
        }
        let token = reader.needed_secret("accessToken");
        let wording = Wording::read(reader);
        let (app_secret, verify_token) = (reader.secret("appSecret"), reader.secret("verifyToken"));
        if verify_token.is_some() && app_secret.is_none() {
            let detail = "`appSecret` is missing; it is the app's secret, with which Meta signs its calls";
            reader.fault("appSecret", "missing_field", detail);
        }
        let url = base?.at(&[version, id?, "messages"]);
        Some(Self { url, token: token?, wording, app_secret, verify_token })
    }

    fn call(&self, message: &Outgoing) -> Result<Call, SendOutcome> {
        let body = body(&number(&message.address)?, &self.wording.of(message)?, &message.message_id);
        Call::json(self.url.clone(), &body)
            .with_secret("authorization", &format!("Bearer {}", self.token.expose()))
    }

    fn outcome(&self, answer: &Answer, _message: &Outgoing) -> SendOutcome {
        classify(answer, "WhatsApp")
    }

    fn check_address(address: &str) -> Result<(), String> {
        check_number(address)
    }

    fn takes_receipts(&self) -> bool {
        self.app_secret.is_some()
    }

    fn callback(&self, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        let secret = self.app_secret.as_ref().ok_or(CallbackFault::NotTaken)?;
        if call.is_get {
            return statuses::challenge(self.verify_token.as_ref(), call);
        }
        statuses::signed(secret.expose(), call)
    }
}

/// A message as the Cloud API takes it; 360dialog passes on the same.
pub(super) fn body(to: &Phone, saying: &Saying, message_id: &str) -> Value {
    let mut body = json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": to.digits(),
        "biz_opaque_callback_data": message_id,
    });
    match saying {
        Saying::Text(text) => {
            body["type"] = "text".into();
            body["text"] = json!({"preview_url": false, "body": text});
        }
        Saying::Template { name, language, parameters } => {
            let parameters: Vec<Value> =
                parameters.iter().map(|text| json!({"type": "text", "text": text})).collect();
            let components: Vec<Value> = if parameters.is_empty() {
                Vec::new()
            } else {
                vec![json!({"type": "body", "parameters": parameters})]
            };
            body["type"] = "template".into();
            body["template"] =
                json!({"name": name, "language": {"code": language}, "components": components});
        }
    }
    body
}

/// What an answer of the Cloud API means: its own code decides, else the status.
pub fn classify(answer: &Answer, provider: &str) -> SendOutcome {
    let body = answer.json();
    if answer.is_success() {
        return match body["messages"][0]["id"].as_str() {
            Some(id) if !id.is_empty() => SendOutcome::Delivered { provider_id: id.to_owned() },
            _ => not_understood(answer, provider),
        };
    }
    let fault = &body["error"];
    let Some(code) = fault["code"].as_i64() else {
        // 360dialog's own refusals have another shape.
        let said = body["meta"]["developer_message"].as_str().or(body["detail"].as_str());
        return failed(answer, said.unwrap_or(&answer.text), by_status(answer.status));
    };
    let message = fault["message"].as_str().unwrap_or_default();
    let said = match fault["error_data"]["details"].as_str() {
        Some(details) => format!("{code} {message}: {details}"),
        None => format!("{code} {message}"),
    };
    failed(answer, &said, meaning(code, answer.status))
}

fn meaning(code: i64, status: u16) -> Meaning {
    match code {
        // Limits of the app, the account, the number and the pair of numbers; Meta itself in trouble.
        1 | 2 | 4 | 80_007 | 130_429 | 131_000 | 131_016 | 131_048 | 131_056 | 131_057 | 133_004 => {
            Meaning::Later
        }
        0 | 3 | 10 | 190 | 200..=299 | 131_005 => Meaning::Never(ReasonCode::CredentialsRefused),
        368 | 130_497 | 131_031 | 131_042 => Meaning::Never(ReasonCode::AccountBlocked),
        33 | 131_037 | 131_045 | 133_010 => Meaning::Never(ReasonCode::SenderInvalid),
        131_021 => Meaning::Never(ReasonCode::AddressInvalid),
        130_472 | 131_026 | 131_030 => Meaning::Never(ReasonCode::RecipientUnreachable),
        131_050 => Meaning::Never(ReasonCode::RecipientOptedOut),
        131_047 => Meaning::Never(ReasonCode::WindowClosed),
        100 | 131_008 | 131_009 | 131_051..=131_053 => Meaning::Never(ReasonCode::ContentRefused),
        132_000..=132_099 => Meaning::Never(ReasonCode::TemplateRefused),
        _ => by_status(status),
    }
}
