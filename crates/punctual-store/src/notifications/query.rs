//! Reading notifications for people: one, and those of a work row.

use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use super::NotificationRow;
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

crate::db::statements![BY_ID, BY_IDS, OF_SITE, BUSY];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_typed_is_never_a_wildcard() {
        assert_eq!(contains_pattern("50%_\\"), "%50\\%\\_\\\\%");
    }
}
