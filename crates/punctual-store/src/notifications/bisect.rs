//! Finding the place of an instant in the order of arrival, where no index has it: numbers and instants of arrival
//! grow together, so a few looks at single rows are enough.

use crate::db::{Conn, Result, Sql, args, sql};
use punctual_boxed::Record;

/// Below this many numbers a page's own bound is enough, and clocks that were set back do no harm.
const WORTH_IT: i64 = 50_000;
/// Rows are written a little out of order by transactions that overlap.
const SLACK: i64 = 60_000_000;

/// The oldest and the newest number there is.
#[derive(Clone, Copy, Debug, Record)]
pub struct Ends {
    pub oldest: i64,
    pub newest: i64,
}

#[derive(Record)]
struct MaybeEnds {
    oldest: Option<i64>,
    newest: Option<i64>,
}

const ENDS: Sql = sql!(
    "notifications.ends",
    "SELECT (SELECT MIN(seq) FROM notifications) AS oldest, (SELECT MAX(seq) FROM notifications) AS newest",
);

/// Both ends of the table; `None` while it is empty.
pub(super) async fn ends(conn: &mut Conn<'_>) -> Result<Option<Ends>> {
    let ends: MaybeEnds = conn.fetch_one(&ENDS, args![]).await?;
    Ok(ends.oldest.zip(ends.newest).map(|(oldest, newest)| Ends { oldest, newest }))
}

#[derive(Record)]
struct Arrived {
    created_at: i64,
}

const ARRIVED: Sql = sql!(
    "notifications.arrived",
    "SELECT created_at FROM notifications WHERE seq <= $1 ORDER BY seq DESC LIMIT 1",
);

/// A number such that everything that arrived before the instant, and nothing much later, lies at or below it.
pub(super) async fn last_before(conn: &mut Conn<'_>, instant: i64) -> Result<Option<i64>> {
    search(conn, instant.saturating_sub(SLACK)).await
}

/// A number such that everything that arrived at or after the instant lies at or above it; `None` where it is not
/// worth looking.
pub(super) async fn first_after(conn: &mut Conn<'_>, instant: i64) -> Result<Option<i64>> {
    Ok(search(conn, instant.saturating_add(SLACK)).await?.map(|seq| seq.saturating_add(1)))
}

/// The last number whose row arrived before the instant.
async fn search(conn: &mut Conn<'_>, instant: i64) -> Result<Option<i64>> {
    let Some(ends) = ends(conn).await? else { return Ok(None) };
    if ends.newest - ends.oldest < WORTH_IT {
        return Ok(None);
    }
    let (mut low, mut high) = (ends.oldest - 1, ends.newest);
    while low < high {
        let middle = low + (high - low + 1) / 2;
        let row: Option<Arrived> = conn.fetch_optional(&ARRIVED, args![middle]).await?;
        if row.is_none_or(|row| row.created_at < instant) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(Some(low))
}

crate::db::statements![ENDS, ARRIVED];
