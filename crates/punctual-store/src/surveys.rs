//! Surveys and their published versions. A version never changes, so it may be cached.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SurveyRow {
    pub id: i64,
    pub name: String,
    pub integration_id: Option<String>,
    pub business_unit: Option<String>,
    /// The schema as its author left it, a JSON object.
    pub draft: String,
    pub published_version: Option<i64>,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What an author writes of a survey.
#[derive(Clone, Debug, SetRow)]
pub struct SurveyDraft {
    pub name: String,
    pub integration_id: Option<String>,
    pub business_unit: Option<String>,
    pub draft: String,
}

const INSERT: Sql = sql!(
    "surveys.insert", as SurveyRow, each SurveyDraft, after 1,
    "INSERT INTO surveys ({names}, created_at, updated_at) {values {*}, $1, $1} RETURNING {columns}",
);

#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, new: &SurveyDraft) -> Result<SurveyRow> {
    conn.fetch_one(&INSERT, with_rows(args![now], slice::from_ref(new))).await
}

const UPDATE: Sql = sql!(
    "surveys.update", as SurveyRow, each SurveyDraft, after 2,
    "UPDATE surveys
     SET name = {.name}, integration_id = {.integration_id}, business_unit = {.business_unit}, draft = {.draft},
         version = version + 1, updated_at = $1
     {from rows} WHERE id = $2
     RETURNING {columns surveys}",
);

#[boxed]
pub async fn update(
    conn: &mut Conn<'_>,
    now: Timestamp,
    id: i64,
    new: &SurveyDraft,
) -> Result<Option<SurveyRow>> {
    conn.fetch_optional(&UPDATE, with_rows(args![now, id], slice::from_ref(new))).await
}

const GET: Sql = sql!(
    "surveys.get", as SurveyRow,
    "SELECT {columns} FROM surveys WHERE id = $1 AND {shared $2 business_unit}",
);

/// The survey, if it is within reach.
#[boxed]
pub async fn get(conn: &mut Conn<'_>, reach: &Reach, id: i64) -> Result<Option<SurveyRow>> {
    conn.fetch_optional(&GET, args![id, reach]).await
}

const LOCK: Sql = sql!("surveys.lock", as SurveyRow, "SELECT {columns} FROM surveys WHERE id = $1 AND {shared $2 business_unit}{postgres  FOR UPDATE}");

/// The survey, if it is within reach, locked until the transaction ends: it is published by one caller after the other.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, reach: &Reach, id: i64) -> Result<Option<SurveyRow>> {
    conn.fetch_optional(&LOCK, args![id, reach]).await
}

const PAGE: Sql = sql!(
    "surveys.page", as SurveyRow,
    "SELECT {columns} FROM surveys
     WHERE ($1 IS NULL OR id < $1) AND {shared $2 business_unit}
     ORDER BY id DESC
     LIMIT $3",
);

/// Surveys, newest first.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    before: Option<i64>,
    reach: &Reach,
    limit: i64,
) -> Result<Vec<SurveyRow>> {
    conn.fetch_all(&PAGE, args![before, reach, limit]).await
}

/// A version as it was published.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct VersionRow {
    pub id: i64,
    pub survey_id: i64,
    pub number: i64,
    pub schema_json: String,
    pub integration_id: Option<String>,
    pub business_unit: Option<String>,
    pub name: String,
    pub published_at: Timestamp,
}

#[derive(Record)]
struct Id {
    id: i64,
}

const PUBLISH: Sql = sql!(
    "survey_versions.insert",
    "INSERT INTO survey_versions (survey_id, number, schema_json, published_by, published_at)
     VALUES ($2, $3, $4, $5, $1)
     RETURNING id",
);
const POINT: Sql = sql!(
    "surveys.publish",
    "UPDATE surveys SET published_version = $3, version = version + 1, updated_at = $1 WHERE id = $2",
);

/// Keeps a version permanently and makes it the published one; returns its id.
#[boxed]
pub async fn publish(
    conn: &mut Conn<'_>,
    now: Timestamp,
    survey_id: i64,
    number: i64,
    schema: &str,
    by: &str,
) -> Result<i64> {
    let row: Id = conn.fetch_one(&PUBLISH, args![now, survey_id, number, schema, by]).await?;
    conn.execute(&POINT, args![now, survey_id, number]).await?;
    Ok(row.id)
}

