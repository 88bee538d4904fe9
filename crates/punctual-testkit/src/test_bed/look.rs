//! What tests read: rows as they are stored.

use punctual_model::{NotificationStatus, Reach, WorkStatus};
use punctual_store::{
    Reader, attempts,
    attempts::AttemptRow,
    audit,
    notifications::{self, NotificationFilter, NotificationRow},
    work::{self, WorkFilter, WorkRow},
};

use super::{Database, TestBed};

/// Open rows that a message names.
const SHOWN: i64 = 5;

impl TestBed {
    /// # Panics
    /// When the store cannot be read; so does everything below, also where there is no such row.
    pub async fn read(&self) -> Reader {
        self.store.read().await.unwrap_or_else(|error| panic!("the store cannot be read: {error:?}"))
    }

    pub async fn work(&self, key: &str) -> WorkRow {
        let row = work::by_key(&mut self.read().await.conn(), &Reach::Everything, key).await;
        row.unwrap_or_else(|error| panic!("{error:?}")).unwrap_or_else(|| panic!("there is no work {key}"))
    }

    pub async fn work_by_id(&self, id: i64) -> WorkRow {
        let row = work::by_id(&mut self.read().await.conn(), &Reach::Everything, id).await;
        row.unwrap_or_else(|error| panic!("{error:?}")).unwrap_or_else(|| panic!("there is no work {id}"))
    }

    pub async fn notification(&self, id: &str) -> NotificationRow {
        let row = notifications::by_id(&mut self.read().await.conn(), &Reach::Everything, id).await;
        row.unwrap_or_else(|error| panic!("{error:?}"))
            .unwrap_or_else(|| panic!("there is no notification {id}"))
    }

    /// Every notification, newest first, up to a thousand.
    pub async fn notifications(&self) -> Vec<NotificationRow> {
        let filter = NotificationFilter { limit: 1000, ..Default::default() };
        let rows = notifications::list(&mut self.read().await.conn(), &Reach::Everything, &filter).await;
        rows.unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// Every attempt of a notification, in order.
    pub async fn attempts(&self, id: &str) -> Vec<AttemptRow> {
        let seq = self.notification(id).await.seq;
        let rows = attempts::of(&mut self.read().await.conn(), vec![seq]).await;
        rows.unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// What the audit says about one subject: `action` or `action:reason`, oldest first.
    pub async fn audit(&self, subject_kind: &str, subject_id: &str) -> Vec<String> {
        let rows =
            audit::of(&mut self.read().await.conn(), &Reach::Everything, subject_kind, subject_id).await;
        let rows = rows.unwrap_or_else(|error| panic!("{error:?}"));
        let reported = rows.into_iter().map(|row| match row.reason {
            Some(reason) => format!("{}:{reason}", row.action),
            None => row.action,
        });
        reported.collect()
    }

    /// Waits until somebody waits for a lock in this database: for races whose order matters. On SQLite, where a writer
    /// waits in this process, there is nothing to look at.
    pub async fn until_blocked(&self) {
        if self.database() == Database::Sqlite {
            tokio::task::yield_now().await;
            return;
        }
        crate::signal("a wait for a lock", crate::postgres::until_blocked(self.url())).await;
    }

    /// What is pending or under way, a few of each.
    pub(super) async fn open_rows(&self) -> Vec<String> {
        let mut reader = self.read().await;
        let mut open = Vec::new();
        for (status, on_hold) in [(WorkStatus::Pending, Some(false)), (WorkStatus::Processing, None)] {
            let filter = WorkFilter { status: Some(status), on_hold, limit: SHOWN, ..Default::default() };
            let rows = work::list(&mut reader.conn(), &Reach::Everything, &filter)
                .await
                .unwrap_or_else(|error| panic!("{error:?}"));
            open.extend(rows.into_iter().map(|row| format!("work {} is {status}", row.key)));
        }
        for status in [NotificationStatus::Pending, NotificationStatus::Retrying] {
            let filter = NotificationFilter { status: Some(status), limit: SHOWN, ..Default::default() };
            let rows = notifications::list(&mut reader.conn(), &Reach::Everything, &filter)
                .await
                .unwrap_or_else(|error| panic!("{error:?}"));
            open.extend(rows.into_iter().map(|row| format!("notification {} is {status}", row.id)));
        }
        open
    }
}
