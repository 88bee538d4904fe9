//! The hash chain of the audit log: sealing, verification, erasure and purge.
//!
//! The digest of an entry covers its fields, a salted hash of its payload and the previous digest. Changing, removing,
//! inserting or swapping entries breaks every later digest. The start and the end of the chain are signed with a key derived
//! from the master key, so someone who can only write to the database cannot forge another chain. An erasure empties payload
//! and salt and keeps the hash. A purge removes a prefix and keeps the digest of the last removed entry as a checkpoint.

mod digest;
mod erase;
mod purge;
mod seal;
mod verify;

use punctual_boxed::boxed;
use punctual_store::audit::ChainRow;

use crate::{Engine, EngineError, Vault, keys::hex};

pub(crate) use erase::erase_among;
pub use erase::{Erased, erase};
pub(crate) use seal::Mark;
pub use verify::{AuditFault, AuditState, FaultKind, verify};

/// What signatures of the chain are for.
const PURPOSE: &str = "audit-chain";
/// The subject of the entry which says that the master key is lost, and with it the signature of the chain.
pub(crate) const LOST_KEY: (&str, &str) = ("master-key", "lost");

/// What is done to the chain regularly, as its troubles are noted.
pub(crate) const SEAL: &str = "seal";
pub(crate) const CHECK: &str = "check";

/// Why the audit cannot be sealed or purged.
#[derive(Debug, thiserror::Error)]
pub enum ChainFault {
    #[error(
        "the chain of the audit is not signed with this installation's master key: `punctual audit verify`"
    )]
    NotOurs,
    #[error("the audit is not as it was written: {0}")]
    Broken(AuditFault),
}

impl Engine {
    /// Checks the whole chain. It reads every entry, so that it is done once a day.
    #[boxed]
    pub async fn check_audit(&self) -> Result<(), EngineError> {
        verify(&self.store, &self.vault).await?.map(drop).map_err(|fault| ChainFault::Broken(fault).into())
    }
}

/// The text that is signed.
fn signed_text(row: &ChainRow) -> Vec<u8> {
    let part = |id: i64, position: i64, digest: &str| format!("{id}:{position}:{digest}");
    let start = part(row.start_id, row.start_position, &row.start_digest);
    let head = part(row.head_id, row.head_position, &row.head_digest);
    format!("{start}/{head}").into_bytes()
}

/// The row with its signature.
fn signed(vault: &Vault, row: ChainRow) -> ChainRow {
    let signature = hex(&vault.sign(PURPOSE, &signed_text(&row)));
    ChainRow { signature, ..row }
}

/// Whether the row was signed by a key of this installation; one that has sealed nothing yet needs no signature.
fn is_ours(vault: &Vault, row: &ChainRow) -> bool {
    *row == ChainRow::default()
        || unhex(&row.signature)
            .is_some_and(|signature| vault.has_signed(PURPOSE, &signed_text(row), &signature))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| !digits.is_empty() && digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
