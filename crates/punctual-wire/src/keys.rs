//! API keys and their scopes.

use std::borrow::Cow;

use jiff::Timestamp;
pub use punctual_model::Scope;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ObjectBuilder, Type},
    },
};

use crate::{
    batch::Item,
    fields::Fields,
    limits::{KEY_BUSINESS_UNITS_MAX, NAME_MAX},
    problem::{Code, FieldError},
};

/// A scope in the OpenAPI document.
struct ScopeSchema;

impl PartialSchema for ScopeSchema {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("What a key may be used for."))
            .enum_values(Some(Scope::ALL.map(Scope::as_str)))
            .into()
    }
}

impl ToSchema for ScopeSchema {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Scope")
    }
}

/// A key to be made.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyRequest {
    #[schema(example = "billing, production")]
    pub name: String,
    /// At least one.
    #[schema(value_type = Vec<ScopeSchema>)]
    pub scopes: Vec<Scope>,
    /// The business units it is limited to; all of them when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_units: Option<Vec<String>>,
    /// Never when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl ApiKeyRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            name: fields.required_name("name"),
            scopes: read_scopes(&mut fields),
            business_units: fields.optional_texts("businessUnits", 1..=KEY_BUSINESS_UNITS_MAX, 1..=NAME_MAX),
            expires_at: fields.optional_instant("expiresAt"),
        };
        fields.finish().map(|()| request)
    }
}

/// The scopes in their usual order, each once.
fn read_scopes(fields: &mut Fields<'_>) -> Vec<Scope> {
    let known = Scope::ALL.map(Scope::as_str).join("`, `");
    fields.require("scopes", || format!("an array of `{known}`"));
    let scopes = fields.text_items("scopes", 1..=Scope::ALL.len(), |word, pointer| {
        Scope::parse(word).ok_or_else(|| {
            FieldError::new(pointer(), Code::OutOfRange, format!("A scope is one of `{known}`."))
        })
    });
    let mut scopes = scopes.unwrap_or_default();
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}

/// A key as it is stored, without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    pub id: String,
    pub name: String,
    #[schema(value_type = Vec<ScopeSchema>)]
    pub scopes: Vec<Scope>,
    pub business_units: Option<Vec<String>>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// To the hour or so: it is not written on every request.
    pub last_used_at: Option<Timestamp>,
    /// The site whose token it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}

/// A key that was just made, with its secret for the only time.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyCreated {
    #[serde(flatten)]
    pub api_key: ApiKey,
    /// What to send as `Authorization: Bearer …`. It is shown once and kept nowhere; absent where the same
    /// request is repeated.
    #[schema(required = false)]
    pub key: String,
}

impl std::fmt::Debug for ApiKeyCreated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiKeyCreated").field("api_key", &self.api_key).field("key", &"***").finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_read() {
        let body = json!({"name": "ci", "scopes": ["read", "ingest", "read"], "businessUnits": ["nz"],
                          "expiresAt": "2027-01-01T00:00:00Z"});
        let request = ApiKeyRequest::read(&body, "").unwrap();
        assert_eq!(request.scopes, [Scope::Ingest, Scope::Read]);
        assert_eq!(request.business_units, Some(vec!["nz".to_owned()]));
    }

    #[test]
    fn each_fault_names_its_field() {
        #[track_caller]
        fn check(body: Value, expected: &[(&str, &str)]) {
            let faults = ApiKeyRequest::read(&body, "").unwrap_err();
            let found: Vec<_> =
                faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
            assert_eq!(found, expected, "{body}");
        }
        check(json!({}), &[("/name", "missing_field"), ("/scopes", "missing_field")]);
        check(json!({"name": "x", "scopes": []}), &[("/scopes", "out_of_range")]);
        check(json!({"name": "x", "scopes": ["read", "root"]}), &[("/scopes/1", "out_of_range")]);
        check(json!({"name": "x", "scopes": [7]}), &[("/scopes/0", "wrong_type")]);
        check(json!({"name": "x", "scopes": [""]}), &[("/scopes/0", "out_of_range")]);
        check(json!({"name": "x", "scopes": ["read"], "scope": "read"}), &[("/scope", "unknown_field")]);
    }

    #[test]
    fn the_secret_is_answered_once_and_never_printed() {
        let json = json!({"id": "k1", "name": "ci", "scopes": ["read"], "businessUnits": null, "key": "punctual_x",
                          "createdAt": "2026-05-14T00:00:00Z", "expiresAt": null, "revokedAt": null, "lastUsedAt": null});
        let created: ApiKeyCreated = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&created).unwrap(), json);
        assert!(!format!("{created:?}").contains("punctual_x"));
    }
}
