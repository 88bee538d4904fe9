//! Pages of work by number, newest first: each page reads a bounded number of rows from the most selective index for its
//! filter, and returns where the next page continues.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::{Reach, WorkStatus};

use super::WorkRow;
use crate::{
    db::{Arg, Conn, Result, Sql, args, sql},
    walk::{BY_INDEX, IN_ORDER, Stretch, with_surplus},
};

/// What a page of work is limited to; every field left out does not limit.
#[derive(Clone, Debug, Default)]
pub struct WorkFilter {
    pub status: Option<WorkStatus>,
    /// Without one, what keeps reminders true behind the scenes is left out.
    pub kind: Option<String>,
    pub on_hold: Option<bool>,
    pub source_type: Option<String>,
    pub source_id: Option<String>,
    pub due_from: Option<Timestamp>,
    pub due_to: Option<Timestamp>,
    /// Rows older than this id.
    pub before: Option<i64>,
    pub limit: i64,
}

// What every page is limited to, after the walk.
const FILTER: &str = " AND id < $1 AND id > $2
      AND ($5 IS NULL OR status = $5)
      AND (CASE WHEN $6 IS NULL THEN kind NOT IN ('reminder-change', 'reconcile') ELSE kind = $6 END)
      AND ($7 IS NULL OR on_hold = $7)
      AND ($8 IS NULL OR source_type = $8)
      AND ($9 IS NULL OR source_id = $9)
      AND ($10 IS NULL OR due_at >= $10)
      AND ($11 IS NULL OR due_at < $11)
      AND {reach $4 business_unit}
     ORDER BY id DESC LIMIT $3";

const NEWEST: Sql = sql!(
    "work.page", as WorkRow,
    "SELECT {columns} FROM work {sqlite NOT INDEXED} WHERE TRUE", FILTER,
);
const HELD: Sql = sql!(
    "work.page_held", as WorkRow,
    "SELECT {columns} FROM work {sqlite INDEXED BY work_held} WHERE on_hold", FILTER,
);
const FAILED: Sql = sql!(
    "work.page_failed", as WorkRow,
    "SELECT {columns} FROM work {sqlite INDEXED BY work_failed} WHERE status = 'failed'", FILTER,
);

// Indexes that are not in order of number: where they have few rows of the filter, all of these are read. They are asked in
// their own order, so that PostgreSQL, which may believe that the table is full of such rows, never looks for them there.
const IS_PLANNED: &str = "FROM work {sqlite INDEXED BY work_ready}
     WHERE status = 'pending' AND NOT on_hold ORDER BY kind, ready_at, id LIMIT ";
const IS_HELD: &str = "FROM work {sqlite INDEXED BY work_held} WHERE on_hold ORDER BY id LIMIT ";
const IS_CLAIMED: &str = "FROM work {sqlite INDEXED BY work_leased}
     WHERE status = 'processing' ORDER BY lease_expires_at LIMIT ";
const IS_OF_SOURCE: &str = "FROM work {sqlite INDEXED BY work_by_source}
     WHERE source_type IS NOT NULL AND source_type = ";
const IN_SOURCES_ORDER: &str = " ORDER BY source_type, source_id LIMIT ";
const ONE_OF: &str = "SELECT {columns} FROM work WHERE id {sqlite IN (}{postgres = ANY (ARRAY(}";
const END: &str = "){postgres )}";

const PENDING: Sql = sql!(
    "work.page_pending", as WorkRow,
    ONE_OF, "SELECT id FROM (SELECT id ", IS_PLANNED, "$12) AS planned
     UNION ALL SELECT id FROM (SELECT id ", IS_HELD, "$12) AS held", END, FILTER,
);
const COUNT_PENDING: Sql = sql!(
    "work.count_pending",
    "SELECT (SELECT COUNT(*) FROM (SELECT id ",
    IS_PLANNED,
    "$1) AS planned) + (SELECT COUNT(*) FROM (SELECT id ",
    IS_HELD,
    "$1) AS held) AS count",
);
const PROCESSING: Sql =
    sql!("work.page_processing", as WorkRow, ONE_OF, "SELECT id ", IS_CLAIMED, "$12", END, FILTER);
const COUNT_PROCESSING: Sql =
    sql!("work.count_processing", "SELECT COUNT(*) AS count FROM (SELECT id ", IS_CLAIMED, "$1) AS claimed");
const OF_SOURCE: Sql = sql!(
    "work.page_of_source", as WorkRow,
    ONE_OF, "SELECT id ", IS_OF_SOURCE, "$8 AND source_id = $9", IN_SOURCES_ORDER, "$12", END, FILTER,
);
const COUNT_OF_SOURCE: Sql = sql!(
    "work.count_of_source",
    "SELECT COUNT(*) AS count FROM (SELECT id ",
    IS_OF_SOURCE,
    "$2 AND source_id = $3",
    IN_SOURCES_ORDER,
    "$1) AS found",
);
const OF_TYPE: Sql = sql!(
    "work.page_of_type", as WorkRow,
    ONE_OF, "SELECT id ", IS_OF_SOURCE, "$8", IN_SOURCES_ORDER, "$12", END, FILTER,
);
const COUNT_OF_TYPE: Sql = sql!(
    "work.count_of_type",
    "SELECT COUNT(*) AS count FROM (SELECT id ",
    IS_OF_SOURCE,
    "$2",
    IN_SOURCES_ORDER,
    "$1) AS found",
);

