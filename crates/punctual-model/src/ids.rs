//! Newtypes for the ids and keys that travel through the pipeline, so that two of them cannot be swapped.

use std::{fmt, ops::Deref, str::FromStr};

use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};
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
    /// The id of a notification born from a work row: the same row, channel and people always give the same id, so that
    /// a decision taken twice queues one message. It begins with the row's number, because ids that follow each other
    /// fill the pages of their index one after the other, while evenly spread ones touch a page each.
    pub fn derived(work: WorkId, work_key: &str, channel: &str, audience: &str) -> Self {
        let mut bytes = *derive_uuid(&["notification", work_key, channel, audience]).as_bytes();
        bytes[..6].copy_from_slice(&work.0.to_be_bytes()[2..]);
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }
}

/// A version-5 UUID over length-prefixed parts (joining alone would let two different lists collide). Each message has two of them, and the
/// hash that the UUID library brings does not use the processor's own instructions.
pub fn derive_uuid(parts: &[&str]) -> Uuid {
    let mut hash = Sha1::new_with_prefix(DERIVED.as_bytes());
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let hash: [u8; 20] = hash.finalize().into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    uuid::Builder::from_sha1_bytes(bytes).into_uuid()
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

/// A schedule as other systems name it: a GUID that holds the number of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleId(pub i64);

impl ScheduleId {
    /// `schedu`, and the version and variant of a GUID of one's own (RFC 9562, version 8).
    const MARK: u128 = 0x7363_6865_6475_8000_8000_0000_0000_0000;
    /// The bits behind the mark.
    const ROW: u128 = (1 << 62) - 1;
}

impl fmt::Display for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = u128::from(self.0.unsigned_abs()) & Self::ROW;
        Uuid::from_u128(Self::MARK | row).fmt(f)
    }
}

/// Read from the GUID, or from the number of the row.
impl FromStr for ScheduleId {
    type Err = InvalidScheduleId;

    fn from_str(text: &str) -> Result<Self, InvalidScheduleId> {
        if let Ok(row) = text.parse() {
            return Ok(Self(row));
        }
        let bits = Uuid::parse_str(text).map_err(|_| InvalidScheduleId)?.as_u128();
        let row = i64::try_from(bits & Self::ROW).map_err(|_| InvalidScheduleId)?;
        if bits & !Self::ROW == Self::MARK { Ok(Self(row)) } else { Err(InvalidScheduleId) }
    }
}

/// A text that names no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is the id of no schedule")]
pub struct InvalidScheduleId;

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

    /// The channel of targets for which none is named: the default of the type, or mail where there is no type or it names no
    /// channel.
    pub fn for_targets(kind: &str) -> Self {
        let kind = if kind.is_empty() || kind == "event" { "email" } else { kind };
        Self::stored(format!("{kind}:default"))
    }

    /// A key that was checked when it was stored.
    pub fn stored(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the colon: what kind of address it takes.
    pub fn kind(&self) -> &str {
        self.0.split_once(':').map_or(self.0.as_str(), |(kind, _)| kind)
    }
}

/// Read as the text it is; made only by its constructors.
impl Deref for ChannelKey {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
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
    fn a_derived_id_sorts_by_its_row_and_follows_from_all_its_parts() {
        let of = |work, key, channel, people| NotificationId::derived(WorkId(work), key, channel, people);
        let id = of(258, "message:a", "email:default", "targets=a");
        assert_eq!(id, of(258, "message:a", "email:default", "targets=a"));
        // Frozen: with another namespace or layout a decision taken again would queue a second message.
        assert_eq!(id.to_string(), "00000000-0102-81bb-922f-851dac867757");
        let of_target = derive_uuid(&["target", "a@b.example"]);
        assert_eq!(of_target.to_string(), "9a66ffb6-83b8-5944-b3c4-7a96b7d18403");
        assert_ne!(
            derive_uuid(&["ab", "c"]),
            derive_uuid(&["a", "bc"]),
            "joining alone would make these one"
        );
        for other in [
            of(259, "message:a", "email:default", "targets=a"),
            of(258, "message:b", "email:default", "targets=a"),
            of(258, "message:a", "sms:default", "targets=a"),
            of(258, "message:a", "email:default", "targets=b"),
        ] {
            assert_ne!(id, other);
        }
        assert!(of(9, "z", "", "") < of(10, "a", "", ""));
    }

    #[test]
    fn a_channel_key_has_two_words() {
        for good in ["email:default", "sms:twilio", "webhook:bi-ingest", "memory:a.b_c-1"] {
            assert_eq!(good.parse::<ChannelKey>().unwrap().as_str(), good);
        }
        for bad in ["", "email", ":default", "email:", "Email:default", "email:a b", "a:b:c", "é:x"] {
            assert!(bad.parse::<ChannelKey>().is_err(), "{bad} was accepted");
        }
    }
}
