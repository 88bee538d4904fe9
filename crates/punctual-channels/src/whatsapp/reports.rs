//! Infobip's delivery and seen reports: several in one call.

use jiff::{Timestamp, fmt::strtime};
use punctual_model::{CallbackFault, CallbackTaken, Receipt, ReceiptState, SuppressionReason};
use serde_json::Value;

use crate::callback::json;

pub(super) fn read(body: &[u8]) -> Result<CallbackTaken, CallbackFault> {
    let body = json(body)?;
    let results = body["results"].as_array();
    let results = results.ok_or_else(|| CallbackFault::Unreadable("it has no `results`".to_owned()))?;
    Ok(CallbackTaken::Receipts(results.iter().filter_map(receipt).collect()))
}

fn receipt(result: &Value) -> Option<Receipt> {
    let id = result["messageId"].as_str()?;
    if let Some(seen) = result["seenAt"].as_str() {
        return Some(Receipt { at: instant(seen), ..Receipt::new(id, ReceiptState::Read) });
    }
    let state = match result["status"]["groupName"].as_str()? {
        "PENDING" => ReceiptState::Sent,
        "DELIVERED" => ReceiptState::Delivered,
        "UNDELIVERABLE" | "EXPIRED" | "REJECTED" => ReceiptState::Failed,
        _ => return None,
    };
    let mut receipt = Receipt::new(id, state);
    receipt.at = result["doneAt"].as_str().and_then(instant);
    if state == ReceiptState::Failed {
        let (status, error) = (&result["status"], &result["error"]);
        let name = error["name"].as_str().filter(|name| *name != "NO_ERROR").or(status["name"].as_str());
        receipt.code = name.map(str::to_owned);
        let said = error["description"].as_str().filter(|said| *said != "No Error");
        receipt.detail = said.or(status["description"].as_str()).map(str::to_owned);
        let is_unknown = name.is_some_and(|name| name.contains("UNKNOWN_SUBSCRIBER"));
        receipt.suppress = is_unknown.then_some(SuppressionReason::HardBounce);
    }
    Some(receipt)
}

/// `2026-11-03T08:30:00.000+0000`, which has no colon in its offset, or the same with one.
fn instant(text: &str) -> Option<Timestamp> {
    let parsed = text.parse().ok();
    parsed.or_else(|| strtime::parse("%Y-%m-%dT%H:%M:%S%.f%z", text).ok()?.to_timestamp().ok())
}
