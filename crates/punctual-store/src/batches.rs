//! What each node is deciding: one small note for each batch, written before the decision.
//!
//! A batch that ended leaves its note until the next one replaces it. Its rows of work have moved on by then, so whoever
//! looks at them after a crash finds only those that were not settled. On PostgreSQL a note is a row; SQLite's one process
//! decides one batch at a time and keeps its note in a file beside the database.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use serde::{Deserialize, Serialize};

use crate::{
    Store, StoreError,
    db::{Lane, Note, Result, Sql, args, sql},
};

/// A batch that a node was deciding.
#[derive(Clone, Debug, PartialEq, Record, Serialize, Deserialize)]
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

/// Says what a node is about to decide, in place of what it decided in this slot before. On SQLite the caller holds the
/// one writer.
#[boxed]
pub async fn begin(store: &Store, now: Timestamp, node: &str, slot: i64, ids: &[i64]) -> Result<()> {
    let unstorable = |_| StoreError::Stored("batches.ids");
    let ids = serde_json::to_string(ids).map_err(unstorable)?;
    match store.note().await? {
        Note::File(file, faults) => {
            let batch = BatchRow { node: node.to_owned(), slot, ids, begun_at: now.as_microsecond() };
            let text = serde_json::to_string(&batch).map_err(unstorable)?;
            faults.before(BEGIN.name)?;
            file.write(&text).map_err(|error| StoreError::File(file.path().to_owned(), error))?;
            faults.after(BEGIN.name)
        }
        Note::Row(mut tx) => {
            tx.conn().execute(&BEGIN, args![now, node, slot, ids]).await?;
            tx.commit().await
        }
    }
}

const ALL: Sql = sql!("batches.all", as BatchRow, "SELECT {columns} FROM batches ORDER BY node, slot");

/// Every batch of every node.
#[boxed]
pub async fn all(store: &Store) -> Result<Vec<BatchRow>> {
    // A database of an earlier version of SQLite's process has its notes in the table.
    let mut batches = store.read().await?.conn().fetch_all(&ALL, args![]).await?;
    if let Note::File(file, _) = store.note().await? {
        let note = file.read().map_err(|error| StoreError::File(file.path().to_owned(), error))?;
        batches.extend(note.and_then(|text| serde_json::from_str::<BatchRow>(&text).ok()));
    }
    Ok(batches)
}

const ABANDONED: Sql = sql!(
    "batches.abandoned", as BatchRow,
    "SELECT {columns b} FROM batches AS b LEFT JOIN nodes AS n ON n.node = b.node
     WHERE b.begun_at < $1 AND (n.node IS NULL OR n.last_seen_at < $1)
     ORDER BY b.node, b.slot",
);

/// Batches that were begun before this moment by nodes that were not seen since. SQLite has no other nodes.
#[boxed]
pub async fn abandoned(store: &Store, before: Timestamp) -> Result<Vec<BatchRow>> {
    store.read().await?.conn().fetch_all(&ABANDONED, args![before]).await
}

const END: Sql = sql!("batches.end", "DELETE FROM batches WHERE node = $1 AND slot = $2 AND begun_at = $3",);

/// Forgets a batch whose rows have been checked.
#[boxed]
pub async fn end(store: &Store, batch: &BatchRow) -> Result<()> {
    let mut tx = store.begin(Lane::Settle).await?;
    tx.conn().execute(&END, args![&batch.node, batch.slot, batch.begun_at]).await?;
    clear_file(store).await?;
    tx.commit().await
}

const LEAVE: Sql = sql!("batches.leave", "DELETE FROM batches WHERE node = $1");

/// Forgets the batches of a node that stops in order.
#[boxed]
pub async fn leave(store: &Store, node: &str) -> Result<()> {
    let mut tx = store.begin(Lane::Intake).await?;
    tx.conn().execute(&LEAVE, args![node]).await?;
    clear_file(store).await?;
    tx.commit().await
}

/// With the one writer held.
async fn clear_file(store: &Store) -> Result<()> {
    match store.note().await? {
        Note::File(file, _) => file.clear().map_err(|error| StoreError::File(file.path().to_owned(), error)),
        Note::Row(_) => Ok(()),
    }
}

crate::db::statements![BEGIN, ALL, ABANDONED, END, LEAVE];
