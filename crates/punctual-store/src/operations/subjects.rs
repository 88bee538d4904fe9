//! Events and tasks. A deleted one stays, with the time of its deletion.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{Anchor, Reach};

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    walk::{IN_ORDER, Stretch, with_surplus},
};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SubjectRow {
    pub id: String,
    /// `event` or `task`.
    pub subject_type: String,
    pub title: String,
    pub start_at: Option<Timestamp>,
    pub end_at: Option<Timestamp>,
    pub is_all_day: bool,
    pub creator: String,
    /// A JSON array of ids.
    pub people: String,
    pub organisation: Option<String>,
    pub time_zone: Option<String>,
    pub business_unit: Option<String>,
    pub ical_uid: Option<String>,
    /// The identity of the series that it is a date of, where it was imported with one.
    pub ical_series: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
    pub deleted_at: Option<Timestamp>,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl SubjectRow {
    /// That date of it which a rule goes by, where it has one.
    pub fn date(&self, anchor: Anchor) -> Option<Timestamp> {
        match anchor {
            Anchor::Start => self.start_at,
            Anchor::End => self.end_at,
        }
    }

    fn first_at(&self) -> Option<Timestamp> {
        [self.start_at, self.end_at].into_iter().flatten().min()
    }

    /// The later of its dates.
    pub fn last_at(&self) -> Option<Timestamp> {
        [self.start_at, self.end_at].into_iter().flatten().max()
    }
}

/// What is written of one: its own fields, and its dates in order.
#[derive(SetRow)]
struct Written<'a> {
    id: &'a str,
    subject_type: &'a str,
    title: &'a str,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
    is_all_day: bool,
    creator: &'a str,
    people: &'a str,
    organisation: Option<&'a str>,
    time_zone: Option<&'a str>,
    business_unit: Option<&'a str>,
    ical_uid: Option<&'a str>,
    ical_series: Option<&'a str>,
    location: Option<&'a str>,
    description: Option<&'a str>,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
}

impl<'a> Written<'a> {
    fn of(row: &'a SubjectRow) -> Self {
        Self {
            id: &row.id,
            subject_type: &row.subject_type,
            title: &row.title,
            start_at: row.start_at,
            end_at: row.end_at,
            is_all_day: row.is_all_day,
            creator: &row.creator,
            people: &row.people,
            organisation: row.organisation.as_deref(),
            time_zone: row.time_zone.as_deref(),
            business_unit: row.business_unit.as_deref(),
            ical_uid: row.ical_uid.as_deref(),
            ical_series: row.ical_series.as_deref(),
            location: row.location.as_deref(),
            description: row.description.as_deref(),
            first_at: row.first_at(),
            last_at: row.last_at(),
        }
    }
}

const INSERT: Sql = sql!(
    "operations_subjects.insert", each Written<'_>, after 1,
    "INSERT INTO operations_subjects ({names}, created_at, updated_at) {values {*}, $1, $1}
     ON CONFLICT DO NOTHING
     RETURNING id",
);

#[derive(Record)]
struct Id {
    id: String,
}

/// Keeps new ones; returns the ids of those that were new (by id, and by the unit's identity in another calendar).
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, rows: &[SubjectRow]) -> Result<Vec<String>> {
    let written: Vec<Written<'_>> = rows.iter().map(Written::of).collect();
    let ids: Vec<Id> = conn.fetch_all(&INSERT, with_rows(args![now], &written)).await?;
    Ok(ids.into_iter().map(|row| row.id).collect())
}

const UPDATE: Sql = sql!(
    "operations_subjects.update", each Written<'_>, after 1,
    "UPDATE operations_subjects
     SET title = {.title}, start_at = {.start_at}, end_at = {.end_at}, is_all_day = {.is_all_day},
         creator = {.creator}, people = {.people}, organisation = {.organisation}, time_zone = {.time_zone},
         ical_series = {.ical_series}, location = {.location}, description = {.description},
         first_at = {.first_at}, last_at = {.last_at}, version = operations_subjects.version + 1, updated_at = $1
     {from rows} WHERE operations_subjects.id = {.id}",
);

