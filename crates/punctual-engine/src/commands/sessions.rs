//! Console sessions and one-time sign-in links. A session has the present permissions of its key or account.
//!
//! The browser holds 256 random bits, the table only their hash. A session ends after half an hour without use, after twelve
//! hours, at sign-out, when it is revoked, or with its key or account.

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_model::{AuditAction, Role, Scope};
use punctual_store::{
    Lane, StoreError, api_keys,
    api_keys::ApiKeyRow,
    invitations,
    sessions::{self, OpenSession, Owner, SessionRow},
    users::{self, UserRow},
};

use super::{Actor, CommandError};
use crate::{
    Engine,
    keys::{OPERATOR, hex, secret_hash},
};

const IDLE: SignedDuration = SignedDuration::from_mins(30);
const ABSOLUTE: SignedDuration = SignedDuration::from_hours(12);
/// How often the last use is written down at most.
const TOUCH_EVERY: SignedDuration = SignedDuration::from_mins(1);
/// How long a link that signs in is good for.
pub const LINK_LASTS: SignedDuration = SignedDuration::from_mins(10);

/// What is kept of what a browser says it is.
const LONGEST_DEVICE: usize = 120;
/// Sessions of one owner that are listed.
const LISTED: i64 = 100;

/// Who a session is for.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub owner: Owner,
    /// The name of the key, or the email of the person: messages for the inbox are addressed to it.
    pub name: String,
    /// What people call them.
    pub shown: String,
    pub by: Actor,
    pub scopes: Vec<Scope>,
}

impl SignedIn {
    /// Of a session whose key or account is good; `None` where it is not any more.
    fn of(row: SessionRow, now: Timestamp) -> Option<Self> {
        let over = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        // What cannot be read reaches nothing.
        let units = |text: Option<String>| text.map(|text| serde_json::from_str(&text).unwrap_or_default());
        if let (Some(id), Some(email)) = (row.user_id, row.email) {
            let role = row.role.as_deref().and_then(Role::parse).filter(|_| row.active == Some(true))?;
            let name = row.user_name.filter(|name| !name.is_empty());
            return Some(Self {
                owner: Owner::User(id),
                by: Actor::person(&email, units(row.user_units)).by_hand(),
                shown: name.unwrap_or_else(|| email.clone()),
                name: email,
                scopes: role.scopes().to_vec(),
            });
        }
        if row.key_revoked_at.is_some() || over(row.key_expires_at) {
            return None;
        }
        let name = row.key_name?;
        Some(Self {
            owner: Owner::Key(row.key_id?),
            by: Actor::key(&name, units(row.key_units)).by_hand(),
            shown: name.clone(),
            name,
            scopes: Scope::read_all(&row.key_scopes.unwrap_or_default()),
        })
    }
}

