//! Mail through SendGrid's v3 API.
//!
//! SendGrid takes no idempotency key; the Message-ID is the same in every attempt, so that a mail server on the way can
//! drop a repeat. Its yes means that the mail is queued there.

mod events;

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use lettre::message::Mailbox;
use punctual_model::{
    AboutAdapter, Callback, CallbackFault, CallbackTaken, Outgoing, ReasonCode, Secret, SendOutcome, Setting,
    adapter_settings::Section,
};
use serde_json::{Value, json};

use crate::{
    callback::PublicKey,
    guard::{CheckedUrl, Guard},
    http::{Answer, Call, Meaning, by_status, failed, not_understood, permanent},
    provider::{Provider, ProviderAdapter, TIMEOUT},
    settings::Reader,
    smtp::{ONE_CLICK, check_attachment, is_link, message_id, own_headers, parse_address, reply_to},
    text::is_header_text,
};

/// The adapter `sendgrid`.
pub type SendGridAdapter = ProviderAdapter<SendGrid>;

const HOSTS: &[&str] = &["sendgrid.com"];
/// What one mail may have, attachments included.
const MOST_BYTES: usize = 30 * 1024 * 1024;
/// A limit that is reset later than this is not the one for requests.
const LONGEST_RESET: i64 = 60 * 60;

/// The settings of a channel over SendGrid.
pub struct SendGrid {
    base: CheckedUrl,
    key: Secret,
    from: Mailbox,
    reply_to: Option<Mailbox>,
    /// What SendGrid's calls are verified with.
    webhook_key: Option<PublicKey>,
}

impl Provider for SendGrid {
    const NAME: &'static str = "sendgrid";
    const ABOUT: &'static AboutAdapter = &AboutAdapter {
        title: "SendGrid",
        purpose: "sends mail through SendGrid",
        types: &["email"],
        example: r#"{"apiKey":"env:SENDGRID","from":"reminders@example.com"}"#,
        settings: &[
            Setting::text("apiKey", "API key", "a key with the right to send mail, `SG.…`")
                .required()
                .secret(),
            Setting::text("from", "From", "the sender, such as reminders@example.com").required(),
            Setting::text("replyTo", "Reply to", "where answers go, if not to the sender"),
            Setting::text(
                "webhookPublicKey",
                "Webhook public key",
                "the verification key of the event webhook, in base64, `MFkw…`",
            )
            .section(Section::Receipts),
            Setting::url("baseUrl", "Region URL", "another region, such as https://api.eu.sendgrid.com")
                .usually("https://api.sendgrid.com")
                .section(Section::Advanced),
            TIMEOUT,
        ],
    };

    fn read(reader: &mut Reader<'_>, guard: &Guard) -> Option<Self> {
        let base = reader.text("baseUrl").unwrap_or("https://api.sendgrid.com");
        let base = reader.provider_url("baseUrl", base, guard, HOSTS);
        let key = reader.needed_secret("apiKey");
        let from = reader.text("from");
        let from = from.and_then(|text| mailbox(reader, "from", text));
        let reply_to = reader.text("replyTo").and_then(|text| mailbox(reader, "replyTo", text));
        let webhook_key = reader.text("webhookPublicKey").and_then(|text| {
            let key = PublicKey::parse(text);
            if key.is_none() {
                let detail =
                    "`webhookPublicKey` is the verification key of the event webhook, in base64, `MFkw…`";
                reader.fault("webhookPublicKey", "out_of_range", detail);
            }
            key
        });
        Some(Self { base: base?, key: key?, from: from?, reply_to, webhook_key })
    }

    fn call(&self, message: &Outgoing) -> Result<Call, SendOutcome> {
        parse_address(&message.address).map_err(|error| permanent(ReasonCode::AddressInvalid, &error))?;
        if !is_header_text(&message.subject) || message.subject.is_empty() {
            return Err(permanent(ReasonCode::SubjectInvalid, "the subject must be one line and not empty"));
        }
        let mut content = Vec::new();
        if !message.body.is_empty() || message.html.is_none() {
            // SendGrid refuses an empty text.
            let text = if message.body.is_empty() { " " } else { &message.body };
            content.push(json!({"type": "text/plain", "value": text}));
        }
        content.extend(message.html.as_ref().map(|html| json!({"type": "text/html", "value": html})));
        let mut mail = json!({
            "personalizations": [{
                "to": [{"email": message.address}],
                "custom_args": {"punctualMessageId": message.message_id},
            }],
            "from": party(&self.from),
            "subject": message.subject,
            "content": content,
            "headers": {
                "Message-ID": message_id(&message.message_id, &self.from), "Auto-Submitted": "auto-generated",
            },
        });
        let refused = |detail: String| permanent(ReasonCode::HeaderInvalid, &detail);
        for (name, value) in own_headers(&message.envelope).map_err(refused)? {
            mail["headers"][name] = value.into();
        }
        if let Some(link) = message.unsubscribe.as_deref().filter(|link| is_link(link)) {
            mail["headers"]["List-Unsubscribe"] = format!("<{link}>").into();
            mail["headers"]["List-Unsubscribe-Post"] = ONE_CLICK.into();
        }
        let own_reply_to = reply_to(&message.envelope).map_err(refused)?;
        if let Some(reply_to) = own_reply_to.as_ref().or(self.reply_to.as_ref()) {
            mail["reply_to"] = party(reply_to);
        }
        let mut files = Vec::new();
        for file in &message.attachments {
            check_attachment(file).map_err(|detail| permanent(ReasonCode::AttachmentInvalid, &detail))?;
            let mut part = json!({
                "content": STANDARD.encode(&file.content), "type": file.media_type,
                "filename": file.file_name, "disposition": "attachment",
            });
            if let Some(id) = &file.content_id {
                part["content_id"] = id.as_str().into();
                part["disposition"] = "inline".into();
            }
            files.push(part);
        }
        if !files.is_empty() {
            mail["attachments"] = files.into();
        }
        let body = mail.to_string().into_bytes();
        if body.len() > MOST_BYTES {
            return Err(permanent(ReasonCode::MessageTooLarge, "the mail has more than 30 MB"));
        }
        Call::new(self.base.at(&["v3", "mail", "send"]), "application/json", body)
            .with_secret("authorization", &format!("Bearer {}", self.key.expose()))
    }

    fn outcome(&self, answer: &Answer, message: &Outgoing) -> SendOutcome {
        classify(answer, &message.message_id)
    }

    fn check_address(address: &str) -> Result<(), String> {
        parse_address(address).map(drop)
    }

    fn carries_files(&self) -> bool {
        true
    }

    fn takes_receipts(&self) -> bool {
        self.webhook_key.is_some()
    }

    fn callback(&self, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        events::read(self.webhook_key.as_ref().ok_or(CallbackFault::NotTaken)?, call)
    }
}

