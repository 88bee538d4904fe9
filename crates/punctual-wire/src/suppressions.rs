//! `/api/v1/suppressions`: addresses that get nothing over channels of a type.

use jiff::Timestamp;
use punctual_model::{SuppressionReason, address::comparable};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::{
    address,
    batch::Item,
    fields::{Fields, query_object},
    limits::NAME_MAX,
    names::channel_fault,
    page::NamePageQuery,
    problem::{Code, FieldError},
};

/// What is said about an address that is to get nothing.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuppressionRequest {
    /// `manual` (default), `hardBounce`, `complaint` or `unsubscribed`.
    #[schema(example = "manual")]
    #[schema(required = false)]
    pub reason: String,
    /// A label for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// From then on it gets messages again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

fn reasons() -> [(&'static str, &'static str); 4] {
    let mut reasons = SuppressionReason::ALL.map(|reason| (reason.as_str(), reason.as_str()));
    // The first is used for a missing one.
    reasons.sort_by_key(|(word, _)| *word != SuppressionReason::Manual.as_str());
    reasons
}

impl SuppressionRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let reason = fields.optional_choice("reason", &reasons());
        let request = Self {
            reason: reason.unwrap_or(SuppressionReason::Manual.as_str()).to_owned(),
            detail: fields.optional_subject("detail"),
            expires_at: fields.optional_instant("expiresAt"),
        };
        fields.finish().map(|()| request)
    }
}

/// The type and address that are in a path, as they are compared.
pub fn read_key(channel_type: &str, given: &str) -> Result<(String, String), FieldError> {
    if channel_fault(&format!("{channel_type}:default"), &String::new).is_some() {
        let detail = "A channel type is lower-case letters, digits, `-`, `_` or `.`, such as `email`.";
        return Err(FieldError::new("/channelType", Code::KeyInvalid, detail));
    }
    match address::fault(Some(channel_type), given, || "/address".to_owned()) {
        Some(fault) => Err(fault),
        None => Ok((channel_type.to_owned(), comparable(given))),
    }
}

/// An address that gets nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suppression {
    #[schema(example = "email")]
    pub channel_type: String,
    /// The normalised address, as used for comparison.
    pub address: String,
    #[schema(example = "hardBounce")]
    pub reason: String,
    pub since: Timestamp,
    /// Who or what put it there: `key:NAME`, `notification:ID` or `receipt:MESSAGE`.
    pub source: String,
    pub detail: Option<String>,
    pub expires_at: Option<Timestamp>,
}

/// Which part of the list is wanted; what is left out does not limit.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SuppressionQuery {
    #[param(rename = "channelType", example = "email")]
    pub channel_type: Option<String>,
    #[param(example = "hardBounce")]
    pub reason: Option<String>,
    /// A part of the address.
    pub q: Option<String>,
    #[param(inline, ignore)]
    pub page: NamePageQuery,
}

impl SuppressionQuery {
    pub fn read(parameters: impl IntoIterator<Item = (String, String)>) -> Result<Self, Vec<FieldError>> {
        let object = query_object(parameters);
        let mut fields = Fields::query(&object);
        let query = Self {
            channel_type: fields.optional_name("channelType"),
            reason: fields.optional_choice("reason", &reasons()).map(str::to_owned),
            q: fields.optional_text("q", 1..=NAME_MAX),
            page: NamePageQuery::read(&mut fields),
        };
        fields.finish().map(|()| query)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_said_about_an_address_is_read() {
        assert_eq!(SuppressionRequest::read(&json!({}), "").unwrap().reason, "manual");
        let body = json!({"reason": "complaint", "detail": "called us", "expiresAt": "2026-06-01T00:00:00Z"});
        assert_eq!(
            serde_json::to_value(SuppressionRequest::read(&body, "").unwrap()).unwrap(),
            body,
            "as it was written"
        );
        let faults = SuppressionRequest::read(&json!({"reason": "bored", "since": 1}), "").unwrap_err();
        let codes: Vec<_> = faults.iter().map(|fault| fault.code.as_str()).collect();
        assert_eq!(codes, ["out_of_range", "unknown_field"]);
    }

    #[test]
    fn an_address_in_a_path_is_checked_and_made_comparable() {
        let key = |kind: &str, address: &str| read_key(kind, address).map(|(_, address)| address);
        assert_eq!(key("email", "Ann@Example.org").unwrap(), "ann@example.org");
        assert_eq!(key("sms", "+49 30 1234567").unwrap(), "+49301234567");
        assert_eq!(key("email", "ann").unwrap_err().code.as_str(), "address_invalid");
        assert_eq!(key("sms", "12").unwrap_err().code.as_str(), "phone_invalid");
        assert_eq!(key("E Mail", "a@b.example").unwrap_err().code.as_str(), "key_invalid");
    }
}
