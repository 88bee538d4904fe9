//! The provider that people sign in with, of the file or of the console. It is asked nothing yet: a node starts without it.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use punctual_channels::{
    Guard,
    oidc::{OidcProvider, OidcSettings},
    trust::Trust,
};
use punctual_engine::{
    commands::{OpensSignOn, SignOn, SignOnSettings},
    references::SecretSource,
};
use punctual_model::{Fault, IdentityProvider, SecretReference};

use crate::{config::SignOnConfig, secret_source::SecretFiles};

/// Makes providers with the secrets of this machine and over its guarded network.
pub struct SignOnOpener {
    pub secrets: Arc<SecretFiles>,
    pub guard: Guard,
}

impl SignOnOpener {
    /// The one of the configuration file.
    pub fn of_file(&self, wanted: &SignOnConfig) -> Result<SignOn> {
        let settings = OidcSettings {
            name: wanted.name.clone(),
            issuer: wanted.issuer.clone(),
            client_id: wanted.client_id.clone(),
            client_secret: None,
            scopes: wanted.scopes.clone(),
            groups_claim: wanted.groups_claim.clone(),
        };
        let provider = self.provider(settings, wanted.client_secret.as_ref());
        let provider = provider.map_err(|fault| anyhow!("{}", fault.detail))?;
        Ok(SignOn { provider, mappings: wanted.mappings.clone() })
    }

    fn provider(
        &self,
        mut settings: OidcSettings,
        secret: Option<&SecretReference>,
    ) -> Result<Arc<dyn IdentityProvider>, Fault> {
        if let Some(reference) = secret {
            let found = self.secrets.look_up(reference);
            let missing = || {
                Fault::new("/clientSecret", "secret_reference", format!("There is nothing at {reference}."))
            };
            settings.client_secret = Some(found.ok_or_else(missing)?);
        }
        let opened = OidcProvider::open(settings, &self.guard, &Trust::platform());
        let provider = opened.map_err(|fault| Fault::new("/issuer", fault.code, fault.detail))?;
        Ok(Arc::new(provider))
    }
}

impl OpensSignOn for SignOnOpener {
    fn open(&self, settings: &SignOnSettings) -> Result<Arc<dyn IdentityProvider>, Fault> {
        let missing =
            |_| Fault::new("/clientSecret", "secret_reference", "The secret's reference is not allowed.");
        let secret = settings.secret_reference().map_err(missing)?;
        let settings = OidcSettings {
            name: settings.name.clone(),
            issuer: settings.issuer.clone(),
            client_id: settings.client_id.clone(),
            client_secret: None,
            scopes: settings.scopes.clone(),
            groups_claim: settings.groups_claim.clone(),
        };
        self.provider(settings, secret.as_ref())
    }
}
