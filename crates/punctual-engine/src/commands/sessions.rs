//! Sessions of the console and links that sign in once: who looks at a page, with the rights of the key that signed in.
//!
//! The browser has 256 random bits and the table has their hash. A session ends when it was not used for half an hour,
//! after twelve hours, at sign-out, or with its key.

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_model::Scope;
use punctual_store::{
    Lane, StoreError,
    api_keys::{self, ApiKeyRow},
    sessions::{self, SessionRow},
};

use super::Actor;
use crate::{
    Engine,
    keys::{hex, secret_hash},
};

const IDLE: SignedDuration = SignedDuration::from_mins(30);
const ABSOLUTE: SignedDuration = SignedDuration::from_hours(12);
/// How often the last use is written down at most.
const TOUCH_EVERY: SignedDuration = SignedDuration::from_mins(1);
/// How long a link that signs in is good for.
pub const LINK_LASTS: SignedDuration = SignedDuration::from_mins(10);

impl Engine {
    /// The session with this secret, if it and its key are good; with `is_use` it is kept alive.
    #[boxed]
    pub async fn session(
        &self,
        now: Timestamp,
        secret: &str,
        is_use: bool,
    ) -> Result<Option<SessionRow>, StoreError> {
        let hash = secret_hash(secret);
        let mut reader = self.store.read().await?;
        let row = sessions::by_hash(&mut reader.conn(), &hash).await?;
        drop(reader);
        let Some(row) = row else { return Ok(None) };
        let used = Timestamp::from_microsecond(row.last_used_at).unwrap_or(Timestamp::MIN);
        let over = |at: Option<i64>| at.is_some_and(|at| at <= now.as_microsecond());
        if row.key_revoked_at.is_some()
            || over(row.key_expires_at)
            || over(Some(row.expires_at))
            || now.duration_since(used) >= IDLE
        {
            return Ok(None);
        }
        if is_use && now.duration_since(used) >= TOUCH_EVERY {
            let mut tx = self.store.begin(Lane::Intake).await?;
            sessions::touch(&mut tx.conn(), now, &hash).await?;
            tx.commit().await?;
        }
        Ok(Some(row))
    }

    /// Starts a session for a key and returns its secret. One that the browser had before is not taken over: it ends.
    #[boxed]
    pub async fn start_session(
        &self,
        now: Timestamp,
        key: &ApiKeyRow,
        before: Option<&str>,
    ) -> Result<String, StoreError> {
        let secret = self.session_secret();
        let mut tx = self.store.begin(Lane::Intake).await?;
        if let Some(before) = before {
            sessions::delete(&mut tx.conn(), &secret_hash(before)).await?;
        }
        sessions::forget(&mut tx.conn(), now).await?;
        sessions::insert(&mut tx.conn(), now, &secret_hash(&secret), &key.id, now + ABSOLUTE).await?;
        Actor::key(&key.name, None).audit(&mut tx, now, "sign-in", "key", &key.id).await?;
        tx.commit().await?;
        Ok(secret)
    }

    #[boxed]
    pub async fn end_session(&self, secret: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        sessions::delete(&mut tx.conn(), &secret_hash(secret)).await?;
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
    fn session_secret(&self) -> String {
        let mut bytes = [0; 32];
        self.random.bytes(&mut bytes);
        hex(&bytes)
    }
}

fn is_good(key: &ApiKeyRow, now: Timestamp) -> bool {
    key.revoked_at.is_none() && key.expires_at.is_none_or(|at| at > now.as_microsecond())
}