const ENDS: Sql =
    sql!("work.ends", "SELECT (SELECT MIN(id) FROM work) AS oldest, (SELECT MAX(id) FROM work) AS newest");
// The row that lies just beyond what one page may look at.
const HELD_HORIZON: Sql = sql!(
    "work.page_held_horizon",
    "SELECT id FROM work {sqlite INDEXED BY work_held} WHERE on_hold AND id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2",
);
const FAILED_HORIZON: Sql = sql!(
    "work.page_failed_horizon",
    "SELECT id FROM work {sqlite INDEXED BY work_failed} WHERE status = 'failed' AND id < $1
     ORDER BY id DESC LIMIT 1 OFFSET $2",
);

#[derive(Record)]
struct Count {
    count: i64,
}

#[derive(Record)]
struct Id {
    id: i64,
}

#[derive(Record)]
struct Ends {
    oldest: Option<i64>,
    newest: Option<i64>,
}

/// Which way a page is walked.
#[derive(Clone, Copy)]
enum Walk {
    Newest,
    Held,
    Failed,
    /// All that an index in another order has of it: it is little.
    Few(&'static Sql),
}

impl Walk {
    async fn of(conn: &mut Conn<'_>, filter: &WorkFilter) -> Result<Self> {
        let most = with_surplus(BY_INDEX);
        let few: Option<(&'static Sql, &'static Sql, Vec<Arg>)> =
            match (&filter.source_type, &filter.source_id) {
                (Some(kind), Some(id)) => Some((&OF_SOURCE, &COUNT_OF_SOURCE, args![most, kind, id])),
                (Some(kind), None) => Some((&OF_TYPE, &COUNT_OF_TYPE, args![most, kind])),
                _ => None,
            };
        let by_status: Option<(&'static Sql, &'static Sql, Vec<Arg>)> = match filter.status {
            Some(WorkStatus::Pending) => Some((&PENDING, &COUNT_PENDING, args![most])),
            Some(WorkStatus::Processing) => Some((&PROCESSING, &COUNT_PROCESSING, args![most])),
            _ => None,
        };
        for (page, count, bound) in few.into_iter().chain(by_status) {
            let found: Count = conn.fetch_one(count, bound).await?;
            if found.count <= BY_INDEX {
                return Ok(Self::Few(page));
            }
        }
        Ok(match filter.status {
            _ if filter.on_hold == Some(true) => Self::Held,
            Some(WorkStatus::Failed) => Self::Failed,
            _ => Self::Newest,
        })
    }

    /// The newest row that this page does not look at, if there is one.
    async fn horizon(self, conn: &mut Conn<'_>, before: i64) -> Result<Option<i64>> {
        let sql = match self {
            Self::Few(_) => return Ok(None),
            Self::Newest => {
                let ends: Ends = conn.fetch_one(&ENDS, args![]).await?;
                let Some((oldest, newest)) = ends.oldest.zip(ends.newest) else { return Ok(None) };
                // Numbers have few gaps, so that counting back on them is as good as counting rows.
                let id = before.min(newest.saturating_add(1)).saturating_sub(IN_ORDER + 1);
                return Ok((id >= oldest).then_some(id));
            }
            Self::Held => &HELD_HORIZON,
            Self::Failed => &FAILED_HORIZON,
        };
        let row: Option<Id> = conn.fetch_optional(sql, args![before, BY_INDEX]).await?;
        Ok(row.map(|row| row.id))
    }
}

/// One page, newest first. It may be short, or empty, and still continue.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, reach: &Reach, filter: &WorkFilter) -> Result<Stretch<WorkRow>> {
    let walk = Walk::of(conn, filter).await?;
    let before = filter.before.unwrap_or(i64::MAX);
    let horizon = walk.horizon(conn, before).await?;
    let f = filter.clone();
    let mut bound = args![
        before,
        horizon.unwrap_or(i64::MIN),
        with_surplus(f.limit),
        reach,
        f.status,
        f.kind,
        f.on_hold,
        f.source_type,
        f.source_id,
        f.due_from,
        f.due_to,
    ];
    let sql = match walk {
        Walk::Newest => &NEWEST,
        Walk::Held => &HELD,
        Walk::Failed => &FAILED,
        Walk::Few(sql) => {
            bound.extend(args![BY_INDEX]);
            sql
        }
    };
    let rows = conn.fetch_all(sql, bound).await?;
    Ok(Stretch::cut(rows, filter.limit, |row: &WorkRow| row.id, horizon.map(|id| id.saturating_add(1))))
}

/// As many rows as the limit says, newest first, over as many pages as that takes: for tests and tools.
#[boxed]
pub async fn list(conn: &mut Conn<'_>, reach: &Reach, filter: &WorkFilter) -> Result<Vec<WorkRow>> {
    let mut filter = filter.clone();
    let mut rows = Vec::new();
    loop {
        let found = page(conn, reach, &filter).await?;
        filter.limit -= i64::try_from(found.rows.len()).unwrap_or(i64::MAX);
        rows.extend(found.rows);
        filter.before = found.next;
        if filter.before.is_none() || filter.limit <= 0 {
            return Ok(rows);
        }
    }
}

crate::db::statements![
    NEWEST,
    HELD,
    FAILED,
    PENDING,
    COUNT_PENDING,
    PROCESSING,
    COUNT_PROCESSING,
    OF_SOURCE,
    COUNT_OF_SOURCE,
    OF_TYPE,
    COUNT_OF_TYPE,
    ENDS,
    HELD_HORIZON,
    FAILED_HORIZON
];
