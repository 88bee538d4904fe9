//! Signed links: everyone with a link can change the preferences of its person, and nothing else.
//!
//! A link does not run out: a mail may be read after years, and saying no must work then too. It is signed with a key
//! that follows from the master key, so that a link cannot be made without it and opens nothing else.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::StoreError;
use serde::{Deserialize, Serialize};

use super::PolicyCache;
use crate::{Actor, Engine, vault::Vault};

/// What the signing key is for: keys for other things would follow from other words.
const PURPOSE: &str = "punctual preference links 1";
/// The address of `serve` without configuration.
const DEFAULT_ADDRESS: &str = "http://127.0.0.1:8080";

/// Who a link is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    #[serde(rename = "a")]
    pub address: String,
    /// The topic of the mail with this link.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
}

impl PolicyCache {
    /// Says where links lead, such as `https://punctual.example.org`; the first one stays.
    pub fn links_lead_to(&self, address: impl Into<String>) {
        let _ = self.address.set(address.into().trim_end_matches('/').to_owned());
    }
}

impl Engine {
    /// The preference page of the person with an address.
    pub fn preference_link(&self, holder: &Holder) -> String {
        format!("{}/p/{}", self.public_address(), sign(&self.vault, holder))
    }

    /// The same on request: everyone with the link can change the preferences of this person.
    #[boxed]
    pub async fn hand_out_preference_link(&self, by: &Actor, person: String) -> Result<String, StoreError> {
        self.record_act(by, AuditAction::Link, "preference", &person, None).await?;
        Ok(self.preference_link(&Holder { address: person, topic: None }))
    }

    /// What links to this server begin with.
    pub fn public_address(&self) -> &str {
        self.policy.address.get().map_or(DEFAULT_ADDRESS, String::as_str)
    }

    /// Who this token is for; nothing for one that was not made here.
    pub fn preference_holder(&self, token: &str) -> Option<Holder> {
        open(&self.vault, token)
    }
}

fn sign(vault: &Vault, holder: &Holder) -> String {
    let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(holder).unwrap_or_default());
    let signature = vault.sign(PURPOSE, payload.as_bytes());
    format!("{payload}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn open(vault: &Vault, token: &str) -> Option<Holder> {
    let (payload, signature) = token.split_once('.')?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    if !vault.has_signed(PURPOSE, payload.as_bytes(), &signature) {
        return None;
    }
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use punctual_model::Random;

    use super::*;
    use crate::vault::{FixedKeys, MasterKey};

    struct Same(u8);
    impl Random for Same {
        fn bytes(&self, into: &mut [u8]) {
            into.fill(self.0);
        }
    }

    fn vault(keys: &[u8]) -> Vault {
        let keys = keys.iter().map(|byte| MasterKey::new(&Same(*byte))).collect();
        Vault::open(Arc::new(FixedKeys { keys, place: "the test" }), Arc::new(Same(0))).unwrap()
    }

    fn holder() -> Holder {
        Holder { address: "ann@example.org".into(), topic: Some("offers".into()) }
    }

    #[test]
    fn a_link_opens_where_it_was_made_and_after_the_key_was_changed() {
        let token = sign(&vault(&[1]), &holder());
        assert_eq!(open(&vault(&[1]), &token), Some(holder()));
        assert_eq!(open(&vault(&[2, 1]), &token), Some(holder()), "old links go on working");
        assert_eq!(open(&vault(&[2]), &token), None);
        assert!(!token.contains(['+', '/', '=']), "{token}");
    }

    proptest! {
        #[test]
        fn a_changed_link_opens_nothing(at in 0usize..200, by in 1u8..255) {
            let token = sign(&vault(&[1]), &holder());
            let mut bytes = token.clone().into_bytes();
            let at = at % bytes.len();
            bytes[at] = bytes[at].wrapping_add(by);
            if let Ok(changed) = String::from_utf8(bytes) {
                prop_assert_eq!(open(&vault(&[1]), &changed), None);
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            prop_assert_eq!(open(&vault(&[1]), &text), None);
        }
    }
}
