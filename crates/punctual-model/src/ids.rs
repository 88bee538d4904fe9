//! Newtypes for the ids and keys that travel through the pipeline, so that two of them cannot be swapped.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The id of one work row, given by the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkId(pub i64);

impl fmt::Display for WorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of one notification: a GUID made by its producer, and its idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NotificationId(pub Uuid);

/// Namespace of the ids that Punctual derives itself; frozen, because ids derived from it are stored.
const DERIVED: Uuid = Uuid::from_u128(0x6f0c_8c1e_5b6d_5d0b_9a51_7075_6e63_7475);

impl NotificationId {
    /// The id of a notification born from a work row: the same parts always give the same id, so that
    /// a decision taken twice queues one message.
    pub fn derived(work_key: &str, channel: &str, audience: &str) -> Self {
        Self(derive_uuid(&["notification", work_key, channel, audience]))
    }
}

/// A version-5 UUID over length-prefixed parts (joining alone would let two different lists collide).
pub fn derive_uuid(parts: &[&str]) -> Uuid {
    let mut name = Vec::new();
    for part in parts {
        name.extend_from_slice(&(part.len() as u64).to_be_bytes());
        name.extend_from_slice(part.as_bytes());
    }
    Uuid::new_v5(&DERIVED, &name)
}

impl fmt::Display for NotificationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for NotificationId {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(Self)
    }
}

/// A channel's stable key, `type:name`, such as `email:default`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ChannelKey(String);

/// Why a text is no channel key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a channel key is `type:name`, both of 1 to 64 lower-case letters, digits, `-`, `_` or `.`, such as `email:default`"
)]
pub struct InvalidChannelKey;

impl ChannelKey {
    /// The channel that always exists and keeps what it was given.
    pub fn memory() -> Self {
        Self("memory:default".into())
    }

    /// The channel a list of this type uses unless it names another.
    pub fn default_of(kind: &str) -> Result<Self, InvalidChannelKey> {
        format!("{kind}:default").parse()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the colon: what kind of address it takes.
    pub fn kind(&self) -> &str {
        self.0.split_once(':').map_or(self.0.as_str(), |(kind, _)| kind)
    }
}

impl FromStr for ChannelKey {
    type Err = InvalidChannelKey;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let word = |part: &str| {
            (1..=64).contains(&part.len())
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b))
        };
        match text.split_once(':') {
            Some((kind, name)) if word(kind) && word(name) => Ok(Self(text.to_owned())),
            _ => Err(InvalidChannelKey),
        }
    }
}

impl fmt::Display for ChannelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ChannelKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_key_has_two_words() {
        for good in ["email:default", "sms:twilio", "webhook:bi-ingest", "memory:a.b_c-1"] {
            assert_eq!(good.parse::<ChannelKey>().unwrap().as_str(), good);
        }
        for bad in ["", "email", ":default", "email:", "Email:default", "email:a b", "a:b:c", "é:x"] {
            assert!(bad.parse::<ChannelKey>().is_err(), "{bad} was accepted");
        }
    }

    #[test]
    fn derived_ids_are_stable_and_do_not_collide_by_joining() {
        let id = NotificationId::derived("message:1", "email:default", "a@b.example");
        assert_eq!(id, NotificationId::derived("message:1", "email:default", "a@b.example"));
        assert_ne!(derive_uuid(&["ab", "c"]), derive_uuid(&["a", "bc"]));
        // Frozen: a changed namespace or layout would resend what is already out.
        assert_eq!(id.to_string(), "bbbf9d49-41b5-54bb-b26b-6ccab892622e");
    }
}
