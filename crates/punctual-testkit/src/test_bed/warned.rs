//! Whether everything that waits for a person was logged: checked when a test ends.

use std::collections::HashSet;

use punctual_model::{NotificationStatus, Reach, WorkStatus};
use punctual_store::work::{self, WorkFilter};
use serde_json::Value;

use super::TestBed;
use crate::log;

/// Rows that are read.
const ROWS: i64 = 1000;

impl TestBed {
    /// Says that this test changes rows without the engine, which then has nothing to log, and why.
    pub fn changes_rows_itself(&self, why: &str) {
        assert!(!why.is_empty(), "say why");
        self.changes_rows_itself.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// The rows that are parked, on hold, failed or in doubt and have no line of their own: `what` and the id.
    pub(super) async fn unlogged(&self) -> Vec<String> {
        let waits = self.waits_for_a_person().await;
        if waits.is_empty() {
            return Vec::new();
        }
        let logged: HashSet<(String, String)> = log::warnings().iter().flat_map(said).collect();
        let unlogged = waits.into_iter().filter(|one| !logged.contains(one));
        unlogged.map(|(what, id)| format!("{what}: {id}")).collect()
    }

    /// The message that each row must have, and its id.
    async fn waits_for_a_person(&self) -> Vec<(String, String)> {
        let mut wanted = Vec::new();
        for row in self.notifications().await {
            let id = row.id.to_string();
            if row.status == NotificationStatus::Parked {
                wanted.push(("parked".to_owned(), id.clone()));
            }
            if row.uncertain > 0 {
                wanted.push(("an attempt may or may not have reached its target".to_owned(), id));
            }
        }
        let mut reader = self.read().await;
        let failed = Some(WorkStatus::Failed);
        for (what, status, on_hold) in [("on hold", None, Some(true)), ("failed", failed, None)] {
            let filter = WorkFilter { status, on_hold, limit: ROWS, ..Default::default() };
            let rows = work::list(&mut reader.conn(), &Reach::Everything, &filter).await;
            let rows = rows.unwrap_or_else(|error| panic!("{error:?}"));
            wanted.extend(rows.into_iter().map(|row| (what.to_owned(), row.id.to_string())));
        }
        wanted
    }
}

/// What a warning says, and about which rows.
fn said(fields: &Value) -> Vec<(String, String)> {
    let Some(message) = fields["message"].as_str() else { return Vec::new() };
    let ids = ["notification.id", "work.id"].into_iter().filter_map(|field| fields[field].as_str());
    ids.map(|id| (message.to_owned(), id.to_owned())).collect()
}
