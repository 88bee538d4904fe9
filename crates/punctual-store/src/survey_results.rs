//! The results of a survey, counted by the database: sets, whatever the number of instances.

use punctual_boxed::{Record, boxed};
use punctual_model::{Reach, survey::InstanceStatus};

use crate::db::{Arg, Conn, Result, Sql, args, sql};

/// Which instances count; every field left out does not limit.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Whose instances.
    pub reach: Reach,
    pub survey_id: i64,
    pub trigger: Option<String>,
    /// By when the event happened, in microseconds: from and before.
    pub from: Option<i64>,
    pub to: Option<i64>,
}

impl Counted {
    fn args(&self) -> Vec<Arg> {
        args![self.survey_id, self.trigger.clone(), self.from, self.to, &self.reach]
    }
}

// The instances that count, in lists as in results: a link that was taken back counts if it was answered.
pub(crate) const IS_COUNTED: &str = "i.survey_id = $1 AND (NOT i.deleted OR i.status = 'completed')";
// How many of them were reached: a message has arrived, or they have answered all the same.
pub(crate) const REACHED: &str =
    "CAST(SUM(CASE WHEN i.sends > 0 OR i.status = 'completed' THEN 1 ELSE 0 END) AS BIGINT)";
// What else limits them; the parameters are the same in every statement.
const COUNTED: &str = "
       AND ($2 IS NULL OR i.trigger_id = $2)
       AND ($3 IS NULL OR i.triggered_at >= $3)
       AND ($4 IS NULL OR i.triggered_at < $4)
       AND {reach $5 i.business_unit}";

// Their responses; the survey is compared in both tables, so that the index by survey of either can be used.
const RESPONSES_OF: &str =
    "FROM survey_responses r JOIN survey_instances i ON i.id = r.instance_id AND r.survey_id = $1 ";

/// Instances of a trigger that have a status, by the day of their event.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct InstanceCount {
    pub trigger_id: String,
    pub status: InstanceStatus,
    /// Days since 1970, in UTC.
    pub day: i64,
    pub count: i64,
    /// Those that were reached: a message has arrived, or they were answered.
    pub sent: i64,
}

const INSTANCES: Sql = sql!(
    "survey_results.instances",
    "SELECT i.trigger_id, i.status, i.triggered_at / 86400000000 AS day, COUNT(*) AS count,
         ",
    REACHED,
    " AS sent
     FROM survey_instances i
     WHERE ",
    IS_COUNTED,
    COUNTED,
    " GROUP BY i.trigger_id, i.status, i.triggered_at / 86400000000",
);

#[boxed]
pub async fn instances(conn: &mut Conn<'_>, counted: &Counted) -> Result<Vec<InstanceCount>> {
    conn.fetch_all(&INSTANCES, counted.args()).await
}

/// Responses to a trigger's instances, by the day they came.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct ResponseCount {
    pub trigger_id: String,
    pub day: i64,
    pub count: i64,
}

const RESPONSES: Sql = sql!(
    "survey_results.responses",
    "SELECT i.trigger_id, r.completed_at / 86400000000 AS day, COUNT(*) AS count ",
    RESPONSES_OF,
    "WHERE ",
    IS_COUNTED,
    COUNTED,
    " GROUP BY i.trigger_id, r.completed_at / 86400000000",
);

#[boxed]
pub async fn responses(conn: &mut Conn<'_>, counted: &Counted) -> Result<Vec<ResponseCount>> {
    conn.fetch_all(&RESPONSES, counted.args()).await
}

#[derive(Record)]
struct Seconds {
    seconds: i64,
}

const NTH_WAIT: Sql = sql!(
    "survey_results.nth_wait",
    "SELECT CASE WHEN i.last_sent_at <= r.completed_at THEN (r.completed_at - i.last_sent_at) / 1000000
                 WHEN i.triggered_at <= r.completed_at THEN (r.completed_at - i.triggered_at) / 1000000
                 ELSE 0 END AS seconds ",
    RESPONSES_OF,
    "WHERE ",
    IS_COUNTED,
    COUNTED,
    " ORDER BY 1 LIMIT 1 OFFSET $6",
);

/// How long the nth of them waited, from 0 for the shortest: from the last message before the answer to the answer.
#[boxed]
pub async fn nth_wait(conn: &mut Conn<'_>, counted: &Counted, nth: i64) -> Result<Option<i64>> {
    let mut bound = counted.args();
    bound.extend(args![nth]);
    let row: Option<Seconds> = conn.fetch_optional(&NTH_WAIT, bound).await?;
    Ok(row.map(|row| row.seconds))
}

/// How often a question got an answer.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct AnswerCount {
    pub question_id: String,
    /// The answer as JSON.
    pub value: String,
    pub count: i64,
}

const ANSWERS: Sql = sql!(
    "survey_results.answers",
    "SELECT a.question_id, a.value, COUNT(*) AS count ",
    RESPONSES_OF,
    "JOIN survey_answers a ON a.response_id = r.id
     WHERE ",
    IS_COUNTED,
    COUNTED,
    " AND a.question_id IN ({texts $6})
     GROUP BY a.question_id, a.value",
);

/// How often each of these questions got each of its answers.
#[boxed]
pub async fn answers(
    conn: &mut Conn<'_>,
    counted: &Counted,
    questions: Vec<String>,
) -> Result<Vec<AnswerCount>> {
    let mut bound = counted.args();
    bound.extend(args![questions]);
    conn.fetch_all(&ANSWERS, bound).await
}

#[derive(Record)]
struct Count {
    count: i64,
}

#[derive(Record)]
struct Text {
    value: String,
}

const COUNT_TEXTS: Sql = sql!(
    "survey_results.count_texts",
    "SELECT COUNT(*) AS count ",
    RESPONSES_OF,
    "JOIN survey_answers a ON a.response_id = r.id AND a.question_id = $6
     WHERE ",
    IS_COUNTED,
    COUNTED,
);
// BETWEEN and not `=`: else PostgreSQL takes the order of the primary key for as good as that of the index by survey.
const TEXTS: Sql = sql!(
    "survey_results.texts",
    "SELECT a.value
     FROM survey_responses r JOIN survey_instances i ON i.id = r.instance_id
     JOIN survey_answers a ON a.response_id = r.id AND a.question_id = $6
     WHERE r.survey_id BETWEEN $1 AND $1 AND ",
    IS_COUNTED,
    COUNTED,
    " ORDER BY r.survey_id DESC, r.id DESC
     LIMIT $7",
);

/// How often a question in words was answered, and the latest answers, newest first, as JSON.
#[boxed]
pub async fn texts(
    conn: &mut Conn<'_>,
    counted: &Counted,
    question: &str,
    limit: i64,
) -> Result<(i64, Vec<String>)> {
    let mut bound = counted.args();
    bound.extend(args![question]);
    let Count { count } = conn.fetch_one(&COUNT_TEXTS, bound.clone()).await?;
    bound.extend(args![limit]);
    let rows: Vec<Text> = conn.fetch_all(&TEXTS, bound).await?;
    Ok((count, rows.into_iter().map(|row| row.value).collect()))
}

crate::db::statements![INSTANCES, RESPONSES, NTH_WAIT, ANSWERS, COUNT_TEXTS, TEXTS];
