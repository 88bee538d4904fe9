//! The configuration of the single sign-on: in the file of a node, or set by an administrator in the console. The file takes
//! precedence.
//!
//! The stored configuration refers to its secret, so no secret is stored. Each node reads it at each sign-on and reopens it
//! only when it changed, so a change applies to all nodes at once.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use punctual_boxed::boxed;
use punctual_model::{AuditAction, Fault, IdentityProvider, Role, SecretReference};
use punctual_store::{Lane, StoreError, facts};
use serde::{Deserialize, Serialize};

use super::{
    Actor, CommandError, GroupMapping, SignOn,
    units::{unit_unknown, unknown_unit},
};
use crate::{
    Engine,
    kept_secret::{GivenForElsewhere, GivenSecret},
};

/// The name under which it is kept.
const FACT: &str = "sign-on";
/// Mappings of groups; a form with more of them is its own directory.
pub const MAPPINGS_MAX: usize = 50;
/// An address, a name, a group.
const LONGEST: usize = 512;

/// A single sign-on as somebody wants it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignOnSettings {
    /// What the button says.
    pub name: String,
    /// Exactly as the provider writes it.
    pub issuer: String,
    pub client_id: String,
    /// Where the secret is: `file:NAME` or `env:NAME`. A public client has none.
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    pub groups_claim: String,
    /// In order: the first one that fits decides.
    pub mappings: Vec<MappingSettings>,
}

/// What a group gives its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MappingSettings {
    pub group: String,
    pub role: String,
    /// `None` for all of them.
    pub business_units: Option<Vec<String>>,
}

/// The settings as a request has them: what is to become of the stored secret stands beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSignOn {
    /// With the secret that is to be stored left empty.
    pub settings: SignOnSettings,
    pub client_secret: GivenSecret<String>,
}

impl NewSignOn {
    /// The settings that are to be stored in place of these. The issuer decides where the secret is sent: its own document
    /// names the place. So another issuer asks for it again.
    fn over(&self, stored: Option<SignOnSettings>) -> Result<SignOnSettings, CommandError> {
        let is_moved = stored.as_ref().is_some_and(|stored| stored.issuer != self.settings.issuer);
        let secret = stored.and_then(|stored| stored.client_secret);
        match self.client_secret.clone().over(secret, is_moved) {
            Ok(client_secret) => Ok(SignOnSettings { client_secret, ..self.settings.clone() }),
            Err(GivenForElsewhere) => {
                let detail =
                    "The issuer has changed: enter the secret reference again, or null for no secret.";
                Err(CommandError::invalid("/clientSecret", "secret_required", detail))
            }
        }
    }
}

impl SignOnSettings {
    /// The settings, or everything that is wrong with them. Whether units exist is for the database.
    fn check(&self) -> Result<Vec<GroupMapping>, CommandError> {
        let mut faults = Vec::new();
        let mut fault =
            |pointer: String, code, detail: String| faults.push(Fault::new(pointer, code, detail));
        let is_address = ["https://", "http://"].iter().any(|scheme| self.issuer.starts_with(scheme));
        if !is_address || self.issuer.len() > LONGEST {
            let detail = "The issuer is an address such as `https://id.example.org`, exactly as the provider writes it.";
            fault("/issuer".into(), "address_invalid", detail.into());
        }
        for (name, text) in
            [("name", &self.name), ("clientId", &self.client_id), ("groupsClaim", &self.groups_claim)]
        {
            if text.is_empty() {
                fault(format!("/{name}"), "missing_field", format!("`{name}` is missing."));
            } else if text.len() > LONGEST {
                fault(format!("/{name}"), "out_of_range", format!("`{name}` has at most {LONGEST} bytes."));
            }
        }
        if self.secret_reference().is_err() {
            // The text itself may be the secret, so that it is not repeated.
            let detail = "Say where the secret is: `file:NAME` in the directory for secrets, or `env:NAME`.";
            fault("/clientSecret".into(), "secret_reference", detail.into());
        }
        if self.mappings.len() > MAPPINGS_MAX {
            fault("/mappings".into(), "out_of_range", format!("There are at most {MAPPINGS_MAX} mappings."));
        }
        let known = Role::ALL.map(Role::as_str).join("`, `");
        let mut mappings = Vec::with_capacity(self.mappings.len());
        for (at, mapping) in self.mappings.iter().enumerate() {
            if mapping.group.is_empty() || mapping.group.len() > LONGEST {
                let detail = format!("A group is a name of at most {LONGEST} bytes.");
                fault(format!("/mappings/{at}/group"), "missing_field", detail);
            }
            match Role::parse(&mapping.role) {
                Some(role) => mappings.push(GroupMapping {
                    group: mapping.group.clone(),
                    role,
                    business_units: mapping.business_units.clone(),
                }),
                None => fault(
                    format!("/mappings/{at}/role"),
                    "out_of_range",
                    format!("A role is one of `{known}`."),
                ),
            }
        }
        if faults.is_empty() { Ok(mappings) } else { Err(CommandError::Invalid(faults)) }
    }

