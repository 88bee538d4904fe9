//! Provider metadata (OpenID Connect Discovery 1.0).

use punctual_model::SignOnFault;
use serde_json::Value;

/// How the token endpoint wants the secret of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretGoes {
    Header,
    Body,
}

/// The addresses of a provider.
#[derive(Clone, Debug)]
pub struct Discovered {
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub jwks_uri: String,
    pub userinfo_endpoint: Option<String>,
    pub end_session_endpoint: Option<String>,
    pub secret_goes: SecretGoes,
}

impl Discovered {
    /// Reads the document. It must be about the very issuer that was asked: otherwise somebody else could speak for it.
    pub fn read(document: &Value, issuer: &str) -> Result<Self, SignOnFault> {
        if document["issuer"] != issuer {
            let detail = format!("its discovery document is about another issuer than {issuer}");
            return Err(SignOnFault::Refused(detail));
        }
        // Browsers are sent to some of these: they must be addresses, and no weaker than the issuer's own.
        let secure = issuer.starts_with("https://");
        let optional = |name: &str| {
            let address = document[name].as_str()?;
            let fits = address.starts_with("https://") || (!secure && address.starts_with("http://"));
            fits.then(|| address.to_owned())
        };
        let required = |name: &str| {
            optional(name)
                .ok_or_else(|| SignOnFault::Refused(format!("its discovery document has no good {name}")))
        };
        let methods = document["token_endpoint_auth_methods_supported"].as_array();
        let takes = |method: &str| methods.is_some_and(|all| all.iter().any(|one| one == method));
        // The header is what the standard assumes where nothing is said.
        let secret_goes = if takes("client_secret_post") && !takes("client_secret_basic") {
            SecretGoes::Body
        } else {
            SecretGoes::Header
        };
        Ok(Self {
            authorization_endpoint: required("authorization_endpoint")?,
            token_endpoint: required("token_endpoint")?,
            jwks_uri: required("jwks_uri")?,
            userinfo_endpoint: optional("userinfo_endpoint"),
            end_session_endpoint: optional("end_session_endpoint"),
            secret_goes,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        json!({ "issuer": "https://id.example", "authorization_endpoint": "https://id.example/auth",
                "token_endpoint": "https://id.example/token", "jwks_uri": "https://id.example/keys" })
    }

    #[test]
    fn a_document_is_about_the_issuer_that_was_asked_and_as_secure() {
        let found = Discovered::read(&document(), "https://id.example").unwrap();
        assert_eq!((found.secret_goes, found.userinfo_endpoint), (SecretGoes::Header, None));
        for other in ["https://id.example/", "https://ID.example", "http://id.example", ""] {
            assert!(Discovered::read(&document(), other).is_err(), "{other}");
        }
        for weak in [json!("http://id.example/auth"), json!("javascript:alert(1)"), json!(null), json!(7)] {
            let mut changed = document();
            changed["authorization_endpoint"] = weak;
            assert!(Discovered::read(&changed, "https://id.example").is_err(), "{changed}");
        }
        let mut post = document();
        post["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
        assert_eq!(Discovered::read(&post, "https://id.example").unwrap().secret_goes, SecretGoes::Body);
    }
}
