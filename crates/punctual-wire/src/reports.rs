//! `/api/v1/report-subscriptions`: recurring reports.
//!
//! Shapes are checked here. Whether a pattern fires, a period fits or a source is known is for the workflow to say, by the
//! same pointers.

mod runs;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

pub use runs::{
    Artefact, AutomationRun, Coordinates, Ownership, OwnershipReport, OwnershipRequest, RunAttempt,
    RunDelivery, RunNowAnswer, RunNowRequest, RunSummary,
};

use crate::{batch::Item, fields::Fields, handling::Handling, limits::TARGETS_MAX, problem::FieldError};

/// Bytes of a report's own definition.
const REPORT_MAX: usize = 64 * 1024;
const WORDS: [(&str, &str); 6] = [
    ("day", "day"),
    ("week", "week"),
    ("month", "month"),
    ("quarter", "quarter"),
    ("year", "year"),
    ("sinceLast", "sinceLast"),
];

/// A subscription to be made.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportSubscriptionRequest {
    #[schema(example = "Weekly deliveries")]
    pub name: String,
    #[serde(skip_serializing_if = "is_a_column")]
    pub business_unit: Option<String>,
    /// The id of the person who owns it.
    #[serde(skip_serializing_if = "is_a_column")]
    pub owner: Option<String>,
    pub cadence: CadenceShape,
    /// What a run is about: the last complete `day`, `week`, `month`, `quarter` or `year`, or all `sinceLast`; by default
    /// the longest in which the cadence fires once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    /// The first day of a week, such as `SUN`; by default `MON`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub week_start: Option<String>,
    /// Where the table comes from and how it is presented.
    #[schema(value_type = Object)]
    pub report: Value,
    pub recipients: ReportRecipients,
    /// By default that of the list, or `email:default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "email:default")]
    pub channel: Option<String>,
    /// It sees `subscription`, `period` and `report`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// By default the name with the dates of the period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    #[serde(flatten)]
    pub handling: Handling,
    /// What is done about runs that were missed: `skip`, `last` (the default) or `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<String>,
    /// `send` (the default) or `skip` a report without rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_empty: Option<String>,
    #[serde(skip_serializing_if = "is_a_column")]
    #[schema(required = false, default = false)]
    pub paused: bool,
}

/// Kept in a column of its own beside the definition. It is no `skip_serializing`, which would take the field out of the
/// OpenAPI document.
fn is_a_column<T>(_field: &T) -> bool {
    true
}

/// When: `cron`, or `rrule` with `sendTime`, in local time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CadenceShape {
    /// Five fields: minute, hour, day, month, weekday.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "0 8 * * MON")]
    pub cron: Option<String>,
    /// Days by RFC 5545: FREQ, INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, WKST and UNTIL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rrule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_time: Option<String>,
    /// The date from which a rule counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_on: Option<String>,
    /// By default that of the business unit, or UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    pub time_zone: Option<String>,
}

/// `{"list": "ops"}` or `{"addresses": ["a@b.example"]}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReportRecipients {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<String>>,
}

impl ReportSubscriptionRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        fields.read_elsewhere("version");
        fields.require("cadence", || "an object such as `{\"cron\": \"0 8 * * MON\"}`".into());
        fields.require("recipients", || "`{\"list\": …}` or `{\"addresses\": […]}`".into());
        let channel = fields.optional_channel("channel");
        let kind = channel.as_deref().map_or("email", |key| key.split(':').next().unwrap_or(key)).to_owned();
        let request = Self {
            name: fields.required_name("name"),
            business_unit: fields.optional_name("businessUnit"),
            owner: fields.optional_name("owner"),
            cadence: fields.nested("cadence", CadenceShape::read).unwrap_or_default(),
            period: fields.optional_choice("period", &WORDS).map(str::to_owned),
            week_start: fields.optional_text("weekStart", 2..=3),
            report: fields.required_object("report", REPORT_MAX),
            recipients: fields
                .nested("recipients", |inner| ReportRecipients::read(inner, &kind))
                .unwrap_or_default(),
            channel,
            template: fields.optional_name("template"),
            subject: fields.optional_subject("subject"),
            locale: fields.optional_locale("locale"),
            handling: Handling::read(&mut fields),
            catch_up: fields
                .optional_choice("catchUp", &[("skip", "skip"), ("last", "last"), ("all", "all")])
                .map(str::to_owned),
            when_empty: fields
                .optional_choice("whenEmpty", &[("send", "send"), ("skip", "skip")])
                .map(str::to_owned),
            paused: fields.bool("paused", false),
        };
        fields.finish().map(|()| request)
    }
}

