//! Pages of work for people: upcoming, held, failed and all rows, newest first. Every page reads a bounded number of rows from
//! one index.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::{Reach, WorkStatus};

use crate::db::{Conn, Result, Sql, args, sql};

/// A row of a list: what is shown there, and no input.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct ListedWork {
    pub id: i64,
    pub key: String,
    pub kind: String,
    pub business_unit: Option<String>,
    pub source_type: Option<String>,
    pub source_id: Option<String>,
    pub due_at: Timestamp,
    pub local_date: Option<String>,
    pub time_zone: Option<String>,
    pub status: WorkStatus,
    pub on_hold: bool,
    pub ready_at: Timestamp,
    pub retry_count: i64,
    pub reason_code: Option<String>,
    pub updated_at: Timestamp,
    pub version: i64,
}

const COMING: Sql = sql!(
    "work.browse_coming", as ListedWork,
    "SELECT {columns} FROM work {sqlite INDEXED BY work_ready}
     WHERE status = 'pending' AND NOT on_hold AND kind = $3 AND (ready_at, id) > ($4, $5)
       AND {reach $1 business_unit}
     ORDER BY ready_at, id
     LIMIT $2",
);

/// A place among what comes next: when a row is ready, and its id.
pub type ComingPlace = (i64, i64);

/// What comes next of these kinds, soonest first, after a place.
#[boxed]
pub async fn coming(
    conn: &mut Conn<'_>,
    kinds: &[String],
    reach: &Reach,
    after: Option<ComingPlace>,
    limit: usize,
) -> Result<Vec<ListedWork>> {
    let (at, id) = after.unwrap_or((i64::MIN, i64::MIN));
    let mut rows: Vec<ListedWork> = Vec::new();
    // The index starts with the kind, and there are few of them: a few looks at it, merged.
    for kind in kinds {
        let bound = args![reach, bounded(limit), kind, at, id];
        rows.extend(conn.fetch_all::<ListedWork>(&COMING, bound).await?);
    }
    rows.sort_by_key(|row| (row.ready_at, row.id));
    rows.truncate(limit);
    Ok(rows)
}

const HELD: Sql = sql!(
    "work.browse_held", as ListedWork,
    "SELECT {columns} FROM work {sqlite INDEXED BY work_held}
     WHERE on_hold AND status <> 'deactivated' AND id < $3 AND {reach $1 business_unit}
       AND ($4 IS NULL OR kind = $4) AND ($5 IS NULL OR COALESCE(reason_code, '') = $5)
     ORDER BY id DESC LIMIT $2",
);
const FAILED: Sql = sql!(
    "work.browse_failed", as ListedWork,
    "SELECT {columns} FROM work {sqlite INDEXED BY work_failed}
     WHERE status = 'failed' AND id < $3 AND {reach $1 business_unit}
       AND ($4 IS NULL OR kind = $4) AND ($5 IS NULL OR COALESCE(reason_code, '') = $5)
     ORDER BY id DESC LIMIT $2",
);
const NEWEST: Sql = sql!(
    "work.browse_newest", as ListedWork,
    "SELECT {columns} FROM work {sqlite NOT INDEXED}
     WHERE id < $3 AND {reach $1 business_unit} ORDER BY id DESC LIMIT $2",
);

/// What in a list is asked for; everything where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stopped<'a> {
    pub kind: Option<&'a str>,
    /// The code of the reason; an empty one is that of rows without any.
    pub reason: Option<&'a str>,
}

/// Lists in order of id, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkList<'a> {
    Held(Stopped<'a>),
    Failed(Stopped<'a>),
    All,
}

#[boxed]
pub async fn browse(
    conn: &mut Conn<'_>,
    list: WorkList<'_>,
    reach: &Reach,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<ListedWork>> {
    let (limit, before) = (bounded(limit), before.unwrap_or(i64::MAX));
    let (sql, of) = match list {
        WorkList::Held(of) => (&HELD, of),
        WorkList::Failed(of) => (&FAILED, of),
        WorkList::All => return conn.fetch_all(&NEWEST, args![reach, limit, before]).await,
    };
    conn.fetch_all(sql, args![reach, limit, before, of.kind, of.reason]).await
}

fn bounded(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

crate::db::statements![COMING, HELD, FAILED, NEWEST];
