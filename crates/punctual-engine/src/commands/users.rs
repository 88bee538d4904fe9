//! Accounts of the console: people, roles, invitations and passwords.
//!
//! The link of an invitation sets a password once; a new invitation resets a forgotten one. The link is shown to the inviter
//! and, if there is an email channel, mailed without the pipeline, because every viewer could read it in the outbox.

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_model::{AuditAction, ChannelKey, Clock, Role, Secret, SendOutcome};
use punctual_store::{
    Conn, Lane, StoreError, Tx, audit, invitations, saved_views,
    sessions::{self, Owner},
    users::{self, UserRow},
};
use uuid::Uuid;

use super::{
    Actor, CommandError,
    units::{unit_unknown, unknown_unit},
};
use crate::{
    Engine,
    keys::secret_hash,
    passwords,
    trial::{Trial, TrialMessage},
};

/// How long the link of an invitation is good for.
pub const INVITATION_LASTS: SignedDuration = SignedDuration::from_hours(72);
/// Channels that reach mailboxes.
const MAIL: &str = "email:";

/// A person to be added.
#[derive(Clone, Debug)]
pub struct NewUser {
    pub email: String,
    pub name: String,
    pub role: Role,
    /// `None` for all of them.
    pub business_units: Option<Vec<String>>,
}

/// What is to be different about a person; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub struct UserChange {
    pub email: Option<String>,
    pub name: Option<String>,
    pub role: Option<Role>,
    pub business_units: Option<Option<Vec<String>>>,
    pub active: Option<bool>,
}

/// A link with which somebody sets their password. Its secret is stored nowhere.
#[derive(Clone)]
pub struct Invitation {
    pub user: UserRow,
    /// The whole address of the page.
    pub link: String,
    pub expires_at: Timestamp,
}

/// The outcome of the mail with the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mailed {
    /// There is no channel for mail.
    NoChannel,
    Sent {
        channel: String,
    },
    Failed {
        channel: String,
        error: String,
    },
}

/// An email as it is stored and compared: without regard to case.
pub fn normal_email(text: &str) -> String {
    text.trim().to_lowercase()
}

impl Engine {
    /// Adds a person, who cannot sign in before they have set a password or come through the single sign-on.
    #[boxed]
    pub async fn create_user(
        &self,
        by: &Actor,
        now: Timestamp,
        id: Uuid,
        new: NewUser,
    ) -> Result<UserRow, CommandError> {
        let row = new_row(now, id, new);
        let mut tx = self.store.begin(Lane::Intake).await?;
        require_units(&mut tx.conn(), row.business_units.as_deref()).await?;
        if !users::insert(&mut tx.conn(), now, &row).await? {
            return Err(taken(&row.email));
        }
        audited(&mut tx, by, now, AuditAction::Create, &row).await?;
        tx.commit().await?;
        Ok(row)
    }

