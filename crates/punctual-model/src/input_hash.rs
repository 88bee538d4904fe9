//! The input hash: SHA-256 over the meaning of a row's input, independent of JSON formatting.
//!
//! Two inputs have the same hash exactly if they have the same meaning:
//!
//! - the order of an object's fields does not matter, the order of an array's items does;
//! - a missing field, `null` and an empty text are three different things;
//! - number 1 and text `"1"` differ; 1, 1.0 and 1e0 are one number, because a number is hashed by
//!   its value. One with a fraction is hashed as the nearest `f64`, as `serde_json` holds it, and
//!   −0.0 is 0;
//! - text and field names are compared in Unicode's normal form C.
//!
//! The encoding that is hashed is frozen by golden vectors, since hashes are stored. Every value starts with a tag; texts end
//! with 0xFF and lists with 0xFE, bytes that UTF-8 never contains, so lengths are not needed in advance and the common case
//! copies nothing.

#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

const NULL: u8 = b'n';
const TRUE: u8 = b't';
const FALSE: u8 = b'f';
const INTEGER: u8 = b'i';
const FRACTION: u8 = b'd';
const TEXT: u8 = b's';
const ARRAY: u8 = b'[';
const OBJECT: u8 = b'{';
const END_OF_TEXT: u8 = 0xff;
const END_OF_LIST: u8 = 0xfe;

/// The hash of one input. Equal hashes mean equal input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputHash([u8; 32]);

/// Why a text is no input hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an input hash is 64 hexadecimal digits")]
pub struct InvalidInputHash;

impl InputHash {
    /// The hash of any JSON value.
    pub fn of(value: &Value) -> Self {
        let mut hasher = Sha256::new();
        feed(&mut hasher, value);
        Self(hasher.finalize().into())
    }

    /// The hash of an object with these fields, without building it. Each name is given once.
    pub fn of_fields(fields: &[(&str, Value)]) -> Self {
        let mut hasher = Sha256::new();
        feed_object(&mut hasher, fields.iter().map(|(name, value)| (*name, value)));
        Self(hasher.finalize().into())
    }

    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads 64 hexadecimal digits of either case.
    pub fn parse_hex(text: &str) -> Result<Self, InvalidInputHash> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(InvalidInputHash);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            for digit in pair {
                let value = char::from(*digit).to_digit(16).ok_or(InvalidInputHash)?;
                *byte = *byte << 4 | value as u8;
            }
        }
        Ok(Self(bytes))
    }
}

fn feed(hasher: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hasher.update([NULL]),
        Value::Bool(true) => hasher.update([TRUE]),
        Value::Bool(false) => hasher.update([FALSE]),
        Value::Number(number) => feed_number(hasher, number),
        Value::String(text) => {
            hasher.update([TEXT]);
            feed_text(hasher, text);
        }
        Value::Array(items) => {
            hasher.update([ARRAY]);
            for item in items {
                feed(hasher, item);
            }
            hasher.update([END_OF_LIST]);
        }
        Value::Object(fields) => feed_map(hasher, fields),
    }
}

/// An integer as 16 bytes, anything else as the bits of its `f64`.
fn feed_number(hasher: &mut Sha256, number: &Number) {
    /// Integers beyond this have no other spelling than the `f64` that JSON gives for them.
    const WIDE: f64 = 18_446_744_073_709_551_616.0; // 2^64

    let integer = match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(signed), _, _) => Ok(i128::from(signed)),
        (None, Some(unsigned), _) => Ok(i128::from(unsigned)),
        (None, None, Some(float)) if float.fract() == 0.0 && float.abs() < WIDE => Ok(float as i128),
        (None, None, float) => Err(float.unwrap_or(f64::NAN)),
    };
    let mut encoded = [0; 17];
    match integer {
        Ok(integer) => {
            encoded[0] = INTEGER;
            encoded[1..].copy_from_slice(&integer.to_be_bytes());
            hasher.update(encoded);
        }
        Err(float) => {
            encoded[0] = FRACTION;
            encoded[1..9].copy_from_slice(&float.to_bits().to_be_bytes());
            hasher.update(&encoded[..9]);
        }
    }
}

fn feed_text(hasher: &mut Sha256, text: &str) {
    if is_normal(text) {
        hasher.update(text);
    } else {
        for character in text.nfc() {
            hasher.update(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    hasher.update([END_OF_TEXT]);
}

/// Whether the text is in normal form already; a doubtful one is normalised, which changes nothing then.
fn is_normal(text: &str) -> bool {
    text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes
}

fn feed_map(hasher: &mut Sha256, fields: &Map<String, Value>) {
    // `serde_json` keeps fields sorted unless a feature says otherwise, so that this way is the ordinary one.
    let sorted = fields.keys().all(|name| name.is_ascii()) && fields.keys().is_sorted();
    if sorted {
        hasher.update([OBJECT]);
        for (name, value) in fields {
            feed_text(hasher, name);
            feed(hasher, value);
        }
        hasher.update([END_OF_LIST]);
    } else {
        feed_object(hasher, fields.iter().map(|(name, value)| (name.as_str(), value)));
    }
}

fn feed_object<'a>(hasher: &mut Sha256, fields: impl Iterator<Item = (&'a str, &'a Value)>) {
    let normal = |name: &'a str| {
        if is_normal(name) { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect::<String>()) }
    };
    // The name as it was written comes second, so that two spellings of one name have an order as well.
    let mut sorted: Vec<_> = fields.map(|(name, value)| (normal(name), name, value)).collect();
    sorted.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    hasher.update([OBJECT]);
    for (name, _, value) in sorted {
        hasher.update(name.as_bytes());
        hasher.update([END_OF_TEXT]);
        feed(hasher, value);
    }
    hasher.update([END_OF_LIST]);
}

impl fmt::Display for InputHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written once for every row on its way in: formatting each byte would take longer than binding the row.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(str::from_utf8(&hex).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for InputHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputHash({self})")
    }
}

impl Serialize for InputHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for InputHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        Self::parse_hex(&text).map_err(serde::de::Error::custom)
    }
}