/// Writes what may change of one that was locked.
#[boxed]
pub async fn update(conn: &mut Conn<'_>, now: Timestamp, row: &SubjectRow) -> Result<u64> {
    conn.execute(&UPDATE, with_rows(args![now], &[Written::of(row)])).await
}

const DELETE: Sql = sql!(
    "operations_subjects.delete",
    "UPDATE operations_subjects SET deleted_at = $1, version = version + 1, updated_at = $1
     WHERE id = $2 AND deleted_at IS NULL",
);

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, now: Timestamp, id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![now, id]).await? > 0)
}

const LOCK: Sql = sql!(
    "operations_subjects.lock", as SubjectRow,
    "SELECT {columns s}
     FROM operations_subjects AS s
     WHERE s.id = $1 AND s.deleted_at IS NULL AND {reach $2 s.business_unit}{postgres  FOR UPDATE}",
);

/// One within reach that is not deleted, held until the transaction ends.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, reach: &Reach, id: &str) -> Result<Option<SubjectRow>> {
    conn.fetch_optional(&LOCK, args![id, reach]).await
}

const BY_IDS: Sql = sql!(
    "operations_subjects.by_ids", as SubjectRow,
    "SELECT {columns s} FROM operations_subjects AS s
     WHERE s.deleted_at IS NULL AND s.id = {any $1} AND {reach $2 s.business_unit}",
);

/// Those of these that are within reach and not deleted.
#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, reach: &Reach, mut ids: Vec<String>) -> Result<Vec<SubjectRow>> {
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_IDS, args![ids, reach]).await
}

const BY_UIDS: Sql = sql!(
    "operations_subjects.by_uids", as SubjectRow,
    "SELECT {columns s}
     FROM operations_subjects AS s
     WHERE s.deleted_at IS NULL AND s.ical_uid IS NOT NULL AND s.ical_uid = {any $1}
         AND COALESCE(s.business_unit, '') = COALESCE($2, '')",
);

/// Those of a business unit, or of none, that were imported under one of these identities.
#[boxed]
pub async fn by_uids(
    conn: &mut Conn<'_>,
    business_unit: Option<&str>,
    mut uids: Vec<String>,
) -> Result<Vec<SubjectRow>> {
    uids.sort_unstable();
    uids.dedup();
    if uids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_UIDS, args![uids, business_unit]).await
}

const OF_SERIES: Sql = sql!(
    "operations_subjects.of_series", as SubjectRow,
    "SELECT {columns s}
     FROM operations_subjects AS s
     WHERE s.deleted_at IS NULL AND s.ical_series IS NOT NULL AND s.ical_series = {any $1}
         AND COALESCE(s.business_unit, '') = COALESCE($2, '')",
);

/// The dates that a business unit, or nobody in particular, imported of these series.
#[boxed]
pub async fn of_series(
    conn: &mut Conn<'_>,
    business_unit: Option<&str>,
    mut uids: Vec<String>,
) -> Result<Vec<SubjectRow>> {
    uids.sort_unstable();
    uids.dedup();
    if uids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&OF_SERIES, args![uids, business_unit]).await
}

const PAGE: Sql = sql!(
    "operations_subjects.page", as SubjectRow,
    "SELECT {columns s} FROM operations_subjects AS s
     WHERE s.deleted_at IS NULL AND s.subject_type = $1 AND s.id > $2 AND {reach $4 s.business_unit}
     ORDER BY s.id LIMIT $3",
);
const PAGE_TO: Sql = sql!(
    "operations_subjects.page_to", as SubjectRow,
    "SELECT {columns s} FROM operations_subjects AS s
     WHERE s.deleted_at IS NULL AND s.subject_type = $1 AND s.id > $2 AND s.id <= $5 AND {reach $4 s.business_unit}
     ORDER BY s.id LIMIT $3",
);
// The last one that one page looks at.
const HORIZON: Sql = sql!(
    "operations_subjects.page_horizon", as Id,
    "SELECT {columns} FROM operations_subjects
     WHERE deleted_at IS NULL AND subject_type = $1 AND id > $2 ORDER BY id LIMIT 1 OFFSET $3",
);

