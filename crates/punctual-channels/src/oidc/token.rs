//! An id token: its signature, and everything that a client must check in it (OpenID Connect Core 1.0, 3.1.3.7).
//!
//! The types lead one way: a text is [`Signed`], becomes [`Verified`] by a key of the provider, and only then are its
//! claims checked and given out.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use punctual_model::SignOnFault;
use serde_json::{Map, Value};

use super::key_set::{Algorithm, KeySet};

/// Clocks differ by as much, in seconds.
const LEEWAY: i64 = 60;

/// What the claims must say.
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub nonce: &'a str,
    pub now: Timestamp,
}

/// A token whose signature was not checked.
pub struct Signed<'t> {
    pub key_id: Option<String>,
    algorithm: Algorithm,
    message: &'t [u8],
    signature: Vec<u8>,
    payload: Vec<u8>,
}

/// A token that the provider has signed.
#[derive(Debug)]
pub struct Verified(Map<String, Value>);

fn refused<T>(why: &str) -> Result<T, SignOnFault> {
    Err(SignOnFault::Refused(why.to_owned()))
}

impl<'t> Signed<'t> {
    pub fn read(text: &'t str) -> Result<Self, SignOnFault> {
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let parts: Vec<&str> = text.split('.').collect();
        let [header, payload, signature] = parts.as_slice() else {
            return refused("the token has not three parts");
        };
        let message = &text.as_bytes()[..header.len() + 1 + payload.len()];
        let header: Option<Value> = bytes(header).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let (Some(header), Some(payload), Some(signature)) = (header, bytes(payload), bytes(signature))
        else {
            return refused("the token cannot be read");
        };
        let Some(algorithm) = header["alg"].as_str().and_then(Algorithm::parse) else {
            return refused("the token is signed in a way that is not taken");
        };
        if !header["crit"].is_null() {
            return refused("the token asks for something that is not known");
        }
        let key_id = header["kid"].as_str().map(str::to_owned);
        Ok(Self { key_id, algorithm, message, signature, payload })
    }

    pub fn verified(self, keys: &KeySet) -> Result<Verified, SignOnFault> {
        if !keys.verifies(self.key_id.as_deref(), self.algorithm, self.message, &self.signature) {
            return refused("no key of the provider made the signature");
        }
        match serde_json::from_slice(&self.payload) {
            Ok(Value::Object(claims)) => Ok(Verified(claims)),
            _ => refused("the claims are no object"),
        }
    }
}

impl Verified {
    pub fn checked(self, expected: &Expected<'_>) -> Result<Map<String, Value>, SignOnFault> {
        let claims = self.0;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(expected.issuer) {
            return refused("the token is of another issuer");
        }
        let audiences: Vec<&str> = match claims.get("aud") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !audiences.contains(&expected.client_id) {
            return refused("the token is for another client");
        }
        let party = text("azp");
        if party.is_some_and(|party| party != expected.client_id) || (audiences.len() > 1 && party.is_none())
        {
            return refused("the token was given to another client");
        }
        let now = expected.now.as_second();
        let instant = |name: &str| claims.get(name).and_then(Value::as_f64).map(|seconds| seconds as i64);
        if instant("exp").is_none_or(|at| at.saturating_add(LEEWAY) <= now) {
            return refused("the token has run out");
        }
        if instant("iat").is_none_or(|at| at.saturating_sub(LEEWAY) > now) {
            return refused("the token was issued in the future");
        }
        if instant("nbf").is_some_and(|at| at.saturating_sub(LEEWAY) > now) {
            return refused("the token is not good yet");
        }
        if text("nonce") != Some(expected.nonce) {
            return refused("the token was made for another request");
        }
        if text("sub").is_none_or(|subject| subject.is_empty() || subject.len() > 255) {
            return refused("the token has no good subject");
        }
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
    };
    use serde_json::json;

    use super::*;

    struct Signer(EcdsaKeyPair);

    impl Signer {
        fn new() -> Self {
            let random = SystemRandom::new();
            let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
            Self(EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap())
        }

        fn keys(&self, change: impl FnOnce(&mut Value)) -> KeySet {
            let point = self.0.public_key().as_ref();
            let part = |range: std::ops::Range<usize>| URL_SAFE_NO_PAD.encode(&point[range]);
            let mut key =
                json!({ "kty": "EC", "crv": "P-256", "kid": "k1", "x": part(1..33), "y": part(33..65) });
            change(&mut key);
            KeySet::read(&json!({ "keys": [key] }))
        }

        fn token(&self, header: Value, claims: &Value) -> String {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let message = format!("{}.{}", part(&header), part(claims));
            let signature = self.0.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
        }
    }

