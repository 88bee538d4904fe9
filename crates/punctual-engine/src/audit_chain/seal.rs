//! Sealing: one node at a time, in the order of the entries' numbers, behind transactions that are still open.
//!
//! PostgreSQL assigns numbers before the commit, so an entry with a lower number can become visible later. A number is sealed
//! once every transaction has ended that was writing entries when it was first seen, that is, when their table locks are gone.
//! On a busy node this takes one sweep longer and costs writers nothing.

use punctual_boxed::boxed;
use punctual_model::Reach;
use punctual_store::{
    Conn, Lane,
    audit::{self, ChainRow, Link},
};

use super::{ChainFault, LOST_KEY, digest, is_ours, signed};
use crate::{Engine, EngineError};

/// Entries of one transaction: on SQLite a few milliseconds of its writer.
const AT_ONCE: i64 = 500;
/// Transactions of one sweep, so that a long backlog does not keep the sweep from what is due.
const BATCHES: usize = 20;

/// Entries up to this one may be sealed once these transactions have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    up_to: i64,
    waits_for: Vec<String>,
}

impl Engine {
    /// Seals entries that no open transaction can precede any more, in bounded batches; returns how many.
    #[boxed]
    pub async fn seal_audit(&self) -> Result<usize, EngineError> {
        let Some(up_to) = self.seal_up_to().await? else { return Ok(0) };
        let mut sealed = 0;
        for _ in 0..BATCHES {
            let batch = self.seal_batch(up_to).await?;
            sealed += batch;
            if batch < AT_ONCE as usize {
                break;
            }
        }
        Ok(sealed)
    }

    /// The last entry that may be sealed now; `None` where nothing is new or something is still open.
    async fn seal_up_to(&self) -> Result<Option<i64>, EngineError> {
        let mut reader = self.store.read().await?;
        let conn = &mut reader.conn();
        let mark = self.seal_mark.lock().map_or(None, |mark| mark.clone());
        let mark = match mark {
            Some(mark) => mark,
            None => {
                // The number is read before the transactions: one that has taken a lower number by then is among them.
                let up_to = audit::last_id(conn).await?;
                if up_to <= audit::chain(conn).await?.head_id {
                    return Ok(None);
                }
                Mark { up_to, waits_for: audit::open_writers(conn).await? }
            }
        };
        let open = if mark.waits_for.is_empty() { Vec::new() } else { audit::open_writers(conn).await? };
        let is_over = !mark.waits_for.iter().any(|writer| open.contains(writer));
        let up_to = is_over.then_some(mark.up_to);
        if let Ok(mut kept) = self.seal_mark.lock() {
            *kept = (!is_over).then_some(mark);
        }
        Ok(up_to)
    }

    /// One transaction: its lock on the chain keeps other nodes out, and a stop leaves whole batches.
    async fn seal_batch(&self, up_to: i64) -> Result<usize, EngineError> {
        let mut tx = self.store.begin(Lane::Claim).await?;
        let Some(chain) = audit::lock_chain_if_free(&mut tx.conn()).await? else { return Ok(0) };
        self.check_chain(&mut tx.conn(), &chain).await?;
        let rows = audit::entries_after(&mut tx.conn(), chain.head_id, up_to, AT_ONCE).await?;
        let Some(last) = rows.last().map(|row| row.id) else { return Ok(0) };
        let mut head = chain.head();
        let mut seals = Vec::with_capacity(rows.len());
        for row in &rows {
            let seal = digest::seal(&head, row, self.vault.salt());
            head = Link { entry_id: row.id, position: seal.position, digest: seal.digest.clone() };
            seals.push(seal);
        }
        audit::insert_seals(&mut tx.conn(), &seals).await?;
        let chain =
            ChainRow { head_id: last, head_position: head.position, head_digest: head.digest, ..chain };
        audit::move_chain(&mut tx.conn(), &signed(&self.vault, chain)).await?;
        tx.commit().await?;
        Ok(rows.len())
    }

    /// A chain that somebody else has written is not gone on with. One whose key was lost is, because an entry says so.
    pub(super) async fn check_chain(&self, conn: &mut Conn<'_>, chain: &ChainRow) -> Result<(), EngineError> {
        if is_ours(&self.vault, chain) {
            return Ok(());
        }
        let (kind, id) = LOST_KEY;
        let entries = audit::of(conn, &Reach::Everything, kind, id).await?;
        let said = entries.iter().any(|entry| entry.id > chain.head_id);
        if chain.signature.is_empty() && said { Ok(()) } else { Err(ChainFault::NotOurs.into()) }
    }
}
