//! Receipts of any gateway that signs with HMAC-SHA256: where the id and the state are, and what its words mean, are
//! settings.

use punctual_model::{
    Callback, CallbackFault, CallbackTaken, Receipt, ReceiptState, Secret, SuppressionReason, nearest::listed,
};
use reqwest::header::HeaderName;
use ring::hmac;
use serde_json::{Map, Value};

use super::pointer;
use crate::{
    callback::{check_age, code, decoded, form, is_mac, json},
    settings::Reader,
};

/// What a gateway's words may mean.
const MEANINGS: &[&str] = &["accepted", "sent", "delivered", "read", "failed", "bounced", "optedOut"];

/// How the receipts of a gateway are read.
pub(super) struct Receipts {
    secret: Secret,
    signature_header: String,
    /// The time in this header is signed with the body, a dot between them.
    timestamp_header: Option<String>,
    items: Option<String>,
    id_field: String,
    status_field: String,
    states: Vec<(String, (ReceiptState, Option<SuppressionReason>))>,
}

impl Receipts {
    pub fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let secret = reader.secret("receiptSecret");
        let signature_header = header(reader, "receiptSignatureHeader");
        let timestamp_header = header(reader, "receiptTimestampHeader");
        let items = pointer(reader, "receiptItems");
        let id_field = pointer(reader, "receiptIdField").unwrap_or_else(|| "/id".to_owned());
        let status_field = pointer(reader, "receiptStatusField").unwrap_or_else(|| "/status".to_owned());
        let mut states = Vec::new();
        for (word, means) in reader.texts("receiptStates") {
            match meaning(means) {
                Some(state) => states.push((word.to_lowercase(), state)),
                None => {
                    let detail = format!("`receiptStates` says what each word means: {}", listed(MEANINGS));
                    reader.fault("receiptStates", "out_of_range", detail);
                }
            }
        }
        let secret = match secret {
            Some(secret) => secret,
            None => {
                if !states.is_empty() {
                    let detail =
                        "`receiptSecret` is missing: without a signature anybody could send receipts";
                    reader.fault("receiptSecret", "missing_field", detail);
                }
                return None;
            }
        };
        if states.is_empty() {
            let words = ["delivered", "sent", "failed", "read"];
            states.extend(words.iter().filter_map(|word| Some(((*word).to_owned(), meaning(word)?))));
        }
        Some(Self {
            secret,
            signature_header: signature_header.unwrap_or_else(|| "x-signature".to_owned()),
            timestamp_header,
            items,
            id_field,
            status_field,
            states,
        })
    }

    pub fn take(&self, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        let signature = (call.header)(&self.signature_header).and_then(|text| decoded(&text));
        let signature = signature.ok_or(CallbackFault::Signature)?;
        let timestamp = match &self.timestamp_header {
            Some(name) => Some((call.header)(name).ok_or(CallbackFault::Signature)?),
            None => None,
        };
        let parts: Vec<&[u8]> = match &timestamp {
            Some(timestamp) => vec![timestamp.as_bytes(), b".", call.body],
            None => vec![call.body],
        };
        if !is_mac(hmac::HMAC_SHA256, self.secret.expose(), &parts, &signature) {
            return Err(CallbackFault::Signature);
        }
        if let Some(timestamp) = &timestamp {
            check_age(timestamp, call.at)?;
        }
        let body = read_body(call.body)?;
        let found = self.items.as_deref().map_or(Some(&body), |items| body.pointer(items));
        let found = found
            .ok_or_else(|| CallbackFault::Unreadable("the receipts are not where they should be".into()))?;
        let items = found.as_array().map_or_else(|| vec![found], |items| items.iter().collect());
        Ok(CallbackTaken::Receipts(items.into_iter().filter_map(|item| self.receipt(item)).collect()))
    }

    fn receipt(&self, item: &Value) -> Option<Receipt> {
        let id = item.pointer(&self.id_field).and_then(code)?;
        let word = item.pointer(&self.status_field).and_then(code)?;
        let found = self.states.iter().find(|(known, _)| *known == word.to_lowercase());
        let (state, suppress) = found.map(|(_, means)| *means)?;
        let is_failure = state == ReceiptState::Failed;
        let code = is_failure.then_some(word);
        Some(Receipt { code, suppress, ..Receipt::new(id, state) })
    }
}

fn meaning(word: &str) -> Option<(ReceiptState, Option<SuppressionReason>)> {
    Some(match word {
        "bounced" => (ReceiptState::Failed, Some(SuppressionReason::HardBounce)),
        "optedOut" => (ReceiptState::Failed, Some(SuppressionReason::Unsubscribed)),
        _ => {
            let plain = ReceiptState::ALL.into_iter().find(|state| state.as_str() == word);
            (plain.filter(|state| *state != ReceiptState::Complained)?, None)
        }
    })
}

fn header(reader: &mut Reader<'_>, name: &str) -> Option<String> {
    let text = reader.text(name)?;
    if text.parse::<HeaderName>().is_err() {
        reader.fault(name, "out_of_range", format!("`{name}` is the name of a header, such as X-Signature"));
        return None;
    }
    Some(text.to_lowercase())
}

/// JSON, or a form as an object of its fields.
fn read_body(body: &[u8]) -> Result<Value, CallbackFault> {
    if body.trim_ascii_start().first().is_some_and(|first| b"{[".contains(first)) {
        return json(body);
    }
    let fields = form(body)?.into_iter().map(|(name, value)| (name, Value::from(value)));
    Ok(Value::Object(fields.collect::<Map<_, _>>()))
}
