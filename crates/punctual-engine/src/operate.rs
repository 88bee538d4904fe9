//! What people do: release, retry and cancel work; retry and discard notifications. Each leaves an audit entry in the
//! same transaction, and each says clearly when the state does not allow it.

use punctual_boxed::boxed;
use punctual_model::{
    NotificationStatus, WorkKey, WorkStatus,
    status::{NotificationEvent, WorkEvent},
};
use punctual_store::{
    Lane, Stage, audit,
    notifications::{self, NotificationRow},
    work::{self, WorkRow},
};

use crate::{Engine, EngineError};

impl Engine {
    /// Lets a held row go on.
    #[boxed]
    pub async fn release_work(&self, id: i64, actor: &str) -> Result<WorkRow, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = work::by_id(&mut tx.conn(), id).await?.ok_or(EngineError::NotFound)?;
        let Some(changed) = work::release_hold(&mut tx.conn(), now, id).await? else {
            return Err(not_allowed("work", &row.status, "only a row on hold can be released"));
        };
        let entry =
            acted(actor, "release", "work", id.to_string(), &row.status, &row.status, changed.version);
        let entry = audit::Entry { reason: row.reason_code, ..entry };
        audit::append(&mut tx.conn(), now, &[entry]).await?;
        tx.raise(Stage::Work, now);
        tx.commit().await?;
        self.work_row(id).await
    }

    /// Another attempt of a row that ended without completing; of a completed one, a second send under a new key that is
    /// linked to it.
    #[boxed]
    pub async fn retry_work(&self, id: i64, actor: &str) -> Result<WorkRow, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = work::by_id(&mut tx.conn(), id).await?.ok_or(EngineError::NotFound)?;
        let (retried, from) = if row.status()? == WorkStatus::Completed {
            let retries = work::retries_of(&mut tx.conn(), id).await?;
            let number = i64::try_from(retries.len()).unwrap_or(i64::MAX - 1) + 1;
            let key = WorkKey::support_retry(&row.key()?, number)
                .map_err(|_| not_allowed("work", &row.status, "its key is too long for a support retry"))?;
            (work::insert_retry(&mut tx.conn(), now, &row, key.as_str()).await?, "completed")
        } else {
            row.status()?.after(WorkEvent::Retry).map_err(|_| {
                not_allowed(
                    "work",
                    &row.status,
                    "only failed, deactivated, cancelled or completed rows can be retried",
                )
            })?;
            (work::retry(&mut tx.conn(), now, id).await?, row.status.as_str())
        };
        let Some(retried) = retried else {
            return Err(not_allowed(
                "work",
                &row.status,
                "it changed while it was being retried; look again",
            ));
        };
        let entry = acted(actor, "retry", "work", retried.id.to_string(), from, "pending", retried.version);
        let data = serde_json::json!({ "retryOf": row.id.to_string(), "key": retried.key }).to_string();
        audit::append(&mut tx.conn(), now, &[audit::Entry { data: Some(data), ..entry }]).await?;
        tx.raise(Stage::Work, now);
        tx.commit().await?;
        self.work_row(retried.id).await
    }

    /// Stops a row for good; only a person brings it back.
    #[boxed]
    pub async fn cancel_work(&self, id: i64, actor: &str) -> Result<WorkRow, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = work::by_id(&mut tx.conn(), id).await?.ok_or(EngineError::NotFound)?;
        let Some(changed) = work::cancel(&mut tx.conn(), now, id, true).await? else {
            return Err(not_allowed("work", &row.status, "only pending and failed rows can be cancelled"));
        };
        let entry = acted(actor, "cancel", "work", id.to_string(), &row.status, "cancelled", changed.version);
        audit::append(&mut tx.conn(), now, &[entry]).await?;
        tx.commit().await?;
        self.work_row(id).await
    }

    #[boxed]
    pub async fn work_row(&self, id: i64) -> Result<WorkRow, EngineError> {
        let mut reader = self.store.read().await?;
        work::by_id(&mut reader.conn(), id).await?.ok_or(EngineError::NotFound)
    }

    /// A parked notification is retried, its count and next attempt reset.
    #[boxed]
    pub async fn retry_notification(&self, id: &str, actor: &str) -> Result<NotificationRow, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = notifications::by_id(&mut tx.conn(), id).await?.ok_or(EngineError::NotFound)?;
        let refused =
            || not_allowed("the notification", &row.status, "only a parked notification can be retried");
        row.status()?.after(NotificationEvent::Retry).map_err(|_| refused())?;
        let Some(version) = notifications::retry(&mut tx.conn(), now, row.seq).await? else {
            return Err(self.changed_meanwhile(id).await);
        };
        if let (Some(work), true) = (row.work_id, row.reports_back) {
            work::count_up(&mut tx.conn(), work).await?;
        }
        let entry = acted(actor, "retry", "notification", row.id.clone(), "parked", "pending", version);
        audit::append(&mut tx.conn(), now, &[audit::Entry { reason: row.reason_code.clone(), ..entry }])
            .await?;
        tx.raise(Stage::Delivery, now);
        tx.commit().await?;
        self.notification_row(id).await
    }

    /// A person gives a parked notification up; the row stays.
    #[boxed]
    pub async fn discard_notification(&self, id: &str, actor: &str) -> Result<NotificationRow, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = notifications::by_id(&mut tx.conn(), id).await?.ok_or(EngineError::NotFound)?;
        let refused =
            || not_allowed("the notification", &row.status, "only a parked notification can be discarded");
        row.status()?.after(NotificationEvent::Discard).map_err(|_| refused())?;
        let Some(version) = notifications::discard(&mut tx.conn(), now, row.seq).await? else {
            return Err(self.changed_meanwhile(id).await);
        };
        let to = NotificationStatus::Discarded.as_str();
        let entry = acted(actor, "discard", "notification", row.id.clone(), "parked", to, version);
        audit::append(&mut tx.conn(), now, &[audit::Entry { reason: row.reason_code.clone(), ..entry }])
            .await?;
        tx.commit().await?;
        self.notification_row(id).await
    }

    /// The refusal for a notification that was still parked when it was checked: it is gone, or in another state now.
    async fn changed_meanwhile(&self, id: &str) -> EngineError {
        match self.notification_row(id).await {
            Ok(row) => not_allowed("the notification", &row.status, "it changed in the meantime; look again"),
            Err(error) => error,
        }
    }

    #[boxed]
    pub async fn notification_row(&self, id: &str) -> Result<NotificationRow, EngineError> {
        let mut reader = self.store.read().await?;
        notifications::by_id(&mut reader.conn(), id).await?.ok_or(EngineError::NotFound)
    }
}

fn not_allowed(subject: &'static str, state: &str, allowed: &'static str) -> EngineError {
    EngineError::StateNotAllowed { subject, state: state.to_owned(), allowed }
}

fn acted(
    actor: &str,
    action: &'static str,
    subject_kind: &'static str,
    subject_id: String,
    from: &str,
    to: &str,
    version: i64,
) -> audit::Entry {
    audit::Entry {
        actor: actor.to_owned(),
        action,
        subject_kind,
        subject_id,
        from: Some(from.to_owned()),
        to: Some(to.to_owned()),
        version: Some(version),
        reason: None,
        data: None,
    }
}
