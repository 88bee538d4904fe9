//! Typed commands for every change by people and programs. A command validates, writes and adds its audit entry in one
//! transaction.
//!
//! The API and the console authenticate the caller, call one command, and format the response. A command gets its caller as an
//! [`Actor`] and returns a [`CommandError`] if it did nothing; API and console turn it into a response. `punctual-workflows`
//! has the commands of the workflows, in the same form.

mod actor;
mod causes;
mod channels;
mod consumers;
mod idempotency;
mod inbox;
mod lists;
mod saved_views;
mod seen;
mod sessions;
mod sign_on;
mod sign_on_settings;
mod sites;
mod sources;
mod subscribers;
mod templates;
pub(crate) mod units;
mod users;

use punctual_model::Fault;
use punctual_store::StoreError;
pub use punctual_templates::Variant as TemplateVariant;

pub use self::{
    actor::Actor,
    causes::CausePlan,
    channels::NewChannel,
    consumers::NewConsumer,
    lists::{NewList, SavedList},
    saved_views::SavedView,
    seen::Seen,
    sessions::{LINK_LASTS, SignedIn, SigningIn},
    sign_on::{GroupMapping, SignOn, SignedOn},
    sign_on_settings::{MAPPINGS_MAX, MappingSettings, NewSignOn, OpensSignOn, SignOnSettings, SignOns},
    subscribers::RetriedAll,
    templates::NewTemplate,
    units::{OwnUnit, Units},
    users::{INVITATION_LASTS, Invitation, Mailed, NewUser, UserChange, normal_email},
};
use crate::{EngineError, SecretsError, settings::SettingsRefused};

/// Why a command did nothing. Whatever it says, nothing was written, also not to the audit.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("the input has faults")]
    Invalid(Vec<Fault>),
    /// It does not exist, or it belongs to another business unit; callers cannot distinguish the two.
    #[error("there is no {what} `{id}`")]
    NotFound { what: &'static str, id: String },
    /// It belongs to all business units, and the caller is limited to some.
    #[error("it belongs to all business units")]
    Shared,
    #[error("the id `{id}` is taken")]
    IdReused { id: String, detail: Option<String> },
    #[error("there is a newer version")]
    Stale,
    #[error("it is {state}; {action} is not possible")]
    NotAllowed { action: &'static str, state: String, allowed: &'static [&'static str] },
    #[error("the secrets cannot be handled")]
    Secrets(#[source] SecretsError),
    #[error(transparent)]
    Engine(EngineError),
}

impl CommandError {
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound { what, id: id.into() }
    }

    /// Whoever writes under a name or an id that they choose themselves, and does not get it: it is another business unit's,
    /// or was deleted and stays on record. Names are one space for the whole installation, because a path, a document of
    /// definitions and what a site hands in name a thing without its unit. So this one refusal is all that there is to see of
    /// a name out of reach, and it is the same text for every kind.
    pub fn taken(id: impl Into<String>) -> Self {
        Self::IdReused { id: id.into(), detail: None }
    }

    /// [`Self::taken`], where the store wrote nothing.
    pub fn taken_unless(written: bool, id: &str) -> Result<(), Self> {
        if written { Ok(()) } else { Err(Self::taken(id)) }
    }

    /// One place of the input is at fault.
    pub fn invalid(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![Fault::new(pointer, code, detail)])
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<SecretsError> for CommandError {
    fn from(error: SecretsError) -> Self {
        match error {
            SecretsError::Store(error) => error.into(),
            error => Self::Secrets(error),
        }
    }
}

impl From<SettingsRefused> for CommandError {
    fn from(refused: SettingsRefused) -> Self {
        match refused {
            SettingsRefused::Secrets(error) => error.into(),
            SettingsRefused::Faults(faults) => Self::Invalid(
                faults
                    .into_iter()
                    .map(|fault| Fault::new(format!("/settings{}", fault.pointer), fault.code, fault.detail))
                    .collect(),
            ),
        }
    }
}
