//! What Meta reports about messages: several in one call, signed with the app's secret. 360dialog passes on the same, unsigned.

use punctual_model::{
    Callback, CallbackFault, CallbackTaken, Receipt, ReceiptState, Secret, SuppressionReason,
};
use ring::hmac;
use serde_json::Value;

use crate::callback::{code, decoded, form, is_mac, is_same, json, seconds};

/// A challenge is a short number.
const LONGEST_CHALLENGE: usize = 200;

/// Meta asks whether the address is ours, with the token that it was given there.
pub(super) fn challenge(token: Option<&Secret>, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
    let token = token.ok_or(CallbackFault::NotTaken)?;
    let fields = form(call.query.as_bytes())?;
    let field =
        |name: &str| fields.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value.as_str());
    let challenge = field("hub.challenge");
    let plain = challenge.len() <= LONGEST_CHALLENGE && challenge.bytes().all(|b| b.is_ascii_alphanumeric());
    if field("hub.mode") == "subscribe" && is_same(token.expose(), field("hub.verify_token")) && plain {
        return Ok(CallbackTaken::Answer(challenge.to_owned()));
    }
    Err(CallbackFault::Signature)
}

pub(super) fn signed(secret: &str, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
    let signature = (call.header)("x-hub-signature-256").and_then(|text| decoded(&text));
    let signature = signature.ok_or(CallbackFault::Signature)?;
    if !is_mac(hmac::HMAC_SHA256, secret, &[call.body], &signature) {
        return Err(CallbackFault::Signature);
    }
    read(call.body)
}

/// What a body says; the messages that people write to us are none of our business.
pub(super) fn read(body: &[u8]) -> Result<CallbackTaken, CallbackFault> {
    let body = json(body)?;
    let entries = body["entry"].as_array().into_iter().flatten();
    let changes = entries.flat_map(|entry| entry["changes"].as_array().into_iter().flatten());
    let values = changes.map(|change| &change["value"]);
    // 360dialog's own API before the Cloud one has the statuses on top.
    let statuses = values.chain([&body]).flat_map(|value| value["statuses"].as_array().into_iter().flatten());
    Ok(CallbackTaken::Receipts(statuses.filter_map(receipt).collect()))
}

fn receipt(status: &Value) -> Option<Receipt> {
    let state = match status["status"].as_str()? {
        "sent" => ReceiptState::Sent,
        "delivered" => ReceiptState::Delivered,
        "read" | "played" => ReceiptState::Read,
        "failed" => ReceiptState::Failed,
        _ => return None,
    };
    let mut receipt = Receipt::new(status["id"].as_str()?, state);
    receipt.at = seconds(&status["timestamp"]);
    if state == ReceiptState::Failed {
        let error = &status["errors"][0];
        receipt.code = code(&error["code"]);
        let said = [&error["error_data"]["details"], &error["message"], &error["title"]];
        receipt.detail = said.into_iter().find_map(Value::as_str).map(str::to_owned);
        receipt.suppress = (error["code"] == 131_050).then_some(SuppressionReason::Unsubscribed);
    }
    Some(receipt)
}
