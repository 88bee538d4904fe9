//! Creates API keys: `punctual_<kind>_<env>_<id>_<secret><checksum>`.
//!
//! The fixed prefix and the checksum let scanners find a leaked key without a request to the server. Only the SHA-256 of the
//! whole text is stored: a secret of 256 random bits needs no slow hash.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, Random, Scope, local_time::as_stored};
use punctual_store::{
    Lane, Store, StoreError, Tx,
    api_keys::{self, ApiKeyRow},
    audit,
};
use sha2::{Digest, Sha256};

use crate::{
    Actor, CommandError, Engine,
    commands::units::{unit_unknown, unknown_unit},
};

/// The audit name of the operator of the process: the command line and the start need no key.
pub const OPERATOR: &str = "operator";

/// The shortest text that an operator may use as the admin key.
pub const SHORTEST: usize = 16;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const CHECKSUM_DIGITS: usize = 6;

/// A key that was just made. Its text is shown once and kept nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct MintedKey {
    pub id: String,
    pub text: String,
}

/// What a new key is to be.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub name: String,
    pub scopes: Vec<Scope>,
    pub business_units: Option<Vec<String>>,
    pub expires_at: Option<Timestamp>,
}

/// Why an operator's own key was not taken.
#[derive(Debug, thiserror::Error)]
pub enum KeyRefused {
    #[error("the admin key has {0} characters; it needs at least {SHORTEST}")]
    TooShort(usize),
    #[error("the admin key may hold visible ASCII characters only, because it travels in a header")]
    NotVisible,
    #[error("the admin key was revoked; use another one")]
    Revoked,
    #[error("the admin key could not be stored")]
    Store(#[from] StoreError),
}

/// Why a key was not made.
#[derive(Debug, thiserror::Error)]
pub enum KeyNotMade {
    #[error("unit_unknown: there is no business unit `{0}`")]
    UnitUnknown(String),
    #[error("the key could not be stored")]
    Store(#[from] StoreError),
}

impl From<KeyNotMade> for CommandError {
    fn from(error: KeyNotMade) -> Self {
        match error {
            KeyNotMade::UnitUnknown(unit) => unit_unknown("/businessUnits", &unit),
            KeyNotMade::Store(error) => error.into(),
        }
    }
}

/// Makes a key's text. `kind` says what it is for (`api`, `admin`, `site`), `env` where (`live`, `sandbox`).
pub fn mint_key(random: &dyn Random, kind: &str, env: &str) -> MintedKey {
    let (mut id, mut secret) = ([0; 9], [0; 32]);
    random.bytes(&mut id);
    random.bytes(&mut secret);
    let id = base62(&id, 12);
    let mut text = format!("punctual_{kind}_{env}_{id}_{}", base62(&secret, 43));
    text.push_str(&checksum(&text));
    MintedKey { id, text }
}

/// Whether a text is a key of ours, judged by its form and checksum.
pub fn is_well_formed(text: &str) -> bool {
    let Some(start) = text.len().checked_sub(CHECKSUM_DIGITS).filter(|start| text.is_char_boundary(*start))
    else {
        return false;
    };
    text.starts_with("punctual_") && checksum(&text[..start]) == text[start..]
}

/// What is stored of a key.
pub fn secret_hash(text: &str) -> String {
    hex(&digest(text.as_bytes()))
}

/// The SHA-256 of these bytes.
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// What is stored of a new key; a site's token is one, too.
pub(crate) fn new_row(now: Timestamp, minted: &MintedKey, new: &NewKey, site: Option<&str>) -> ApiKeyRow {
    let units = new.business_units.as_ref();
    ApiKeyRow {
        id: minted.id.clone(),
        name: new.name.clone(),
        secret_hash: secret_hash(&minted.text),
        scopes: Scope::stored(&new.scopes),
        business_units: units.map(|units| serde_json::Value::from(units.clone()).to_string()),
        created_at: now,
        expires_at: new.expires_at.map(as_stored),
        revoked_at: None,
        last_used_at: None,
        site: site.map(str::to_owned),
    }
}

/// Stores a key; `None` if there is already one of that id.
async fn store_key(
    store: &Store,
    by: &Actor,
    now: Timestamp,
    minted: &MintedKey,
    new: &NewKey,
) -> Result<Option<ApiKeyRow>, KeyNotMade> {
    let row = new_row(now, minted, new, None);
    let mut tx = store.begin(Lane::Intake).await?;
    let units = new.business_units.as_deref().unwrap_or_default();
    if let Some(unit) = unknown_unit(&mut tx.conn(), units).await? {
        return Err(KeyNotMade::UnitUnknown(unit));
    }
    if !api_keys::insert(&mut tx.conn(), now, &row).await? {
        return Ok(None);
    }
    made(&mut tx, by, now, &row).await?;
    tx.commit().await?;
    Ok(Some(row))
}

/// The entry of a new key: what it may do, and nothing of its secret.
async fn made(tx: &mut Tx, by: &Actor, now: Timestamp, row: &ApiKeyRow) -> Result<(), StoreError> {
    let data =
        serde_json::json!({ "name": row.name, "scopes": row.scopes, "businessUnits": row.business_units });
    let entry = audit::Entry {
        data: Some(data.to_string()),
        ..audit::Entry::new(AuditAction::Create, "key", &row.id, None)
    };
    by.audit_entry(tx, now, entry).await
}

/// Ends a key permanently; whether there was one.
#[boxed]
pub async fn revoke_key(store: &Store, by: &Actor, now: Timestamp, id: &str) -> Result<bool, StoreError> {
    let mut tx = store.begin(Lane::Intake).await?;
    if !api_keys::revoke(&mut tx.conn(), now, id).await? {
        return Ok(false);
    }
    by.audit(&mut tx, now, AuditAction::Revoke, "key", id, None).await?;
    tx.commit().await?;
    Ok(true)
}

impl Engine {
    /// Stores a key that was just made.
    #[boxed]
    pub async fn make_key(
        &self,
        by: &Actor,
        now: Timestamp,
        minted: &MintedKey,
        new: &NewKey,
    ) -> Result<ApiKeyRow, CommandError> {
        let row = store_key(&self.store, by, now, minted, new).await?;
        row.ok_or_else(|| CommandError::taken(&minted.id))
    }

