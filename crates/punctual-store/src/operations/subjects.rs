//! Events and tasks. One that is deleted stays, with the moment of its deletion.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SubjectRow {
    pub id: String,
    /// `event` or `task`.
    pub subject_type: String,
    pub title: String,
    pub start_at: Option<i64>,
    pub end_at: Option<i64>,
    pub is_all_day: bool,
    pub creator: String,
    /// A JSON array of ids.
    pub people: String,
    pub organisation: Option<String>,
    pub time_zone: Option<String>,
    pub business_unit: Option<String>,
    pub ical_uid: Option<String>,
    pub deleted_at: Option<i64>,
    pub version: i64,
    pub created_at: i64,
    pub updated_at: i64,
}

impl SubjectRow {
    fn first_at(&self) -> Option<i64> {
        [self.start_at, self.end_at].into_iter().flatten().min()
    }

    /// The later of its dates.
    pub fn last_at(&self) -> Option<i64> {
        [self.start_at, self.end_at].into_iter().flatten().max()
    }
}

macro_rules! columns {
    () => {
        "s.id, s.subject_type, s.title, s.start_at, s.end_at, s.is_all_day, s.creator, s.people, s.organisation, \
         s.time_zone, s.business_unit, s.ical_uid, s.deleted_at, s.version, s.created_at, s.updated_at"
    };
}

macro_rules! insert {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO operations_subjects (id, subject_type, title, start_at, end_at, is_all_day, creator, people, organisation,
        time_zone, business_unit, ical_uid, first_at, last_at, created_at, updated_at)
    ",
            $values,
            "
    ON CONFLICT DO NOTHING
    RETURNING id"
        )
    };
}
const INSERT: Sql = Sql::rows(
    "operations_subjects.insert",
    insert!("VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $1, $1)"),
    insert!(
        "SELECT r.id, r.subject_type, r.title, r.start_at, r.end_at, r.is_all_day, r.creator, r.people, r.organisation,
        r.time_zone, r.business_unit, r.ical_uid, r.first_at, r.last_at, $1, $1
    FROM UNNEST($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::boolean[], $8::text[], $9::text[],
            $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::bigint[])
        AS r(id, subject_type, title, start_at, end_at, is_all_day, creator, people, organisation, time_zone,
            business_unit, ical_uid, first_at, last_at)"
    ),
);

#[derive(Record)]
struct Id {
    id: String,
}

/// Keeps new ones; returns the ids of those that were new (by id, and by the identity in another calendar).
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, rows: &[SubjectRow]) -> Result<Vec<String>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let args = args![
        now,
        column!(|s| s.id.as_str()),
        column!(|s| s.subject_type.as_str()),
        column!(|s| s.title.as_str()),
        column!(|s| s.start_at),
        column!(|s| s.end_at),
        column!(|s| s.is_all_day),
        column!(|s| s.creator.as_str()),
        column!(|s| s.people.as_str()),
        column!(|s| s.organisation.as_deref()),
        column!(|s| s.time_zone.as_deref()),
        column!(|s| s.business_unit.as_deref()),
        column!(|s| s.ical_uid.as_deref()),
        column!(|s| s.first_at()),
        column!(|s| s.last_at()),
    ];
    let ids: Vec<Id> = conn.fetch_all(&INSERT, args).await?;
    Ok(ids.into_iter().map(|row| row.id).collect())
}

const UPDATE: Sql = Sql::same(
    "operations_subjects.update",
    "UPDATE operations_subjects
     SET title = $3, start_at = $4, end_at = $5, is_all_day = $6, creator = $7, people = $8, organisation = $9,
         time_zone = $10, first_at = $11, last_at = $12, version = version + 1, updated_at = $1
     WHERE id = $2",
);

/// Writes what may change of one that was locked.
#[boxed]
pub async fn update(conn: &mut Conn<'_>, now: Timestamp, row: &SubjectRow) -> Result<u64> {
    let (first_at, last_at) = (row.first_at(), row.last_at());
    let s = row.clone();
    let args = args![
        now,
        s.id,
        s.title,
        s.start_at,
        s.end_at,
        s.is_all_day,
        s.creator,
        s.people,
        s.organisation,
        s.time_zone,
        first_at,
        last_at
    ];
    conn.execute(&UPDATE, args).await
}

const DELETE: Sql = Sql::same(
    "operations_subjects.delete",
    "UPDATE operations_subjects SET deleted_at = $1, version = version + 1, updated_at = $1
     WHERE id = $2 AND deleted_at IS NULL",
);

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, now: Timestamp, id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![now, id]).await? > 0)
}

const LOCK: Sql = Sql::each(
    "operations_subjects.lock",
    concat!("SELECT ", columns!(), " FROM operations_subjects AS s WHERE s.id = $1 AND s.deleted_at IS NULL"),
    concat!(
        "SELECT ",
        columns!(),
        " FROM operations_subjects AS s WHERE s.id = $1 AND s.deleted_at IS NULL FOR UPDATE"
    ),
);

