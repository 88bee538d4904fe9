//! The record of erasures: counts, actor and time. The person is a salted hash.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{ErasureStatus, Reach};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// An erasure.
#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct ErasureRow {
    pub id: String,
    pub status: ErasureStatus,
    pub requested_by: String,
    /// The units that it is limited to, a JSON array.
    pub units: Option<String>,
    pub salt: String,
    pub subject_hash: String,
    /// How many rows of each kind were found, a JSON array.
    pub found: String,
    /// How many were erased, and what is left.
    pub erased: Option<String>,
    pub signature: Option<String>,
    pub created_at: Timestamp,
    pub done_at: Option<Timestamp>,
}

const INSERT: Sql =
    sql!("erasures.insert", each ErasureRow, after 0, "INSERT INTO erasures ({names}) {values {*}}");

#[boxed]
pub async fn insert(conn: &mut Conn<'_>, row: &ErasureRow) -> Result<()> {
    conn.execute(&INSERT, with_rows(args![], std::slice::from_ref(row))).await?;
    Ok(())
}

/// Within the units of a caller: an erasure that was made over others too, or over the whole installation, is not there.
const WITHIN: &str = "({sqlite $2 IS NULL}{postgres $2::text[] IS NULL} OR units IS NOT NULL AND units <> '[]' AND NOT EXISTS (
         SELECT 1 FROM {sqlite json_each(units) AS u}{postgres JSONB_ARRAY_ELEMENTS_TEXT(CAST(units AS JSONB)) AS u(value)}
         WHERE NOT {reach $2 u.value}))";

const BY_ID: Sql =
    sql!("erasures.by_id", as ErasureRow, "SELECT {columns} FROM erasures WHERE id = $1 AND ", WITHIN);

/// One that was made within the reach of a caller.
#[boxed]
pub async fn by_id(conn: &mut Conn<'_>, reach: &Reach, id: &str) -> Result<Option<ErasureRow>> {
    conn.fetch_optional(&BY_ID, args![id, reach]).await
}

// There are few: each is asked for by a person.
const PAGE: Sql = sql!(
    "erasures.page", as ErasureRow,
    "SELECT {columns} FROM erasures WHERE status <> 'planned' AND ",
    WITHIN,
    " ORDER BY created_at DESC, id LIMIT $1",
);

/// The newest that were carried out within the reach of a caller.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, reach: &Reach, limit: i64) -> Result<Vec<ErasureRow>> {
    conn.fetch_all(&PAGE, args![limit, reach]).await
}

crate::db::statements![INSERT, BY_ID, PAGE];