impl CadenceShape {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            cron: fields.optional_text("cron", 1..=100),
            rrule: fields.optional_text("rrule", 1..=500),
            send_time: fields.optional_text("sendTime", 1..=16),
            starts_on: fields.optional_text("startsOn", 1..=16),
            time_zone: fields.optional_zone("timeZone"),
        }
    }
}

impl ReportRecipients {
    fn read(fields: &mut Fields<'_>, kind: &str) -> Self {
        fields.one_of("list", "addresses");
        Self {
            list: fields.optional_name("list"),
            addresses: fields.optional_addresses("addresses", 1..=TARGETS_MAX, Some(kind)),
        }
    }
}

/// A subscription as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportSubscription {
    pub guid: String,
    /// All that was given when it was made or changed.
    #[serde(flatten)]
    #[schema(value_type = ReportSubscriptionRequest)]
    pub definition: Value,
    pub business_unit: Option<String>,
    pub owner: Option<String>,
    pub paused: bool,
    /// The next run that is planned.
    pub next_run_at: Option<Timestamp>,
    /// The zone that counts.
    pub time_zone: String,
    /// Send it with a change: if the object was changed meanwhile, the request is refused with `stale_version`.
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<FieldError>,
}

/// A future run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpcomingRun {
    pub key: String,
    pub run_at: Timestamp,
    /// The local time at which it runs, with its offset.
    #[schema(example = "2026-03-29T03:30:00+02:00")]
    pub local: String,
    pub time_zone: String,
    /// Where the clock changes: `gap`, the time is skipped and moves forward; `overlap`, it happens twice and the first
    /// counts.
    pub adjusted: Option<String>,
    pub period_start: Timestamp,
    pub period_end: Timestamp,
}

/// The next runs of a subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Upcoming {
    pub items: Vec<UpcomingRun>,
}

/// A subscription without an owner or without recipients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrphanedSubscription {
    pub guid: String,
    pub name: String,
    pub business_unit: Option<String>,
    pub owner: Option<String>,
    pub list: Option<String>,
    /// `owner-gone`, `recipients-gone`, or both.
    pub reasons: Vec<String>,
}

/// The new owner of a subscription.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TransferRequest {
    /// The id of a person; null for nobody.
    pub owner: Option<String>,
}

impl TransferRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self { owner: fields.optional_name("owner") };
        fields.finish().map(|()| request)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn weekly() -> Value {
        json!({ "name": "W", "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" },
            "report": { "source": { "builtin": "delivery-kpis" } }, "recipients": { "addresses": ["a@b.example"] } })
    }

    #[test]
    fn a_subscription_is_read() {
        let read = ReportSubscriptionRequest::read(&weekly(), "").unwrap();
        assert_eq!(read.cadence.cron.as_deref(), Some("0 8 * * MON"));
        assert!(!read.paused && read.catch_up.is_none());
    }

    #[test]
    fn each_fault_names_its_field() {
        #[track_caller]
        fn check(change: impl FnOnce(&mut Value), expected: &[(&str, &str)]) {
            let mut body = weekly();
            change(&mut body);
            let faults = ReportSubscriptionRequest::read(&body, "").unwrap_err();
            let found: Vec<_> =
                faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
            assert_eq!(found, expected);
        }
        check(|body| body["catchUp"] = json!("some"), &[("/catchUp", "out_of_range")]);
        check(|body| body["cadence"]["zone"] = json!("UTC"), &[("/cadence/zone", "unknown_field")]);
        check(|body| body["cadence"]["timeZone"] = json!("Berlin"), &[("/cadence/timeZone", "zone_unknown")]);
        check(|body| body["recipients"] = json!({}), &[("/recipients/list", "missing_field")]);
        check(
            |body| body["recipients"] = json!({ "addresses": ["no"] }),
            &[("/recipients/addresses/0", "address_invalid")],
        );
        check(|body| body["failover"] = json!(["sms"]), &[("/failover/0", "key_invalid")]);
        check(|body| body["report"] = json!(null), &[("/report", "missing_field")]);
        check(|body| body["subjet"] = json!("x"), &[("/subjet", "unknown_field")]);
    }
}
