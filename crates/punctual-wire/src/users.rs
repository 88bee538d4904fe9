//! `/api/v1/users`: people who sign in to the console. People who get messages are under `/operations/people`.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_model::Role;
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
    address,
    batch::Item,
    fields::Fields,
    limits::{KEY_BUSINESS_UNITS_MAX, NAME_MAX},
    problem::Code,
};

/// A role in the OpenAPI document.
pub struct RoleSchema;

impl PartialSchema for RoleSchema {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("What a person may do."))
            .enum_values(Some(Role::ALL.map(Role::as_str)))
            .into()
    }
}

impl ToSchema for RoleSchema {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Role")
    }
}

fn choices() -> [(&'static str, Role); 4] {
    Role::ALL.map(|role| (role.as_str(), role))
}

fn role_word<S: serde::Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role.as_str())
}

/// A person to be added.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserRequest {
    /// What they sign in with; unique without regard to case.
    #[schema(example = "ada@example.org")]
    pub email: String,
    #[schema(example = "Ada Lovelace")]
    pub name: String,
    #[serde(serialize_with = "role_word")]
    #[schema(value_type = RoleSchema)]
    pub role: Role,
    /// The business units they are limited to: `null` or absent for all of them, an empty array for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_units: Option<Vec<String>>,
}

impl UserRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            email: fields.required_address("email", Some("email")),
            name: fields.required_name("name"),
            role: fields.required_choice("role", &choices()),
            business_units: read_units(&mut fields),
        };
        fields.finish().map(|()| request)
    }
}

fn read_units(fields: &mut Fields<'_>) -> Option<Vec<String>> {
    let mut units = fields.optional_texts("businessUnits", 0..=KEY_BUSINESS_UNITS_MAX, 1..=NAME_MAX);
    if let Some(units) = &mut units {
        units.sort_unstable();
        units.dedup();
    }
    units
}

/// What is to be different about a person; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserChangeRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_role_word")]
    #[schema(value_type = Option<RoleSchema>)]
    pub role: Option<Role>,
    /// The business units they are limited to; `null` for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub business_units: Option<Option<Vec<String>>>,
    /// Who is not active cannot sign in, and loses their sessions at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}

fn optional_role_word<S: serde::Serializer>(role: &Option<Role>, serializer: S) -> Result<S::Ok, S::Error> {
    match role {
        Some(role) => role_word(role, serializer),
        None => serializer.serialize_none(),
    }
}

impl UserChangeRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        for name in ["email", "name", "role", "active"] {
            if fields.is_null(name) {
                fields.refuse(
                    name,
                    Code::MissingField,
                    format!("`{name}` cannot be null; leave it out to keep it."),
                );
            }
        }
        let email = fields.has("email").then(|| fields.required_address("email", Some("email")));
        let has_units = fields.is_null("businessUnits") || fields.has("businessUnits");
        let units = read_units(&mut fields);
        let change = Self {
            email: email.map(|email| address::normal(Some("email"), &email)),
            name: fields.optional_name("name"),
            role: fields.optional_choice("role", &choices()),
            business_units: has_units.then_some(units),
            active: fields.optional_bool("active"),
        };
        fields.finish().map(|()| change)
    }
}

/// A person as they are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    pub id: String,
    pub email: String,
    pub name: String,
    #[schema(value_type = RoleSchema)]
    pub role: String,
    /// `null` for all of them.
    pub business_units: Option<Vec<String>>,
    pub active: bool,
    /// Whether they have set a password.
    pub has_password: bool,
    /// What the single sign-on calls them, once they have come through it.
    pub external_subject: Option<String>,
    /// Role and business units come from the groups of the single sign-on, at each sign-in.
    pub rights_from_provider: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_sign_in_at: Option<Timestamp>,
}

/// The link with which somebody sets their password, for the only time.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInvitation {
    /// Works once. It is shown here and kept nowhere: a repeat of the request has `null`.
    pub link: Option<String>,
    pub expires_at: Timestamp,
    /// The channel over which the link was mailed; `null` where it was not.
    pub mailed_over: Option<String>,
    /// Why the mail did not leave.
    pub mail_error: Option<String>,
}

impl std::fmt::Debug for UserInvitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserInvitation").field("link", &"***").field("expires_at", &self.expires_at).finish()
    }
}

/// A person with the link of their invitation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInvited {
    #[serde(flatten)]
    pub user: User,
    pub invitation: UserInvitation,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_person_is_read() {
        let body = json!({ "email": "Ada@Example.org", "name": "Ada", "role": "operator", "businessUnits": ["nz", "de", "nz"] });
        let request = UserRequest::read(&body, "").unwrap();
        assert_eq!((request.role, request.business_units.unwrap().len()), (Role::Operator, 2));
        let all = json!({ "email": "a@b.example", "name": "A", "role": "admin", "businessUnits": null });
        assert_eq!(UserRequest::read(&all, "").unwrap().business_units, None);
        let change = |body: Value| UserChangeRequest::read(&body, "").unwrap();
        assert_eq!(change(json!({})), UserChangeRequest::default());
        assert_eq!(change(json!({ "businessUnits": null })).business_units, Some(None));
        assert_eq!(change(json!({ "businessUnits": [] })).business_units, Some(Some(Vec::new())));
        assert_eq!(change(json!({ "active": false, "role": "viewer" })).role, Some(Role::Viewer));
    }

    #[test]
    fn each_fault_names_its_field() {
        #[track_caller]
        fn check<T: std::fmt::Debug>(read: Item<T>, expected: &[(&str, &str)]) {
            let faults = read.unwrap_err();
            let found: Vec<_> =
                faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
            assert_eq!(found, expected);
        }
        let missing = [("/email", "missing_field"), ("/name", "missing_field"), ("/role", "missing_field")];
        check(UserRequest::read(&json!({}), ""), &missing);
        let wrong = json!({ "email": "no address", "name": "A", "role": "root", "units": [] });
        check(
            UserRequest::read(&wrong, ""),
            &[("/email", "address_invalid"), ("/role", "out_of_range"), ("/units", "unknown_field")],
        );
        check(UserChangeRequest::read(&json!({ "role": null }), ""), &[("/role", "missing_field")]);
        check(UserChangeRequest::read(&json!({ "active": "no" }), ""), &[("/active", "wrong_type")]);
    }
}
