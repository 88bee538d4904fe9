//! `/api/v1/erasures` and `/api/v1/personal-data/export`: what is stored about a person, erased or handed out.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    batch::Item,
    fields::Fields,
    limits::{ADDRESS_MAX, NAME_MAX},
};

/// Who is to be erased: an address, or the id of a person with all their addresses. Without `confirm` it is a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErasureRequest {
    /// Where the person is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ann@example.org")]
    pub address: Option<String>,
    /// The id of somebody among the people of operations or of preferences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// Carry it out: what was erased cannot be brought back.
    #[schema(required = false)]
    pub confirm: bool,
    /// Leave suppressions, so that nothing is sent to the address again by mistake.
    #[schema(required = false)]
    pub keep_suppressions: bool,
}

impl ErasureRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        fields.one_of("address", "person");
        let request = Self {
            address: fields.optional_text("address", 1..=ADDRESS_MAX),
            person: fields.optional_text("person", 1..=NAME_MAX),
            confirm: fields.bool("confirm", false),
            keep_suppressions: fields.bool("keepSuppressions", false),
        };
        fields.finish().map(|()| request)
    }
}

/// Whose data is wanted: an address, or the id of a person with all their addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct PersonalDataRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ann@example.org")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
}

impl PersonalDataRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        fields.one_of("address", "person");
        let request = Self {
            address: fields.optional_text("address", 1..=ADDRESS_MAX),
            person: fields.optional_text("person", 1..=NAME_MAX),
        };
        fields.finish().map(|()| request)
    }
}

/// How many rows of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KindCount {
    #[schema(example = "notifications")]
    pub kind: String,
    pub rows: i64,
}

/// A planned erasure, or the result of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Erasure {
    pub id: String,
    /// `planned`: nothing was erased. `done`. `incomplete`: some rows were being sent; ask again.
    #[schema(example = "planned")]
    pub status: String,
    pub created_at: Timestamp,
    /// What was found, by kind.
    pub found: Vec<KindCount>,
    /// Nothing while it is a plan.
    pub certificate: Option<ErasureCertificate>,
}

/// The proof of an erasure. It does not name the person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErasureCertificate {
    pub id: String,
    pub erased_at: Timestamp,
    pub erased_by: String,
    /// The business units that it was limited to.
    pub business_units: Option<Vec<String>>,
    /// SHA-256, in hexadecimal, of `SALT:address:ADDRESS` with the address in lower case, or of `SALT:person:ID`.
    pub subject_hash: String,
    pub salt: String,
    pub erased: Vec<KindCount>,
    /// What a second search still found.
    pub remaining: Vec<KindCount>,
    /// What stays on purpose, and why.
    pub kept: Vec<String>,
    /// Of all the others, with a key that follows from the master key.
    pub signature: String,
}

/// What is stored about a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PersonalData {
    pub at: Timestamp,
    /// Kind to its rows.
    #[schema(value_type = Object)]
    pub data: Map<String, Value>,
    /// Kinds of which there are more rows than the ten thousand in this document.
    pub cut: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn either_an_address_or_a_person_is_named() {
        assert!(ErasureRequest::read(&json!({ "address": "a@x.example" }), "").is_ok());
        assert!(ErasureRequest::read(&json!({ "person": "p-1", "confirm": true }), "").is_ok());
        for bad in [json!({}), json!({ "address": "a@x.example", "person": "p-1" }), json!({ "address": "" })]
        {
            assert!(ErasureRequest::read(&bad, "").is_err(), "{bad}");
            assert!(PersonalDataRequest::read(&bad, "").is_err(), "{bad}");
        }
    }
}