    fn claims() -> Value {
        json!({ "iss": "https://id.example", "aud": "punctual", "sub": "7", "nonce": "n", "iat": 1_000, "exp": 1_600 })
    }

    fn expected(now: i64) -> Expected<'static> {
        let now = Timestamp::from_second(now).unwrap();
        Expected { issuer: "https://id.example", client_id: "punctual", nonce: "n", now }
    }

    fn es256() -> Value {
        json!({ "alg": "ES256", "kid": "k1" })
    }

    fn read(keys: &KeySet, text: &str, now: i64) -> Result<Map<String, Value>, String> {
        let read = Signed::read(text).and_then(|signed| signed.verified(keys)?.checked(&expected(now)));
        read.map_err(|fault| fault.to_string())
    }

    #[test]
    fn t02_a_token_is_good_only_as_it_was_asked_for() {
        let signer = Signer::new();
        let keys = signer.keys(|_| {});
        let check = |change: &dyn Fn(&mut Value), says: Option<&str>| {
            let mut claims = claims();
            change(&mut claims);
            let found = read(&keys, &signer.token(es256(), &claims), 1_100);
            match says {
                None => assert_eq!(found.unwrap()["sub"], "7"),
                Some(says) => {
                    assert!(found.as_ref().is_err_and(|text| text.contains(says)), "{says}: {found:?}")
                }
            }
        };
        check(&|_| {}, None);
        check(&|claims| claims["aud"] = json!(["punctual"]), None);
        check(
            &|claims| (claims["aud"], claims["azp"]) = (json!(["other", "punctual"]), json!("punctual")),
            None,
        );
        check(&|claims| claims["iss"] = json!("https://id.example/"), Some("another issuer"));
        check(&|claims| claims["iss"] = json!(null), Some("another issuer"));
        check(&|claims| claims["aud"] = json!("other"), Some("another client"));
        check(&|claims| claims["aud"] = json!([]), Some("another client"));
        check(&|claims| claims["aud"] = json!(["other", "punctual"]), Some("another client"));
        check(&|claims| claims["azp"] = json!("other"), Some("another client"));
        check(&|claims| claims["nonce"] = json!("m"), Some("another request"));
        check(&|claims| claims["nonce"] = json!(null), Some("another request"));
        check(&|claims| claims["exp"] = json!(1_040), Some("run out"));
        check(&|claims| claims["exp"] = json!(null), Some("run out"));
        check(&|claims| claims["exp"] = json!("1600"), Some("run out"));
        check(&|claims| claims["iat"] = json!(1_161), Some("in the future"));
        check(&|claims| claims["nbf"] = json!(1_200), Some("not good yet"));
        check(&|claims| claims["sub"] = json!(""), Some("subject"));
    }

    #[test]
    fn t02_nobody_but_the_provider_signs() {
        let signer = Signer::new();
        let keys = signer.keys(|_| {});
        let good = signer.token(es256(), &claims());
        assert!(read(&keys, &good, 1_100).is_ok());
        assert!(read(&keys, &Signer::new().token(es256(), &claims()), 1_100).is_err(), "another key");
        let none = signer.token(json!({ "alg": "none" }), &claims());
        assert!(read(&keys, &none, 1_100).unwrap_err().contains("not taken"));
        let unsigned = format!("{}.", good.rsplit_once('.').unwrap().0);
        assert!(read(&keys, &unsigned, 1_100).is_err());
        let shared = signer.token(json!({ "alg": "HS256", "kid": "k1" }), &claims());
        assert!(read(&keys, &shared, 1_100).unwrap_err().contains("not taken"));
        let other = signer.token(json!({ "alg": "ES256", "kid": "k2" }), &claims());
        assert!(read(&keys, &other, 1_100).is_err(), "a key that is not there");
        let critical = signer.token(json!({ "alg": "ES256", "kid": "k1", "crit": ["x"] }), &claims());
        assert!(read(&keys, &critical, 1_100).is_err());
        let mut parts: Vec<String> = good.split('.').map(str::to_owned).collect();
        let mut claims = claims();
        claims["sub"] = json!("8");
        parts[1] = URL_SAFE_NO_PAD.encode(claims.to_string());
        assert!(read(&keys, &parts.join("."), 1_100).is_err(), "other claims under the same signature");
        for key in
            [signer.keys(|key| key["use"] = json!("enc")), signer.keys(|key| key["alg"] = json!("ES384"))]
        {
            assert!(read(&key, &good, 1_100).is_err(), "a key for something else");
        }
        for broken in ["", ".", "..", "a.b", "a.b.c.d", "é.é.é"] {
            assert!(read(&keys, broken, 1_100).is_err(), "{broken}");
        }
    }
}