/// Who signs in.
#[derive(Clone, Copy, Debug)]
pub enum SigningIn<'a> {
    Key(&'a ApiKeyRow),
    User(&'a UserRow),
}

impl Engine {
    /// Whose session has this secret, if it and its key or account are good; with `is_use` it is kept alive.
    #[boxed]
    pub async fn session(
        &self,
        now: Timestamp,
        secret: &str,
        is_use: bool,
    ) -> Result<Option<SignedIn>, StoreError> {
        let hash = secret_hash(secret);
        let mut reader = self.store.read().await?;
        let row = sessions::by_hash(&mut reader.conn(), &hash).await?;
        drop(reader);
        let Some(row) = row else { return Ok(None) };
        let used = row.last_used_at;
        if row.expires_at <= now || now.duration_since(used) >= IDLE {
            return Ok(None);
        }
        let Some(signed_in) = SignedIn::of(row, now) else { return Ok(None) };
        if is_use && now.duration_since(used) >= TOUCH_EVERY {
            let mut tx = self.store.begin(Lane::Intake).await?;
            sessions::touch(&mut tx.conn(), now, &hash).await?;
            tx.commit().await?;
        }
        Ok(Some(signed_in))
    }

    /// Starts a session and returns its secret. `device` is what the browser says it is. One that the browser had before is not taken over: it ends.
    #[boxed]
    pub async fn start_session(
        &self,
        now: Timestamp,
        who: SigningIn<'_>,
        before: Option<&str>,
        device: Option<&str>,
    ) -> Result<String, StoreError> {
        let secret = self.session_secret();
        let device = device.map(shortened);
        let mut tx = self.store.begin(Lane::Intake).await?;
        if let Some(before) = before {
            sessions::delete(&mut tx.conn(), &secret_hash(before)).await?;
        }
        sessions::forget(&mut tx.conn(), now).await?;
        invitations::forget(&mut tx.conn(), now).await?;
        let (owner, by, kind, id) = match who {
            SigningIn::Key(key) => (Owner::Key(key.id.clone()), Actor::key(&key.name, None), "key", &key.id),
            SigningIn::User(user) => {
                users::signed_in(&mut tx.conn(), now, &user.id).await?;
                (Owner::User(user.id.clone()), Actor::person(&user.email, None), "user", &user.id)
            }
        };
        let expires = now + ABSOLUTE;
        sessions::insert(&mut tx.conn(), now, &secret_hash(&secret), &owner, device.as_deref(), expires)
            .await?;
        by.audit(&mut tx, now, AuditAction::SignIn, kind, id, None).await?;
        tx.commit().await?;
        Ok(secret)
    }

    /// The sessions of a key or a person that are not over, the last used one first.
    #[boxed]
    pub async fn open_sessions(&self, now: Timestamp, owner: &Owner) -> Result<Vec<OpenSession>, StoreError> {
        let mut reader = self.store.read_for_people().await?;
        let mut open = sessions::of_owner(&mut reader.conn(), now, owner, LISTED).await?;
        open.retain(|one| {
            let used = one.last_used_at;
            now.duration_since(used) < IDLE
        });
        Ok(open)
    }

    /// Ends one session of a key or a person, named by its hash.
    #[boxed]
    pub async fn end_session_of(
        &self,
        by: &Actor,
        now: Timestamp,
        owner: &Owner,
        hash: &str,
    ) -> Result<(), CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        if !sessions::delete_one_of(&mut tx.conn(), owner, hash).await? {
            return Err(CommandError::not_found("session", hash));
        }
        let (kind, id) = kind_of(owner);
        by.audit(&mut tx, now, AuditAction::EndSession, kind, id, None).await?;
        Ok(tx.commit().await?)
    }

    /// Ends every session of a key or a person but the one with the secret `but`, and returns how many that were.
    #[boxed]
    pub async fn end_sessions_of(
        &self,
        by: &Actor,
        now: Timestamp,
        owner: &Owner,
        but: Option<&str>,
    ) -> Result<u64, StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let but = but.map(secret_hash).unwrap_or_default();
        let ended = sessions::delete_all_of(&mut tx.conn(), owner, &but).await?;
        let (kind, id) = kind_of(owner);
        by.audit(&mut tx, now, AuditAction::EndSessions, kind, id, None).await?;
        tx.commit().await?;
        Ok(ended)
    }

    #[boxed]
    pub async fn end_session(&self, secret: &str) -> Result<(), StoreError> {
        let hash = secret_hash(secret);
        let mut tx = self.store.begin(Lane::Intake).await?;
        if let Some(row) = sessions::by_hash(&mut tx.conn(), &hash).await? {
            sessions::delete(&mut tx.conn(), &hash).await?;
            let now = self.clock.now();
            // Somebody who was removed has no sessions to end.
            if let Some(SignedIn { by, owner, .. }) = SignedIn::of(row, now) {
                let (kind, id) = kind_of(&owner);
                by.audit(&mut tx, now, AuditAction::SignOut, kind, id, None).await?;
            }
        }
        tx.commit().await
    }

    /// Makes a link that signs in once, as the oldest key that may do everything, and returns its secret; `None` where
    /// there is no such key.
    #[boxed]
    pub async fn make_sign_in_link(&self, now: Timestamp) -> Result<Option<String>, StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let keys = api_keys::all(&mut tx.conn()).await?;
        let may_all = |key: &&ApiKeyRow| {
            is_good(key, now)
                && key.business_units.is_none()
                && Scope::read_all(&key.scopes).contains(&Scope::Admin)
        };
        let Some(key) = keys.iter().find(may_all) else { return Ok(None) };
        let secret = self.session_secret();
        sessions::forget(&mut tx.conn(), now).await?;
        sessions::insert_link(&mut tx.conn(), now, &secret_hash(&secret), &key.id, now + LINK_LASTS).await?;
        let by = Actor::named(OPERATOR);
        by.audit(&mut tx, now, AuditAction::SignInLink, "key", &key.id, None).await?;
        tx.commit().await?;
        Ok(Some(secret))
    }

    /// The key that a link was made for, which is used up; `None` whatever is wrong with either.
    #[boxed]
    pub async fn use_sign_in_link(
        &self,
        now: Timestamp,
        secret: &str,
    ) -> Result<Option<ApiKeyRow>, StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let key = match sessions::take_link(&mut tx.conn(), now, &secret_hash(secret)).await? {
            Some(id) => api_keys::by_id(&mut tx.conn(), &id).await?,
            None => None,
        };
        tx.commit().await?;
        Ok(key.filter(|key| is_good(key, now)))
    }

    /// The key with this text; `None` whatever is wrong with it.
    #[boxed]
    pub async fn good_key(&self, now: Timestamp, text: &str) -> Result<Option<ApiKeyRow>, StoreError> {
        let mut reader = self.store.read().await?;
        let key = api_keys::by_hash(&mut reader.conn(), &secret_hash(text)).await?;
        Ok(key.filter(|key| is_good(key, now)))
    }

    /// 256 random bits, in letters that a cookie and an address can carry.
    pub(super) fn session_secret(&self) -> String {
        let mut bytes = [0; 32];
        self.random.bytes(&mut bytes);
        hex(&bytes)
    }
}

fn is_good(key: &ApiKeyRow, now: Timestamp) -> bool {
    key.revoked_at.is_none() && key.expires_at.is_none_or(|at| at > now)
}

fn kind_of(owner: &Owner) -> (&'static str, &str) {
    match owner {
        Owner::Key(id) => ("key", id),
        Owner::User(id) => ("user", id),
    }
}

/// One line, not too long.
fn shortened(device: &str) -> String {
    device.chars().filter(|c| !c.is_control()).take(LONGEST_DEVICE).collect()
}
