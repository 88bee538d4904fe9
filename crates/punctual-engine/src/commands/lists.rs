//! Lists: named sets of targets, resolved when a message is delivered.

use punctual_boxed::boxed;
use punctual_model::{AuditAction, ChannelKey};
use punctual_store::{
    Lane, Tx,
    lists::{self, ListRow},
    notifications::{self, ListMove},
};

use super::{Actor, CommandError, Seen, units::Units};
use crate::{Engine, intake::UNROUTED};

/// A list as somebody wants it.
#[derive(Clone, Debug)]
pub struct NewList {
    pub name: String,
    pub kind: String,
    /// By default the default channel of its kind.
    pub channel: Option<String>,
    pub targets: Vec<String>,
    pub business_unit: Option<String>,
}

/// A list as it is now.
#[derive(Clone, Debug)]
pub struct SavedList {
    pub row: ListRow,
    /// Messages over a channel that is not there are parked until it is.
    pub channel_is_known: bool,
}

impl Engine {
    /// Makes a list, or puts another in its place.
    #[boxed]
    pub async fn save_list(&self, by: &Actor, new: NewList) -> Result<SavedList, CommandError> {
        self.replace_list(by, Seen::Anything, new).await
    }

    /// The same, for somebody who has seen what they replace.
    #[boxed]
    pub async fn replace_list(
        &self,
        by: &Actor,
        seen: Seen,
        new: NewList,
    ) -> Result<SavedList, CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let (saved, moved_from) = self.save_list_in(&mut tx, by, seen, new).await?;
        tx.commit().await?;
        self.list_moved(&saved.row, moved_from.as_deref()).await?;
        Ok(saved)
    }

    /// The same in a transaction of the caller's, who calls [`Self::list_moved`] with the channel that comes back, after the
    /// commit.
    #[boxed]
    pub async fn save_list_in(
        &self,
        tx: &mut Tx,
        by: &Actor,
        seen: Seen,
        new: NewList,
    ) -> Result<(SavedList, Option<String>), CommandError> {
        let now = self.clock.now();
        let before = lists::lock(&mut tx.conn(), &by.reach(), &new.name).await?;
        let units =
            Units::read(&mut tx.conn(), by, new.business_unit.as_deref().into_iter().collect()).await?;
        let own = before.as_ref().map(|before| &before.business_unit);
        let row = ListRow {
            business_unit: units.unit_after(own, new.business_unit, "")?.into_name(),
            channel: new.channel.unwrap_or_else(|| format!("{}:default", new.kind)),
            targets: serde_json::Value::from(new.targets).to_string(),
            kind: new.kind,
            updated_at: now,
            name: new.name,
        };
        if let Some(before) = &before {
            by.may_change(before.business_unit.as_deref(), || missing(&row.name))?;
        }
        seen.check(before.as_ref().map(|before| before.updated_at.as_microsecond()), &row.name)?;
        let written = lists::put(&mut tx.conn(), now, &by.reach(), &row).await?;
        CommandError::taken_unless(written, &row.name)?;
        let channel_is_known = self.channels.is_known(&mut tx.conn(), &row.channel).await?;
        by.audit(tx, now, AuditAction::Put, "list", &row.name, row.business_unit.as_deref()).await?;
        let from = before.map_or_else(|| UNROUTED.to_owned(), |before| before.channel);
        let moved_from = Some(from).filter(|from| *from != row.channel);
        Ok((SavedList { row, channel_is_known }, moved_from))
    }

    /// Takes the messages that wait for a list along, where it was over another channel before.
    #[boxed]
    pub async fn list_moved(&self, list: &ListRow, from: Option<&str>) -> Result<(), CommandError> {
        match from {
            Some(from) => self.move_waiting(list, from).await,
            None => Ok(()),
        }
    }

    /// Takes the messages that wait for this list along to its channel, in batches of their own: what does not come along,
    /// because the node stops here, is handed back by the claim.
    async fn move_waiting(&self, list: &ListRow, from: &str) -> Result<(), CommandError> {
        let moved = ListMove {
            list: list.name.clone(),
            business_unit: list.business_unit.clone(),
            from: ChannelKey::stored(from),
            to: ChannelKey::stored(&list.channel),
        };
        let mut place = None;
        loop {
            let mut tx = self.store.begin(Lane::Intake).await?;
            let now = self.clock.now();
            place = notifications::move_with_list(&mut tx, now, &moved, place, self.config.batch).await?;
            tx.commit().await?;
            if place.is_none() {
                return Ok(());
            }
        }
    }

    #[boxed]
    pub async fn delete_list(&self, by: &Actor, name: &str) -> Result<(), CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        self.delete_list_in(&mut tx, by, name).await?;
        Ok(tx.commit().await?)
    }

    #[boxed]
    pub async fn delete_list_in(&self, tx: &mut Tx, by: &Actor, name: &str) -> Result<(), CommandError> {
        let row = lists::get(&mut tx.conn(), &by.reach(), name).await?.ok_or_else(|| missing(name))?;
        by.may_change(row.business_unit.as_deref(), || missing(name))?;
        lists::delete(&mut tx.conn(), name).await?;
        let unit = row.business_unit.as_deref();
        Ok(by.audit(tx, self.clock.now(), AuditAction::Delete, "list", name, unit).await?)
    }
}

fn missing(name: &str) -> CommandError {
    CommandError::not_found("list", name)
}