/// Which version of a survey is the published one.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Published {
    pub version_id: i64,
    pub survey_id: i64,
    pub business_unit: Option<String>,
}

const PUBLISHED: Sql = sql!(
    "surveys.published",
    "SELECT v.id AS version_id, s.id AS survey_id, s.business_unit
     FROM surveys s JOIN survey_versions v ON v.survey_id = s.id AND v.number = s.published_version
     ORDER BY s.id",
);

/// Every survey that is published, by id. The schemas are read with `versions`, once each.
#[boxed]
pub async fn published(conn: &mut Conn<'_>) -> Result<Vec<Published>> {
    conn.fetch_all(&PUBLISHED, args![]).await
}

const READ_VERSION: &str =
    "SELECT v.id, v.survey_id, v.number, v.schema_json, s.integration_id, s.business_unit, s.name, v.published_at
     FROM survey_versions v JOIN surveys s ON s.id = v.survey_id ";

const VERSIONS: Sql = sql!("survey_versions.by_ids", READ_VERSION, "WHERE v.id IN ({ints $1}) ORDER BY v.id");

#[boxed]
pub async fn versions(conn: &mut Conn<'_>, ids: Vec<i64>) -> Result<Vec<VersionRow>> {
    conn.fetch_all(&VERSIONS, args![ids]).await
}

const IDS_OF: Sql = sql!(
    "survey_versions.ids_of",
    "SELECT id FROM survey_versions WHERE survey_id = $1 ORDER BY number DESC LIMIT $2",
);

/// The ids of a survey's versions, the newest first.
#[boxed]
pub async fn version_ids(conn: &mut Conn<'_>, survey_id: i64, limit: i64) -> Result<Vec<i64>> {
    let rows: Vec<Id> = conn.fetch_all(&IDS_OF, args![survey_id, limit]).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

const NUMBERED: Sql =
    sql!("survey_versions.by_number", READ_VERSION, "WHERE v.survey_id = $1 AND v.number = $2");

#[boxed]
pub async fn version(conn: &mut Conn<'_>, survey_id: i64, number: i64) -> Result<Option<VersionRow>> {
    conn.fetch_optional(&NUMBERED, args![survey_id, number]).await
}

/// What one survey asked in an interval, and how much of it was answered.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct AskedIn {
    pub id: i64,
    pub name: String,
    pub asked: i64,
    pub sent: i64,
    pub answered: i64,
    pub expired: i64,
}

const ASKED_IN: Sql = sql!(
    "surveys.asked_in",
    "SELECT s.id, s.name, COUNT(*) AS asked,
         COUNT(CASE WHEN i.sends > 0 THEN 1 END) AS sent,
         COUNT(CASE WHEN i.status = 'completed' THEN 1 END) AS answered,
         COUNT(CASE WHEN i.status = 'expired' THEN 1 END) AS expired
     FROM survey_instances AS i JOIN surveys AS s ON s.id = i.survey_id
     WHERE NOT i.deleted AND i.triggered_at >= $1 AND i.triggered_at < $2
       AND ($3 IS NULL OR i.survey_id = $3) AND ($4 IS NULL OR s.business_unit = $4)
     GROUP BY s.id, s.name
     ORDER BY s.id
     LIMIT $5",
);

/// Surveys by what they asked in an interval; one of them, or those of one business unit, where that is given.
#[boxed]
pub async fn asked_in(
    conn: &mut Conn<'_>,
    from: Timestamp,
    to: Timestamp,
    only: Option<i64>,
    business_unit: Option<&str>,
    limit: i64,
) -> Result<Vec<AskedIn>> {
    conn.fetch_all(&ASKED_IN, args![from, to, only, business_unit, limit]).await
}

crate::db::statements![
    INSERT, UPDATE, GET, LOCK, PAGE, PUBLISH, POINT, PUBLISHED, VERSIONS, IDS_OF, NUMBERED, ASKED_IN
];
