//! Commands for consumers. Their secrets are handled like those of channels.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{
    Lane, Tx,
    consumers::{self, ConsumerRow},
};
use serde_json::Value;

use super::{Actor, CommandError, Seen, Units};
use crate::{
    Engine,
    channels::{CONSUMERS, consumer_as_channel},
    consumers::ReceivingAdapter,
    settings::NewSettings,
};

/// A consumer as somebody wants it.
#[derive(Clone, Debug)]
pub struct NewConsumer {
    pub key: String,
    pub adapter: String,
    pub settings: Value,
    /// The business unit that its events belong to and are limited to.
    pub business_unit: Option<String>,
    pub active: bool,
}

impl Engine {
    /// Makes a consumer, or puts another version in its place. A secret that is left out keeps its value.
    #[boxed]
    pub async fn save_consumer(&self, by: &Actor, new: NewConsumer) -> Result<ConsumerRow, CommandError> {
        self.replace_consumer(by, Seen::Anything, new).await
    }

    /// The same, for somebody who has seen what they replace.
    #[boxed]
    pub async fn replace_consumer(
        &self,
        by: &Actor,
        seen: Seen,
        new: NewConsumer,
    ) -> Result<ConsumerRow, CommandError> {
        by.may_change(None, || CommandError::not_found("consumer", &new.key))?;
        self.check_consumer(&new.adapter, &new.settings).await?;
        let mut tx = self.store.begin(Lane::Intake).await?;
        let stored = self.save_consumer_in(&mut tx, by, seen, new).await?;
        tx.commit().await?;
        self.consumers.invalidate();
        Ok(stored)
    }

    /// Refuses settings whose broker would never be connected to. Looking it up takes time, so that no transaction is open.
    #[boxed]
    pub async fn check_consumer(&self, adapter: &str, settings: &Value) -> Result<(), CommandError> {
        let adapter = self.usable_consumer_adapter(adapter)?;
        self.check_destination(&ReceivingAdapter(adapter.as_ref()), settings).await
    }

    /// The same in a transaction of the caller's, who has called [`Self::check_consumer`] before it began and lets the consumers be
    /// read again after the commit.
    #[boxed]
    pub async fn save_consumer_in(
        &self,
        tx: &mut Tx,
        by: &Actor,
        seen: Seen,
        new: NewConsumer,
    ) -> Result<ConsumerRow, CommandError> {
        by.may_change(None, || CommandError::not_found("consumer", &new.key))?;
        let adapter = self.usable_consumer_adapter(&new.adapter)?;
        let now = self.clock.now();
        let before = consumers::get(&mut tx.conn(), &new.key).await?;
        seen.check(before.as_ref().map(|before| before.version), &new.key)?;
        let named = new.business_unit.as_deref().into_iter().collect();
        let units = Units::read(&mut tx.conn(), by, named).await?;
        let own = before.as_ref().map(|before| &before.business_unit);
        let business_unit = units.unit_after(own, new.business_unit, "")?;
        let before = before.as_ref().map(consumer_as_channel);
        let settings = NewSettings {
            channel: &format!("{CONSUMERS}{}", new.key),
            adapter: &ReceivingAdapter(adapter.as_ref()),
            settings: new.settings,
            before: before.as_ref(),
        };
        let settings = self.settings_to_store(&mut tx.conn(), now, settings).await?;
        let row = ConsumerRow {
            settings,
            business_unit: business_unit.into_name(),
            active: new.active,
            adapter: new.adapter,
            key: new.key,
            version: 0,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        consumers::put(&mut tx.conn(), now, &row).await?;
        by.audit(tx, now, AuditAction::Put, "consumer", &row.key, row.business_unit.as_deref()).await?;
        let stored = consumers::get(&mut tx.conn(), &row.key).await?.unwrap_or(row);
        seen.check_written(stored.version)?;
        Ok(stored)
    }

    /// Removes a consumer. What it has not taken stays at the broker.
    #[boxed]
    pub async fn delete_consumer(&self, by: &Actor, key: &str) -> Result<(), CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        self.delete_consumer_in(&mut tx, by, key).await?;
        tx.commit().await?;
        self.consumers.invalidate();
        Ok(())
    }

    /// The same in a transaction of the caller's.
    #[boxed]
    pub async fn delete_consumer_in(&self, tx: &mut Tx, by: &Actor, key: &str) -> Result<(), CommandError> {
        let missing = || CommandError::not_found("consumer", key);
        by.may_change(None, missing)?;
        let before = consumers::get(&mut tx.conn(), key).await?.ok_or_else(missing)?;
        consumers::delete(&mut tx.conn(), key).await?;
        let unit = before.business_unit.as_deref();
        by.audit(tx, self.clock.now(), AuditAction::Delete, "consumer", key, unit).await?;
        Ok(())
    }
}