/// The next ones after this place that are within reach. For a caller of few it may be short, or empty, and still continue.
#[boxed]
pub async fn stretch(
    conn: &mut Conn<'_>,
    reach: &Reach,
    subject_type: &str,
    after: &str,
    limit: i64,
) -> Result<Stretch<SubjectRow, String>> {
    let horizon: Option<Id> = match reach.units() {
        Some(_) => conn.fetch_optional(&HORIZON, args![subject_type, after, IN_ORDER - 1]).await?,
        None => None,
    };
    let horizon = horizon.map(|row| row.id);
    let mut bound = args![subject_type, after, with_surplus(limit), reach];
    let sql = match &horizon {
        Some(last) => {
            bound.extend(args![last]);
            &PAGE_TO
        }
        None => &PAGE,
    };
    let rows = conn.fetch_all(sql, bound).await?;
    Ok(Stretch::cut(rows, limit, |row: &SubjectRow| row.id.clone(), horizon))
}

/// Those of the first page.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    reach: &Reach,
    subject_type: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<SubjectRow>> {
    Ok(stretch(conn, reach, subject_type, after, limit).await?.rows)
}

/// What still lasts this long after a calendar's end is not searched for: a walk has to end somewhere.
pub const LONGEST_MICROS: i64 = 400 * DAY;
const DAY: i64 = 24 * 60 * 60 * 1_000_000;

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

// An index by the end finds what ends after a moment, and not what begins before another: of what lasts at most a day that is in the
// day after it, of what lasts at most a month in the month after it, and only what lasts longer lies anywhere ahead. So each of the
// three is walked as far as its own length, and what lasts longer than a day has an index apart, by which of the two it is.
const SHORT: &str = "
     FROM operations_subjects AS s {sqlite INDEXED BY operations_subjects_by_time}
     WHERE s.deleted_at IS NULL AND s.last_at - s.first_at <= 86400000000";
const LASTING: &str = "
     FROM operations_subjects AS s {sqlite INDEXED BY operations_subjects_lasting}
     WHERE s.deleted_at IS NULL AND s.last_at - s.first_at > 86400000000
         AND CASE WHEN s.last_at - s.first_at > 2592000000000 THEN 2 ELSE 1 END = ";
// What a page looks at: behind the last one, and not beyond the horizon, each by the later date and the id.
const FROM_PLACE: &str = "
         AND s.last_at >= $1 AND (s.last_at > $3 OR (s.last_at = $3 AND s.id > $4))";
const FILTER: &str = "
         AND s.first_at < $2
         AND ($6 IS NULL OR s.subject_type = $6)
         AND ($7 IS NULL OR s.organisation = $7)
         AND ($8 IS NULL OR s.creator = $8
             OR {sqlite EXISTS (SELECT 1 FROM json_each(s.people) AS p WHERE p.value = $8)}
                {postgres jsonb_exists(s.people::jsonb, $8)})
         AND {reach $9 s.business_unit}
         AND (s.last_at < $10 OR (s.last_at = $10 AND s.id <= $11))
     ORDER BY s.last_at, s.id LIMIT $5";

