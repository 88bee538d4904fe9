//! Reading notifications for people: one, those of a work row, and a page.

use punctual_boxed::{Record, boxed};
use punctual_model::{NotificationStatus, Reach};

use super::{NotificationRow, Stuck};
use crate::db::{Conn, Result, Sql, args, sql};

const BY_ID: Sql = sql!("notifications.by_id", as NotificationRow, "SELECT {columns} FROM notifications WHERE id = $1 AND {reach $2 business_unit}");

/// The notification of this id, if it is within reach.
#[boxed]
pub async fn by_id(conn: &mut Conn<'_>, reach: &Reach, id: &str) -> Result<Option<NotificationRow>> {
    conn.fetch_optional(&BY_ID, args![id, reach]).await
}

const BY_IDS: Sql = sql!(
    "notifications.by_ids", as NotificationRow,
    "SELECT {columns} FROM notifications WHERE id IN ({texts $1}) AND {reach $2 business_unit} ORDER BY seq",
);

/// The notifications with these ids that are within reach, in order of arrival.
#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, reach: &Reach, ids: Vec<String>) -> Result<Vec<NotificationRow>> {
    conn.fetch_all(&BY_IDS, args![ids, reach]).await
}

const OF_SITE: Sql = sql!(
    "notifications.of_site", as NotificationRow,
    "SELECT {columns} FROM notifications WHERE id = $1 AND source_site = $2",
);

/// A notification that this site has handed over.
#[boxed]
pub async fn of_site(conn: &mut Conn<'_>, site: &str, id: &str) -> Result<Option<NotificationRow>> {
    conn.fetch_optional(&OF_SITE, args![id, site]).await
}

/// What a page of notifications is limited to; every field left out does not limit.
#[derive(Clone, Debug, Default)]
pub struct NotificationFilter {
    pub status: Option<NotificationStatus>,
    pub kind: Option<String>,
    pub site: Option<String>,
    pub list: Option<String>,
    pub created_from: Option<i64>,
    pub created_to: Option<i64>,
    /// Only what is stuck.
    pub stuck: Option<Stuck>,
    /// A keyword in the subject.
    pub q: Option<String>,
    /// Only these, by id: what a work row queued.
    pub ids: Option<Vec<String>>,
    /// Only what keys of this client sent.
    pub client: Option<String>,
    /// Rows older than this sequence number.
    pub before: Option<i64>,
    pub limit: i64,
}

const FILTERED: &str = "SELECT {columns}
    FROM notifications
    WHERE ($1 IS NULL OR status = $1)
      AND ($2 IS NULL OR kind = $2)
      AND ($3 IS NULL OR source_site = $3)
      AND ($4 IS NULL OR list_name = $4)
      AND ($5 IS NULL OR created_at >= $5)
      AND ($6 IS NULL OR created_at < $6)
      AND ($7 IS NULL OR (status IN ('pending', 'retrying') AND ";
const PAGE: &str = "))
      AND ($8 IS NULL OR {contains $8 subject})
      AND ($9 IS NULL OR seq < $9)
      AND {reach $10 business_unit}";
const NEWEST: &str = " ORDER BY seq DESC LIMIT $11";
const LIST: Sql = sql!(
    "notifications.list", as NotificationRow, FILTERED, stuck!("$7", "$12"), PAGE, NEWEST,
);
// Relies on notifications_by_client.
const LIST_OF_CLIENT: Sql = sql!(
    "notifications.list_of_client", as NotificationRow,
    FILTERED, stuck!("$7", "$12"), PAGE, " AND client = $13", NEWEST,
);
const LIST_THESE: Sql = sql!(
    "notifications.list_these", as NotificationRow,
    FILTERED, stuck!("$7", "$12"), PAGE, " AND id IN ({texts $13}) AND ($14 IS NULL OR client = $14)", NEWEST,
);

/// A page of notifications, newest first.
#[boxed]
pub async fn list(
    conn: &mut Conn<'_>,
    reach: &Reach,
    filter: &NotificationFilter,
) -> Result<Vec<NotificationRow>> {
    let f = filter.clone();
    let (stuck_before, held_back) =
        f.stuck.map_or((None, None), |stuck| (Some(stuck.before), stuck.held_back));
    let pattern = f.q.map(|word| contains_pattern(&word));
    let mut bound = args![
        f.status,
        f.kind,
        f.site,
        f.list,
        f.created_from,
        f.created_to,
        stuck_before,
        pattern,
        f.before,
        reach,
        f.limit,
        held_back
    ];
    match (f.ids, f.client) {
        (None, None) => conn.fetch_all(&LIST, bound).await,
        (None, client) => {
            bound.extend(args![client]);
            conn.fetch_all(&LIST_OF_CLIENT, bound).await
        }
        (Some(ids), client) => {
            bound.extend(args![ids, client]);
            conn.fetch_all(&LIST_THESE, bound).await
        }
    }
}

/// A LIKE pattern that finds the text itself: what a person typed is never a wildcard.
pub(crate) fn contains_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

#[derive(Record)]
struct Busy {
    busy: bool,
}

const BUSY: Sql = sql!(
    "notifications.is_busy",
    "SELECT EXISTS (SELECT 1 FROM notifications WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL)
         OR EXISTS (SELECT 1 FROM notifications WHERE lease_expires_at IS NOT NULL) AS busy",
);

/// Whether any notification waits or is being sent. A probe, not a count.
#[boxed]
pub async fn is_busy(conn: &mut Conn<'_>) -> Result<bool> {
    let row: Busy = conn.fetch_one(&BUSY, args![]).await?;
    Ok(row.busy)
}

crate::db::statements![BY_ID, BY_IDS, OF_SITE, LIST, LIST_OF_CLIENT, LIST_THESE, BUSY];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_typed_is_never_a_wildcard() {
        assert_eq!(contains_pattern("50%_\\"), "%50\\%\\_\\\\%");
    }
}
