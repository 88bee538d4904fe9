//! Rows to start from.

use jiff::Timestamp;
use punctual_model::{InputHash, NewWork, Trigger, WorkKey};
use serde_json::json;

/// A row of that kind and key; its key is all its input.
///
/// # Panics
/// When the text is no key.
pub fn new_work(kind: &'static str, key: &str, due_at: Timestamp) -> NewWork {
    new_work_with(kind, key, due_at, &json!({ "key": key }))
}

/// The same with another input.
///
/// # Panics
/// When the text is no key.
pub fn new_work_with(kind: &'static str, key: &str, due_at: Timestamp, input: &serde_json::Value) -> NewWork {
    NewWork {
        key: WorkKey::parse(key).unwrap_or_else(|error| panic!("{key}: {error}")),
        kind,
        trigger: Trigger::At,
        business_unit: None,
        source: None,
        setting_id: None,
        due_at,
        local: None,
        input_hash: InputHash::of(input),
        input: input.to_string(),
    }
}