/// One that is not deleted, held until the transaction ends.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, id: &str) -> Result<Option<SubjectRow>> {
    conn.fetch_optional(&LOCK, args![id]).await
}

macro_rules! by_ids {
    ($which:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM operations_subjects AS s WHERE s.deleted_at IS NULL AND s.id = ",
            $which
        )
    };
}
const BY_IDS: Sql = Sql::rows("operations_subjects.by_ids", by_ids!("$1"), by_ids!("ANY($1)"));

/// Those of these that are not deleted.
#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, mut ids: Vec<String>) -> Result<Vec<SubjectRow>> {
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_IDS, args![ids]).await
}

macro_rules! by_uids {
    ($which:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM operations_subjects AS s WHERE s.deleted_at IS NULL AND s.ical_uid IS NOT NULL AND s.ical_uid = ",
            $which
        )
    };
}
const BY_UIDS: Sql = Sql::rows("operations_subjects.by_uids", by_uids!("$1"), by_uids!("ANY($1)"));

/// Those that were imported under one of these identities.
#[boxed]
pub async fn by_uids(conn: &mut Conn<'_>, mut uids: Vec<String>) -> Result<Vec<SubjectRow>> {
    uids.sort_unstable();
    uids.dedup();
    if uids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_UIDS, args![uids]).await
}

const PAGE: Sql = Sql::same(
    "operations_subjects.page",
    concat!(
        "SELECT ",
        columns!(),
        " FROM operations_subjects AS s
     WHERE s.deleted_at IS NULL AND s.subject_type = $1 AND s.id > $2
     ORDER BY s.id LIMIT $3"
    ),
);

#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    subject_type: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<SubjectRow>> {
    conn.fetch_all(&PAGE, args![subject_type, after, limit]).await
}

/// What is still under way this long after a calendar's end is not looked for: a walk has to end somewhere.
pub const LONGEST_MICROS: i64 = 400 * 24 * 60 * 60 * 1_000_000;

/// Which of the events and tasks of a stretch of time are wanted.
#[derive(Clone, Debug, Default)]
pub struct Between {
    pub from: Timestamp,
    pub to: Timestamp,
    pub subject_type: Option<String>,
    pub organisation: Option<String>,
    /// Only those that this person made or takes part in.
    pub person: Option<String>,
    /// Those behind this one: its later date and its id.
    pub after: Option<(i64, String)>,
    pub limit: i64,
}

macro_rules! between {
    ($takes_part:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM operations_subjects AS s
     WHERE s.deleted_at IS NULL AND s.last_at >= $1 AND s.last_at < $3 AND s.first_at < $2
         AND (s.last_at > $4 OR (s.last_at = $4 AND s.id > $5))
         AND ($6 IS NULL OR s.subject_type = $6)
         AND ($7 IS NULL OR s.organisation = $7)
         AND ($8 IS NULL OR s.creator = $8 OR ",
            $takes_part,
            ")
     ORDER BY s.last_at, s.id LIMIT $9"
        )
    };
}
// Walks operations_subjects_by_time over a bounded stretch.
const BETWEEN: Sql = Sql::each(
    "operations_subjects.between",
    between!("EXISTS (SELECT 1 FROM json_each(s.people) AS p WHERE p.value = $8)"),
    between!("jsonb_exists(s.people::jsonb, $8)"),
);

/// Everything with a date that falls between the two moments, by its end.
#[boxed]
pub async fn between(conn: &mut Conn<'_>, wanted: &Between) -> Result<Vec<SubjectRow>> {
    let walked = wanted.to.as_microsecond().saturating_add(LONGEST_MICROS);
    let (last_at, id) = wanted.after.clone().unwrap_or((i64::MIN, String::new()));
    let args = args![
        wanted.from,
        wanted.to,
        walked,
        last_at,
        id,
        wanted.subject_type.clone(),
        wanted.organisation.clone(),
        wanted.person.clone(),
        wanted.limit
    ];
    conn.fetch_all(&BETWEEN, args).await
}

// Relies on operations_subjects_by_time: all of these have the same `last_at`, and in this order PostgreSQL sees it.
const UNDATED: Sql = Sql::same(
    "operations_subjects.undated",
    concat!(
        "SELECT ",
        columns!(),
        " FROM operations_subjects AS s
     WHERE s.deleted_at IS NULL AND s.last_at IS NULL
     ORDER BY s.last_at DESC, s.id DESC LIMIT $1"
    ),
);

/// Those without any date, the newest first.
#[boxed]
pub async fn undated(conn: &mut Conn<'_>, limit: i64) -> Result<Vec<SubjectRow>> {
    conn.fetch_all(&UNDATED, args![limit]).await
}

crate::db::statements![INSERT, UPDATE, DELETE, LOCK, BY_IDS, BY_UIDS, PAGE, BETWEEN, UNDATED];
