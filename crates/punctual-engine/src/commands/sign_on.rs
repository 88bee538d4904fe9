//! Single sign-on: maps groups to permissions and creates accounts at the first sign-in.
//!
//! A person in no mapped group gets no account. Permissions from groups are updated at each sign-in; a manually created account
//! keeps its permissions unless a mapping sets others.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, Identity, IdentityProvider, Role};
use punctual_store::{
    Lane, StoreError,
    sessions::{self, Owner},
    sign_on_answers,
    users::{self, UserRow},
};

use super::{
    Actor,
    users::{NewUser, audited, end_sessions_if_changed, new_row, normal_email, stored_units},
};
use crate::{Engine, keys::secret_hash};

/// What a group gives its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMapping {
    pub group: String,
    pub role: Role,
    /// `None` for all of them.
    pub business_units: Option<Vec<String>>,
}

/// The single sign-on of an installation.
#[derive(Clone)]
pub struct SignOn {
    pub provider: Arc<dyn IdentityProvider>,
    /// In order: the first one that fits decides.
    pub mappings: Vec<GroupMapping>,
}

impl SignOn {
    /// What these groups give. The first mapping decides, and not the sum: admin of one unit and viewer of all are not
    /// admin of all.
    fn rights(&self, groups: &[String]) -> Option<&GroupMapping> {
        self.mappings.iter().find(|mapping| groups.contains(&mapping.group))
    }
}

/// Who came from the provider.
#[derive(Clone, Debug)]
pub enum SignedOn {
    User(Box<UserRow>),
    /// No account, or one that may not sign in; it says why, for the log.
    Refused(&'static str),
}

impl Engine {
    /// Uses an answer of the provider up; false if it was used before.
    #[boxed]
    pub async fn use_sign_on_answer(
        &self,
        now: Timestamp,
        state: &str,
        good_until: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let first = sign_on_answers::use_once(&mut tx.conn(), now, &secret_hash(state), good_until).await?;
        tx.commit().await?;
        Ok(first)
    }

    /// The account of the person that the provider authenticated; created if a mapping gives a role.
    #[boxed]
    pub async fn sign_on(
        &self,
        now: Timestamp,
        sign_on: &SignOn,
        identity: &Identity,
    ) -> Result<SignedOn, StoreError> {
        let rights = sign_on.rights(&identity.groups);
        let email = identity.email.as_deref().map(normal_email).filter(|email| email.contains('@'));
        let mut tx = self.store.begin(Lane::Intake).await?;
        let known = users::by_subject(&mut tx.conn(), &identity.issuer, &identity.subject).await?;
        let (mut user, is_linked) = match known {
            Some(user) => (user, true),
            None => {
                let Some(email) = email else { return Ok(SignedOn::Refused("the provider gives no email")) };
                match users::by_email(&mut tx.conn(), &email).await? {
                    // Who could choose their email at the provider could otherwise choose an account here.
                    Some(_) if !identity.email_verified => {
                        return Ok(SignedOn::Refused("the email is not verified, and somebody has it here"));
                    }
                    Some(user) if user.subject.is_some() => {
                        return Ok(SignedOn::Refused("the account with this email is somebody else's there"));
                    }
                    Some(user) => (user, false),
                    None => {
                        let Some(rights) = rights else {
                            return Ok(SignedOn::Refused("no mapping gives one of their groups a role"));
                        };
                        let name = identity.name.clone().unwrap_or_else(|| email.clone());
                        let business_units = rights.business_units.clone();
                        let new = NewUser { email, name, role: rights.role, business_units };
                        let mut user = new_row(now, self.random.ordered_uuid(now), new);
                        user.issuer = Some(identity.issuer.clone());
                        user.subject = Some(identity.subject.clone());
                        user.rights_from_provider = true;
                        if !users::insert(&mut tx.conn(), now, &user).await? {
                            return Ok(SignedOn::Refused("two first sign-ins at once; the next one works"));
                        }
                        audited(&mut tx, &Actor::person(&user.email, None), now, AuditAction::Create, &user)
                            .await?;
                        tx.commit().await?;
                        return Ok(SignedOn::User(Box::new(user)));
                    }
                }
            }
        };
        if !user.active {
            return Ok(SignedOn::Refused("the account is not active"));
        }
        let before = user.clone();
        match rights {
            Some(rights) => {
                user.role = rights.role.as_str().to_owned();
                user.business_units = rights.business_units.clone().map(stored_units);
                user.rights_from_provider = true;
            }
            None if user.rights_from_provider => {
                // A person without a role loses it in existing sessions too.
                let owner = Owner::User(user.id.clone());
                if sessions::delete_all_of(&mut tx.conn(), &owner, "").await? > 0 {
                    let own = Actor::person(&user.email, None);
                    audited(&mut tx, &own, now, AuditAction::EndSessions, &user).await?;
                    tx.commit().await?;
                }
                return Ok(SignedOn::Refused("no mapping gives one of their groups a role any more"));
            }
            None => {}
        }
        if !is_linked {
            user.issuer = Some(identity.issuer.clone());
            user.subject = Some(identity.subject.clone());
        }
        if user != before {
            if !users::update(&mut tx.conn(), now, &user).await? {
                return Ok(SignedOn::Refused(
                    "the account was changed at the same moment; the next sign-in works",
                ));
            }
            end_sessions_if_changed(&mut tx, &before, &user).await?;
            audited(&mut tx, &Actor::person(&user.email, None), now, AuditAction::Change, &user).await?;
        }
        tx.commit().await?;
        Ok(SignedOn::User(Box::new(user)))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use punctual_model::{SignOnAnswer, SignOnFault, SignOnRequest};

    use super::*;

    struct Nobody;

    impl IdentityProvider for Nobody {
        fn name(&self) -> &str {
            ""
        }
        fn issuer(&self) -> &str {
            ""
        }
        fn start(&self, _: SignOnRequest) -> BoxFuture<'_, Result<String, SignOnFault>> {
            unreachable!("nobody signs in here")
        }
        fn finish(&self, _: SignOnAnswer) -> BoxFuture<'_, Result<Identity, SignOnFault>> {
            unreachable!("nobody signs in here")
        }
        fn sign_out(&self, _: &str) -> BoxFuture<'_, Result<Option<String>, SignOnFault>> {
            unreachable!("nobody signs in here")
        }
    }

    #[test]
    fn the_first_mapping_that_fits_decides() {
        let mapping = |group: &str, role, units: Option<&str>| GroupMapping {
            group: group.to_owned(),
            role,
            business_units: units.map(|unit| vec![unit.to_owned()]),
        };
        let sign_on = SignOn {
            provider: Arc::new(Nobody),
            mappings: vec![
                mapping("nz-admins", Role::Admin, Some("nz")),
                mapping("everybody", Role::Viewer, None),
            ],
        };
        let rights = |groups: &[&str]| {
            let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
            sign_on.rights(&groups).map(|rights| (rights.role, rights.business_units.is_some()))
        };
        assert_eq!(rights(&["everybody", "nz-admins"]), Some((Role::Admin, true)), "and not admin of all");
        assert_eq!(rights(&["everybody"]), Some((Role::Viewer, false)));
        assert_eq!((rights(&[]), rights(&["NZ-admins"])), (None, None));
    }
}
