//! Saved views: named filters of a list, visible only to the account or key that saved them.

use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{
    Lane,
    saved_views::{self, SavedViewRow},
    sessions::Owner,
};

use super::{Actor, CommandError};
use crate::{Engine, EngineError};

/// Views of one list that somebody may save; a longer list is no quicker than the filters.
pub const MOST: usize = 50;
/// Characters of a name, and bytes of the filters.
const LONGEST_NAME: usize = 60;
const LONGEST_PAIRS: usize = 4_096;

/// A list of the console with filters, as somebody wants to see it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedView {
    pub name: String,
    /// Names and values of the filters.
    pub pairs: Vec<(String, String)>,
}

impl Engine {
    /// Keeps a view, in place of another of its name. The audit says whose list it was, and no filter: those may name people.
    #[boxed]
    pub async fn save_view(
        &self,
        by: &Actor,
        owner: &Owner,
        page: &str,
        view: &SavedView,
    ) -> Result<(), CommandError> {
        let name = view.name.trim().to_owned();
        if name.is_empty() || name.chars().count() > LONGEST_NAME {
            let detail = format!("A name has 1 to {LONGEST_NAME} characters.");
            return Err(CommandError::invalid("/name", "out_of_range", detail));
        }
        let pairs = serde_json::json!(view.pairs).to_string();
        if pairs.len() > LONGEST_PAIRS {
            return Err(CommandError::invalid(
                "/name",
                "out_of_range",
                "The filters are too long to be saved.",
            ));
        }
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let stored = saved_views::of(&mut tx.conn(), owner, page, i64::MAX).await?;
        if stored.len() >= MOST && stored.iter().all(|row| row.name != name) {
            let detail = format!("At most {MOST} views of a list can be saved; remove one first.");
            return Err(CommandError::invalid("/name", "out_of_range", detail));
        }
        saved_views::put(&mut tx.conn(), now, owner, page, &SavedViewRow { name, pairs }).await?;
        by.audit(&mut tx, now, AuditAction::Put, "saved-view", page, None).await?;
        Ok(tx.commit().await?)
    }

    /// Removes a view of the caller.
    #[boxed]
    pub async fn remove_view(
        &self,
        by: &Actor,
        owner: &Owner,
        page: &str,
        name: &str,
    ) -> Result<(), CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        if !saved_views::delete(&mut tx.conn(), owner, page, name).await? {
            return Err(CommandError::not_found("saved view", name));
        }
        by.audit(&mut tx, now, AuditAction::Delete, "saved-view", page, None).await?;
        Ok(tx.commit().await?)
    }

    /// The views of a list that somebody has saved, by name.
    #[boxed]
    pub async fn saved_views(&self, owner: &Owner, page: &str) -> Result<Vec<SavedView>, EngineError> {
        let mut reader = self.store.read_for_people().await?;
        let most = i64::try_from(MOST).unwrap_or(i64::MAX);
        let rows = saved_views::of(&mut reader.conn(), owner, page, most).await?;
        let view = |row: SavedViewRow| SavedView {
            pairs: serde_json::from_str(&row.pairs).unwrap_or_default(),
            name: row.name,
        };
        Ok(rows.into_iter().map(view).collect())
    }
}
