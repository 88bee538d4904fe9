//! SendGrid's event webhook: batches of the outcome of mails, signed with ECDSA over the time and the body.

use punctual_model::{Callback, CallbackFault, CallbackTaken, Receipt, ReceiptState, SuppressionReason};
use serde_json::Value;

use crate::callback::{PublicKey, check_age, code, json, seconds};

const SIGNATURE: &str = "x-twilio-email-event-webhook-signature";
const TIMESTAMP: &str = "x-twilio-email-event-webhook-timestamp";

pub(super) fn read(key: &PublicKey, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
    let (signature, timestamp) = ((call.header)(SIGNATURE), (call.header)(TIMESTAMP));
    let (Some(signature), Some(timestamp)) = (signature, timestamp) else {
        return Err(CallbackFault::Signature);
    };
    if !key.has_signed(&[timestamp.as_bytes(), call.body].concat(), &signature) {
        return Err(CallbackFault::Signature);
    }
    check_age(&timestamp, call.at)?;
    let body = json(call.body)?;
    let events = body.as_array().ok_or_else(|| CallbackFault::Unreadable("it is no array".to_owned()))?;
    Ok(CallbackTaken::Receipts(events.iter().filter_map(receipt).collect()))
}

fn receipt(event: &Value) -> Option<Receipt> {
    let id = message_id(event["sg_message_id"].as_str()?);
    let reason = event["reason"].as_str().unwrap_or_default();
    let (state, suppress) = match event["event"].as_str()? {
        "processed" | "deferred" => (ReceiptState::Sent, None),
        "delivered" => (ReceiptState::Delivered, None),
        "open" | "click" => (ReceiptState::Read, None),
        // A blocked mail was refused for a reason that may pass; the address is good.
        "bounce" if event["type"] == "blocked" => (ReceiptState::Failed, None),
        "bounce" => (ReceiptState::Failed, Some(SuppressionReason::HardBounce)),
        "dropped" => (ReceiptState::Failed, after_drop(reason)),
        "spamreport" => (ReceiptState::Complained, Some(SuppressionReason::Complaint)),
        "unsubscribe" | "group_unsubscribe" => (ReceiptState::Read, Some(SuppressionReason::Unsubscribed)),
        _ => return None,
    };
    let mut receipt = Receipt::new(id, state);
    receipt.at = seconds(&event["timestamp"]);
    receipt.code = code(&event["status"]).filter(|_| state == ReceiptState::Failed);
    receipt.detail = (state == ReceiptState::Failed && !reason.is_empty()).then(|| reason.to_owned());
    receipt.suppress = suppress;
    Some(receipt)
}

/// SendGrid drops what goes to an address on its own list, and says on which.
fn after_drop(reason: &str) -> Option<SuppressionReason> {
    match reason {
        "Bounced Address" | "Invalid" => Some(SuppressionReason::HardBounce),
        "Spam Reporting Address" => Some(SuppressionReason::Complaint),
        "Unsubscribed Address" => Some(SuppressionReason::Unsubscribed),
        _ => None,
    }
}

/// The id in an event continues behind that of the answer to our call.
fn message_id(id: &str) -> &str {
    let end = [".filter", ".recvd", ".recv"].iter().filter_map(|mark| id.find(mark)).min();
    &id[..end.unwrap_or(id.len())]
}
