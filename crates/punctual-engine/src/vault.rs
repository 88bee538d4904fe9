//! Secrets at rest: sealed with ChaCha20-Poly1305, each bound to the place it belongs to.
//!
//! A sealed text is `sealed:1:KEY:…`, with the id of the master key that opens it, so that several keys can be in use during a
//! rekey. The id is derived from the key. A sealed text that was changed or moved to another field cannot be opened. Keys come
//! from [`KeySource`] and are never in the database.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use punctual_model::{Random, Secret};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    digest, hmac,
};

const PREFIX: &str = "sealed:1:";
/// What a key has, in bytes.
const KEY_LEN: usize = 32;

/// What a secret belongs to: it opens nowhere else.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// `channel`.
    pub kind: &'a str,
    pub id: &'a str,
    pub field: &'a str,
}

impl Place<'_> {
    /// Lengths in front, so that no two places read alike.
    fn binding(&self) -> Vec<u8> {
        let parts = [self.kind, self.id, self.field];
        parts.iter().flat_map(|part| format!("{}:{part};", part.len()).into_bytes()).collect()
    }
}

/// A key that seals secrets.
#[derive(Clone)]
pub struct MasterKey {
    id: String,
    bytes: [u8; KEY_LEN],
}

/// Why a secret cannot be sealed or opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    #[error("a master key is 32 random bytes, in base64 or as 64 hexadecimal digits")]
    InvalidKey,
    #[error("there is no master key")]
    NoKey,
    #[error("it is sealed with the master key `{0}`, which this node does not have")]
    UnknownKey(String),
    #[error("the sealed secret was changed, or belongs to another field")]
    Damaged,
    /// The keys cannot be read or written where they are kept.
    #[error("{0}")]
    Source(String),
}

impl MasterKey {
    pub fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; KEY_LEN];
        random.bytes(&mut bytes);
        Self::of(bytes)
    }

    /// Reads a key as [`MasterKey::text`] writes it, or as hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, VaultError> {
        let text = text.trim();
        let bytes = if text.len() == 2 * KEY_LEN {
            let digit = |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
            (0..KEY_LEN).map(|n| digit(2 * n)).collect::<Option<Vec<u8>>>()
        } else {
            STANDARD.decode(text).ok()
        };
        let bytes = bytes.and_then(|bytes| <[u8; KEY_LEN]>::try_from(bytes).ok());
        bytes.map(Self::of).ok_or(VaultError::InvalidKey)
    }

    fn of(bytes: [u8; KEY_LEN]) -> Self {
        let mut named = b"punctual master key".to_vec();
        named.extend_from_slice(&bytes);
        let hash = digest::digest(&digest::SHA256, &named);
        let id = hash.as_ref()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        Self { id, bytes }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key itself, for where it is kept.
    pub fn text(&self) -> Secret {
        Secret::new(STANDARD.encode(self.bytes))
    }

    /// A key for signatures of one purpose: nothing of the master key can be learnt from it.
    fn signing(&self, purpose: &str) -> hmac::Key {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.bytes), purpose.as_bytes());
        hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
    }

    fn cipher(&self) -> Result<LessSafeKey, VaultError> {
        UnboundKey::new(&CHACHA20_POLY1305, &self.bytes)
            .map(LessSafeKey::new)
            .map_err(|_| VaultError::InvalidKey)
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.id)
    }
}

/// Where master keys are kept; the first is the one to seal with.
pub trait KeySource: Send + Sync {
    fn read(&self) -> Result<Vec<MasterKey>, VaultError>;

    /// Puts a new key in front of the others.
    fn add(&self, key: &MasterKey) -> Result<(), VaultError>;

    /// Where that is, for people.
    fn place(&self) -> String;
}

/// Seals and opens secrets with the keys of a source.
pub struct Vault {
    source: Arc<dyn KeySource>,
    random: Arc<dyn Random>,
    keys: RwLock<Vec<MasterKey>>,
}

/// The length of a salt in bytes.
const SALT_LEN: usize = 16;

impl Vault {
    /// Reads the keys; there must be one.
    pub fn open(source: Arc<dyn KeySource>, random: Arc<dyn Random>) -> Result<Self, VaultError> {
        let vault = Self { source, random, keys: RwLock::default() };
        vault.reload()?;
        Ok(vault)
    }

    /// Reads the keys again: one may have been added beside us.
    pub fn reload(&self) -> Result<(), VaultError> {
        let keys = self.source.read()?;
        if keys.is_empty() {
            return Err(VaultError::NoKey);
        }
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(())
    }

