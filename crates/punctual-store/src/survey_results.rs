//! The results of a survey, counted by the database.

use jiff::Timestamp;
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
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Those between these two ids, without either; at most [`PIECE`].
    pub ids: (i64, i64),
}

impl Counted {
    /// Every instance, however many there are.
    pub const ALL: (i64, i64) = (i64::MIN, i64::MAX);

    fn args(&self) -> Vec<Arg> {
        let (after, before) = self.ids;
        args![self.survey_id, self.trigger.clone(), self.from, self.to, &self.reach, after, before]
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
       AND i.id > $6 AND i.id < $7
       AND {reach $5 i.business_unit}";

/// Instances that one statement counts at most.
pub const PIECE: i64 = 200_000;

// Each of them by the index by survey. Pairs and a limit for PostgreSQL, which would take the order of the primary key for as good
// where a survey has most of the instances, and read all of those of other surveys for one that has few.
const OF_SURVEY: &str = "
     FROM {sqlite survey_instances i INDEXED BY survey_instances_by_survey}
          {postgres (SELECT * FROM survey_instances AS w WHERE (w.survey_id, w.id) < ($1, $7) AND w.survey_id >= $1
                     ORDER BY w.survey_id DESC, w.id DESC LIMIT 200000) AS i}";
// Their responses.
const WITH_RESPONSES: &str = "
     {sqlite CROSS }JOIN survey_responses r
         ON r.instance_id = i.id AND r.survey_id = $1{postgres  AND r.instance_id > $6 AND r.instance_id < $7} ";

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
    " AS sent",
    OF_SURVEY,
    " WHERE ",
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
    OF_SURVEY,
    WITH_RESPONSES,
    "WHERE ",
    IS_COUNTED,
    COUNTED,
    " GROUP BY i.trigger_id, r.completed_at / 86400000000",
);

#[boxed]
pub async fn responses(conn: &mut Conn<'_>, counted: &Counted) -> Result<Vec<ResponseCount>> {
    conn.fetch_all(&RESPONSES, counted.args()).await
}

/// How many waited so long: from the last message before the answer to the answer.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct WaitCount {
    pub seconds: i64,
    pub count: i64,
}

const WAITS: Sql = sql!(
    "survey_results.waits",
    "SELECT seconds, COUNT(*) AS count
     FROM (SELECT CASE WHEN i.last_sent_at <= r.completed_at THEN (r.completed_at - i.last_sent_at) / 1000000
                       WHEN i.triggered_at <= r.completed_at THEN (r.completed_at - i.triggered_at) / 1000000
                       ELSE 0 END AS seconds ",
    OF_SURVEY,
    WITH_RESPONSES,
    "WHERE ",
    IS_COUNTED,
    COUNTED,
    ") AS w
     GROUP BY seconds",
);

/// How long they waited.
#[boxed]
pub async fn waits(conn: &mut Conn<'_>, counted: &Counted) -> Result<Vec<WaitCount>> {
    conn.fetch_all(&WAITS, counted.args()).await
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
    OF_SURVEY,
    WITH_RESPONSES,
    "JOIN survey_answers a ON a.response_id = r.id
     WHERE ",
    IS_COUNTED,
    COUNTED,
    " AND a.question_id IN ({texts $8})
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
    OF_SURVEY,
    WITH_RESPONSES,
    "JOIN survey_answers a ON a.response_id = r.id AND a.question_id = $8
     WHERE ",
    IS_COUNTED,
    COUNTED,
);
// BETWEEN and not `=`: else PostgreSQL takes the order of the primary key for as good as that of the index by survey. A limit, so that
// a question which hardly anybody answers is not looked for in all of them.
const TEXTS: Sql = sql!(
    "survey_results.texts",
    "SELECT a.value
     FROM (SELECT id, instance_id, survey_id FROM survey_responses
           WHERE survey_id BETWEEN $1 AND $1 ORDER BY survey_id DESC, id DESC LIMIT 20000) AS r
     JOIN survey_instances i ON i.id = r.instance_id
     JOIN survey_answers a ON a.response_id = r.id AND a.question_id = $8
     WHERE ",
    IS_COUNTED,
    COUNTED,
    " ORDER BY r.survey_id DESC, r.id DESC
     LIMIT $9",
);

/// How often a question in words was answered.
#[boxed]
pub async fn count_texts(conn: &mut Conn<'_>, counted: &Counted, question: &str) -> Result<i64> {
    let mut bound = counted.args();
    bound.extend(args![question]);
    let Count { count } = conn.fetch_one(&COUNT_TEXTS, bound).await?;
    Ok(count)
}

/// The latest answers to a question in words among the newest responses, newest first, as JSON.
#[boxed]
pub async fn texts(
    conn: &mut Conn<'_>,
    counted: &Counted,
    question: &str,
    limit: i64,
) -> Result<Vec<String>> {
    let mut bound = counted.args();
    bound.extend(args![question, limit]);
    let rows: Vec<Text> = conn.fetch_all(&TEXTS, bound).await?;
    Ok(rows.into_iter().map(|row| row.value).collect())
}

crate::db::statements![INSTANCES, RESPONSES, WAITS, ANSWERS, COUNT_TEXTS, TEXTS];
