//! Marks inbox messages as read. Every person may do so, because the messages are their own.

use punctual_boxed::boxed;
use punctual_store::{
    Lane,
    inbox::{self, InboxRow},
};

use super::{Actor, CommandError};
use crate::{Engine, inbox::person};

impl Engine {
    /// Marks one message to the holder of this name as read.
    #[boxed]
    pub async fn read_message(&self, by: &Actor, name: &str, id: &str) -> Result<InboxRow, CommandError> {
        let whose = person(name);
        let mut tx = self.store.begin(Lane::Intake).await?;
        inbox::read(&mut tx.conn(), self.clock.now(), &whose, &by.reach(), id).await?;
        let row = inbox::get(&mut tx.conn(), &whose, &by.reach(), id).await?;
        tx.commit().await?;
        row.ok_or_else(|| CommandError::not_found("message", id))
    }

    /// Marks every message to the holder of this name as read, up to this one.
    #[boxed]
    pub async fn read_messages_up_to(
        &self,
        by: &Actor,
        name: &str,
        newest: &str,
    ) -> Result<(), CommandError> {
        let whose = person(name);
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = inbox::get(&mut tx.conn(), &whose, &by.reach(), newest).await?;
        let row = row.ok_or_else(|| CommandError::not_found("message", newest))?;
        inbox::read_all(&mut tx.conn(), self.clock.now(), &whose, &by.reach(), row.seq).await?;
        Ok(tx.commit().await?)
    }
}
