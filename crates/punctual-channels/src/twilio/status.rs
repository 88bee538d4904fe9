//! Twilio's status callbacks: a form for each step of a message, signed over the address and the fields.

use base64::{Engine, engine::general_purpose::STANDARD};
use punctual_model::{Callback, CallbackFault, CallbackTaken, Receipt, ReceiptState, SuppressionReason};
use ring::hmac;

use crate::callback::{form, is_mac};

/// Reads a call. `url` is the address that Twilio was given; it signs that and not what a proxy made of it.
pub(super) fn read(url: &str, token: &str, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
    let signature = (call.header)("x-twilio-signature").ok_or(CallbackFault::Signature)?;
    let signature = STANDARD.decode(signature.trim()).map_err(|_| CallbackFault::Signature)?;
    let fields = form(call.body)?;
    let mut signed = url.split('?').next().unwrap_or(url).to_owned();
    if !call.query.is_empty() {
        signed = format!("{signed}?{}", call.query);
    }
    let mut sorted: Vec<&(String, String)> = fields.iter().collect();
    sorted.sort();
    for (name, value) in sorted {
        signed.push_str(name);
        signed.push_str(value);
    }
    if !is_mac(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, token, &[signed.as_bytes()], &signature) {
        return Err(CallbackFault::Signature);
    }
    Ok(CallbackTaken::Receipts(receipt(&fields).into_iter().collect()))
}

/// What the fields say about a message; nothing where they are about something else.
pub fn receipt(fields: &[(String, String)]) -> Option<Receipt> {
    let field = |name: &str| {
        let found = fields.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    };
    let id = field("MessageSid").or_else(|| field("SmsSid"))?;
    let state = match field("MessageStatus").or_else(|| field("SmsStatus"))? {
        "accepted" | "scheduled" | "queued" | "sending" => ReceiptState::Accepted,
        "sent" => ReceiptState::Sent,
        "delivered" => ReceiptState::Delivered,
        "read" => ReceiptState::Read,
        "undelivered" | "failed" | "canceled" => ReceiptState::Failed,
        _ => return None,
    };
    let mut receipt = Receipt::new(id, state);
    if state == ReceiptState::Failed {
        let code = field("ErrorCode");
        receipt.code = code.map(str::to_owned);
        receipt.detail = field("ErrorMessage").map(str::to_owned).or_else(|| code.and_then(in_words));
        receipt.suppress = match code {
            // A number that is none, and one that takes no text messages.
            Some("21211" | "21614" | "30005" | "30006") => Some(SuppressionReason::HardBounce),
            Some("21610") => Some(SuppressionReason::Unsubscribed),
            _ => None,
        };
    }
    Some(receipt)
}

fn in_words(code: &str) -> Option<String> {
    let words = match code {
        "30003" => "the phone cannot be reached",
        "30004" => "the message is blocked",
        "30005" => "there is no such number",
        "30006" => "a landline, or a carrier that cannot be reached",
        "30007" => "a carrier filtered it",
        "30008" => "unknown error",
        "21610" => "the recipient wants no messages",
        _ => return None,
    };
    Some(words.to_owned())
}
