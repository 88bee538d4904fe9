//! Consumers: where events are taken from. Their secrets are completed, checked and sealed as those of channels.

use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{
    Lane,
    consumers::{self, ConsumerRow},
};
use serde_json::Value;

use super::{Actor, CommandError};
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
        by.may_change(None, || CommandError::not_found("consumer", &new.key))?;
        let adapter = self.usable_consumer_adapter(&new.adapter)?;
        let now = self.clock.now();
        let mut reader = self.store.read().await?;
        let before = consumers::get(&mut reader.conn(), &new.key).await?;
        drop(reader);
        let unit_before = before.map(|before| before.business_unit);
        let business_unit = self.unit_after(by, unit_before.as_ref(), new.business_unit).await?;
        let mut tx = self.store.begin(Lane::Intake).await?;
        let before = consumers::get(&mut tx.conn(), &new.key).await?.as_ref().map(consumer_as_channel);
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
            updated_at: 0,
        };
        consumers::put(&mut tx.conn(), now, &row).await?;
        by.audit(&mut tx, now, AuditAction::Put, "consumer", &row.key, row.business_unit.as_deref()).await?;
        let stored = consumers::get(&mut tx.conn(), &row.key).await?.unwrap_or(row);
        tx.commit().await?;
        self.consumers.invalidate();
        Ok(stored)
    }

    /// Removes a consumer. What it has not taken stays at the broker.
    #[boxed]
    pub async fn delete_consumer(&self, by: &Actor, key: &str) -> Result<(), CommandError> {
        let missing = || CommandError::not_found("consumer", key);
        by.may_change(None, missing)?;
        let mut tx = self.store.begin(Lane::Intake).await?;
        let before = consumers::get(&mut tx.conn(), key).await?.ok_or_else(missing)?;
        consumers::delete(&mut tx.conn(), key).await?;
        let unit = before.business_unit.as_deref();
        by.audit(&mut tx, self.clock.now(), AuditAction::Delete, "consumer", key, unit).await?;
        tx.commit().await?;
        self.consumers.invalidate();
        Ok(())
    }
}
