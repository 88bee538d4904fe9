//! Answers to surveys: one response for an instance, and its parts question by question.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct ResponseRow {
    pub id: i64,
    pub instance_id: i64,
    pub submission_id: Option<String>,
    pub agent_id: Option<String>,
    pub locale: Option<String>,
    /// The answers that count, a JSON object by question.
    pub answers: String,
    pub completed_at: Timestamp,
}

/// A response to be kept.
#[derive(Clone, Debug, SetRow)]
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

const INSERT: Sql = sql!(
    "survey_responses.insert", each NewResponse, after 1,
    "INSERT INTO survey_responses ({names}, completed_at) {values {*}, $1} RETURNING id",
);

#[derive(SetRow)]
struct Answer<'a> {
    question_id: &'a str,
    value: &'a str,
}
const INSERT_ANSWERS: Sql = sql!(
    "survey_answers.insert", each Answer<'_>, after 1,
    "INSERT INTO survey_answers (response_id, {names}) {values $1, {*}}",
);

/// Keeps a response with its answers, each as question and JSON value.
#[boxed]
pub async fn insert(
    conn: &mut Conn<'_>,
    now: Timestamp,
    new: &NewResponse,
    answers: &[(String, String)],
) -> Result<i64> {
    let Id { id } = conn.fetch_one(&INSERT, with_rows(args![now], slice::from_ref(new))).await?;
    if !answers.is_empty() {
        let answers: Vec<Answer<'_>> =
            answers.iter().map(|(question_id, value)| Answer { question_id, value }).collect();
        conn.execute(&INSERT_ANSWERS, with_rows(args![id], &answers)).await?;
    }
    Ok(id)
}

const BY_INSTANCE: Sql = sql!(
    "survey_responses.by_instance", as ResponseRow,
    "SELECT {columns}
     FROM survey_responses WHERE instance_id = $1",
);

#[boxed]
pub async fn by_instance(conn: &mut Conn<'_>, instance_id: i64) -> Result<Option<ResponseRow>> {
    conn.fetch_optional(&BY_INSTANCE, args![instance_id]).await
}

crate::db::statements![INSERT, INSERT_ANSWERS, BY_INSTANCE];
