//! `/api/v1/secrets`: the master key that secrets are sealed with.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields};

/// Seal all secrets again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RekeyRequest {
    /// Make a key first and put it in front of the others.
    #[schema(required = false)]
    pub new_key: bool,
}

impl RekeyRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self { new_key: fields.bool("newKey", false) };
        fields.finish().map(|()| request)
    }
}

/// The secrets that were sealed again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rekey {
    /// The id of the key that is now in use; it reveals nothing about the key.
    #[schema(example = "3f2a90c1d4e5")]
    pub key_id: String,
    /// How many channels were written.
    pub resealed: u64,
}
