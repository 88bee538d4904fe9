//! The index of addresses: packed entries by bucket, and the progress of each part.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use super::{Part, Place};
use crate::db::{Conn, Result, Sql, args, sql};

/// Over how many buckets a piece is spread. Ten million addresses are two megabytes in each.
pub const BUCKETS: usize = 64;

/// One bucket of one piece.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct IndexRow {
    pub part: String,
    pub piece: i64,
    pub entries: Vec<u8>,
}

const BUCKET: Sql = sql!(
    "address_index.bucket", as IndexRow,
    "SELECT {columns} FROM address_index WHERE bucket = $1 ORDER BY part, piece",
);

/// Everything in one bucket.
#[boxed]
pub async fn bucket(conn: &mut Conn<'_>, bucket: i64) -> Result<Vec<IndexRow>> {
    conn.fetch_all(&BUCKET, args![bucket]).await
}

const PUT: Sql = sql!(
    "address_index.put",
    "INSERT INTO address_index (bucket, part, piece, entries) VALUES ($1, $2, $3, $4)
     ON CONFLICT (bucket, part, piece) DO UPDATE SET entries = EXCLUDED.entries",
);

/// Writes one bucket of a piece.
#[boxed]
pub async fn put_piece(
    conn: &mut Conn<'_>,
    bucket: i64,
    part: Part,
    piece: i64,
    entries: Vec<u8>,
) -> Result<()> {
    conn.execute(&PUT, args![bucket, part.as_str(), piece, entries]).await?;
    Ok(())
}

const REPLACE: Sql = sql!(
    "address_index.replace",
    "UPDATE address_index SET entries = $4 WHERE bucket = $1 AND part = $2 AND piece = $3",
);

/// Writes a bucket of a piece again, without some of its entries.
#[boxed]
pub async fn replace_piece(conn: &mut Conn<'_>, bucket: i64, row: IndexRow) -> Result<()> {
    conn.execute(&REPLACE, args![bucket, row.part, row.piece, row.entries]).await?;
    Ok(())
}

const PIECES: Sql = sql!(
    "address_index.pieces", as IndexRow,
    "SELECT {columns} FROM address_index WHERE bucket = $1 AND part = $2 AND piece >= $3 ORDER BY piece LIMIT $4",
);

/// Pieces of a part in one bucket, from a number on.
#[boxed]
pub async fn pieces_of(
    conn: &mut Conn<'_>,
    bucket: i64,
    part: Part,
    from: i64,
    limit: i64,
) -> Result<Vec<IndexRow>> {
    conn.fetch_all(&PIECES, args![bucket, part.as_str(), from, limit]).await
}

const FORGET: Sql =
    sql!("address_index.forget", "DELETE FROM address_index WHERE bucket = $1 AND part = $2 AND piece = $3");

/// Removes one bucket of a piece whose rows are all gone.
#[boxed]
pub async fn forget_piece(conn: &mut Conn<'_>, bucket: i64, part: Part, piece: i64) -> Result<()> {
    conn.execute(&FORGET, args![bucket, part.as_str(), piece]).await?;
    Ok(())
}

/// How far a part of the index reaches.
#[derive(Clone, Debug, Default, PartialEq, Record)]
pub struct PartRow {
    pub pieces: i64,
    pub after_at: i64,
    pub after_number: i64,
    pub after_text: String,
    pub seen_number: i64,
    pub seen_at: i64,
}

impl PartRow {
    /// Where the rows begin that are not in the index.
    pub fn place(&self) -> Place {
        Place { at: self.after_at, number: self.after_number, text: self.after_text.clone() }
    }
}

const GET: Sql =
    sql!("address_index_parts.get", as PartRow, "SELECT {columns} FROM address_index_parts WHERE part = $1");

/// How far a part reaches; from the beginning where nothing was indexed yet.
#[boxed]
pub async fn part(conn: &mut Conn<'_>, part: Part) -> Result<PartRow> {
    Ok(conn.fetch_optional(&GET, args![part.as_str()]).await?.unwrap_or_default())
}

const SEE: Sql = sql!(
    "address_index_parts.see",
    "INSERT INTO address_index_parts (part, pieces, after_at, after_number, after_text, seen_number, seen_at)
     VALUES ($2, 0, 0, 0, '', $3, $1)
     ON CONFLICT (part) DO UPDATE SET seen_number = EXCLUDED.seen_number, seen_at = EXCLUDED.seen_at",
);

/// Notes the greatest number that there is now.
#[boxed]
pub async fn see(conn: &mut Conn<'_>, now: Timestamp, part: Part, greatest: i64) -> Result<()> {
    conn.execute(&SEE, args![now, part.as_str(), greatest]).await?;
    Ok(())
}

const ADVANCE: Sql = sql!(
    "address_index_parts.advance",
    "INSERT INTO address_index_parts (part, pieces, after_at, after_number, after_text, seen_number, seen_at)
     VALUES ($1, 1, $3, $4, $5, 0, 0)
     ON CONFLICT (part) DO UPDATE
     SET pieces = address_index_parts.pieces + 1, after_at = EXCLUDED.after_at, after_number = EXCLUDED.after_number,
         after_text = EXCLUDED.after_text
     WHERE address_index_parts.pieces = $2",
);
const MOVE: Sql = sql!(
    "address_index_parts.move",
    "UPDATE address_index_parts SET pieces = pieces + 1, after_at = $3, after_number = $4, after_text = $5
     WHERE part = $1 AND pieces = $2",
);

/// Moves a part on by one piece; false where another node has done that meanwhile.
#[boxed]
pub async fn advance(conn: &mut Conn<'_>, part: Part, pieces: i64, to: &Place) -> Result<bool> {
    let statement = if pieces == 0 { &ADVANCE } else { &MOVE };
    let bound = args![part.as_str(), pieces, to.at, to.number, to.text.as_str()];
    Ok(conn.execute(statement, bound).await? > 0)
}

crate::db::statements![BUCKET, PUT, REPLACE, PIECES, FORGET, GET, SEE, ADVANCE, MOVE];
