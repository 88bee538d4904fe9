//! `/api/v1/operations/rules`: when somebody is notified of an event or task.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{ID_MAX, channels, texts::RuleTexts};
use crate::{
    batch::Item,
    fields::Fields,
    handling::{Handling, HandlingChange},
    page::NamePageQuery,
    problem::{Code, FieldError},
};

/// What a rule says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleShape {
    /// `at_subject_date`, `relative` or `on_day`.
    #[serde(rename = "type")]
    #[schema(example = "relative")]
    pub kind: String,
    /// `start` or `end`.
    #[schema(example = "start")]
    pub anchor: String,
    /// For `relative`: how long before (`-24h`) or after (`+15m`) the date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "-24h")]
    pub offset: Option<String>,
    /// For `on_day`: the local time, `HH:MM`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// For `on_day`: the zone; without one, that of the event or its organisation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// For `on_day`: so many days after the day of the date, or before it if negative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day_offset: Option<i64>,
}

const TYPES: [(&str, &str); 3] =
    [("at_subject_date", "at_subject_date"), ("relative", "relative"), ("on_day", "on_day")];
const ANCHORS: [(&str, &str); 2] = [("start", "start"), ("end", "end")];
const DAYS: std::ops::RangeInclusive<i64> = -366..=366;

impl RuleShape {
    /// Reads the rule in the field `name`. What an offset or a time means is for others to check.
    pub fn read(fields: &mut Fields<'_>, name: &'static str) -> Option<Self> {
        fields.nested(name, |rule| {
            let kind = rule.required_choice("type", &TYPES).to_owned();
            let anchor = rule.required_choice("anchor", &ANCHORS).to_owned();
            let mut shape = Self { kind, anchor, offset: None, at: None, time_zone: None, day_offset: None };
            match shape.kind.as_str() {
                "relative" => shape.offset = Some(rule.required_text("offset", 3..=32)),
                "on_day" => {
                    shape.at = Some(rule.required_text("at", 5..=8));
                    shape.time_zone = rule.optional_zone("timeZone");
                    shape.day_offset = rule.optional_int("dayOffset", DAYS);
                }
                _ => {}
            }
            shape
        })
    }
}

/// A rule to be added.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleRequest {
    /// `event` or `task`.
    #[schema(example = "event")]
    pub subject_type: String,
    pub subject_id: String,
    pub rule: RuleShape,
    /// Channels that it may use, such as `email`; without any, `["email"]`.
    #[schema(required = false, example = json!(["email"]))]
    pub channels: Vec<String>,
    #[serde(flatten)]
    pub handling: Handling,
    #[serde(skip_serializing_if = "RuleTexts::is_empty")]
    #[schema(required = false)]
    pub message: RuleTexts,
}

impl RuleRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let subject_type = fields.required_choice("subjectType", &[("event", "event"), ("task", "task")]);
        let subject_id = fields.required_text("subjectId", 1..=ID_MAX);
        fields.require("rule", || {
            "an object such as `{\"type\":\"relative\",\"anchor\":\"start\",\"offset\":\"-24h\"}`".into()
        });
        let rule = RuleShape::read(&mut fields, "rule");
        let channels = channels(&mut fields, "channels").unwrap_or_else(|| vec!["email".to_owned()]);
        let handling = Handling::read(&mut fields);
        let message = RuleTexts::read(&mut fields);
        fields.finish()?;
        match rule {
            Some(rule) => {
                let subject_type = subject_type.to_owned();
                Ok(Self { subject_type, subject_id, rule, channels, handling, message })
            }
            None => {
                Err(vec![FieldError::new(format!("{pointer}/rule"), Code::WrongType, "A rule is an object.")])
            }
        }
    }
}

/// What is to be different about a rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<Vec<String>>,
    /// `false` pauses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    #[serde(flatten)]
    pub handling: HandlingChange,
    /// All texts in place of those that it has; `null` takes them away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<RuleTexts>,
}

impl RuleChange {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let change = Self {
            rule: RuleShape::read(&mut fields, "rule"),
            channels: channels(&mut fields, "channels"),
            active: fields.optional_bool("active"),
            handling: HandlingChange::read(&mut fields, value),
            message: RuleTexts::read_change(&mut fields, value),
        };
        fields.finish().map(|()| change)
    }
}

/// Which rules are wanted.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RuleQuery {
    /// Only those of this event or task.
    #[param(rename = "subjectId")]
    pub subject_id: Option<String>,
    /// The `nextCursor` of the page before.
    pub cursor: Option<String>,
    /// Items on one page, 1 to 200.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 200, default = 50)]
    pub limit: u32,
}

impl RuleQuery {
    pub fn read(fields: &mut Fields<'_>) -> Self {
        let subject_id = fields.optional_text("subjectId", 1..=ID_MAX);
        let NamePageQuery { cursor, limit } = NamePageQuery::read(fields);
        Self { subject_id, cursor, limit }
    }
}

/// A rule as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub id: String,
    pub subject_type: String,
    pub subject_id: String,
    /// The date that it is relative to: `start` or `end`.
    pub kind: String,
    pub rule: RuleShape,
    /// What is scheduled: `GET /api/v1/schedules/{id}`.
    #[schema(example = "73636865-6475-8000-8000-000000000007")]
    pub schedule_id: Option<String>,
    /// `pending`, `synced` or `failed`: whether the schedule is as the rule wants it.
    #[schema(example = "synced")]
    pub sync_status: String,
    pub sync_error: Option<String>,
    pub channels: Vec<String>,
    #[serde(flatten)]
    pub handling: Handling,
    #[serde(default, skip_serializing_if = "RuleTexts::is_empty")]
    #[schema(required = false)]
    pub message: RuleTexts,
    pub active: bool,
    pub deleted_at: Option<Timestamp>,
    pub last_sent_at: Option<Timestamp>,
    pub next_run_at: Option<Timestamp>,
    /// Warnings about accepted values that do not work yet, such as a channel that does not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<FieldError>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(body: Value, expected: &[(&str, &str)]) {
        let faults = RuleRequest::read(&body, "").unwrap_err();
        let found: Vec<_> =
            faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn a_rule_is_read() {
        let body = json!({"subjectType": "task", "subjectId": "1", "channels": ["email"], "priority": "high", "topic": "shifts",
            "rule": {"type": "on_day", "anchor": "end", "at": "08:00", "timeZone": "Europe/Berlin", "dayOffset": -1}});
        assert_eq!(serde_json::to_value(RuleRequest::read(&body, "").unwrap()).unwrap(), body);
    }

    #[test]
    fn each_fault_names_its_field() {
        check(
            json!({}),
            &[("/subjectType", "missing_field"), ("/subjectId", "missing_field"), ("/rule", "missing_field")],
        );
        let rule = json!({"type": "relative", "anchor": "middle"});
        check(
            json!({"subjectType": "event", "subjectId": "1", "rule": rule}),
            &[("/rule/anchor", "out_of_range"), ("/rule/offset", "missing_field")],
        );
        let rule = json!({"type": "at_subject_date", "anchor": "start", "offset": "-1h"});
        check(
            json!({"subjectType": "event", "subjectId": "1", "rule": rule}),
            &[("/rule/offset", "unknown_field")],
        );
    }
}