    /// Where the secret is, if there is one.
    pub fn secret_reference(&self) -> Result<Option<SecretReference>, NoReference> {
        match self.client_secret.as_deref().map(SecretReference::parse) {
            None => Ok(None),
            Some(Some(Ok(reference))) => Ok(Some(reference)),
            Some(None | Some(Err(_))) => Err(NoReference),
        }
    }
}

/// The secret is given, and not as a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoReference;

/// Makes the provider of settings; the binary has one, because it knows the secrets and the network.
pub trait OpensSignOn: Send + Sync {
    /// The provider, or what is wrong with the settings. It is asked nothing yet.
    fn open(&self, settings: &SignOnSettings) -> Result<Arc<dyn IdentityProvider>, Fault>;
}

/// The single sign-on of a node, wherever it is set up.
#[derive(Default)]
pub struct SignOns {
    file: Option<Arc<SignOn>>,
    opens: Option<Arc<dyn OpensSignOn>>,
    /// What was opened last, and of which text.
    opened: Mutex<Option<(String, Arc<SignOn>)>>,
}

impl SignOns {
    pub fn new(file: Option<Arc<SignOn>>, opens: Option<Arc<dyn OpensSignOn>>) -> Self {
        Self { file, opens, opened: Mutex::default() }
    }

    /// The one of the file, which wins.
    pub fn of_file(&self) -> Option<&Arc<SignOn>> {
        self.file.as_ref()
    }

    /// The one that people sign in with now.
    #[boxed]
    pub async fn current(&self, engine: &Engine) -> Result<Option<Arc<SignOn>>, StoreError> {
        if let Some(file) = &self.file {
            return Ok(Some(file.clone()));
        }
        let Some(text) = stored_text(engine).await? else { return Ok(None) };
        let kept = self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, opened)) = kept.filter(|(of, _)| *of == text) {
            return Ok(Some(opened));
        }
        let settings: SignOnSettings =
            serde_json::from_str(&text).map_err(|_| StoreError::Stored("facts.sign-on"))?;
        match self.open(&settings) {
            Ok(opened) => {
                let opened = Arc::new(opened);
                *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some((text, opened.clone()));
                Ok(Some(opened))
            }
            // People still sign in with passwords and keys; the page of the settings says what is wrong.
            Err(error) => {
                tracing::warn!(%error, "the single sign-on that is set up in the console cannot be used");
                Ok(None)
            }
        }
    }

    /// Makes the sign-on of settings without keeping it: to try them, and before they are kept.
    pub fn open(&self, settings: &SignOnSettings) -> Result<SignOn, CommandError> {
        let mappings = settings.check()?;
        let Some(opens) = &self.opens else {
            return Err(CommandError::not_found("single sign-on", ""));
        };
        let provider = opens.open(settings).map_err(|fault| CommandError::Invalid(vec![fault]))?;
        Ok(SignOn { provider, mappings })
    }
}

async fn stored_text(engine: &Engine) -> Result<Option<String>, StoreError> {
    let mut reader = engine.store.read_for_people().await?;
    facts::get(&mut reader.conn(), FACT).await
}

impl Engine {
    /// What is set up in the console, if anything is.
    #[boxed]
    pub async fn sign_on_settings(&self) -> Result<Option<SignOnSettings>, StoreError> {
        let text = stored_text(self).await?;
        let read =
            |text: String| serde_json::from_str(&text).map_err(|_| StoreError::Stored("facts.sign-on"));
        text.map(read).transpose()
    }

    /// What would be stored of this: to try it, and to keep it. The secret that is kept and the issuer that it was given for
    /// are read together, so that a concurrent save cannot separate them.
    #[boxed]
    pub async fn completed_sign_on(&self, new: &NewSignOn) -> Result<SignOnSettings, CommandError> {
        new.over(self.sign_on_settings().await?)
    }

