//! The inbox of a person: what they have read. Everybody may, for the messages are their own.

use punctual_boxed::boxed;
use punctual_store::{
    Lane,
    inbox::{self, InboxRow},
};

use super::CommandError;
use crate::{Engine, inbox::person};

impl Engine {
    /// Marks one message to the holder of this name as read.
    #[boxed]
    pub async fn read_message(&self, name: &str, id: &str) -> Result<InboxRow, CommandError> {
        let whose = person(name);
        let mut tx = self.store.begin(Lane::Intake).await?;
        inbox::read(&mut tx.conn(), self.clock.now(), &whose, id).await?;
        let row = inbox::get(&mut tx.conn(), id).await?.filter(|row| row.person == whose);
        tx.commit().await?;
        row.ok_or_else(|| CommandError::not_found("message", id))
    }

    /// Marks every message to the holder of this name as read, up to this one.
    #[boxed]
    pub async fn read_messages_up_to(&self, name: &str, newest: &str) -> Result<(), CommandError> {
        let whose = person(name);
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = inbox::get(&mut tx.conn(), newest).await?.filter(|row| row.person == whose);
        let row = row.ok_or_else(|| CommandError::not_found("message", newest))?;
        inbox::read_all(&mut tx.conn(), self.clock.now(), &whose, row.seq).await?;
        Ok(tx.commit().await?)
    }
}
