//! `/api/v1/business-units`: who owns data, and in which time zone they live.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields};

/// A business unit to be defined.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BusinessUnitRequest {
    #[schema(example = "New Zealand")]
    pub name: String,
    /// An IANA name.
    #[schema(example = "Pacific/Auckland")]
    pub time_zone: String,
}

impl BusinessUnitRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request =
            Self { name: fields.required_name("name"), time_zone: fields.required_zone("timeZone") };
        fields.finish().map(|()| request)
    }
}

/// A business unit as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BusinessUnit {
    pub id: String,
    pub name: String,
    pub time_zone: String,
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_business_unit_is_read() {
        let request =
            BusinessUnitRequest::read(&json!({"name": "NZ", "timeZone": "pacific/auckland"}), "").unwrap();
        assert_eq!(request.time_zone, "Pacific/Auckland", "zones have one spelling");
        let faults =
            BusinessUnitRequest::read(&json!({"timeZone": "Mars", "timezone": "UTC"}), "").unwrap_err();
        let codes: Vec<_> = faults.iter().map(|fault| fault.code.as_str()).collect();
        assert_eq!(codes, ["missing_field", "zone_unknown", "unknown_field"]);
    }
}
