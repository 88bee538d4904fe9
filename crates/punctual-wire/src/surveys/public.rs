//! What anybody with a link may ask and say, without a key.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields, limits::NAME_MAX};

/// An answer to a survey.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResponseRequest {
    /// The sender's own id: the same again gets the same result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission_id: Option<String>,
    /// By question; at most 200, each of at most 8 KiB.
    #[schema(value_type = Object)]
    pub answers: Map<String, Value>,
    /// Who filled it in, where that was not the recipient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// When the survey was completed, if that was before this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// `agentId` and `completedAt`, as other systems send them; what is beside it counts first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<ResponseMeta>,
}

/// About an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResponseMeta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

impl ResponseMeta {
    fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let agent_id = fields.optional_name("agentId");
        let completed_at = fields.optional_instant("completedAt");
        fields.finish()?;
        Ok(Self { agent_id, completed_at })
    }
}

impl ResponseRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let submission_id = fields.optional_text("submissionId", 1..=NAME_MAX);
        let answers = fields.required_object("answers", 64 << 10);
        let agent_id = fields.optional_name("agentId");
        let locale = fields.optional_locale("locale");
        let completed_at = fields.optional_instant("completedAt");
        let meta = fields.object("meta", 1 << 10);
        fields.finish()?;
        let meta = meta.map(|meta| ResponseMeta::read(&meta, &format!("{pointer}/meta"))).transpose()?;
        let answers = match answers {
            Value::Object(answers) => answers,
            _ => Map::new(),
        };
        Ok(Self { submission_id, answers, agent_id, locale, completed_at, meta })
    }
}

/// An answer that was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResponseTaken {
    pub public_id: String,
    /// `completed`.
    pub status: String,
    pub completed_at: Timestamp,
    pub submission_id: Option<String>,
}

/// A survey as the person sees it who has the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublicSurvey {
    pub public_id: String,
    /// `open` or `completed`.
    pub status: String,
    /// The language the recipient gets.
    pub locale: String,
    pub right_to_left: bool,
    /// Title, texts and questions, in every language; empty once it is answered.
    #[schema(value_type = Object)]
    pub survey: Value,
}