fn mailbox(reader: &mut Reader<'_>, name: &str, text: &str) -> Option<Mailbox> {
    let mailbox = text.parse::<Mailbox>().ok().filter(|_| is_header_text(text));
    if mailbox.is_none() {
        reader.fault(name, "address_invalid", format!("`{name}` is no mail address; write a@b.example"));
    }
    mailbox
}

fn party(mailbox: &Mailbox) -> Value {
    match &mailbox.name {
        Some(name) => json!({"email": mailbox.email.to_string(), "name": name}),
        None => json!({"email": mailbox.email.to_string()}),
    }
}

/// What an answer of SendGrid's means: the status, and for a refusal the field it names.
pub fn classify(answer: &Answer, own_id: &str) -> SendOutcome {
    if answer.is_success() {
        // A mail that is only checked is answered with 200; one that is sent with 202.
        return if answer.status == 202 {
            let id = answer.header("x-message-id").filter(|id| !id.is_empty()).unwrap_or(own_id);
            SendOutcome::Delivered { provider_id: id.to_owned() }
        } else {
            not_understood(answer, "SendGrid")
        };
    }
    let body = answer.json();
    let faults: Vec<&Value> = body["errors"].as_array().into_iter().flatten().collect();
    let said: Vec<&str> = faults.iter().filter_map(|fault| fault["message"].as_str()).collect();
    let said = if said.is_empty() { answer.text.clone() } else { said.join("; ") };
    let field = faults.iter().find_map(|fault| fault["field"].as_str()).unwrap_or_default();
    let meaning = match (answer.status, field) {
        (400, field) if field.starts_with("personalizations") && field.contains(".to") => {
            Meaning::Never(ReasonCode::AddressInvalid)
        }
        (400 | 403, field) if field.starts_with("from") => Meaning::Never(ReasonCode::SenderInvalid),
        (400, field) if field.starts_with("content") || field.starts_with("subject") => {
            Meaning::Never(ReasonCode::ContentRefused)
        }
        (status, _) => by_status(status),
    };
    match failed(answer, &said, meaning) {
        SendOutcome::Transient { error, retry_after: None } if answer.status == 429 => {
            SendOutcome::Transient { error, retry_after: reset(answer) }
        }
        other => other,
    }
}

/// SendGrid says when its limit starts again, as seconds since 1970.
fn reset(answer: &Answer) -> Option<Duration> {
    let at = answer.header("x-ratelimit-reset")?.trim().parse().ok()?;
    let wait = Timestamp::from_second(at).ok()?.duration_since(answer.at).as_secs();
    u64::try_from(wait.clamp(0, LONGEST_RESET)).ok().map(Duration::from_secs)
}
