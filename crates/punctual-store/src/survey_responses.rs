//! Answers to surveys: one response for an instance, and its parts question by question.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct ResponseRow {
    pub id: i64,
    pub instance_id: i64,
    pub submission_id: Option<String>,
    pub agent_id: Option<String>,
    pub locale: Option<String>,
    /// The answers that count, a JSON object by question.
    pub answers: String,
    pub completed_at: i64,
}

/// A response to be kept.
#[derive(Clone, Debug)]
pub struct NewResponse {
    pub instance_id: i64,
    pub survey_id: i64,
    pub version_id: i64,
    pub submission_id: Option<String>,
    pub agent_id: Option<String>,
    pub locale: Option<String>,
    pub answers: String,
}

#[derive(Record)]
struct Id {
    id: i64,
}

const INSERT: Sql = Sql::same(
    "survey_responses.insert",
    "INSERT INTO survey_responses (instance_id, survey_id, version_id, submission_id, agent_id, locale, answers, completed_at)
     VALUES ($2, $3, $4, $5, $6, $7, $8, $1)
     RETURNING id",
);
const INSERT_ANSWERS: Sql = Sql::rows(
    "survey_answers.insert",
    "INSERT INTO survey_answers (response_id, question_id, value) VALUES ($1, $2, $3)",
    "INSERT INTO survey_answers (response_id, question_id, value)
     SELECT $1, r.question_id, r.value FROM UNNEST($2::text[], $3::text[]) AS r(question_id, value)",
);

/// Keeps a response with its answers, each as question and JSON value.
#[boxed]
pub async fn insert(
    conn: &mut Conn<'_>,
    now: Timestamp,
    new: &NewResponse,
    answers: &[(String, String)],
) -> Result<i64> {
    let n = new.clone();
    let bound = args![
        now,
        n.instance_id,
        n.survey_id,
        n.version_id,
        n.submission_id,
        n.agent_id,
        n.locale,
        n.answers
    ];
    let Id { id } = conn.fetch_one(&INSERT, bound).await?;
    if !answers.is_empty() {
        let (questions, values): (Vec<&str>, Vec<&str>) =
            answers.iter().map(|(question, value)| (question.as_str(), value.as_str())).unzip();
        conn.execute(&INSERT_ANSWERS, args![id, questions, values]).await?;
    }
    Ok(id)
}

const BY_INSTANCE: Sql = Sql::same(
    "survey_responses.by_instance",
    "SELECT id, instance_id, submission_id, agent_id, locale, answers, completed_at
     FROM survey_responses WHERE instance_id = $1",
);

#[boxed]
pub async fn by_instance(conn: &mut Conn<'_>, instance_id: i64) -> Result<Option<ResponseRow>> {
    conn.fetch_optional(&BY_INSTANCE, args![instance_id]).await
}

crate::db::statements![INSERT, INSERT_ANSWERS, BY_INSTANCE];
