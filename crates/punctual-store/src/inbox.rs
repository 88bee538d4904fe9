//! The inbox: messages to people who look at the console, by person.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// One message to one person.
#[derive(Clone, Debug, PartialEq, Eq, Record, SetRow)]
pub struct InboxRow {
    #[column(skip)]
    pub seq: i64,
    pub id: String,
    pub person: String,
    pub notification_id: String,
    pub channel: String,
    pub kind: String,
    pub subject: String,
    pub body: String,
    /// Of the notification; one without a unit is for everybody of the name.
    pub business_unit: Option<String>,
    pub created_at: Timestamp,
    #[column(skip)]
    pub read_at: Option<Timestamp>,
}

const PUT: Sql = sql!(
    "inbox.put", each InboxRow, after 0,
    "INSERT INTO inbox ({names}) {values {*}} ON CONFLICT (id) DO NOTHING",
);

#[derive(Record)]
struct Unit {
    business_unit: Option<String>,
}

const UNIT_OF: Sql = sql!(
    "inbox.unit_of", as Unit,
    "SELECT {columns} FROM notifications WHERE id = $1",
);

/// The business unit of a notification that is being put into inboxes.
#[boxed]
pub async fn unit_of(conn: &mut Conn<'_>, notification_id: &str) -> Result<Option<String>> {
    let row: Option<Unit> = conn.fetch_optional(&UNIT_OF, args![notification_id]).await?;
    Ok(row.and_then(|row| row.business_unit))
}

/// Keeps a message; one that is there already stays as it is. `seq` and `read_at` are the table's own.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, row: &InboxRow) -> Result<bool> {
    Ok(conn.execute(&PUT, with_rows(args![], slice::from_ref(row))).await? > 0)
}

const PAGE: Sql = sql!(
    "inbox.page", as InboxRow,
    "SELECT {columns} FROM inbox
     WHERE person = $1 AND seq < $2 AND {shared $4 business_unit}
     ORDER BY seq DESC LIMIT $3",
);
const UNREAD: Sql = sql!(
    "inbox.unread", as InboxRow,
    "SELECT {columns} FROM inbox
     WHERE person = $1 AND seq < $2 AND read_at IS NULL AND {shared $4 business_unit}
     ORDER BY seq DESC LIMIT $3",
);

/// The messages of a person, newest first, all or only those that are not read.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    person: &str,
    reach: &Reach,
    before: Option<i64>,
    only_unread: bool,
    limit: i64,
) -> Result<Vec<InboxRow>> {
    let statement = if only_unread { &UNREAD } else { &PAGE };
    conn.fetch_all(statement, args![person, before.unwrap_or(i64::MAX), limit, reach]).await
}

const GET: Sql = sql!("inbox.get", as InboxRow, "SELECT {columns} FROM inbox WHERE id = $1 AND person = $2 AND {shared $3 business_unit}");

/// One message of a person that is within reach.
#[boxed]
pub async fn get(conn: &mut Conn<'_>, person: &str, reach: &Reach, id: &str) -> Result<Option<InboxRow>> {
    conn.fetch_optional(&GET, args![id, person, reach]).await
}

#[derive(Record)]
struct Count {
    count: i64,
}

const COUNT: Sql = sql!(
    "inbox.count_unread",
    "SELECT COUNT(*) AS count FROM (
         SELECT 1 AS one FROM inbox WHERE person = $1 AND read_at IS NULL AND {shared $3 business_unit} LIMIT $2) AS u",
);

/// How many messages of a person are not read, counted up to the bound.
#[boxed]
pub async fn count_unread(conn: &mut Conn<'_>, person: &str, reach: &Reach, bound: i64) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT, args![person, bound, reach]).await?;
    Ok(row.count)
}

const READ: Sql = sql!(
    "inbox.read",
    "UPDATE inbox SET read_at = $1
     WHERE id = $2 AND person = $3 AND read_at IS NULL AND {shared $4 business_unit}",
);

/// Marks one message of a person as read; whether it was not.
#[boxed]
pub async fn read(
    conn: &mut Conn<'_>,
    now: Timestamp,
    person: &str,
    reach: &Reach,
    id: &str,
) -> Result<bool> {
    Ok(conn.execute(&READ, args![now, id, person, reach]).await? > 0)
}

const READ_ALL: Sql = sql!(
    "inbox.read_all",
    "UPDATE inbox SET read_at = $1 WHERE person = $2 AND read_at IS NULL AND seq <= $3 AND {shared $4 business_unit}",
);

/// Marks every message of a person up to this one as read: one that came since has not been seen.
#[boxed]
pub async fn read_all(
    conn: &mut Conn<'_>,
    now: Timestamp,
    person: &str,
    reach: &Reach,
    up_to: i64,
) -> Result<u64> {
    conn.execute(&READ_ALL, args![now, person, up_to, reach]).await
}

crate::db::statements![PUT, UNIT_OF, PAGE, UNREAD, GET, COUNT, READ, READ_ALL];