    /// Changes what somebody is called or may do. Whose rights change, or who is not active any more, loses their open sessions:
    /// the new rights come with a new session.
    #[boxed]
    pub async fn change_user(
        &self,
        by: &Actor,
        now: Timestamp,
        id: &str,
        change: UserChange,
    ) -> Result<UserRow, CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let mut row = users::get(&mut tx.conn(), id).await?.ok_or_else(|| missing(id))?;
        let before = row.clone();
        if let Some(email) = change.email.map(|email| normal_email(&email)) {
            let other = users::by_email(&mut tx.conn(), &email).await?;
            if other.is_some_and(|other| other.id != row.id) {
                return Err(taken(&email));
            }
            row.email = email;
        }
        row.name = change.name.unwrap_or(row.name);
        row.role = change.role.map_or(row.role, |role| role.as_str().to_owned());
        if let Some(units) = change.business_units {
            row.business_units = units.map(stored_units);
            require_units(&mut tx.conn(), row.business_units.as_deref()).await?;
        }
        row.active = change.active.unwrap_or(row.active);
        if !users::update(&mut tx.conn(), now, &row).await? {
            return Err(CommandError::Stale);
        }
        if !row.active {
            end_everything(&mut tx, &row.id).await?;
        }
        end_sessions_if_changed(&mut tx, &before, &row).await?;
        audited(&mut tx, by, now, AuditAction::Change, &row).await?;
        let row = users::get(&mut tx.conn(), id).await?.ok_or_else(|| missing(id))?;
        tx.commit().await?;
        Ok(row)
    }

    /// Removes a person. The audit keeps what they did.
    #[boxed]
    pub async fn delete_user(&self, by: &Actor, now: Timestamp, id: &str) -> Result<(), CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = users::get(&mut tx.conn(), id).await?.ok_or_else(|| missing(id))?;
        end_everything(&mut tx, id).await?;
        saved_views::forget(&mut tx.conn(), &Owner::User(id.to_owned())).await?;
        users::delete(&mut tx.conn(), id).await?;
        audited(&mut tx, by, now, AuditAction::Delete, &row).await?;
        Ok(tx.commit().await?)
    }

    /// Makes a link with which somebody sets a password. An earlier one ends.
    #[boxed]
    pub async fn invite_user(
        &self,
        by: &Actor,
        now: Timestamp,
        id: &str,
    ) -> Result<Invitation, CommandError> {
        let secret = self.session_secret();
        let expires_at = now + INVITATION_LASTS;
        let mut tx = self.store.begin(Lane::Intake).await?;
        let user = users::get(&mut tx.conn(), id).await?.ok_or_else(|| missing(id))?;
        if !user.active {
            let state = "disabled".to_owned();
            return Err(CommandError::NotAllowed { action: "invite", state, allowed: &["enable", "delete"] });
        }
        invitations::put(&mut tx.conn(), now, &secret_hash(&secret), id, expires_at).await?;
        audited(&mut tx, by, now, AuditAction::Invite, &user).await?;
        tx.commit().await?;
        let link = format!("{}/invitation?token={secret}", self.public_address());
        Ok(Invitation { user, link, expires_at })
    }

    /// Mails the link, over the first channel for mail that there is. Nothing of it is stored.
    #[boxed]
    pub async fn mail_invitation(
        &self,
        wall: &dyn Clock,
        invitation: &Invitation,
    ) -> Result<Mailed, StoreError> {
        let mut reader = self.store.read().await?;
        self.channels.refresh(&mut reader.conn(), self.clock.now()).await?;
        drop(reader);
        let mut keys: Vec<String> =
            self.channels.keys().into_iter().filter(|key| key.starts_with(MAIL)).collect();
        keys.sort_by_key(|key| (key != "email:default", key.clone()));
        let Some((channel, key)) =
            keys.into_iter().find_map(|text| text.parse::<ChannelKey>().ok().map(|key| (text, key)))
        else {
            return Ok(Mailed::NoChannel);
        };
        let message = TrialMessage {
            id: self.random.uuid(),
            address: invitation.user.email.clone(),
            subject: Some("Your account on Punctual".to_owned()),
            body: Some(format!(
                "Hello {},\n\nset your password here, once and until {}:\n\n{}\n\nYou sign in with {}.\n",
                invitation.user.name, invitation.expires_at, invitation.link, invitation.user.email
            )),
        };
        let error = match self.send_beside(wall, None, &key, message).await? {
            Trial::Sent { outcome: SendOutcome::Delivered { .. }, .. } => {
                return Ok(Mailed::Sent { channel });
            }
            Trial::NoChannel => "there is no such channel".to_owned(),
            Trial::Address(error) | Trial::Broken(error) => error,
            Trial::Sent {
                outcome:
                    SendOutcome::Transient { error, .. }
                    | SendOutcome::Permanent { error, .. }
                    | SendOutcome::Uncertain { error },
                ..
            } => error,
        };
        Ok(Mailed::Failed { channel, error })
    }

    /// Whose the link of an invitation is, if it and they are good.
    #[boxed]
    pub async fn invited(&self, now: Timestamp, secret: &str) -> Result<Option<UserRow>, StoreError> {
        let mut reader = self.store.read().await?;
        let Some(id) = invitations::find(&mut reader.conn(), now, &secret_hash(secret)).await? else {
            return Ok(None);
        };
        Ok(users::get(&mut reader.conn(), &id).await?.filter(|user| user.active))
    }

    /// Sets the password of whoever the link was made for, which is used up, and ends their sessions; `None` whatever
    /// is wrong with the link. A password that is not taken leaves the link as it is.
    #[boxed]
    pub async fn accept_invitation(
        &self,
        now: Timestamp,
        secret: &str,
        password: &Secret,
    ) -> Result<Option<UserRow>, CommandError> {
        let Some(user) = self.invited(now, secret).await? else { return Ok(None) };
        let hash = self.password_hash(&user, password).await?;
        let mut tx = self.store.begin(Lane::Intake).await?;
        let taken = invitations::take(&mut tx.conn(), now, &secret_hash(secret)).await?;
        if taken.as_deref() != Some(user.id.as_str())
            || !users::set_password(&mut tx.conn(), now, &user.id, &hash).await?
        {
            return Ok(None);
        }
        sessions::delete_all_of(&mut tx.conn(), &Owner::User(user.id.clone()), "").await?;
        audited(&mut tx, &Actor::person(&user.email, None), now, AuditAction::SetPassword, &user).await?;
        tx.commit().await?;
        Ok(Some(user))
    }

    /// Gives somebody another password, if they know the one they have, and ends all their sessions.
    #[boxed]
    pub async fn change_password(
        &self,
        now: Timestamp,
        id: &str,
        old: &Secret,
        new: &Secret,
    ) -> Result<UserRow, CommandError> {
        let mut reader = self.store.read().await?;
        let user = users::get(&mut reader.conn(), id).await?.ok_or_else(|| missing(id))?;
        drop(reader);
        if !passwords::matches(user.password_hash.clone(), old).await {
            return Err(CommandError::invalid("/old", "auth_failed", "This is not your password."));
        }
        let hash = self.password_hash(&user, new).await?;
        let mut tx = self.store.begin(Lane::Intake).await?;
        if !users::set_password(&mut tx.conn(), now, id, &hash).await? {
            return Err(missing(id));
        }
        sessions::delete_all_of(&mut tx.conn(), &Owner::User(id.to_owned()), "").await?;
        invitations::delete_of(&mut tx.conn(), id).await?;
        audited(&mut tx, &Actor::person(&user.email, None), now, AuditAction::SetPassword, &user).await?;
        tx.commit().await?;
        Ok(user)
    }

    /// Whoever has this email and this password; `None` whatever is wrong, after the same time.
    #[boxed]
    pub async fn user_with_password(
        &self,
        email: &str,
        password: &Secret,
    ) -> Result<Option<UserRow>, StoreError> {
        let mut reader = self.store.read().await?;
        let user = users::by_email(&mut reader.conn(), &normal_email(email)).await?;
        drop(reader);
        let hash = user.as_ref().and_then(|user| user.password_hash.clone());
        let is_theirs = passwords::matches(hash, password).await;
        Ok(user.filter(|user| is_theirs && user.active))
    }

    async fn password_hash(&self, user: &UserRow, password: &Secret) -> Result<String, CommandError> {
        if let Some(fault) = passwords::fault(password.expose(), &user.email, "/password") {
            return Err(CommandError::Invalid(vec![fault]));
        }
        let hash = passwords::hash(self.random.as_ref(), password).await;
        hash.ok_or_else(|| {
            CommandError::invalid("/password", "password_weak", "The password cannot be used.")
        })
    }
}

