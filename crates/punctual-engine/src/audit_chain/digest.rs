//! The digest of an entry, as pure functions.

use punctual_store::audit::{AuditRow, Link, SealRow};
use sha2::{Digest, Sha256};

use crate::keys::hex;

/// The first part of every digest, so that another way of computing it can be distinguished.
const FORM: &str = "punctual audit 1";

/// Parts of a hash, each with its length, so that no two sets of parts look alike; a missing one is not an empty one.
struct Parts(Sha256);

impl Parts {
    fn new(form: &str) -> Self {
        Self(Sha256::new()).text(Some(form))
    }

    fn text(mut self, part: Option<&str>) -> Self {
        match part {
            Some(text) => {
                self.0.update([1]);
                self.0.update((text.len() as u64).to_be_bytes());
                self.0.update(text.as_bytes());
            }
            None => self.0.update([0]),
        }
        self
    }

    fn number(self, part: Option<i64>) -> Self {
        self.text(part.map(|number| number.to_string()).as_deref())
    }

    fn hex(self) -> String {
        hex(&self.0.finalize())
    }
}

/// The hash of what may be erased: what the entry is about by name, why, and what else it says.
pub(super) fn payload_hash(salt: &str, row: &AuditRow) -> String {
    Parts::new("punctual audit payload 1")
        .text(Some(salt))
        .text(Some(&row.subject_id))
        .text(row.reason.as_deref())
        .text(row.data.as_deref())
        .hex()
}

/// The digest of an entry at its place, after the digest before.
pub(super) fn digest(before: &Link, row: &AuditRow, payload_hash: &str) -> String {
    Parts::new(FORM)
        .text(Some(&before.digest))
        .number(Some(before.position + 1))
        .number(Some(row.id))
        .number(Some(row.at.as_microsecond()))
        .text(Some(&row.actor))
        .text(Some(&row.action))
        .text(Some(&row.subject_kind))
        .text(row.from_status.as_deref())
        .text(row.to_status.as_deref())
        .number(row.version)
        .text(row.business_unit.as_deref())
        .text(Some(payload_hash))
        .hex()
}

/// The seal of the next entry.
pub(super) fn seal(before: &Link, row: &AuditRow, salt: String) -> SealRow {
    let payload_hash = payload_hash(&salt, row);
    SealRow {
        entry_id: row.id,
        position: before.position + 1,
        digest: digest(before, row, &payload_hash),
        salt: Some(salt),
        payload_hash,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn row() -> AuditRow {
        AuditRow {
            id: 7,
            at: Timestamp::from_microsecond(1).unwrap(),
            actor: "key:ann".into(),
            action: "put".into(),
            subject_kind: "list".into(),
            subject_id: "ops".into(),
            from_status: None,
            to_status: None,
            version: None,
            reason: None,
            data: None,
            business_unit: None,
        }
    }

    #[test]
    fn every_field_is_covered() {
        let before = Link { entry_id: 3, position: 2, digest: "d".into() };
        let sealed = seal(&before, &row(), "salt".into());
        let text = || Some("x".to_owned());
        let others = [
            AuditRow { id: 8, ..row() },
            AuditRow { at: Timestamp::from_microsecond(2).unwrap(), ..row() },
            AuditRow { actor: "key:bob".into(), ..row() },
            AuditRow { action: "delete".into(), ..row() },
            AuditRow { subject_kind: "site".into(), ..row() },
            AuditRow { subject_id: "dev".into(), ..row() },
            AuditRow { from_status: text(), ..row() },
            AuditRow { to_status: text(), ..row() },
            AuditRow { version: Some(1), ..row() },
            AuditRow { reason: text(), ..row() },
            AuditRow { reason: Some(String::new()), ..row() },
            AuditRow { data: text(), ..row() },
            AuditRow { business_unit: text(), ..row() },
        ];
        for other in others {
            assert_ne!(seal(&before, &other, "salt".into()).digest, sealed.digest, "{other:?}");
        }
        let elsewhere = Link { position: 3, ..before.clone() };
        assert_ne!(seal(&elsewhere, &row(), "salt".into()).digest, sealed.digest);
        let after_another = Link { digest: "e".into(), ..before };
        assert_ne!(seal(&after_another, &row(), "salt".into()).digest, sealed.digest);
    }
}
