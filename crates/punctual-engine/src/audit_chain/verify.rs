//! Verifies the audit log from the checkpoint to the newest seal, and reports the first entry that was changed.

use std::{collections::BTreeSet, fmt};

use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{
    Store, StoreError,
    audit::{self, AuditRow, ChainRow, Link, SealRow},
};

use super::{
    digest,
    erase::{AUDIT, named_in},
    is_ours,
};
use crate::Vault;

/// Entries that are read at once.
const AT_ONCE: i64 = 1_000;

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    Changed,
    Removed,
    Inserted,
    /// Its payload is gone, and no entry says who erased it.
    ErasedSilently,
    /// The signature of the chain is not by a key of this installation.
    NotSigned,
    /// The chain ends before or after its head.
    HeadMoved,
}

/// The first entry that is not as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditFault {
    /// The entry; for the chain itself, its head.
    pub seq: i64,
    pub kind: FaultKind,
}

impl fmt::Display for AuditFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seq, kind } = self;
        match kind {
            FaultKind::Changed => write!(f, "entry {seq} was changed"),
            FaultKind::Removed => write!(f, "entry {seq} was removed, or entries just before it"),
            FaultKind::Inserted => write!(f, "entry {seq} was inserted"),
            FaultKind::ErasedSilently => {
                write!(f, "entry {seq} lost its payload, and no entry says who erased it")
            }
            FaultKind::NotSigned => {
                write!(f, "the chain up to entry {seq} is not signed with a key of this installation")
            }
            FaultKind::HeadMoved => write!(f, "the chain does not end at entry {seq}, its signed head"),
        }
    }
}

/// An audit that is as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditState {
    /// Entries whose digests are right.
    pub sealed: u64,
    /// Newer ones without a digest yet.
    pub unsealed: u64,
    /// Sealed ones whose payload was erased.
    pub erased: u64,
    /// The last entry that was purged; 0 where none was.
    pub purged_up_to: i64,
    /// The newest seal: who keeps it elsewhere can tell later that the chain still contains it.
    pub head: Link,
}

/// Checks every entry. Entries may be added, erased and purged meanwhile.
#[boxed]
pub async fn verify(store: &Store, vault: &Vault) -> Result<Result<AuditState, AuditFault>, StoreError> {
    loop {
        let chain = chain_of(store).await?;
        let found = check(store, vault, &chain).await?;
        // A purge in the meantime has removed what was about to be read: what is left is checked again.
        if found.is_ok() || chain_of(store).await?.start_id == chain.start_id {
            return Ok(found);
        }
    }
}

async fn chain_of(store: &Store) -> Result<ChainRow, StoreError> {
    let mut reader = store.read().await?;
    audit::chain(&mut reader.conn()).await
}

/// What is known on the way.
struct Walk {
    /// The last link that was right.
    link: Link,
    state: AuditState,
    /// Sealed entries without a payload, until an entry names them.
    silent: BTreeSet<i64>,
}

async fn check(
    store: &Store,
    vault: &Vault,
    chain: &ChainRow,
) -> Result<Result<AuditState, AuditFault>, StoreError> {
    let head = chain.head();
    let fault = |seq: i64, kind: FaultKind| Ok(Err(AuditFault { seq, kind }));
    if !is_ours(vault, chain) {
        return fault(chain.head_id, FaultKind::NotSigned);
    }
    let mut walk = Walk {
        link: chain.start(),
        state: AuditState { purged_up_to: chain.start_id, head: head.clone(), ..AuditState::default() },
        silent: BTreeSet::new(),
    };
    let mut after = i64::MIN;
    while after < chain.head_id {
        let mut reader = store.read().await?;
        let entries = audit::entries_after(&mut reader.conn(), after, chain.head_id, AT_ONCE).await?;
        let is_last = entries.len() < AT_ONCE as usize;
        let up_to = if is_last { chain.head_id } else { entries.last().map_or(chain.head_id, |row| row.id) };
        // At most as many as entries, and those whose entry is gone.
        let seals = audit::seals_after(&mut reader.conn(), after, up_to, AT_ONCE + 1).await?;
        drop(reader);
        if let Err(found) = walk.window(&entries, &seals) {
            return Ok(Err(found));
        }
        after = up_to;
    }
    if walk.link != head {
        return fault(chain.head_id, FaultKind::HeadMoved);
    }
    let mut after = chain.head_id;
    let mut goes_on = false;
    loop {
        let mut reader = store.read().await?;
        let entries = audit::entries_after(&mut reader.conn(), after, i64::MAX, AT_ONCE).await?;
        let seals = audit::seals_after(&mut reader.conn(), after, i64::MAX, 1).await?;
        drop(reader);
        let Some(last) = entries.last() else { break };
        goes_on |= !seals.is_empty();
        if seals.is_empty() {
            walk.state.unsealed += entries.len() as u64;
        }
        after = last.id;
        entries.iter().for_each(|row| walk.note_erased(row));
    }
    // Seals after the head were made meanwhile, and the head has moved with them; else the head was put back.
    if goes_on && chain_of(store).await?.head_id == chain.head_id {
        return fault(chain.head_id, FaultKind::HeadMoved);
    }
    match walk.silent.first() {
        Some(seq) => fault(*seq, FaultKind::ErasedSilently),
        None => Ok(Ok(walk.state)),
    }
}

impl Walk {
    /// Checks one window: its entries, and the seals from the first to the last of them.
    fn window(&mut self, entries: &[AuditRow], seals: &[SealRow]) -> Result<(), AuditFault> {
        let mut entries = entries.iter().peekable();
        for seal in seals {
            let fault = |seq: i64, kind: FaultKind| Err(AuditFault { seq, kind });
            // Every entry up to the head has its seal.
            if let Some(row) = entries.next_if(|row| row.id < seal.entry_id) {
                return fault(row.id, FaultKind::Inserted);
            }
            let Some(row) = entries.next_if(|row| row.id == seal.entry_id) else {
                return fault(seal.entry_id, FaultKind::Removed);
            };
            match seal.position - self.link.position {
                1 => {}
                ..=0 => return fault(row.id, FaultKind::Inserted),
                _ => return fault(row.id, FaultKind::Removed),
            }
            let is_payload = match &seal.salt {
                Some(salt) => digest::payload_hash(salt, row) == seal.payload_hash,
                None => row.reason.is_none() && row.data.is_none(),
            };
            if !is_payload || digest::digest(&self.link, row, &seal.payload_hash) != seal.digest {
                return fault(row.id, FaultKind::Changed);
            }
            if seal.salt.is_none() {
                self.state.erased += 1;
                self.silent.insert(row.id);
            }
            self.note_erased(row);
            self.link = Link { entry_id: row.id, position: seal.position, digest: seal.digest.clone() };
            self.state.sealed += 1;
        }
        match entries.next() {
            Some(row) => Err(AuditFault { seq: row.id, kind: FaultKind::Inserted }),
            None => Ok(()),
        }
    }

    /// An erasure names the entries that it emptied: those are expected to have no payload.
    fn note_erased(&mut self, row: &AuditRow) {
        if row.action == AuditAction::Erase.as_str() && row.subject_kind == AUDIT {
            for id in named_in(row.data.as_deref()) {
                self.silent.remove(&id);
            }
        }
    }
}
