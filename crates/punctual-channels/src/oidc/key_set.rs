//! The keys that a provider signs with (RFC 7517), and the algorithms that are taken.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;

/// Keys of one provider that are read.
const MOST_KEYS: usize = 100;

/// How a token may be signed. `none` and shared secrets are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }
}

/// The public part of a key, by its kind: a key of one kind never verifies a signature of another.
#[derive(Clone, Debug)]
enum Public {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    algorithm: Option<String>,
    public: Public,
}

#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<Key>);

impl KeySet {
    /// Reads the keys that are for signatures; what cannot be read is left out.
    pub fn read(document: &Value) -> Self {
        let all = document["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
        Self(all.iter().take(MOST_KEYS).filter_map(Key::read).collect())
    }

    /// Whether a token with this key id may be verified with it.
    pub fn has(&self, id: Option<&str>) -> bool {
        self.0.iter().any(|key| id.is_none() || key.id.as_deref() == id)
    }

    /// Whether one of the keys with this id (any, where none is named) made this signature.
    pub fn verifies(&self, id: Option<&str>, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let named = self.0.iter().filter(|key| id.is_none() || key.id.as_deref() == id);
        named
            .filter(|key| {
                key.algorithm.as_deref().is_none_or(|text| Algorithm::parse(text) == Some(algorithm))
            })
            .any(|key| key.public.verifies(algorithm, message, signature))
    }
}

impl Key {
    fn read(value: &Value) -> Option<Self> {
        if value["use"].as_str().is_some_and(|used| used != "sig") {
            return None;
        }
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(value[name].as_str()?).ok();
        let point = |size: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            (x.len() == size && y.len() == size).then(|| [&[4_u8][..], x.as_slice(), y.as_slice()].concat())
        };
        let public = match (value["kty"].as_str()?, value["crv"].as_str()) {
            ("RSA", _) => Public::Rsa { n: bytes("n")?, e: bytes("e")? },
            ("EC", Some("P-256")) => Public::P256(point(32)?),
            ("EC", Some("P-384")) => Public::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Public::Ed25519(bytes("x")?),
            _ => return None,
        };
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Some(Self { id: text("kid"), algorithm: text("alg"), public })
    }
}

impl Public {
    fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let plain = |kind: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(kind, key).verify(message, signature).is_ok()
        };
        let rsa = |n: &[u8], e: &[u8], kind: &'static signature::RsaParameters| {
            RsaPublicKeyComponents { n, e }.verify(kind, message, signature).is_ok()
        };
        match (self, algorithm) {
            (Self::Rsa { n, e }, Algorithm::Rs256) => rsa(n, e, &signature::RSA_PKCS1_2048_8192_SHA256),
            (Self::Rsa { n, e }, Algorithm::Rs384) => rsa(n, e, &signature::RSA_PKCS1_2048_8192_SHA384),
            (Self::Rsa { n, e }, Algorithm::Rs512) => rsa(n, e, &signature::RSA_PKCS1_2048_8192_SHA512),
            (Self::Rsa { n, e }, Algorithm::Ps256) => rsa(n, e, &signature::RSA_PSS_2048_8192_SHA256),
            (Self::P256(point), Algorithm::Es256) => plain(&signature::ECDSA_P256_SHA256_FIXED, point),
            (Self::P384(point), Algorithm::Es384) => plain(&signature::ECDSA_P384_SHA384_FIXED, point),
            (Self::Ed25519(key), Algorithm::EdDsa) => plain(&signature::ED25519, key),
            (Self::Rsa { .. } | Self::P256(_) | Self::P384(_) | Self::Ed25519(_), _) => false,
        }
    }
}
