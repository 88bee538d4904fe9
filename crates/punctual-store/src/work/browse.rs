//! Pages of work for people: what comes next, what is held, what failed, and everything, newest first. Every page
//! walks one index over a bounded number of rows.

use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

/// A row of a list: what is shown there, and no input.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct ListedWork {
    pub id: i64,
    pub key: String,
    pub kind: String,
    pub business_unit: Option<String>,
    pub source_type: Option<String>,
    pub source_id: Option<String>,
    pub due_at: i64,
    pub local_date: Option<String>,
    pub time_zone: Option<String>,
    pub status: String,
    pub on_hold: bool,
    pub ready_at: i64,
    pub retry_count: i64,
    pub reason_code: Option<String>,
    pub updated_at: i64,
    pub version: i64,
}

macro_rules! page {
    ($hint:literal, $walk:literal, $order:literal, $units:literal) => {
        concat!(
            "
    SELECT id, key, kind, business_unit, source_type, source_id, due_at, local_date, time_zone, status, on_hold,
           ready_at, retry_count, reason_code, updated_at, version
    FROM work ",
            $hint,
            "
    WHERE ",
            $walk,
            " AND (NOT $1 OR business_unit IS NULL OR business_unit IN (",
            $units,
            "))
    ORDER BY ",
            $order,
            "
    LIMIT $2"
        )
    };
}

const COMING: Sql = Sql::each(
    "work.browse_coming",
    page!(
        "INDEXED BY work_ready",
        "status = 'pending' AND NOT on_hold AND kind = $3 AND (ready_at, id) > ($4, $5)",
        "ready_at, id",
        "SELECT value FROM json_each($6)"
    ),
    page!(
        "",
        "status = 'pending' AND NOT on_hold AND kind = $3 AND (ready_at, id) > ($4, $5)",
        "ready_at, id",
        "SELECT UNNEST($6::text[])"
    ),
);

/// A place among what comes next: when a row is ready, and its id.
pub type ComingPlace = (i64, i64);

/// What comes next of these kinds, soonest first, after a place.
#[boxed]
pub async fn coming(
    conn: &mut Conn<'_>,
    kinds: &[String],
    units: Option<&[String]>,
    after: Option<ComingPlace>,
    limit: usize,
) -> Result<Vec<ListedWork>> {
    let (at, id) = after.unwrap_or((i64::MIN, i64::MIN));
    let mut rows: Vec<ListedWork> = Vec::new();
    // The index starts with the kind, and there are few of them: a few looks at it, merged.
    for kind in kinds {
        let bound = args![units.is_some(), bounded(limit), kind, at, id, units.unwrap_or_default().to_vec()];
        rows.extend(conn.fetch_all::<ListedWork>(&COMING, bound).await?);
    }
    rows.sort_by_key(|row| (row.ready_at, row.id));
    rows.truncate(limit);
    Ok(rows)
}

const HELD: Sql = Sql::each(
    "work.browse_held",
    page!("INDEXED BY work_held", "on_hold AND id < $3", "id DESC", "SELECT value FROM json_each($4)"),
    page!("", "on_hold AND id < $3", "id DESC", "SELECT UNNEST($4::text[])"),
);
const FAILED: Sql = Sql::each(
    "work.browse_failed",
    page!(
        "INDEXED BY work_failed",
        "status = 'failed' AND id < $3",
        "id DESC",
        "SELECT value FROM json_each($4)"
    ),
    page!("", "status = 'failed' AND id < $3", "id DESC", "SELECT UNNEST($4::text[])"),
);
const NEWEST: Sql = Sql::each(
    "work.browse_newest",
    page!("NOT INDEXED", "id < $3", "id DESC", "SELECT value FROM json_each($4)"),
    page!("", "id < $3", "id DESC", "SELECT UNNEST($4::text[])"),
);

/// Lists in order of id, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkList {
    Held,
    Failed,
    All,
}

#[boxed]
pub async fn browse(
    conn: &mut Conn<'_>,
    list: WorkList,
    units: Option<&[String]>,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<ListedWork>> {
    let sql = match list {
        WorkList::Held => &HELD,
        WorkList::Failed => &FAILED,
        WorkList::All => &NEWEST,
    };
    let before = before.unwrap_or(i64::MAX);
    conn.fetch_all(sql, args![units.is_some(), bounded(limit), before, units.unwrap_or_default().to_vec()])
        .await
}

fn bounded(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

crate::db::statements![COMING, HELD, FAILED, NEWEST];
