//! Messages held back because a person had reached the limit of the day, until one digest summarises them.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::WorkId;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct DigestItem {
    pub person: String,
    pub local_date: String,
    pub notification_id: String,
    pub target: String,
    pub channel: String,
    pub subject: String,
    pub body: String,
    /// The row that queued it.
    pub work_id: Option<WorkId>,
    /// That of the message. None also for what was held back before each unit had digests of its own.
    pub business_unit: Option<String>,
    #[column(skip)]
    pub held_at: Timestamp,
}

impl DigestItem {
    pub fn digest(&self) -> DigestOf {
        DigestOf {
            person: self.person.clone(),
            local_date: self.local_date.clone(),
            business_unit: self.business_unit.clone(),
        }
    }
}

/// One digest: what one business unit, or the installation, sent a person too much on a day.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SetRow)]
pub struct DigestOf {
    pub person: String,
    pub local_date: String,
    pub business_unit: Option<String>,
}

const KEEP: Sql = sql!(
    "digest_items.keep", each DigestItem, after 1,
    "INSERT INTO digest_items ({names}, held_at) {values {*}, $1}
     ON CONFLICT (person, local_date, notification_id, target) DO NOTHING",
);

#[boxed]
pub async fn keep(conn: &mut Conn<'_>, now: Timestamp, items: &[DigestItem]) -> Result<()> {
    conn.execute(&KEEP, with_rows(args![now], items)).await?;
    Ok(())
}

const OF: Sql = sql!(
    "digest_items.of", as DigestItem, each DigestOf, after 0,
    "SELECT {columns d} FROM digest_items d {join rows}
     WHERE d.person = {.person} AND d.local_date = {.local_date}
         AND COALESCE(d.business_unit, '') = COALESCE({.business_unit}, '')
     ORDER BY d.held_at, d.notification_id",
);

/// What was held back for these digests, in the order in which it was.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, digests: &[DigestOf]) -> Result<Vec<DigestItem>> {
    if digests.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&OF, with_rows(args![], digests)).await
}

#[derive(Record)]
struct Dropped {
    person: String,
    local_date: String,
    business_unit: Option<String>,
}

// Relies on digest_items_by_work.
const DROP: Sql = sql!(
    "digest_items.drop_by_work",
    "DELETE FROM digest_items
     WHERE work_id IS NOT NULL AND work_id IN (SELECT work_id FROM work_keys
         WHERE key {sqlite IN (SELECT value FROM json_each($1))}{postgres = ANY($1)})
     RETURNING person, local_date, business_unit",
);

/// Takes what these work rows queued out of digests; returns which digests those were.
#[boxed]
pub async fn drop_of_work(conn: &mut Conn<'_>, work_keys: Vec<String>) -> Result<Vec<DigestOf>> {
    let rows: Vec<Dropped> = conn.fetch_all(&DROP, args![work_keys]).await?;
    let of = |Dropped { person, local_date, business_unit }| DigestOf { person, local_date, business_unit };
    let mut digests: Vec<DigestOf> = rows.into_iter().map(of).collect();
    digests.sort_unstable();
    digests.dedup();
    Ok(digests)
}

const FORGET: Sql = sql!("digest_items.forget", "DELETE FROM digest_items WHERE local_date < $1");

/// Removes what was sent long ago.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, before: &str) -> Result<u64> {
    conn.execute(&FORGET, args![before]).await
}

crate::db::statements![KEEP, OF, DROP, FORGET];
