//! The certificate of an erasure: what was erased, what is left and why, signed with a key derived from the master key. The
//! subject is a salted hash: someone who knows the address can verify it, but nobody can read it.

use jiff::Timestamp;
use punctual_store::personal::ErasureRow;
use serde::{Deserialize, Serialize};

use super::{Erasure, KindCount, Person};
use crate::{
    Vault,
    keys::{digest, hex},
};

/// What signatures of certificates are for.
const PURPOSE: &str = "erasure";
/// The subject of the audit's entries about erasures.
pub const ERASURE: &str = "erasure";

/// The salted hash of whom an erasure is about.
pub(super) fn subject_hash(salt: &str, person: &Person) -> String {
    hex(&digest(format!("{salt}:{}", person.text()).as_bytes()))
}

/// What an erasure did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) erased: Vec<KindCount>,
    /// What a second search still found.
    pub(super) remaining: Vec<KindCount>,
    /// What stays on purpose, as sentences.
    pub(super) kept: Vec<String>,
}

/// The proof of an erasure.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    pub id: String,
    pub erased_at: Timestamp,
    pub erased_by: String,
    /// The units that it was limited to.
    pub business_units: Option<Vec<String>>,
    /// SHA-256 of `SALT:address:ADDRESS` or `SALT:person:ID`.
    pub subject_hash: String,
    pub salt: String,
    pub erased: Vec<KindCount>,
    pub remaining: Vec<KindCount>,
    pub kept: Vec<String>,
    pub signature: String,
}

/// The text that is signed.
fn signed_text(row: &ErasureRow, erased: &str, done_at: i64) -> Vec<u8> {
    let units = row.units.as_deref().unwrap_or("");
    [row.id.as_str(), &row.requested_by, units, &row.salt, &row.subject_hash, erased, &done_at.to_string()]
        .join("\n")
        .into_bytes()
}

pub(super) fn signature(vault: &Vault, row: &ErasureRow, erased: &str, done_at: Timestamp) -> String {
    hex(&vault.sign(PURPOSE, &signed_text(row, erased, done_at.as_microsecond())))
}

/// The erasure that a row is.
pub(super) fn of_row(row: &ErasureRow) -> Erasure {
    let found = serde_json::from_str(&row.found).unwrap_or_default();
    let certificate = row.done_at.map(|done_at| {
        let outcome: Outcome =
            row.erased.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        Certificate {
            id: row.id.clone(),
            erased_at: done_at,
            erased_by: row.requested_by.clone(),
            business_units: row.units.as_deref().and_then(|units| serde_json::from_str(units).ok()),
            subject_hash: row.subject_hash.clone(),
            salt: row.salt.clone(),
            erased: outcome.erased,
            remaining: outcome.remaining,
            kept: outcome.kept,
            signature: row.signature.clone().unwrap_or_default(),
        }
    });
    Erasure { id: row.id.clone(), status: row.status, created_at: row.created_at, found, certificate }
}
