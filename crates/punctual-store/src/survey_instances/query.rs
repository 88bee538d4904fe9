//! Reading instances for people: a page of a survey's, and all of them for its results.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::{Reach, survey::InstanceStatus};

use super::InstanceRow;
use crate::{
    db::{Conn, Result, Sql, args, sql},
    survey_results::{IS_COUNTED, REACHED},
    walk::{IN_ORDER, Stretch, with_surplus},
};

/// What a page of instances is limited to; every field left out does not limit.
#[derive(Clone, Debug, Default)]
pub struct InstanceFilter {
    pub survey_id: i64,
    pub status: Option<InstanceStatus>,
    pub trigger: Option<String>,
    pub customer_ref: Option<String>,
    /// Also those that were taken back after they were answered, as results count them.
    pub counted: bool,
    /// By when the event happened, in microseconds: from and before.
    pub triggered: Option<(i64, i64)>,
    /// Only those with a response.
    pub answered: Option<Answered>,
    pub before: Option<i64>,
    pub limit: i64,
}

/// Which responses are meant; every field left out does not limit.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// By when they came, in microseconds: from and before.
    pub within: Option<(i64, i64)>,
    /// The question that was answered.
    pub question: Option<String>,
    /// The answer as JSON, or one of the answers where several may be chosen.
    pub value: Option<String>,
}

// Pairs and not `=`: for one survey PostgreSQL takes the order of the primary key for as good as that of the index by
// survey, and would walk the instances of all surveys for those of one that is old. A walk does not end where the second part of
// a pair does, but where the first does, at the end of the survey; so a limit ends it after what one page looks at.
const OF_SURVEY: &str = "
     FROM {sqlite survey_instances i INDEXED BY survey_instances_by_survey}
          {postgres (SELECT * FROM survey_instances AS w WHERE (w.survey_id, w.id) < ($1, $5) AND w.survey_id >= $1
                     ORDER BY w.survey_id DESC, w.id DESC LIMIT 10000) AS i}";
const IN_PAGE: &str = "
     WHERE {sqlite i.survey_id = $1 AND i.id < $5 AND }i.id > $8
       AND (NOT i.deleted OR ($9 AND ";
const FILTER: &str = "))
       AND ($10 IS NULL OR i.triggered_at >= $10)
       AND ($11 IS NULL OR i.triggered_at < $11)
       AND ($2 IS NULL OR i.status = $2)
       AND ($3 IS NULL OR i.trigger_id = $3)
       AND ($4 IS NULL OR i.customer_ref = $4)
       AND {reach $7 i.business_unit}";
const NEWEST: &str = " ORDER BY i.survey_id DESC, i.id DESC LIMIT $6";

const LIST: Sql = sql!(
    "survey_instances.list", as InstanceRow,
    "SELECT {columns i}",
    OF_SURVEY, IN_PAGE, IS_COUNTED, FILTER, NEWEST,
);
// Answers to a question with several choices are an array of JSON texts, without spaces.
const ANSWERED: Sql = sql!(
    "survey_instances.list_answered", as InstanceRow,
    "SELECT {columns i}",
    OF_SURVEY,
    "{sqlite  CROSS} JOIN survey_responses r ON r.instance_id = i.id
     LEFT JOIN survey_answers a ON a.response_id = r.id AND a.question_id = $14",
    IN_PAGE, IS_COUNTED, FILTER,
    " AND ($12 IS NULL OR r.completed_at >= $12)
      AND ($13 IS NULL OR r.completed_at < $13)
      AND ($14 IS NULL OR (a.value IS NOT NULL AND ($15 IS NULL OR a.value = $15
          OR (a.value LIKE '[%' AND {sqlite instr(a.value, $15)}{postgres strpos(a.value, $15)} > 0))))",
    NEWEST,
);

// The newest row that one page does not look at.
const HORIZON: Sql = sql!(
    "survey_instances.list_horizon",
    "SELECT i.id FROM survey_instances i {sqlite INDEXED BY survey_instances_by_survey}
     WHERE {sqlite i.survey_id = $1 AND i.id < $2 AND i.id > $4}
           {postgres (i.survey_id, i.id) < ($1, $2) AND (i.survey_id, i.id) > ($1, $4)}
     ORDER BY i.survey_id DESC, i.id DESC LIMIT 1 OFFSET $3",
);

#[derive(Record)]
struct Id {
    id: i64,
}

/// The newest instance of a survey before this id that so many newer ones are before; nothing where there are not more.
#[boxed]
pub async fn nth_before(conn: &mut Conn<'_>, survey_id: i64, before: i64, n: i64) -> Result<Option<i64>> {
    let found: Option<Id> = conn.fetch_optional(&HORIZON, args![survey_id, before, n, i64::MIN]).await?;
    Ok(found.map(|row| row.id))
}

/// A page of a survey's instances that are within reach, newest first; over the index by survey. Where a filter may leave out
/// much it may be short, or empty, and still continue.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    reach: &Reach,
    filter: &InstanceFilter,
) -> Result<Stretch<InstanceRow>> {
    let f = filter.clone();
    let before = f.before.unwrap_or(i64::MAX);
    let is_filtered = f.status.is_some()
        || f.trigger.is_some()
        || f.customer_ref.is_some()
        || f.triggered.is_some()
        || f.answered.is_some()
        || reach.units().is_some();
    let horizon = if is_filtered { nth_before(conn, f.survey_id, before, IN_ORDER).await? } else { None };
    let mut bound = args![
        f.survey_id,
        f.status,
        f.trigger,
        f.customer_ref,
        before,
        with_surplus(f.limit),
        reach,
        horizon.unwrap_or(i64::MIN),
        f.counted,
        f.triggered.map(|(from, _)| from),
        f.triggered.map(|(_, to)| to)
    ];
    let list = match f.answered {
        None => &LIST,
        Some(Answered { within, question, value }) => {
            bound.extend(args![within.map(|(from, _)| from), within.map(|(_, to)| to), question, value]);
            &ANSWERED
        }
    };
    let rows = conn.fetch_all(list, bound).await?;
    Ok(Stretch::cut(rows, f.limit, |row: &InstanceRow| row.id, horizon.map(|id| id.saturating_add(1))))
}

/// The rows of the first page.
#[boxed]
pub async fn list(conn: &mut Conn<'_>, reach: &Reach, filter: &InstanceFilter) -> Result<Vec<InstanceRow>> {
    Ok(page(conn, reach, filter).await?.rows)
}

// Relies on survey_instances_open.
const OPEN_AFTER: Sql = sql!(
    "survey_instances.open_after", as InstanceRow,
    "SELECT {columns i} FROM survey_instances i {sqlite INDEXED BY survey_instances_open}
     WHERE i.id > $1 AND NOT i.deleted AND (i.status = 'pending' OR i.status = 'sent' OR i.status = 'opened')
     ORDER BY i.id LIMIT $2",
);

/// Instances that may still be answered, in the order in which they were made, after this one.
#[boxed]
pub async fn open_after(conn: &mut Conn<'_>, after: i64, limit: i64) -> Result<Vec<InstanceRow>> {
    conn.fetch_all(&OPEN_AFTER, args![after, limit]).await
}

/// How many instances of a survey have a status.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct StatusCount {
    pub status: InstanceStatus,
    pub count: i64,
    /// Those that were reached, as results count them.
    pub reached: i64,
}

