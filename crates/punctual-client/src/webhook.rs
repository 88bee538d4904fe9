//! Whether a webhook comes from Punctual: Standard Webhooks, <https://www.standardwebhooks.com>.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

/// How far the time of a webhook may be from ours, in seconds: an old one may be a copy.
pub const TOLERANCE_SECONDS: u64 = 300;

/// It is not signed with this secret, or not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWebhook {
    #[error("the headers of a signed webhook are missing")]
    Headers,
    #[error("it was signed at another time")]
    Time,
    #[error("the signature is not that of this secret")]
    Signature,
    #[error("the secret is no `whsec_…`")]
    Secret,
    #[error("the body is no JSON")]
    Body,
}

/// The body as JSON, if its signature is right. `body` is what arrived, byte for byte; `header` gives the value of a header by its
/// lower-case name; `secret` is that of the channel or subscriber, `whsec_…`; `now` is the time in seconds since 1970.
pub fn verify_webhook<'h>(
    body: &[u8],
    header: impl Fn(&str) -> Option<&'h str>,
    secret: &str,
    now: i64,
) -> Result<Value, InvalidWebhook> {
    let found = |name: &str| header(name).ok_or(InvalidWebhook::Headers);
    let (id, sent, signatures) =
        (found("webhook-id")?, found("webhook-timestamp")?, found("webhook-signature")?);
    let at: i64 = sent.parse().map_err(|_| InvalidWebhook::Headers)?;
    if now.abs_diff(at) > TOLERANCE_SECONDS {
        return Err(InvalidWebhook::Time);
    }
    let secret = secret.strip_prefix("whsec_").unwrap_or(secret);
    let secret = BASE64_STANDARD.decode(secret).map_err(|_| InvalidWebhook::Secret)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret).map_err(|_| InvalidWebhook::Secret)?;
    mac.update(format!("{id}.{at}.").as_bytes());
    mac.update(body);
    // While a secret is changed there is one signature for each.
    let given = signatures.split_whitespace().filter_map(|one| one.strip_prefix("v1,"));
    let mut given = given.filter_map(|text| BASE64_STANDARD.decode(text).ok());
    if !given.any(|signature| mac.clone().verify_slice(&signature).is_ok()) {
        return Err(InvalidWebhook::Signature);
    }
    serde_json::from_slice(body).map_err(|_| InvalidWebhook::Body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn verify(signature: &'static str, now: i64) -> Result<Value, InvalidWebhook> {
        let header = move |name: &str| match name {
            "webhook-id" => Some("msg_p5jXN8AQM9LWM0D4loKWxJek"),
            "webhook-timestamp" => Some("1614265330"),
            "webhook-signature" => Some(signature),
            _ => None,
        };
        verify_webhook(BODY, header, SECRET, now)
    }

    #[test]
    fn the_example_of_the_specification_is_right_and_others_are_not() {
        assert_eq!(verify(SIGNATURE, 1_614_265_330).unwrap()["test"], 2_432_232_314_i64);
        assert_eq!(verify(SIGNATURE, 1_614_265_330 + 301), Err(InvalidWebhook::Time));
        assert_eq!(verify("v1,AAAA v2,x", 1_614_265_330), Err(InvalidWebhook::Signature));
        let nothing = |_: &str| None;
        assert_eq!(verify_webhook(BODY, nothing, SECRET, 0), Err(InvalidWebhook::Headers));
    }
}
