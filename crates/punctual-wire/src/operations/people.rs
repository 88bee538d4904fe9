//! `/api/v1/operations/people`: who may be notified, where, and how they like it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{CHANNELS_MAX, channels};
use crate::{
    address,
    batch::Item,
    fields::Fields,
    problem::{Code, FieldError},
};

/// A person to be kept.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonRequest {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ann@example.org")]
    pub email: Option<String>,
    /// The time zone of the given times; by default that of the event or its organisation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The channels of the person, in order; the next one is used if one fails.
    #[schema(required = false, example = json!(["email"]))]
    pub channels: Vec<String>,
    /// Where they are reached besides e-mail: type of channel to address.
    #[schema(required = false, example = json!({"sms": "+49301234567"}))]
    pub addresses: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit: Option<String>,
}

impl PersonRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let name = fields.required_name("name");
        let email = fields.has("email").then(|| fields.required_address("email", Some("email")));
        let request = Self {
            name,
            email,
            time_zone: fields.optional_zone("timeZone"),
            locale: fields.optional_locale("locale"),
            channels: channels(&mut fields, "channels").unwrap_or_else(|| vec!["email".to_owned()]),
            addresses: addresses(&mut fields),
            business_unit: fields.optional_name("businessUnit"),
        };
        fields.finish().map(|()| request)
    }
}

/// Where somebody is reached: type of channel to address.
pub(crate) fn addresses(fields: &mut Fields<'_>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (kind, value) in fields.entries("addresses", 0..=CHANNELS_MAX).into_iter().flatten() {
        let pointer = || format!("{}/{kind}", fields.pointer_to("addresses"));
        let fault = match value.as_str() {
            None => Some(FieldError::new(pointer(), Code::WrongType, "An address is text.")),
            Some(text) => address::fault(Some(kind), text, pointer),
        };
        match (fault, value.as_str()) {
            (Some(fault), _) => fields.push(fault),
            (None, text) => {
                all.insert(kind.clone(), address::normal(Some(kind), text.unwrap_or_default()));
            }
        }
    }
    all
}

/// A person as kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Person {
    pub id: String,
    pub name: String,
    pub email: Option<String>,
    pub time_zone: Option<String>,
    pub locale: Option<String>,
    pub channels: Vec<String>,
    pub addresses: BTreeMap<String, String>,
    pub business_unit: Option<String>,
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_person_is_read() {
        let body = json!({"name": "Ann", "email": "ann@example.org", "timeZone": "Europe/Berlin", "locale": "de",
            "channels": ["sms:twilio", "email"], "addresses": {"sms": "+49301234567"}});
        assert_eq!(serde_json::to_value(PersonRequest::read(&body, "").unwrap()).unwrap(), body);
        let bare = PersonRequest::read(&json!({"name": "Ann"}), "").unwrap();
        assert_eq!((bare.channels, bare.email), (vec!["email".to_owned()], None));
    }

    #[test]
    fn each_fault_names_its_field() {
        let body = json!({"email": "ann", "timeZone": "Berlin", "channels": ["E mail"], "addresses": {"email": "x", "sms": 1}, "phone": "1"});
        let faults = PersonRequest::read(&body, "").unwrap_err();
        let found: Vec<_> =
            faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
        let expected = [
            ("/name", "missing_field"),
            ("/email", "address_invalid"),
            ("/timeZone", "zone_unknown"),
            ("/channels/0", "key_invalid"),
            ("/addresses/email", "address_invalid"),
            ("/addresses/sms", "wrong_type"),
            ("/phone", "unknown_field"),
        ];
        assert_eq!(found, expected);
    }
}