    /// Makes a key and puts it in front of the others.
    pub fn add_key(&self) -> Result<(), VaultError> {
        self.source.add(&MasterKey::new(self.random.as_ref()))?;
        self.reload()
    }

    /// The ids of the keys there are; the first is the one to seal with.
    pub fn key_ids(&self) -> Vec<String> {
        self.keys().iter().map(|key| key.id.clone()).collect()
    }

    pub fn place(&self) -> String {
        self.source.place()
    }

    fn keys(&self) -> Vec<MasterKey> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The key of this id; keys are read again before it is called unknown.
    fn key(&self, id: &str) -> Result<MasterKey, VaultError> {
        let find = || self.keys().into_iter().find(|key| key.id == id);
        if let Some(key) = find() {
            return Ok(key);
        }
        self.reload()?;
        find().ok_or_else(|| VaultError::UnknownKey(id.to_owned()))
    }

    /// Whether the key of this id is here, or can be had.
    pub fn has(&self, id: &str) -> bool {
        self.key(id).is_ok()
    }

    /// Seals a text with the key of this id.
    pub fn seal(&self, key_id: &str, place: Place<'_>, text: &str) -> Result<String, VaultError> {
        let key = self.key(key_id)?;
        // Chosen at random: 96 bits do not repeat among so few secrets.
        let mut nonce = [0; NONCE_LEN];
        self.random.bytes(&mut nonce);
        let mut sealed = text.as_bytes().to_vec();
        let binding = Aad::from(place.binding());
        key.cipher()?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), binding, &mut sealed)
            .map_err(|_| VaultError::Damaged)?;
        let bytes = [&nonce[..], &sealed].concat();
        Ok(format!("{PREFIX}{}:{}", key.id, STANDARD.encode(bytes)))
    }

    /// Opens what was sealed for this place.
    pub fn open_sealed(&self, place: Place<'_>, text: &str) -> Result<Secret, VaultError> {
        let (key_id, encoded) =
            text.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':')).ok_or(VaultError::Damaged)?;
        let key = self.key(key_id)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| VaultError::Damaged)?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN).ok_or(VaultError::Damaged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| VaultError::Damaged)?;
        let mut sealed = sealed.to_vec();
        let opened = key.cipher()?.open_in_place(nonce, Aad::from(place.binding()), &mut sealed);
        let opened = opened.map_err(|_| VaultError::Damaged)?;
        String::from_utf8(opened.to_vec()).map(Secret::new).map_err(|_| VaultError::Damaged)
    }
}

impl Vault {
    /// Random bytes as text, for hashes that must not be guessed.
    pub(crate) fn salt(&self) -> String {
        let mut bytes = [0; SALT_LEN];
        self.random.bytes(&mut bytes);
        crate::keys::hex(&bytes)
    }

    /// The signature of a text, for one purpose: by a key that follows from the first master key.
    pub fn sign(&self, purpose: &str, text: &[u8]) -> Vec<u8> {
        let keys = self.keys();
        keys.first().map_or_else(Vec::new, |key| hmac::sign(&key.signing(purpose), text).as_ref().to_vec())
    }

    /// Whether one of the keys has signed this for this purpose.
    pub fn has_signed(&self, purpose: &str, text: &[u8], signature: &[u8]) -> bool {
        self.keys().iter().any(|key| hmac::verify(&key.signing(purpose), text, signature).is_ok())
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Vault").field(&self.key_ids()).finish()
    }
}

/// The id of the key that a text is sealed with; `None` for one that is not sealed.
pub fn sealed_with(text: &str) -> Option<&str> {
    text.strip_prefix(PREFIX)?.split_once(':').map(|(key_id, _)| key_id)
}

/// Keys that are given once and stay: from a variable, or in tests.
#[derive(Debug)]
pub struct FixedKeys {
    pub keys: Vec<MasterKey>,
    pub place: &'static str,
}

impl KeySource for FixedKeys {
    fn read(&self) -> Result<Vec<MasterKey>, VaultError> {
        Ok(self.keys.clone())
    }

    fn add(&self, _key: &MasterKey) -> Result<(), VaultError> {
        let place = self.place;
        Err(VaultError::Source(format!(
            "the master key comes from {place}: put a new one in front of it there"
        )))
    }

