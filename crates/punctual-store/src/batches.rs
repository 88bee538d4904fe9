//! What each node is deciding: one small row for each batch, committed before the decision.
//!
//! A batch that ended leaves its row until the next one replaces it. Its rows of work have moved on by then, so whoever
//! looks at them after a crash finds only those that were not settled.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::{
    StoreError,
    db::{Conn, Result, Sql, args, sql},
};

/// A batch that a node was deciding.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct BatchRow {
    pub node: String,
    pub slot: i64,
    pub ids: String,
    pub begun_at: i64,
}

impl BatchRow {
    /// The rows of work in it.
    pub fn ids(&self) -> Result<Vec<i64>> {
        serde_json::from_str(&self.ids).map_err(|_| StoreError::Stored("batches.ids"))
    }
}

const BEGIN: Sql = sql!(
    "batches.begin",
    "INSERT INTO batches (node, slot, ids, begun_at) VALUES ($2, $3, $4, $1)
     ON CONFLICT (node, slot) DO UPDATE SET ids = EXCLUDED.ids, begun_at = EXCLUDED.begun_at",
);

/// Says what a node is about to decide, in place of what it decided in this slot before.
#[boxed]
pub async fn begin(conn: &mut Conn<'_>, now: Timestamp, node: &str, slot: i64, ids: &[i64]) -> Result<()> {
    let ids = serde_json::to_string(ids).map_err(|_| StoreError::Stored("batches.ids"))?;
    conn.execute(&BEGIN, args![now, node, slot, ids]).await?;
    Ok(())
}

const ALL: Sql = sql!("batches.all", as BatchRow, "SELECT {columns} FROM batches ORDER BY node, slot");

/// Every batch of every node.
#[boxed]
pub async fn all(conn: &mut Conn<'_>) -> Result<Vec<BatchRow>> {
    conn.fetch_all(&ALL, args![]).await
}

const ABANDONED: Sql = sql!(
    "batches.abandoned", as BatchRow,
    "SELECT {columns b} FROM batches AS b LEFT JOIN nodes AS n ON n.node = b.node
     WHERE b.begun_at < $1 AND (n.node IS NULL OR n.last_seen_at < $1)
     ORDER BY b.node, b.slot",
);

/// Batches that were begun before this moment by nodes that were not seen since.
#[boxed]
pub async fn abandoned(conn: &mut Conn<'_>, before: Timestamp) -> Result<Vec<BatchRow>> {
    conn.fetch_all(&ABANDONED, args![before]).await
}

const END: Sql = sql!("batches.end", "DELETE FROM batches WHERE node = $1 AND slot = $2 AND begun_at = $3",);

/// Forgets a batch whose rows have been looked at.
#[boxed]
pub async fn end(conn: &mut Conn<'_>, batch: &BatchRow) -> Result<()> {
    conn.execute(&END, args![&batch.node, batch.slot, batch.begun_at]).await?;
    Ok(())
}

const LEAVE: Sql = sql!("batches.leave", "DELETE FROM batches WHERE node = $1");

/// Forgets the batches of a node that stops in order.
#[boxed]
pub async fn leave(conn: &mut Conn<'_>, node: &str) -> Result<()> {
    conn.execute(&LEAVE, args![node]).await?;
    Ok(())
}

crate::db::statements![BEGIN, ALL, ABANDONED, END, LEAVE];
