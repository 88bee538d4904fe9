//! SMS through Twilio's Messages resource.
//!
//! Twilio takes no idempotency key for a message: an uncertain attempt may arrive twice, unless the channel sends
//! at most once. Its yes means that the message is queued there.

mod status;

use base64::{Engine, engine::general_purpose::STANDARD};
use punctual_model::{
    AboutAdapter, Callback, CallbackFault, CallbackTaken, Outgoing, ReasonCode, Secret, SendOutcome, Setting,
    adapter_settings::Section,
};
use serde_json::Value;

pub use status::receipt;

use crate::{
    callback,
    guard::{CheckedUrl, Guard},
    http::{Answer, Call, Meaning, by_status, failed, not_understood},
    provider::{Provider, ProviderAdapter, TIMEOUT},
    settings::Reader,
    short_text::{TEXT, Text, check_number, is_sender, number},
};

/// The adapter `twilio`.
pub type TwilioAdapter = ProviderAdapter<Twilio>;

const HOSTS: &[&str] = &["twilio.com"];
/// What one message may have, over all its segments.
const MOST_CHARACTERS: usize = 1_600;

/// The settings of a channel over Twilio.
pub struct Twilio {
    base: CheckedUrl,
    account: String,
    user: String,
    password: Secret,
    from: From,
    text: Text,
    /// Where Twilio reports the outcome of a message, and what it signs with.
    callback: Option<(String, Secret)>,
}

enum From {
    Sender(String),
    Service(String),
}

impl Provider for Twilio {
    const NAME: &'static str = "twilio";
    const ABOUT: &'static AboutAdapter = &AboutAdapter {
        title: "Twilio",
        purpose: "sends SMS through Twilio",
        types: &["sms"],
        example: r#"{"accountSid":"AC0123456789abcdef0123456789abcdef","authToken":"env:TWILIO","from":"Punctual","callbackUrl":"https://punctual.example.com"}"#,
        settings: &[
            Setting::text("accountSid", "Account SID", "`AC` and 32 hexadecimal digits").required(),
            Setting::text("from", "From", "the sending number such as +14155552671, a short code, or a name"),
            Setting::text(
                "messagingServiceSid",
                "Messaging service",
                "`MG` and 32 hexadecimal digits, in place of `from`",
            ),
            Setting::text("authToken", "Auth token", "the account's token in Twilio's console")
                .secret()
                .section(Section::SignIn),
            Setting::text(
                "apiKeySid",
                "API key",
                "`SK` and 32 hexadecimal digits, in place of the auth token",
            )
            .section(Section::SignIn),
            Setting::text("apiKeySecret", "API key secret", "the secret shown when the API key was made")
                .secret()
                .section(Section::SignIn),
            TEXT,
            Setting::url(
                "callbackUrl",
                "Callback URL",
                "where Twilio reaches this server to report deliveries",
            )
            .section(Section::Receipts),
            Setting::text("callbackToken", "Callback token", "the account's token, with which Twilio signs")
                .secret()
                .section(Section::Receipts),
            Setting::url(
                "baseUrl",
                "Region URL",
                "another region, such as https://api.dublin.ie1.twilio.com",
            )
            .usually("https://api.twilio.com")
            .section(Section::Advanced),
            TIMEOUT,
        ],
    };

    fn read(reader: &mut Reader<'_>, guard: &Guard) -> Option<Self> {
        let base = reader.text("baseUrl").unwrap_or("https://api.twilio.com");
        let base = reader.provider_url("baseUrl", base, guard, HOSTS);
        let account = sid(reader, "accountSid", "AC", true);
        let (user, password) = if reader.has("apiKeySid") || reader.has("apiKeySecret") {
            if reader.has("authToken") {
                let detail = "give either `authToken` or `apiKeySid` and `apiKeySecret`";
                reader.fault("authToken", "field_conflict", detail);
            }
            let key = sid(reader, "apiKeySid", "SK", true);
            (key, reader.needed_secret("apiKeySecret"))
        } else {
            (account, reader.needed_secret("authToken"))
        };
        let from = match (reader.text("from"), sid(reader, "messagingServiceSid", "MG", false)) {
            (Some(_), Some(_)) => {
                let detail = "give either `from` or `messagingServiceSid`";
                reader.fault("from", "field_conflict", detail);
                None
            }
            (Some(from), None) if is_sender(from) => Some(From::Sender(from.to_owned())),
            (Some(_), None) => {
                let detail = "`from` is a number such as +14155552671, a short code, or a name of 11 letters and digits";
                reader.fault("from", "phone_invalid", detail);
                None
            }
            (None, Some(service)) => Some(From::Service(service.to_owned())),
            (None, None) if reader.has("messagingServiceSid") => None,
            (None, None) => {
                let detail = "`from` or `messagingServiceSid` is missing: one of them says who sends";
                reader.fault("from", "missing_field", detail);
                None
            }
        };
        let text = Text::read(reader);
        let callback = read_callback(reader);
        Some(Self {
            base: base?,
            account: account?.to_owned(),
            user: user?.to_owned(),
            password: password?,
            from: from?,
            text,
            callback,
        })
    }

    fn call(&self, message: &Outgoing) -> Result<Call, SendOutcome> {
        let to = number(&message.address)?;
        let text = self.text.of(message, MOST_CHARACTERS)?;
        let from = match &self.from {
            From::Sender(sender) => ("From", sender.as_str()),
            From::Service(service) => ("MessagingServiceSid", service.as_str()),
        };
        let url = self.base.at(&["2010-04-01", "Accounts", &self.account, "Messages.json"]);
        let credentials = STANDARD.encode(format!("{}:{}", self.user, self.password.expose()));
        let mut parts = vec![("To", to.as_str()), from, ("Body", text.as_str())];
        parts.extend(self.callback.as_ref().map(|(url, _)| ("StatusCallback", url.as_str())));
        Call::form(url, parts).with_secret("authorization", &format!("Basic {credentials}"))
    }

    fn outcome(&self, answer: &Answer, _message: &Outgoing) -> SendOutcome {
        classify(answer)
    }

    fn check_address(address: &str) -> Result<(), String> {
        check_number(address)
    }

    fn takes_receipts(&self) -> bool {
        self.callback.is_some()
    }

    fn callback(&self, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        let (url, token) = self.callback.as_ref().ok_or(CallbackFault::NotTaken)?;
        status::read(url, token.expose(), call)
    }
}