    fn place(&self) -> String {
        self.place.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Counting(std::sync::atomic::AtomicU64);

    impl Random for Counting {
        fn bytes(&self, into: &mut [u8]) {
            let n = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            into.iter_mut().zip(n.to_le_bytes().into_iter().cycle()).for_each(|(byte, by)| *byte = by);
        }
    }

    fn vault(keys: &[u8]) -> Vault {
        let keys = keys.iter().map(|byte| MasterKey::of([*byte; KEY_LEN])).collect();
        Vault::open(Arc::new(FixedKeys { keys, place: "a test" }), Arc::new(Counting(1.into()))).unwrap()
    }

    const PLACE: Place<'_> = Place { kind: "channel", id: "email:default", field: "password" };

    #[test]
    fn what_is_sealed_opens_at_its_place_alone() {
        let vault = vault(&[1]);
        let id = vault.key_ids().remove(0);
        let sealed = vault.seal(&id, PLACE, "hunter2").unwrap();
        assert!(sealed.starts_with(&format!("sealed:1:{id}:")) && !sealed.contains("hunter2"), "{sealed}");
        assert_eq!(sealed_with(&sealed), Some(id.as_str()));
        assert_eq!(vault.open_sealed(PLACE, &sealed).unwrap().expose(), "hunter2");
        assert_ne!(vault.seal(&id, PLACE, "hunter2").unwrap(), sealed, "equal secrets do not look alike");
        for elsewhere in [
            Place { kind: "subscriber", ..PLACE },
            Place { id: "email:other", ..PLACE },
            Place { field: "username", ..PLACE },
            Place { id: "email:default;8:password", field: "", ..PLACE },
        ] {
            assert_eq!(vault.open_sealed(elsewhere, &sealed), Err(VaultError::Damaged), "{elsewhere:?}");
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let vault = vault(&[1]);
        let id = vault.key_ids().remove(0);
        let sealed = vault.seal(&id, PLACE, "secret").unwrap();
        let (head, encoded) = sealed.rsplit_once(':').unwrap();
        let bytes = STANDARD.decode(encoded).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let text = format!("{head}:{}", STANDARD.encode(&changed));
                assert_eq!(vault.open_sealed(PLACE, &text), Err(VaultError::Damaged));
            }
            let text = format!("{head}:{}", STANDARD.encode(&bytes[..at]));
            assert_eq!(vault.open_sealed(PLACE, &text), Err(VaultError::Damaged));
        }
        for odd in ["", "sealed:1:", "sealed:1:x", "plain", "sealed:2:a:b", &format!("sealed:1:{id}:%%")] {
            assert!(vault.open_sealed(PLACE, odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_key_is_known_by_its_id() {
        let (old, both) = (vault(&[1]), vault(&[2, 1]));
        let (first, second) = (old.key_ids().remove(0), both.key_ids().remove(0));
        let sealed = old.seal(&first, PLACE, "x").unwrap();
        assert_eq!(both.open_sealed(PLACE, &sealed).unwrap().expose(), "x");
        let anew = both.seal(&second, PLACE, "x").unwrap();
        assert_eq!(old.open_sealed(PLACE, &anew), Err(VaultError::UnknownKey(second)));
        assert_eq!(format!("{old:?}"), format!("Vault([\"{first}\"])"), "the key is not printed");
    }

    #[test]
    fn a_key_is_32_bytes_in_base64_or_hexadecimal_digits() {
        let key = MasterKey::of([7; KEY_LEN]);
        assert_eq!(MasterKey::parse(key.text().expose()).unwrap().id(), key.id());
        assert_eq!(MasterKey::parse(&format!(" {}\n", "07".repeat(32))).unwrap().id(), key.id());
        for wrong in ["", "abc", &"0".repeat(63), &"zz".repeat(32), "AAAA", &"é".repeat(32)] {
            assert!(MasterKey::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in any::<String>(), id in any::<String>()) {
            let vault = vault(&[1]);
            let key_id = vault.key_ids().remove(0);
            let place = Place { id: &id, ..PLACE };
            let sealed = vault.seal(&key_id, place, &text).unwrap();
            let opened = vault.open_sealed(place, &sealed).unwrap();
            prop_assert_eq!(opened.expose(), text);
        }

        #[test]
        fn any_sealed_text_is_judged_without_panic(text in any::<String>()) {
            let sealed = format!("sealed:1:{text}");
            prop_assert!(vault(&[1]).open_sealed(PLACE, &sealed).is_err());
        }
    }
}