pub(crate) fn new_row(now: Timestamp, id: Uuid, new: NewUser) -> UserRow {
    UserRow {
        id: id.to_string(),
        email: normal_email(&new.email),
        name: new.name,
        role: new.role.as_str().to_owned(),
        business_units: new.business_units.map(stored_units),
        active: true,
        password_hash: None,
        issuer: None,
        subject: None,
        rights_from_provider: false,
        created_at: now,
        updated_at: now,
        last_sign_in_at: None,
        version: 1,
    }
}

pub(crate) fn stored_units(units: Vec<String>) -> String {
    serde_json::Value::from(units).to_string()
}

async fn require_units(conn: &mut Conn<'_>, stored: Option<&str>) -> Result<(), CommandError> {
    let units: Vec<String> = stored.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    match unknown_unit(conn, &units).await? {
        Some(unit) => Err(unit_unknown("/businessUnits", &unit)),
        None => Ok(()),
    }
}

/// A session lasts as long as the rights that it was made with: nobody who took one over gets more by it, and nothing that was
/// shown before is acted on afterwards.
pub(super) async fn end_sessions_if_changed(
    tx: &mut Tx,
    before: &UserRow,
    after: &UserRow,
) -> Result<(), StoreError> {
    if (&before.role, &before.business_units) != (&after.role, &after.business_units) {
        sessions::delete_all_of(&mut tx.conn(), &Owner::User(after.id.clone()), "").await?;
    }
    Ok(())
}

/// Nobody signs in with what they had before.
async fn end_everything(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    sessions::delete_all_of(&mut tx.conn(), &Owner::User(id.to_owned()), "").await?;
    invitations::delete_of(&mut tx.conn(), id).await
}

/// An entry that says who it is about and what they may do: the id alone would tell a reader nothing later.
pub(crate) async fn audited(
    tx: &mut Tx,
    by: &Actor,
    now: Timestamp,
    action: AuditAction,
    user: &UserRow,
) -> Result<(), StoreError> {
    let units: Option<serde_json::Value> =
        user.business_units.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let data = serde_json::json!({ "email": user.email, "role": user.role, "businessUnits": units,
        "active": user.active });
    let entry =
        audit::Entry { data: Some(data.to_string()), ..audit::Entry::new(action, "user", &user.id, None) };
    by.audit_entry(tx, now, entry).await
}

fn taken(email: &str) -> CommandError {
    let detail = format!("There is already a user with the email `{email}`.");
    CommandError::IdReused { id: email.to_owned(), detail: Some(detail) }
}

fn missing(id: &str) -> CommandError {
    CommandError::not_found("user", id)
}