    /// Keeps what an administrator has set up, if it can be opened. It is for callers without a limit.
    #[boxed]
    pub async fn save_sign_on(
        &self,
        by: &Actor,
        sign_ons: &SignOns,
        new: &NewSignOn,
    ) -> Result<(), CommandError> {
        if by.units.is_some() {
            return Err(CommandError::Shared);
        }
        let settings = self.completed_sign_on(new).await?;
        sign_ons.open(&settings)?;
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let named: BTreeSet<&String> = settings
            .mappings
            .iter()
            .filter_map(|mapping| mapping.business_units.as_ref())
            .flatten()
            .collect();
        let named: Vec<String> = named.into_iter().cloned().collect();
        if let Some(unknown) = unknown_unit(&mut tx.conn(), &named).await? {
            let names = |mapping: &MappingSettings| {
                mapping.business_units.as_ref().is_some_and(|units| units.contains(&unknown))
            };
            let at = settings.mappings.iter().position(names).unwrap_or(0);
            return Err(unit_unknown(&format!("/mappings/{at}/businessUnits"), &unknown));
        }
        let text = serde_json::to_string(&settings).unwrap_or_default();
        facts::put(&mut tx.conn(), now, FACT, &text).await?;
        by.audit(&mut tx, now, AuditAction::Put, "sign-on", &settings.issuer, None).await?;
        Ok(tx.commit().await?)
    }

    /// Forgets what is set up in the console. Accounts that came from the provider stay, with the rights that they have.
    #[boxed]
    pub async fn remove_sign_on(&self, by: &Actor) -> Result<(), CommandError> {
        if by.units.is_some() {
            return Err(CommandError::Shared);
        }
        let settings = self.sign_on_settings().await?;
        let settings = settings.ok_or_else(|| CommandError::not_found("single sign-on", ""))?;
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        facts::forget(&mut tx.conn(), FACT).await?;
        by.audit(&mut tx, now, AuditAction::Delete, "sign-on", &settings.issuer, None).await?;
        Ok(tx.commit().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> SignOnSettings {
        SignOnSettings {
            name: "Example ID".into(),
            issuer: "https://id.example.org".into(),
            client_id: "punctual".into(),
            client_secret: Some("env:OIDC".into()),
            scopes: vec!["email".into()],
            groups_claim: "groups".into(),
            mappings: vec![MappingSettings {
                group: "ops".into(),
                role: "operator".into(),
                business_units: Some(vec!["nz".into()]),
            }],
        }
    }

    #[test]
    fn t12_another_issuer_asks_for_the_secret_again() {
        let elsewhere = SignOnSettings { issuer: "https://evil.example.org".into(), ..good() };
        let over = |settings: &SignOnSettings, client_secret: GivenSecret<String>| {
            let new = NewSignOn { settings: settings.clone(), client_secret };
            new.over(Some(good())).map(|settings| settings.client_secret)
        };
        let reference = || "env:OIDC".to_owned();
        assert_eq!(over(&good(), GivenSecret::LeftOut).unwrap(), Some(reference()));
        let refused = over(&elsewhere, GivenSecret::LeftOut);
        assert!(
            matches!(&refused, Err(CommandError::Invalid(faults)) if faults[0].code == "secret_required")
        );
        assert_eq!(over(&elsewhere, GivenSecret::Given(reference())).unwrap(), Some(reference()));
        assert_eq!(over(&elsewhere, GivenSecret::TakenAway).unwrap(), None);
    }

    #[test]
    fn settings_say_what_is_wrong_with_each_field_and_show_no_secret() {
        let faults = |change: &dyn Fn(&mut SignOnSettings)| {
            let mut settings = good();
            change(&mut settings);
            match settings.check() {
                Ok(_) => Vec::new(),
                Err(CommandError::Invalid(faults)) => {
                    faults.into_iter().map(|fault| format!("{} {}", fault.pointer, fault.detail)).collect()
                }
                Err(other) => panic!("{other:?}"),
            }
        };
        assert_eq!(faults(&|_| {}), Vec::<String>::new());
        assert!(faults(&|one| one.issuer = "id.example.org".into())[0].starts_with("/issuer"));
        assert!(faults(&|one| one.client_id.clear())[0].starts_with("/clientId"));
        let secret = faults(&|one| one.client_secret = Some("hunter2".into()));
        assert!(secret[0].starts_with("/clientSecret") && !secret[0].contains("hunter2"), "{secret:?}");
        assert!(
            faults(&|one| one.client_secret = Some("file:../master.key".into()))[0].contains("file:NAME")
        );
        assert!(faults(&|one| one.mappings[0].role = "root".into())[0].starts_with("/mappings/0/role"));
        assert!(faults(&|one| one.mappings[0].group.clear())[0].starts_with("/mappings/0/group"));
    }
}