/// Where Twilio calls back, and the account's token, with which it signs whatever the channel itself signs in with.
fn read_callback(reader: &mut Reader<'_>) -> Option<(String, Secret)> {
    let url = callback::read_url(reader, "callbackUrl");
    let own = reader.has("callbackToken");
    if !reader.has("callbackUrl") {
        if own {
            let detail = "`callbackUrl` is missing; it is where Twilio reaches this server";
            reader.fault("callbackUrl", "missing_field", detail);
        }
        return None;
    }
    if !own && !reader.has("authToken") {
        let detail = "`callbackToken` is missing; it is the account's token, with which Twilio signs";
        reader.fault("callbackToken", "missing_field", detail);
        return None;
    }
    let token = reader.text(if own { "callbackToken" } else { "authToken" }).map(Secret::new);
    Some((url?, token?))
}

/// An id of Twilio's: two letters and 32 hexadecimal digits.
fn sid<'a>(reader: &mut Reader<'a>, name: &str, prefix: &str, is_required: bool) -> Option<&'a str> {
    let such_as = format!("`{prefix}` and 32 hexadecimal digits");
    let text = if is_required { reader.needed_text(name) } else { reader.text(name) }?;
    let digits = text.strip_prefix(prefix).unwrap_or_default();
    if digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Some(text);
    }
    reader.fault(name, "out_of_range", format!("`{name}` is {such_as}"));
    None
}

/// What an answer of Twilio's means: its own code decides, else the status.
pub fn classify(answer: &Answer) -> SendOutcome {
    let body = answer.json();
    if answer.is_success() {
        return match (body["sid"].as_str(), body["status"].as_str()) {
            (Some(_), Some("failed" | "undelivered" | "canceled")) => {
                failed(answer, &said(&body), Meaning::Never(ReasonCode::RejectedByReceiver))
            }
            (Some(sid), _) if !sid.is_empty() => SendOutcome::Delivered { provider_id: sid.to_owned() },
            _ => not_understood(answer, "Twilio"),
        };
    }
    if body["code"].is_null() {
        return failed(answer, &answer.text, by_status(answer.status));
    }
    failed(answer, &said(&body), meaning(body["code"].as_i64().unwrap_or(0), answer.status))
}

fn said(body: &Value) -> String {
    let code = ["code", "error_code"].iter().map(|field| &body[*field]).find(|code| !code.is_null());
    let text = body["message"].as_str().or(body["error_message"].as_str()).unwrap_or_default();
    match code {
        Some(code) => format!("{code} {text}"),
        None => text.to_owned(),
    }
}

fn meaning(code: i64, status: u16) -> Meaning {
    match code {
        // Too many requests or messages, a full queue, the day's limit, Twilio itself in trouble.
        14_107 | 20_429 | 20_500 | 20_503 | 21_611 | 30_001 | 63_038 => Meaning::Later,
        20_003 | 20_006 | 20_008 => Meaning::Never(ReasonCode::CredentialsRefused),
        20_005 | 30_002 => Meaning::Never(ReasonCode::AccountBlocked),
        21_211 | 21_214 | 21_217 | 21_604 | 21_614 => Meaning::Never(ReasonCode::AddressInvalid),
        21_408 | 21_612 | 30_003..=30_006 => Meaning::Never(ReasonCode::RecipientUnreachable),
        21_610 => Meaning::Never(ReasonCode::RecipientOptedOut),
        21_212 | 21_603 | 21_606 | 21_607 | 21_608 | 21_659 | 21_660 | 21_703 | 21_704 => {
            Meaning::Never(ReasonCode::SenderInvalid)
        }
        21_602 | 21_619 | 30_007 => Meaning::Never(ReasonCode::ContentRefused),
        21_605 | 21_617 => Meaning::Never(ReasonCode::MessageTooLarge),
        _ => by_status(status),
    }
}