const BETWEEN: Sql = sql!(
    "operations_subjects.between", as SubjectRow,
    "SELECT {columns s} FROM (
         SELECT * FROM (SELECT *",
    SHORT, FROM_PLACE, " AND s.last_at < $2 + 86400000000", FILTER,
    ") AS days
         UNION ALL
         SELECT * FROM (SELECT *",
    LASTING, "1", FROM_PLACE, " AND s.last_at < $2 + 2592000000000", FILTER,
    ") AS months
         UNION ALL
         SELECT * FROM (SELECT *",
    LASTING, "2", FROM_PLACE, " AND s.last_at < $2 + 34560000000000", FILTER,
    ") AS years) AS s
     ORDER BY s.last_at, s.id LIMIT $5",
);

#[derive(Record)]
struct Place {
    last_at: i64,
    id: String,
}

const FARTHEST: &str = "
     ORDER BY s.last_at, s.id LIMIT 1 OFFSET $5";

// The last ones of each length that one page looks at; the earliest of them is how far all of it is known.
const BETWEEN_HORIZON: Sql = sql!(
    "operations_subjects.between_horizon", as Place,
    "SELECT {columns} FROM (
         SELECT * FROM (SELECT s.last_at, s.id",
    SHORT, FROM_PLACE, " AND s.last_at < $2 + 86400000000", FARTHEST,
    ") AS days
         UNION ALL
         SELECT * FROM (SELECT s.last_at, s.id",
    LASTING, "1", FROM_PLACE, " AND s.last_at < $2 + 2592000000000", FARTHEST,
    ") AS months
         UNION ALL
         SELECT * FROM (SELECT s.last_at, s.id",
    LASTING, "2", FROM_PLACE, " AND s.last_at < $2 + 34560000000000", FARTHEST,
    ") AS years) AS s
     ORDER BY last_at, id LIMIT 1",
);

/// What is within reach and has a date that falls between the two moments, by its end. Where a filter may leave out much a page
/// may be short, or empty, and still continue.
#[boxed]
pub async fn between_stretch(
    conn: &mut Conn<'_>,
    reach: &Reach,
    wanted: &Between,
) -> Result<Stretch<SubjectRow, (i64, String)>> {
    let (last_at, id) = wanted.after.clone().unwrap_or((i64::MIN, String::new()));
    let mut bound = args![wanted.from.as_microsecond().max(last_at), wanted.to, last_at, &id];
    let is_filtered = wanted.subject_type.is_some()
        || wanted.organisation.is_some()
        || wanted.person.is_some()
        || reach.units().is_some();
    let horizon: Option<Place> = if is_filtered {
        let mut bound = bound.clone();
        bound.extend(args![IN_ORDER - 1]);
        conn.fetch_optional(&BETWEEN_HORIZON, bound).await?
    } else {
        None
    };
    let horizon = horizon.map(|place| (place.last_at, place.id));
    let (looked_at, looked_id) = horizon.clone().unwrap_or((i64::MAX, String::new()));
    bound.extend(args![
        with_surplus(wanted.limit),
        wanted.subject_type.clone(),
        wanted.organisation.clone(),
        wanted.person.clone(),
        reach,
        looked_at,
        looked_id
    ]);
    let rows = conn.fetch_all(&BETWEEN, bound).await?;
    let place = |row: &SubjectRow| (row.last_at().map_or(0, |at| at.as_microsecond()), row.id.clone());
    Ok(Stretch::cut(rows, wanted.limit, place, horizon))
}

/// The same to the end, or to as many as are wanted.
#[boxed]
pub async fn between(conn: &mut Conn<'_>, reach: &Reach, wanted: &Between) -> Result<Vec<SubjectRow>> {
    let (mut wanted, mut found) = (wanted.clone(), Vec::new());
    loop {
        let Stretch { rows, next } = between_stretch(conn, reach, &wanted).await?;
        wanted.limit -= i64::try_from(rows.len()).unwrap_or(i64::MAX);
        found.extend(rows);
        match next {
            Some(next) if wanted.limit > 0 => wanted.after = Some(next),
            _ => return Ok(found),
        }
    }
}

// Relies on operations_subjects_by_time: all of these have the same `last_at`, and in this order PostgreSQL sees it.
const UNDATED: Sql = sql!(
    "operations_subjects.undated", as SubjectRow,
    "SELECT {columns s} FROM operations_subjects AS s
     WHERE s.deleted_at IS NULL AND s.last_at IS NULL AND {reach $2 s.business_unit}
     ORDER BY s.last_at DESC, s.id DESC LIMIT $1",
);

/// Those within reach without any date, the newest first.
#[boxed]
pub async fn undated(conn: &mut Conn<'_>, reach: &Reach, limit: i64) -> Result<Vec<SubjectRow>> {
    conn.fetch_all(&UNDATED, args![limit, reach]).await
}

crate::db::statements![
    INSERT,
    UPDATE,
    DELETE,
    LOCK,
    BY_IDS,
    BY_UIDS,
    OF_SERIES,
    PAGE,
    PAGE_TO,
    HORIZON,
    BETWEEN,
    BETWEEN_HORIZON,
    UNDATED
];
