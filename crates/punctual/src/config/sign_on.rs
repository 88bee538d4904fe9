//! Single sign-on with OpenID Connect.
//!
//! ```toml
//! [sign_on]
//! name = "Example ID"                  # what the button says
//! issuer = "https://id.example.org"    # exactly as the provider writes it
//! client_id = "punctual"
//! client_secret = "file:oidc"          # in --secrets-dir, or env:OIDC for PUNCTUAL_SECRET_OIDC
//! groups_claim = "groups"
//!
//! [[sign_on.mappings]]                 # the first one that fits decides
//! group = "ops"
//! role = "operator"
//! business_units = ["nz"]              # optional: all of them without it
//! ```

use anyhow::{Context, Result, anyhow, bail, ensure};
use punctual_engine::commands::GroupMapping;
use punctual_model::{Role, SecretReference};
use serde::Deserialize;

/// What is asked for where nothing is said. `openid` is always among it.
const SCOPES: [&str; 3] = ["openid", "email", "profile"];

/// The section `[sign_on]` of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignOnFile {
    name: Option<String>,
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
    scopes: Option<Vec<String>>,
    groups_claim: Option<String>,
    #[serde(default)]
    mappings: Vec<MappingFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MappingFile {
    group: String,
    role: String,
    business_units: Option<Vec<String>>,
}

/// What a node signs people on with; the secret is looked up when it starts.
#[derive(Clone, Debug)]
pub struct SignOnConfig {
    pub name: String,
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Option<SecretReference>,
    pub scopes: Vec<String>,
    pub groups_claim: String,
    pub mappings: Vec<GroupMapping>,
}

pub(super) fn read(file: Option<SignOnFile>) -> Result<Option<SignOnConfig>> {
    file.map(|file| checked(file).context("[sign_on]")).transpose()
}

fn checked(file: SignOnFile) -> Result<SignOnConfig> {
    let SignOnFile { name, issuer, client_id, client_secret, scopes, groups_claim, mappings } = file;
    let is_address = issuer.starts_with("https://") || issuer.starts_with("http://");
    ensure!(is_address, "issuer ({issuer}) must be an address such as https://id.example.org");
    ensure!(!client_id.is_empty(), "client_id is empty; the provider gave you one");
    let client_secret = match client_secret {
        None => None,
        Some(text) => match SecretReference::parse(&text) {
            Some(Ok(reference)) => Some(reference),
            // The text itself may be the secret, so that it is not shown.
            _ => bail!("client_secret must say where the secret is: file:NAME in secrets_dir, or env:NAME"),
        },
    };
    let mappings = mappings.into_iter().enumerate().map(|(at, mapping)| {
        let MappingFile { group, role, business_units } = mapping;
        ensure!(!group.is_empty(), "mapping {}: group is empty", at + 1);
        let known = Role::ALL.map(Role::as_str).join(", ");
        let role = Role::parse(&role)
            .ok_or_else(|| anyhow!("mapping {}: role ({role}) must be one of {known}", at + 1))?;
        Ok(GroupMapping { group, role, business_units })
    });
    Ok(SignOnConfig {
        name: name.unwrap_or_else(|| "single sign-on".to_owned()),
        issuer,
        client_id,
        client_secret,
        scopes: scopes.unwrap_or_else(|| SCOPES.map(str::to_owned).to_vec()),
        groups_claim: groups_claim.unwrap_or_else(|| "groups".to_owned()),
        mappings: mappings.collect::<Result<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_toml(text: &str) -> Result<SignOnConfig> {
        checked(toml::from_str(text)?)
    }

    #[test]
    fn a_section_is_read_with_its_mappings_in_order() {
        let text = "issuer = \"https://id.example.org\"\nclient_id = \"punctual\"\nclient_secret = \"env:OIDC\"\n\
                    [[mappings]]\ngroup = \"ops\"\nrole = \"operator\"\nbusiness_units = [\"nz\"]\n\
                    [[mappings]]\ngroup = \"chiefs\"\nrole = \"admin\"";
        let config = read_toml(text).unwrap();
        assert_eq!(config.client_secret.unwrap().variable().as_deref(), Some("PUNCTUAL_SECRET_OIDC"));
        let roles: Vec<_> = config.mappings.iter().map(|mapping| mapping.role).collect();
        assert_eq!(
            (roles.as_slice(), config.groups_claim.as_str()),
            (&[Role::Operator, Role::Admin][..], "groups")
        );
        assert_eq!(config.mappings[1].business_units, None);
    }

    #[test]
    fn a_bad_section_says_what_would_be_right_and_shows_no_secret() {
        let good = "issuer = \"https://id.example.org\"\nclient_id = \"punctual\"\n";
        let fault = |text: &str| format!("{:#}", read_toml(text).unwrap_err());
        let secret = fault(&format!("{good}client_secret = \"hunter2\""));
        assert!(secret.contains("file:NAME") && !secret.contains("hunter2"), "{secret}");
        let role = fault(&format!("{good}[[mappings]]\ngroup = \"ops\"\nrole = \"root\""));
        assert!(role.contains("mapping 1") && role.contains("viewer, operator, author, admin"), "{role}");
        assert!(fault("issuer = \"id.example.org\"\nclient_id = \"p\"").contains("must be an address"));
        assert!(fault("client_id = \"p\"").contains("issuer"));
        assert!(fault(&format!("{good}groups = \"x\"")).contains("groups"));
    }
}