const COUNTS: Sql = sql!(
    "survey_instances.counts",
    "SELECT i.status, COUNT(*) AS count, ",
    REACHED,
    " AS reached FROM survey_instances i
     WHERE ",
    IS_COUNTED,
    " AND {reach $2 i.business_unit} GROUP BY i.status",
);

/// How many of a survey's instances that are within reach have which status.
#[boxed]
pub async fn counts(conn: &mut Conn<'_>, reach: &Reach, survey_id: i64) -> Result<Vec<StatusCount>> {
    conn.fetch_all(&COUNTS, args![survey_id, reach]).await
}

/// An instance with its answers, where it has some.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Walked {
    pub id: i64,
    pub public_id: String,
    pub version_id: i64,
    pub trigger_id: String,
    pub triggered_at: Timestamp,
    pub status: InstanceStatus,
    pub customer_ref: Option<String>,
    pub metadata: String,
    pub recipient_locale: Option<String>,
    pub sends: i64,
    pub last_sent_at: Option<Timestamp>,
    pub answers: Option<String>,
    pub agent_id: Option<String>,
    pub completed_at: Option<Timestamp>,
}

// A pair says where to begin; a range of the survey alone would begin with its first instance each time.
const WALK: Sql = sql!(
    "survey_instances.walk",
    "SELECT i.id, i.public_id, i.version_id, i.trigger_id, i.triggered_at, i.status, i.customer_ref, i.metadata,
            i.recipient_locale, i.sends, i.last_sent_at, r.answers, r.agent_id, r.completed_at
     FROM survey_instances i {sqlite INDEXED BY survey_instances_by_survey}
          LEFT JOIN survey_responses r ON r.instance_id = i.id
     WHERE {sqlite i.survey_id = $1 AND i.id > $2}{postgres (i.survey_id, i.id) > ($1, $2) AND i.survey_id <= $1}
       AND (NOT i.deleted OR i.status = 'completed')
       AND {reach $4 i.business_unit}
     ORDER BY i.survey_id, i.id
     LIMIT $3",
);

/// The instances of a survey after this id that are within reach, oldest first: a caller that needs all of them calls again.
#[boxed]
pub async fn walk(
    conn: &mut Conn<'_>,
    reach: &Reach,
    survey_id: i64,
    after: i64,
    limit: i64,
) -> Result<Vec<Walked>> {
    conn.fetch_all(&WALK, args![survey_id, after, limit, reach]).await
}

crate::db::statements![LIST, ANSWERED, HORIZON, OPEN_AFTER, COUNTS, WALK];
