//! What the answers of a survey come to.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SurveyResults {
    pub survey_id: i64,
    /// The newest version; the questions are those of all versions.
    pub version: Option<i64>,
    pub instances: i64,
    pub by_status: BTreeMap<String, i64>,
    /// Instances that were reached: at least one message arrived, or there is an answer.
    pub sent: i64,
    pub answered: i64,
    /// Answered among those that were reached, 0 to 1.
    pub response_rate: Option<f64>,
    pub median_seconds_to_answer: Option<i64>,
    pub by_day: Vec<SurveyDay>,
    pub by_trigger: Vec<SurveyTriggerCount>,
    pub questions: Vec<SurveyQuestionResults>,
    pub counted_at: Timestamp,
    /// Only so many of the newest links are counted so far; all of them are being counted.
    pub newest: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SurveyDay {
    /// A date in UTC.
    pub day: String,
    pub triggered: i64,
    pub answered: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SurveyTriggerCount {
    pub trigger_id: String,
    pub instances: i64,
    pub sent: i64,
    pub answered: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SurveyQuestionResults {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub text: String,
    pub answered: i64,
    pub counts: Vec<SurveyChoiceCount>,
    pub average: Option<f64>,
    pub nps: Option<SurveyNps>,
    /// For ratings.
    pub csat: Option<SurveyCsat>,
    /// The latest answers in words; the export has all of them.
    pub texts: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SurveyChoiceCount {
    #[schema(value_type = Value)]
    pub value: Value,
    pub text: String,
    pub count: i64,
    /// Of those who answered the question, 0 to 1.
    pub share: f64,
}

/// The number of satisfied ratings: those in the top quarter of the scale, such as 4 and 5 of 1 to 5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SurveyCsat {
    /// 0 to 100.
    pub score: f64,
    pub satisfied: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SurveyNps {
    /// −100 to 100.
    pub score: f64,
    pub promoters: i64,
    pub passives: i64,
    pub detractors: i64,
}
