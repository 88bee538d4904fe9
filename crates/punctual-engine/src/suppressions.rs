//! The suppression list: addresses that get no messages over channels of a type, from any workflow.
//!
//! Nearly every address is not on the list, so a node caches the hashes of the list and queries the table only for matches.
//! Changes by another node are read within a second; its own changes apply at once.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{PoisonError, RwLock},
    time::Duration,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{
    AuditAction,
    address::comparable,
    suppression::{SuppressionReason, channel_type},
};
use punctual_store::{
    Conn, Lane, StoreError, Tx, audit,
    suppressions::{self, SuppressionRow},
};

use crate::{Actor, Engine, EngineError, channels::SUBSCRIBERS, config::later};

/// How long the list may be used without asking whether it changed.
const FRESH_FOR: Duration = Duration::from_secs(1);
/// Hashes that a node keeps: a few megabytes. With a longer list every address is asked about.
const KEPT: i64 = 200_000;

/// What this node knows of the list.
pub struct Suppressions(RwLock<State>);

struct State {
    read_at: Option<Timestamp>,
    /// What the list was marked with when it was read.
    mark: Option<String>,
    known: Known,
    /// How often this node itself has added something.
    added: u64,
}

enum Known {
    Hashes(HashSet<u64>),
    /// Too many to keep.
    Many,
}

impl Default for Suppressions {
    fn default() -> Self {
        let known = Known::Hashes(HashSet::new());
        Self(RwLock::new(State { read_at: None, mark: None, known, added: 0 }))
    }
}

fn hash(channel_type: &str, address: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (channel_type, address).hash(&mut hasher);
    hasher.finish()
}

impl Suppressions {
    fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Those of these targets of a channel that the table must be asked about, as they are compared. Subscribers are no
    /// people.
    pub(crate) fn doubtful<'t>(
        &self,
        channel: &str,
        targets: impl IntoIterator<Item = &'t String>,
    ) -> Vec<(String, String)> {
        self.read(|state| {
            let hashes = match &state.known {
                Known::Hashes(hashes) if hashes.is_empty() => return Vec::new(),
                Known::Hashes(hashes) => Some(hashes),
                Known::Many => None,
            };
            if channel.starts_with(SUBSCRIBERS) {
                return Vec::new();
            }
            let kind = channel_type(channel);
            let normal = targets.into_iter().map(|target| comparable(target));
            normal
                .filter(|address| hashes.is_none_or(|hashes| hashes.contains(&hash(kind, address))))
                .map(|address| (kind.to_owned(), address))
                .collect()
        })
    }

    /// An address that was just put on the list by this node counts at once.
    fn note(&self, channel_type: &str, address: &str) {
        self.change(|state| {
            state.added += 1;
            if let Known::Hashes(hashes) = &mut state.known {
                hashes.insert(hash(channel_type, address));
            }
        });
    }

    pub(crate) fn is_stale(&self, now: Timestamp) -> bool {
        self.read(|state| state.read_at.is_none_or(|read| later(read, FRESH_FOR) <= now || read > now))
    }

    /// Reads the list again where its mark is another one.
    pub(crate) async fn refresh(&self, conn: &mut Conn<'_>, now: Timestamp) -> Result<(), StoreError> {
        let (before, added) = self.read(|state| (state.mark.clone(), state.added));
        let mark = suppressions::mark(conn).await?;
        if mark == before {
            self.change(|state| state.read_at = Some(now));
            return Ok(());
        }
        let keys = suppressions::keys(conn, KEPT + 1).await?;
        let known = if keys.len() as i64 > KEPT {
            Known::Many
        } else {
            Known::Hashes(keys.iter().map(|(kind, address)| hash(kind, address)).collect())
        };
        self.change(|state| {
            // What this node added while the list was being read may not be in it; the next look has both.
            if state.added == added {
                (state.mark, state.known, state.read_at) = (mark, known, Some(now));
            }
        });
        Ok(())
    }
}

/// An address that goes onto the list because of what came of sending to it.
pub(crate) fn found_out(
    channel: &str,
    target: &str,
    reason: SuppressionReason,
    source: String,
    detail: Option<String>,
    now: Timestamp,
) -> SuppressionRow {
    let kind = channel_type(channel);
    SuppressionRow {
        channel_type: kind.to_owned(),
        address: comparable(target),
        reason: reason.as_str().to_owned(),
        source,
        detail,
        since: now,
        expires_at: None,
    }
}

impl Engine {
    /// Reads the list again where it is time to.
    pub(crate) async fn refresh_suppressions(&self, now: Timestamp) -> Result<(), StoreError> {
        if self.suppressions.is_stale(now) {
            let mut reader = self.store.read().await?;
            self.suppressions.refresh(&mut reader.conn(), now).await?;
        }
        Ok(())
    }

    /// Puts addresses on the list, in the transaction of what was found out; those that are there stay as they are.
    pub(crate) async fn suppress_in(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        rows: &[SuppressionRow],
    ) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let added = suppressions::add(&mut tx.conn(), now, rows).await?;
        if added.is_empty() {
            return Ok(());
        }
        suppressions::changed(&mut tx.conn(), now).await?;
        let mut entries = Vec::new();
        for (kind, address) in &added {
            self.suppressions.note(kind, address);
            let row = rows.iter().find(|row| row.channel_type == *kind && row.address == *address);
            entries.push(audit::Entry {
                reason: row.map(|row| row.reason.clone()),
                ..entry(AuditAction::Suppress, kind, address)
            });
            tracing::info!(
                channel.kind = kind,
                reason = row.map(|row| &*row.reason),
                "an address is suppressed"
            );
        }
        audit::append(&mut tx.conn(), now, &entries).await
    }

    /// A person puts an address on the list; it takes the place of what was there.
    #[boxed]
    pub async fn suppress(&self, by: &Actor, row: &SuppressionRow) -> Result<(), EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        suppressions::put(&mut tx.conn(), row).await?;
        suppressions::changed(&mut tx.conn(), now).await?;
        let entry = audit::Entry {
            reason: Some(row.reason.clone()),
            ..entry(AuditAction::Suppress, &row.channel_type, &row.address)
        };
        by.audit_entry(&mut tx, now, entry).await?;
        // Before the commit, so that nothing leaves between the two: at worst the table is asked once too often.
        self.suppressions.note(&row.channel_type, &row.address);
        tx.commit().await?;
        Ok(())
    }

    /// A person takes an address off the list; whether it was on it.
    #[boxed]
    pub async fn unsuppress(
        &self,
        by: &Actor,
        channel_type: &str,
        address: &str,
    ) -> Result<bool, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        if !suppressions::delete(&mut tx.conn(), channel_type, address).await? {
            return Ok(false);
        }
        suppressions::changed(&mut tx.conn(), now).await?;
        by.audit_entry(&mut tx, now, entry(AuditAction::Unsuppress, channel_type, address)).await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// An address belongs to no business unit.
fn entry(action: AuditAction, channel_type: &str, address: &str) -> audit::Entry {
    audit::Entry::new(action, "address", format!("{channel_type}:{address}"), None)
}
