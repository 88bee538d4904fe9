//! Signatures of Standard Webhooks: HMAC-SHA256 over id, time and body, in base64.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const PREFIX: &str = "whsec_";
/// What the standard asks of a secret, in bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// A secret shared with one receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Vec<u8>);

/// A text that is no signing secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a webhook secret is `whsec_` and 24 to 64 random bytes in base64")]
pub struct InvalidSecret;

impl SigningKey {
    pub fn parse(secret: &str) -> Result<Self, InvalidSecret> {
        let bytes = secret.strip_prefix(PREFIX).and_then(|text| STANDARD.decode(text).ok());
        bytes.filter(|bytes| LENGTHS.contains(&bytes.len())).map(Self).ok_or(InvalidSecret)
    }

    /// The code over one message, before it is turned into text.
    fn mac(&self, id: &str, timestamp: i64, body: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        Some(mac)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The value of `webhook-signature`: one signature for each secret, so that a receiver can change over.
pub fn sign(keys: &[SigningKey], id: &str, timestamp: i64, body: &[u8]) -> String {
    let signatures: Vec<String> = keys
        .iter()
        .filter_map(|key| key.mac(id, timestamp, body))
        .map(|mac| format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
        .collect();
    signatures.join(" ")
}

/// Whether any of the signatures was made with any of the secrets, compared in constant time.
///
/// A receiver also refuses a timestamp that is minutes away from its own clock; that is left to the caller.
pub fn verify(keys: &[SigningKey], id: &str, timestamp: i64, body: &[u8], signatures: &str) -> bool {
    signatures.split(' ').filter_map(|signature| STANDARD.decode(signature.strip_prefix("v1,")?).ok()).any(
        |signature| {
            keys.iter()
                .filter_map(|key| key.mac(id, timestamp, body))
                .any(|mac| mac.verify_slice(&signature).is_ok())
        },
    )
}
