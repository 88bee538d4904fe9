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
    /// The quota of the unit; without it there is no limit. Only keys without a unit limit can set it; for other keys it stays
    /// unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
}

/// What a business unit may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    /// Notifications and work that are accepted on a day of its time zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000000000, example = 100000)]
    pub rows_per_day: Option<i64>,
    /// The per cent of a channel's calls that it may have under way on a node, with messages that are not urgent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100, example = 50)]
    pub channel_share: Option<i64>,
}

impl Quota {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The quota of a stored unit; nothing where it has none.
    pub fn stored(rows_per_day: Option<i64>, channel_share: Option<i64>) -> Option<Self> {
        Some(Self { rows_per_day, channel_share }).filter(|quota| !quota.is_none())
    }

    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            rows_per_day: fields.optional_int("rowsPerDay", 1..=ROWS_PER_DAY_MAX),
            channel_share: fields.optional_int("channelShare", 1..=100),
        }
    }
}

/// More rows a day than an installation takes.
const ROWS_PER_DAY_MAX: i64 = 1_000_000_000;

/// What a business unit has used of its rows today.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaUsage {
    /// Today, in its time zone.
    #[schema(example = "2026-05-14")]
    pub local_date: String,
    /// Rows that were accepted today, since it has a quota.
    pub rows: i64,
    /// When its next day begins.
    pub until: Timestamp,
}

impl BusinessUnitRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            name: fields.required_name("name"),
            time_zone: fields.required_zone("timeZone"),
            quota: fields.nested("quota", Quota::read).filter(|quota| !quota.is_none()),
        };
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
    /// What it may use; nothing is no limit.
    #[serde(default)]
    pub quota: Option<Quota>,
    /// The rows used today; only for a single unit with a quota, not in lists.
    #[serde(default)]
    pub usage: Option<QuotaUsage>,
    /// Messages that are due and wait for a call, up to 10,000; only for a single unit with a share of each channel, not in
    /// lists.
    #[serde(default)]
    pub waiting: Option<i64>,
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
        let quota = json!({"name": "NZ", "timeZone": "UTC", "quota": {"rowsPerDay": 5, "channelShare": 101}});
        let faults = BusinessUnitRequest::read(&quota, "").unwrap_err();
        assert_eq!(faults[0].pointer, "/quota/channelShare");
        let faults =
            BusinessUnitRequest::read(&json!({"timeZone": "Mars", "timezone": "UTC"}), "").unwrap_err();
        let codes: Vec<_> = faults.iter().map(|fault| fault.code.as_str()).collect();
        assert_eq!(codes, ["missing_field", "zone_unknown", "unknown_field"]);
    }
}
