//! Commands for sites and their tokens.

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_model::{AuditAction, Scope};
use punctual_store::{
    Lane, StoreError, Tx, api_keys,
    sites::{self, SiteRow},
};

use super::{Actor, CommandError, units::Units};
use crate::{
    Engine,
    keys::{NewKey, mint_key, new_row},
};

impl Engine {
    /// Makes a site and returns its token, which is stored nowhere. `env` says where the token is good (`live`,
    /// `sandbox`).
    #[boxed]
    pub async fn create_site(
        &self,
        by: &Actor,
        now: Timestamp,
        id: &str,
        business_unit: Option<&str>,
        env: &str,
    ) -> Result<String, CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        self.create_site_in(&mut tx, by, now, id, business_unit).await?;
        let token = self.new_token(&mut tx, now, id, env).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// Makes a site that has no token yet; [`Self::rotate_site`] gives it one.
    #[boxed]
    pub async fn create_site_in(
        &self,
        tx: &mut Tx,
        by: &Actor,
        now: Timestamp,
        id: &str,
        business_unit: Option<&str>,
    ) -> Result<(), CommandError> {
        let units = Units::read(&mut tx.conn(), by, business_unit.into_iter().collect()).await?;
        let business_unit = units.unit_for(business_unit.map(str::to_owned), "")?;
        let business_unit = business_unit.as_deref();
        if !sites::insert(&mut tx.conn(), now, id, business_unit).await? {
            let detail =
                format!("The site `{id}` is known; `POST /api/v1/sites/{id}/rotate` gives it a new token.");
            return Err(CommandError::IdReused { id: id.to_owned(), detail: Some(detail) });
        }
        Ok(by.audit(tx, now, AuditAction::Create, "site", id, business_unit).await?)
    }

    /// Says whose a site is from now on: what it hands over carries the business unit.
    #[boxed]
    pub async fn move_site(
        &self,
        by: &Actor,
        now: Timestamp,
        id: &str,
        business_unit: Option<&str>,
    ) -> Result<SiteRow, CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = self.move_site_in(&mut tx, by, now, id, business_unit).await?;
        tx.commit().await?;
        Ok(row)
    }

    #[boxed]
    pub async fn move_site_in(
        &self,
        tx: &mut Tx,
        by: &Actor,
        now: Timestamp,
        id: &str,
        business_unit: Option<&str>,
    ) -> Result<SiteRow, CommandError> {
        let units = Units::read(&mut tx.conn(), by, business_unit.into_iter().collect()).await?;
        let business_unit = units.unit_for(business_unit.map(str::to_owned), "")?;
        let business_unit = business_unit.as_deref();
        if !sites::set_unit(&mut tx.conn(), id, business_unit).await? {
            return Err(missing(id));
        }
        by.audit(tx, now, AuditAction::Change, "site", id, business_unit).await?;
        sites::get(&mut tx.conn(), id).await?.ok_or_else(|| missing(id))
    }

    /// Takes a revoked site again, without a token; [`Self::rotate_site`] gives it one.
    #[boxed]
    pub async fn restore_site_in(
        &self,
        tx: &mut Tx,
        by: &Actor,
        now: Timestamp,
        id: &str,
        business_unit: Option<&str>,
    ) -> Result<SiteRow, CommandError> {
        if !sites::set_revoked(&mut tx.conn(), id, None).await? {
            return Err(missing(id));
        }
        self.move_site_in(tx, by, now, id, business_unit).await
    }

    /// Gives a site a new token; the old one ends at once, or after so many seconds. A revoked site is taken again.
    #[boxed]
    pub async fn rotate_site(
        &self,
        by: &Actor,
        now: Timestamp,
        id: &str,
        keep_old_seconds: i64,
        env: &str,
    ) -> Result<String, CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        if !sites::set_revoked(&mut tx.conn(), id, None).await? {
            return Err(missing(id));
        }
        match keep_old_seconds {
            0 => api_keys::revoke_of_site(&mut tx.conn(), now, id).await?,
            seconds => {
                let until = now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
                api_keys::end_of_site(&mut tx.conn(), until, id).await?;
            }
        }
        let token = self.new_token(&mut tx, now, id, env).await?;
        let unit = sites::get(&mut tx.conn(), id).await?.and_then(|row| row.business_unit);
        by.audit(&mut tx, now, AuditAction::Rotate, "site", id, unit.as_deref()).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// Ends a site's token; what the site has handed over stays.
    #[boxed]
    pub async fn revoke_site(&self, by: &Actor, now: Timestamp, id: &str) -> Result<SiteRow, CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = self.revoke_site_in(&mut tx, by, now, id).await?;
        tx.commit().await?;
        Ok(row)
    }

    #[boxed]
    pub async fn revoke_site_in(
        &self,
        tx: &mut Tx,
        by: &Actor,
        now: Timestamp,
        id: &str,
    ) -> Result<SiteRow, CommandError> {
        if !sites::set_revoked(&mut tx.conn(), id, Some(now)).await? {
            return Err(missing(id));
        }
        api_keys::revoke_of_site(&mut tx.conn(), now, id).await?;
        let row = sites::get(&mut tx.conn(), id).await?.ok_or_else(|| missing(id))?;
        by.audit(tx, now, AuditAction::Revoke, "site", id, row.business_unit.as_deref()).await?;
        Ok(row)
    }

    /// Makes a token and keeps its hash.
    async fn new_token(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        site: &str,
        env: &str,
    ) -> Result<String, StoreError> {
        let name = format!("site {site}");
        let new = NewKey { name, scopes: vec![Scope::Site], business_units: None, expires_at: None };
        loop {
            let minted = mint_key(self.random.as_ref(), "site", env);
            // A taken id is practically impossible; another one is made.
            if api_keys::insert(&mut tx.conn(), now, &new_row(now, &minted, &new, Some(site))).await? {
                return Ok(minted.text);
            }
        }
    }
}

fn missing(id: &str) -> CommandError {
    CommandError::not_found("site", id)
}
