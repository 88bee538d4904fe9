//! Personal data: search, export and erasure.
//!
//! All use one search (`find`): a plan counts the found rows, an export reads them, and an erasure empties them and searches
//! again, so that its certificate states what is left. Addresses, names and texts are removed; rows, keys, outcomes and counts
//! stay.

mod certificate;
mod erase;
mod export;
mod find;
mod index;
mod scrub;

use std::collections::BTreeSet;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{ErasureStatus, address::comparable};
use punctual_store::{Lane, personal as store};
use serde::{Deserialize, Serialize};

pub use certificate::{Certificate, ERASURE};
pub use export::PersonalData;
pub use find::Findings;
pub use index::index_recipients;

use crate::{Actor, CommandError, Engine, keys::hex};

/// Bytes of a salt.
const SALT: usize = 16;

/// Who is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Person {
    /// The person with an address.
    Address(String),
    /// Somebody with an id among the people of operations or of preferences, with all their addresses.
    Id(String),
}

impl Person {
    /// What a certificate is about, in one spelling.
    fn text(&self) -> String {
        match self {
            Self::Address(address) => format!("address:{}", comparable(address)),
            Self::Id(id) => format!("person:{}", id.trim()),
        }
    }
}

/// Addresses, in comparable form, and ids of a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) addresses: BTreeSet<String>,
    pub(crate) ids: BTreeSet<String>,
}

impl Names {
    /// The addresses as statements compare them.
    pub(crate) fn lower(&self) -> Vec<String> {
        self.addresses.iter().map(|address| address.to_lowercase()).collect()
    }

    /// Names under which people have preferences, counts and inboxes.
    pub(crate) fn people(&self) -> Vec<String> {
        let mut people: BTreeSet<String> = self.addresses.iter().chain(&self.ids).cloned().collect();
        people.extend(self.ids.iter().map(|id| crate::inbox::person(id)));
        people.into_iter().collect()
    }

    pub(crate) fn has(&self, address: &str) -> bool {
        self.addresses.contains(&comparable(address))
    }
}

/// How many rows of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindCount {
    pub kind: String,
    pub rows: i64,
}

/// How an erasure is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EraseOptions {
    /// Suppressions stay, so that nobody writes to the address again by mistake.
    pub keep_suppressions: bool,
}

/// A planned erasure, or the result of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Erasure {
    pub id: String,
    pub status: ErasureStatus,
    pub created_at: Timestamp,
    pub found: Vec<KindCount>,
    pub certificate: Option<Certificate>,
}

impl Engine {
    /// What an erasure would touch, and how much of it. Nothing is changed but for the record of the plan.
    #[boxed]
    pub async fn plan_erasure(&self, by: &Actor, person: &Person) -> Result<Erasure, CommandError> {
        let findings = self.find_person(&by.reach(), person).await?;
        let row = self.new_record(by, person, &findings);
        let mut tx = self.store.begin(Lane::Intake).await?;
        store::insert_erasure(&mut tx.conn(), &row).await?;
        tx.commit().await?;
        Ok(Erasure {
            id: row.id,
            status: row.status,
            created_at: self.clock.now(),
            found: findings.counts(),
            certificate: None,
        })
    }

    fn new_record(&self, by: &Actor, person: &Person, findings: &Findings) -> store::ErasureRow {
        let now = self.clock.now();
        let mut salt = [0; SALT];
        self.random.bytes(&mut salt);
        let salt = hex(&salt);
        store::ErasureRow {
            id: self.random.ordered_uuid(now).to_string(),
            status: ErasureStatus::Planned,
            requested_by: by.name().to_owned(),
            units: by.units.as_ref().map(|units| serde_json::json!(units).to_string()),
            subject_hash: certificate::subject_hash(&salt, person),
            salt,
            found: serde_json::to_string(&findings.counts()).unwrap_or_default(),
            erased: None,
            signature: None,
            created_at: now,
            done_at: None,
        }
    }

    /// An erasure or a plan of one, where the caller may see it: those that were limited to other units are not there.
    #[boxed]
    pub async fn erasure(&self, by: &Actor, id: &str) -> Result<Erasure, CommandError> {
        let mut reader = self.store.read().await?;
        let row = store::erasure(&mut reader.conn(), &by.reach(), id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("erasure", id))?;
        Ok(certificate::of_row(&row))
    }

    /// The newest erasures that were carried out and that the caller may see.
    #[boxed]
    pub async fn erasures(&self, by: &Actor, limit: i64) -> Result<Vec<Erasure>, CommandError> {
        let mut reader = self.store.read().await?;
        let rows = store::erasures(&mut reader.conn(), &by.reach(), limit).await?;
        Ok(rows.iter().map(certificate::of_row).collect())
    }
}
