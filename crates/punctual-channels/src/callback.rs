//! Shared code for callbacks of providers: verification and parsing.
//!
//! All comparisons take constant time. A body is not used before its signature is verified.

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::{SignedDuration, Timestamp};
use punctual_model::{Callback, CallbackFault, Secret, SecretReference, Setting, adapter_settings::Section};
use ring::{hmac, signature};
use serde_json::Value;

use crate::settings::Reader;

/// How far the time in a signature may be from ours.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// A secret that nothing but the address protects is at least this long.
const SHORTEST_SECRET: usize = 16;

/// Whether this is the HMAC of the parts, one after the other, with the secret.
pub fn is_mac(algorithm: hmac::Algorithm, secret: &str, parts: &[&[u8]], found: &[u8]) -> bool {
    let key = hmac::Key::new(algorithm, secret.as_bytes());
    hmac::verify(&key, &parts.concat(), found).is_ok()
}

/// Whether two secrets are the same: as codes under one key, so that neither length nor content shows in the time.
pub fn is_same(one: &str, other: &str) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"the same text gives the same code");
    let code = hmac::sign(&key, one.as_bytes());
    hmac::verify(&key, other.as_bytes(), code.as_ref()).is_ok()
}

/// A signature as providers write it: `sha256=` and hexadecimal, or hexadecimal, or base64.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let text = text.strip_prefix("sha256=").unwrap_or(text);
    let is_hex = text.len().is_multiple_of(2) && text.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hex {
        let digits = |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
        return (0..text.len()).step_by(2).map(digits).collect();
    }
    STANDARD.decode(text).ok()
}

/// Refuses a time, in seconds since 1970, that is further from ours than a call takes.
pub fn check_age(seconds: &str, now: Timestamp) -> Result<(), CallbackFault> {
    let at = seconds.trim().parse().ok().and_then(|at| Timestamp::from_second(at).ok());
    let at = at.ok_or(CallbackFault::Signature)?;
    if now.duration_since(at).abs() > WINDOW { Err(CallbackFault::Stale) } else { Ok(()) }
}

/// For providers that sign nothing: whether the call knows the channel's secret, in its address or as a bearer.
pub fn knows_secret(secret: Option<&Secret>, call: &Callback<'_>) -> Result<(), CallbackFault> {
    let secret = secret.ok_or(CallbackFault::NotTaken)?.expose();
    let bearer = (call.header)("authorization");
    let bearer = bearer.as_deref().and_then(|text| text.strip_prefix("Bearer "));
    // Both are checked, so that it does not show which was there.
    let found = [call.path_secret.unwrap_or_default(), bearer.unwrap_or_default()];
    let known = found.map(|found| is_same(secret, found));
    if known.contains(&true) { Ok(()) } else { Err(CallbackFault::Signature) }
}

/// Such a secret among the settings.
pub(crate) const CALLBACK_SECRET: Setting = Setting::text(
    "callbackSecret",
    "Callback secret",
    "at least 16 letters and digits, which the provider's calls must know",
)
.secret()
.section(Section::Receipts);

/// The setting of such a secret.
pub fn read_secret(reader: &mut Reader<'_>, name: &str) -> Option<Secret> {
    let secret = reader.secret(name)?;
    let text = secret.expose();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    if !SecretReference::is_meant(text) && (text.len() < SHORTEST_SECRET || !text.bytes().all(plain)) {
        let detail = format!(
            "`{name}` is at least {SHORTEST_SECRET} letters, digits, `-`, `_`, `.` or `~`, because it may be part of an address"
        );
        reader.fault(name, "secret_invalid", detail);
        return None;
    }
    Some(secret)
}

/// The setting of the address under which a provider reaches us: it signs that address.
pub fn read_url(reader: &mut Reader<'_>, name: &str) -> Option<String> {
    let text = reader.text(name)?;
    let url = reqwest::Url::parse(text).ok();
    let good = url.is_some_and(|url| {
        matches!(url.scheme(), "https" | "http")
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    });
    if !good || text.len() > 1_000 {
        let detail = format!(
            "`{name}` is where the provider reaches this server, such as https://punctual.example.org/api/v1/callbacks/sms:default"
        );
        reader.fault(name, "url_invalid", detail);
        return None;
    }
    Some(text.to_owned())
}

/// A public key of the curve P-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

/// What is before the point in the usual encoding (SubjectPublicKeyInfo): a key for ECDSA on P-256.
const BEFORE_POINT: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
    0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

impl PublicKey {
    /// From the base64 of the usual encoding.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.trim()).ok()?;
        let point = bytes.strip_prefix(&BEFORE_POINT)?;
        // The point uncompressed: its form and two numbers.
        (point.len() == 65 && point[0] == 4).then(|| Self(point.to_vec()))
    }

    /// Whether the signature, in base64 of ASN.1, is one of this text.
    pub fn has_signed(&self, text: &[u8], signature: &str) -> bool {
        let key = signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_ASN1, &self.0);
        STANDARD.decode(signature.trim()).is_ok_and(|signature| key.verify(text, &signature).is_ok())
    }
}

/// The JSON of a body.
pub fn json(body: &[u8]) -> Result<Value, CallbackFault> {
    serde_json::from_slice(body).map_err(|_| CallbackFault::Unreadable("it is no JSON".to_owned()))
}

/// The fields of a form, or of what is after the `?`.
pub fn form(body: &[u8]) -> Result<Vec<(String, String)>, CallbackFault> {
    let unreadable = || CallbackFault::Unreadable("it is no form".to_owned());
    let text = std::str::from_utf8(body).map_err(|_| unreadable())?;
    let mut url = reqwest::Url::parse("http://form/").map_err(|_| unreadable())?;
    url.set_query(Some(text));
    Ok(url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
}

/// An instant given in seconds since 1970, as a number or as its text.
pub fn seconds(value: &Value) -> Option<Timestamp> {
    let seconds = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
    Timestamp::from_second(seconds).ok()
}

/// A code that is a number or a text.
pub fn code(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
