//! Erases personal data from the audit log: payload and salt are emptied, the digest stays valid, and a new entry records the
//! erasure.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{Lane, Store, StoreError, Tx, audit, personal};

use crate::Actor;

/// Entries of one transaction, and of one entry about them.
const AT_ONCE: i64 = 500;
/// Subjects whose id is a person or an address: it goes with the payload.
const PERSONAL: &[&str] = &["address", "person", "preference", "user"];
/// The subject of entries about the audit itself.
pub(super) const AUDIT: &str = "audit";

/// What an erasure did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    pub entries: usize,
}

/// The entries that an erasure names, as its entry has them.
pub(super) fn named_in(data: Option<&str>) -> Vec<i64> {
    let data: serde_json::Value = data.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    data["entries"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_i64).collect()
}

/// Empties what the audit says about a subject. What was done, when and by whom stays.
#[boxed]
pub async fn erase(
    store: &Store,
    by: &Actor,
    now: Timestamp,
    subject_kind: &str,
    subject_id: &str,
) -> Result<Erased, StoreError> {
    let is_personal = PERSONAL.contains(&subject_kind);
    let mut erased = Erased::default();
    // Erasures themselves stay: they say which entries lost their payload.
    if subject_kind == AUDIT || subject_id.is_empty() {
        return Ok(erased);
    }
    let (about, mut after) = ((subject_kind, subject_id), i64::MIN);
    loop {
        let mut tx = store.begin(Lane::Intake).await?;
        // Nobody seals meanwhile: a digest must not be made of a payload that goes at the same moment.
        let _chain = audit::lock_chain(&mut tx.conn()).await?;
        let ids = audit::unerased_of(&mut tx.conn(), about, is_personal, after, AT_ONCE).await?;
        let Some(last) = ids.last().copied() else { return Ok(erased) };
        empty(&mut tx, by, now, &ids, is_personal).await?;
        tx.commit().await?;
        erased.entries += ids.len();
        after = last;
    }
}

/// Empties what the audit says about several subjects of one kind; with `with_subject` their ids name a person and go, too.
#[boxed]
pub(crate) async fn erase_among(
    store: &Store,
    by: &Actor,
    now: Timestamp,
    subject_kind: &str,
    subject_ids: &[String],
    with_subject: bool,
) -> Result<Erased, StoreError> {
    let mut erased = Erased::default();
    loop {
        let mut tx = store.begin(Lane::Intake).await?;
        let _chain = audit::lock_chain(&mut tx.conn()).await?;
        let ids = subject_ids.to_vec();
        let ids = personal::unerased_among(&mut tx.conn(), subject_kind, ids, with_subject, AT_ONCE).await?;
        if ids.is_empty() {
            return Ok(erased);
        }
        empty(&mut tx, by, now, &ids, with_subject).await?;
        tx.commit().await?;
        erased.entries += ids.len();
    }
}

/// Empties entries, and says so in one of its own.
async fn empty(
    tx: &mut Tx,
    by: &Actor,
    now: Timestamp,
    ids: &[i64],
    with_subject: bool,
) -> Result<(), StoreError> {
    audit::erase(&mut tx.conn(), ids, with_subject).await?;
    let (first, last) = (ids.first().copied().unwrap_or(0), ids.last().copied().unwrap_or(0));
    let entry = audit::Entry {
        data: Some(serde_json::json!({ "entries": ids }).to_string()),
        ..audit::Entry::new(AuditAction::Erase, AUDIT, format!("{first}-{last}"), None)
    };
    by.audit_entry(tx, now, entry).await
}
