//! `/api/v1/operations/organisations`: what the events and tasks of one organisation have in common.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{channels, rules::RuleShape, texts::RuleTexts};
use crate::{batch::Item, fields::Fields, handling::Handling, problem::Code};

/// Rules that every new event or task of an organisation gets, at most.
pub const DEFAULT_RULES_MAX: usize = 10;

/// A rule that every new event or task gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DefaultRuleShape {
    pub rule: RuleShape,
    /// `["email"]` where none are given.
    #[schema(required = false)]
    pub channels: Vec<String>,
    #[serde(flatten)]
    pub handling: Handling,
    #[serde(default, skip_serializing_if = "RuleTexts::is_empty")]
    #[schema(required = false)]
    pub message: RuleTexts,
}

/// An organisation to be kept.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganisationRequest {
    pub name: String,
    /// If set, whole days count at `allDayAt` in this zone instead of at noon UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The local time at which a whole day counts, `HH:MM`; 12:00 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "09:00")]
    pub all_day_at: Option<String>,
    /// The messages of a new event or task; by default one at its start and one at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<DefaultRuleShape>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit: Option<String>,
}

impl OrganisationRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            name: fields.required_name("name"),
            time_zone: fields.optional_zone("timeZone"),
            all_day_at: fields.optional_text("allDayAt", 5..=5),
            rules: rules(&mut fields),
            business_unit: fields.optional_name("businessUnit"),
        };
        fields.finish().map(|()| request)
    }
}

fn rules(fields: &mut Fields<'_>) -> Option<Vec<DefaultRuleShape>> {
    let items = fields.array("rules", 0..=DEFAULT_RULES_MAX)?;
    let mut all: Vec<DefaultRuleShape> = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let pointer = format!("{}/{index}", fields.pointer_to("rules"));
        let mut inner = Fields::new(item, pointer.clone());
        inner.require("rule", || {
            "an object such as `{\"type\":\"at_subject_date\",\"anchor\":\"start\"}`".into()
        });
        let rule = RuleShape::read(&mut inner, "rule");
        let channels = channels(&mut inner, "channels").unwrap_or_else(|| vec!["email".to_owned()]);
        let handling = Handling::read(&mut inner);
        let message = RuleTexts::read(&mut inner);
        let at_date = |rule: &RuleShape| rule.kind == "at_subject_date";
        if let Some(rule) = rule.as_ref().filter(|rule| at_date(rule))
            && all.iter().any(|other| at_date(&other.rule) && other.rule.anchor == rule.anchor)
        {
            let detail = format!("There is a rule at the {} already; at most one a date.", rule.anchor);
            inner.refuse("rule", Code::OutOfRange, detail);
        }
        let read = inner.finish();
        if let (Some(()), Some(rule)) = (fields.accept(read), rule) {
            all.push(DefaultRuleShape { rule, channels, handling, message });
        }
    }
    Some(all)
}

/// An organisation as kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Organisation {
    pub id: String,
    pub name: String,
    pub time_zone: Option<String>,
    pub all_day_at: Option<String>,
    pub rules: Option<Vec<DefaultRuleShape>>,
    pub business_unit: Option<String>,
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn at_most_one_rule_stands_at_each_date() {
        let at = json!({"rule": {"type": "at_subject_date", "anchor": "start"}});
        let before =
            json!({"rule": {"type": "relative", "anchor": "start", "offset": "-24h"}, "channels": ["sms"]});
        let read =
            OrganisationRequest::read(&json!({"name": "A", "rules": [at, before, before]}), "").unwrap();
        assert_eq!(read.rules.unwrap().len(), 3);
        let faults = OrganisationRequest::read(&json!({"name": "A", "rules": [at, at]}), "").unwrap_err();
        assert_eq!(faults[0].pointer, "/rules/1/rule");
    }
}