    /// Ends a key permanently.
    #[boxed]
    pub async fn revoke_key(&self, by: &Actor, now: Timestamp, id: &str) -> Result<(), CommandError> {
        let revoked = revoke_key(&self.store, by, now, id).await?;
        revoked.then_some(()).ok_or_else(|| CommandError::not_found("key", id))
    }

    /// Writes down that a key was used.
    #[boxed]
    pub async fn touch_key(&self, now: Timestamp, id: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        api_keys::touch(&mut tx.conn(), now, id).await?;
        tx.commit().await
    }
}

/// Creates and stores a key without an authenticated caller: for the command line and the first start.
#[boxed]
pub async fn create_key(
    store: &Store,
    random: &dyn Random,
    now: Timestamp,
    env: &str,
    new: &NewKey,
) -> Result<MintedKey, KeyNotMade> {
    let kind = if new.scopes.contains(&Scope::Admin) { "admin" } else { "api" };
    loop {
        let minted = mint_key(random, kind, env);
        if store_key(store, &Actor::named(OPERATOR), now, &minted, new).await?.is_some() {
            return Ok(minted);
        }
    }
}

/// Sees to it that this text, given by the operator, is a key for everything. Doing it again changes nothing.
#[boxed]
pub async fn ensure_admin_key(store: &Store, now: Timestamp, text: &str) -> Result<(), KeyRefused> {
    if text.len() < SHORTEST {
        return Err(KeyRefused::TooShort(text.len()));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(KeyRefused::NotVisible);
    }
    let hash = secret_hash(text);
    let mut tx = store.begin(Lane::Intake).await?;
    if let Some(known) = api_keys::by_hash(&mut tx.conn(), &hash).await? {
        return if known.revoked_at.is_some() { Err(KeyRefused::Revoked) } else { Ok(()) };
    }
    let minted = MintedKey { id: format!("operator-{}", &hash[..12]), text: text.to_owned() };
    let name = OPERATOR.to_owned();
    let new = NewKey { name, scopes: vec![Scope::Admin], business_units: None, expires_at: None };
    let row = new_row(now, &minted, &new, None);
    api_keys::insert(&mut tx.conn(), now, &row).await?;
    made(&mut tx, &Actor::named(OPERATOR), now, &row).await?;
    tx.commit().await?;
    Ok(())
}

/// A number in base 62 with exactly so many digits; higher ones are dropped.
fn base62(bytes: &[u8], digits: usize) -> String {
    let mut number = bytes.to_vec();
    let mut text = vec![b'0'; digits];
    for place in text.iter_mut().rev() {
        let mut rest = 0_u32;
        for byte in &mut number {
            let value = rest << 8 | u32::from(*byte);
            *byte = (value / 62) as u8;
            rest = value % 62;
        }
        *place = DIGITS[rest as usize];
    }
    text.into_iter().map(char::from).collect()
}

fn checksum(text: &str) -> String {
    base62(&Sha256::digest(text.as_bytes())[..5], CHECKSUM_DIGITS)
}

pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting(std::sync::atomic::AtomicU8);

    impl Random for Counting {
        fn bytes(&self, into: &mut [u8]) {
            into.fill_with(|| self.0.fetch_add(7, std::sync::atomic::Ordering::Relaxed));
        }
    }

    #[test]
    fn a_key_has_its_parts_and_a_checksum() {
        let random = Counting(3.into());
        let key = mint_key(&random, "api", "live");
        let parts: Vec<&str> = key.text.split('_').collect();
        assert_eq!(parts[..4], ["punctual", "api", "live", &key.id]);
        assert_eq!((key.id.len(), parts[4].len()), (12, 43 + 6));
        assert!(is_well_formed(&key.text));
        assert_ne!(mint_key(&random, "api", "live").text, key.text);
        let damaged =
            key.text.replacen(&key.text[30..31], if &key.text[30..31] == "a" { "b" } else { "a" }, 1);
        assert!(!is_well_formed(&damaged));
        assert!(!is_well_formed("é") && !is_well_formed(""));
    }

    #[test]
    fn base_62_is_a_number_system() {
        assert_eq!(base62(&[0, 61], 3), "00z");
        assert_eq!(base62(&[1, 0], 3), "048");
        assert_eq!(base62(&[255; 32], 43).len(), 43);
    }
}
