//! Pages of the audit, newest first. Each filter has an index that ends in the time, so that a page reads its own window of
//! entries whatever else is in the table.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use crate::{
    db::{Conn, Result, Sql, args, sql},
    walk::{BY_INDEX, Stretch, with_surplus},
};

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSubject {
    pub kind: String,
    pub id: String,
}

/// Which entries are wanted; what is left out does not limit.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Included.
    pub from: Option<Timestamp>,
    /// Not included.
    pub to: Option<Timestamp>,
    pub actor: Option<String>,
    pub action: Option<String>,
    pub subject: Option<AuditSubject>,
    /// Time and number of the last entry of the page before.
    pub after: Option<(i64, i64)>,
    pub limit: i64,
}

/// An entry with its digest, which is missing until the entry is sealed.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct ListedEntry {
    pub id: i64,
    pub at: Timestamp,
    pub actor: String,
    pub action: String,
    pub subject_kind: String,
    pub subject_id: String,
    pub from_status: Option<String>,
    pub to_status: Option<String>,
    pub version: Option<i64>,
    pub reason: Option<String>,
    pub data: Option<String>,
    pub business_unit: Option<String>,
    pub digest: Option<String>,
}

const COLUMNS: &str =
    "SELECT a.id, a.at, a.actor, a.action, a.subject_kind, a.subject_id, a.from_status, a.to_status,
            a.version, a.reason, a.data, a.business_unit, s.digest
     FROM audit AS a LEFT JOIN audit_seals AS s ON s.entry_id = a.id
     WHERE (a.at, a.id) > ($1, $10) AND (a.at, a.id) < ($2, $3)";
const REACH: &str = " AND {reach $4 a.business_unit}";
const ACTOR: &str = " AND ($5 IS NULL OR a.actor = $5)";
const ACTION: &str = " AND ($6 IS NULL OR a.action = $6)";
const SUBJECT: &str = " AND ($7 IS NULL OR a.subject_kind = $7 AND a.subject_id = $8)";
const NEWEST: &str = " ORDER BY a.at DESC, a.id DESC LIMIT $9";

// Relies on audit_by_time.
const BY_TIME: Sql = sql!("audit.by_time", COLUMNS, REACH, ACTOR, ACTION, SUBJECT, NEWEST);
// Relies on audit_by_actor.
const BY_ACTOR: Sql = sql!("audit.by_actor", COLUMNS, REACH, " AND a.actor = $5", ACTION, SUBJECT, NEWEST);
// Relies on audit_by_action.
const BY_ACTION: Sql = sql!("audit.by_action", COLUMNS, REACH, ACTOR, " AND a.action = $6", SUBJECT, NEWEST);
// Relies on audit_by_subject; a subject has few entries.
const BY_SUBJECT: Sql = sql!(
    "audit.by_subject",
    COLUMNS,
    REACH,
    ACTOR,
    ACTION,
    " AND a.subject_kind = $7 AND a.subject_id = $8",
    NEWEST,
);
// Relies on audit_by_unit.
const BY_UNIT: Sql =
    sql!("audit.by_unit", COLUMNS, " AND a.business_unit = $4", ACTOR, ACTION, SUBJECT, NEWEST,);

// The newest entry that one page does not look at.
const ACTOR_HORIZON: Sql = sql!(
    "audit.by_actor_horizon", as Place,
    "SELECT {columns} FROM audit WHERE actor = $1 AND (at, id) < ($2, $3) ORDER BY at DESC, id DESC LIMIT 1 OFFSET $4",
);
const ACTION_HORIZON: Sql = sql!(
    "audit.by_action_horizon", as Place,
    "SELECT {columns} FROM audit WHERE action = $1 AND (at, id) < ($2, $3) ORDER BY at DESC, id DESC LIMIT 1 OFFSET $4",
);

#[derive(Clone, Copy, Record)]
struct Place {
    at: Timestamp,
    id: i64,
}

/// The rows of the first page.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, reach: &Reach, filter: &AuditFilter) -> Result<Vec<ListedEntry>> {
    Ok(stretch(conn, reach, filter).await?.rows)
}

/// Entries that a caller may see, newest first. Where two filters together may leave out much it may be short, or empty, and
/// still continue.
#[boxed]
pub async fn stretch(
    conn: &mut Conn<'_>,
    reach: &Reach,
    filter: &AuditFilter,
) -> Result<Stretch<ListedEntry, (i64, i64)>> {
    let end = (filter.to.map_or(i64::MAX, Timestamp::as_microsecond), i64::MIN);
    let (before_at, before_id) = filter.after.map_or(end, |after| after.min(end));
    let mut from = filter.from.map_or((i64::MIN, i64::MIN), |from| (from.as_microsecond() - 1, i64::MAX));
    let (kind, id) = filter.subject.clone().map(|subject| (subject.kind, subject.id)).unzip();
    let (actor, action, limit) = (filter.actor.clone(), filter.action.clone(), with_surplus(filter.limit));
    let is_plain = actor.is_none() && action.is_none() && kind.is_none();
    if let (Some(units), true) = (reach.units(), is_plain) {
        // A caller has few units: the newest of each, and of those the newest.
        let mut rows: Vec<ListedEntry> = Vec::new();
        for unit in units {
            let none = None::<String>;
            let bound = args![
                from.0,
                before_at,
                before_id,
                unit,
                none.clone(),
                none.clone(),
                none.clone(),
                none,
                limit,
                from.1
            ];
            rows.extend(conn.fetch_all::<ListedEntry>(&BY_UNIT, bound).await?);
        }
        rows.sort_unstable_by_key(|row| std::cmp::Reverse((row.at, row.id)));
        rows.dedup_by_key(|row| row.id);
        rows.truncate(usize::try_from(limit).unwrap_or(0));
        return Ok(Stretch::cut(rows, filter.limit, place, None));
    }
    let by = if kind.is_some() {
        &BY_SUBJECT
    } else if actor.is_some() {
        &BY_ACTOR
    } else if action.is_some() {
        &BY_ACTION
    } else {
        &BY_TIME
    };
    let horizon = match (&kind, &actor, &action) {
        (None, Some(actor), action) if action.is_some() || reach.units().is_some() => {
            Some((&ACTOR_HORIZON, actor))
        }
        (None, None, Some(action)) if reach.units().is_some() => Some((&ACTION_HORIZON, action)),
        _ => None,
    };
    let mut looked_to = None;
    if let Some((sql, name)) = horizon {
        let beyond: Option<Place> =
            conn.fetch_optional(sql, args![name, before_at, before_id, BY_INDEX]).await?;
        if let Some(beyond) =
            beyond.map(|place| (place.at.as_microsecond(), place.id)).filter(|beyond| *beyond > from)
        {
            from = beyond;
            looked_to = Some((beyond.0, beyond.1.saturating_add(1)));
        }
    }
    let bound = args![from.0, before_at, before_id, reach, actor, action, kind, id, limit, from.1];
    let rows = conn.fetch_all(by, bound).await?;
    Ok(Stretch::cut(rows, filter.limit, place, looked_to))
}

fn place(row: &ListedEntry) -> (i64, i64) {
    (row.at.as_microsecond(), row.id)
}

crate::db::statements![BY_TIME, BY_ACTOR, BY_ACTION, BY_SUBJECT, BY_UNIT, ACTOR_HORIZON, ACTION_HORIZON];
