//! Actions of operators: release, retry and cancel work; retry and discard notifications. Each action finds the row within the
//! caller's reach, checks the version that the caller saw, writes an audit entry with the given reason in the same transaction,
//! and returns an error if the state does not allow it.

use punctual_boxed::boxed;
use punctual_model::{
    AuditAction, Cause, NotificationStatus, Reach, WorkKey, WorkStatus,
    status::{NotificationEvent, WorkEvent},
};
use punctual_store::{
    Lane, Stage, Tx, audit,
    notifications::{self, NotificationRow},
    retention::PURGED_INPUT,
    work::{self, WorkRow},
};

use crate::{Actor, CommandError, Engine, EngineError, ensure::ensure_in};

/// What can be done with a work row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkAction {
    Release,
    Retry,
    Cancel,
}

/// What can be done with a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationAction {
    Retry,
    Discard,
    Acknowledge,
}

impl Engine {
    /// Does this to a work row, if it is at the version that the caller saw.
    #[boxed]
    pub async fn act_on_work(
        &self,
        by: &Actor,
        action: WorkAction,
        id: i64,
        seen: Option<i64>,
    ) -> Result<WorkRow, CommandError> {
        match action {
            WorkAction::Release => self.release_work(by, id, seen).await,
            WorkAction::Retry => self.retry_work(by, id, seen).await,
            WorkAction::Cancel => self.cancel_work(by, id, seen).await,
        }
    }

    /// Does this to a notification, if it is at the version that the caller saw.
    #[boxed]
    pub async fn act_on_notification(
        &self,
        by: &Actor,
        action: NotificationAction,
        id: &str,
        seen: Option<i64>,
    ) -> Result<NotificationRow, CommandError> {
        match action {
            NotificationAction::Retry => self.retry_notification(by, id, seen).await,
            NotificationAction::Discard => self.discard_notification(by, id, seen).await,
            NotificationAction::Acknowledge => {
                self.acknowledge(by, id, seen).await?;
                Ok(self.notification_row(&by.reach(), id).await?)
            }
        }
    }

    /// Lets a held row continue.
    #[boxed]
    pub async fn release_work(
        &self,
        by: &Actor,
        id: i64,
        seen: Option<i64>,
    ) -> Result<WorkRow, CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = own_work(&mut tx, by, id, seen).await?;
        let Some(changed) = work::release_hold(&mut tx.conn(), now, id).await? else {
            return Err(not_allowed("work", row.status.as_str(), "only a row on hold can be released"));
        };
        let entry = acted(
            AuditAction::Release,
            "work",
            id,
            row.business_unit.as_deref(),
            (row.status.as_str(), row.status.as_str()),
            changed.version,
        );
        by.audit_entry(&mut tx, now, audit::Entry { reason: row.reason_code, ..entry }).await?;
        tx.raise(Stage::Work, now);
        tx.commit().await?;
        Ok(self.work_row(&by.reach(), id).await?)
    }

    /// Another attempt of a row that ended without completing; of a completed one, a second send under a new key that is
    /// linked to it.
    #[boxed]
    pub async fn retry_work(&self, by: &Actor, id: i64, seen: Option<i64>) -> Result<WorkRow, CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = own_work(&mut tx, by, id, seen).await?;
        if row.input == PURGED_INPUT {
            let why = "its input was removed with time, as `keep_work_for` says; ask for it under a new key";
            return Err(not_allowed("work", row.status.as_str(), why));
        }
        let (retried, from) = if row.status == WorkStatus::Completed {
            let retries = work::retries_of(&mut tx.conn(), &by.reach(), id).await?;
            let number = i64::try_from(retries.len()).unwrap_or(i64::MAX - 1) + 1;
            let key = WorkKey::support_retry(&row.key()?, number).map_err(|_| {
                not_allowed("work", row.status.as_str(), "its key is too long for a support retry")
            })?;
            (work::insert_retry(&mut tx.conn(), now, &row, key.as_str()).await?, row.status)
        } else {
            row.status.after(WorkEvent::Retry).map_err(|_| {
                not_allowed(
                    "work",
                    row.status.as_str(),
                    "only failed, deactivated, cancelled or completed rows can be retried",
                )
            })?;
            (work::retry(&mut tx.conn(), now, id).await?, row.status)
        };
        let Some(retried) = retried else {
            return Err(not_allowed(
                "work",
                row.status.as_str(),
                "it changed while it was being retried; look again",
            ));
        };
        let entry = acted(
            AuditAction::Retry,
            "work",
            retried.id,
            row.business_unit.as_deref(),
            (from.as_str(), WorkStatus::Pending.as_str()),
            retried.version,
        );
        let data = serde_json::json!({ "retryOf": row.id.to_string(), "key": retried.key }).to_string();
        by.audit_entry(&mut tx, now, audit::Entry { data: Some(data), ..entry }).await?;
        tx.raise(Stage::Work, now);
        tx.commit().await?;
        Ok(self.work_row(&by.reach(), retried.id).await?)
    }

    /// Stops a row permanently; only a person brings it back.
    #[boxed]
    pub async fn cancel_work(&self, by: &Actor, id: i64, seen: Option<i64>) -> Result<WorkRow, CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = own_work(&mut tx, by, id, seen).await?;
        let Some(changed) = work::cancel(&mut tx.conn(), now, id, true).await? else {
            return Err(not_allowed(
                "work",
                row.status.as_str(),
                "only pending and failed rows can be cancelled",
            ));
        };
        let entry = acted(
            AuditAction::Cancel,
            "work",
            id,
            row.business_unit.as_deref(),
            (row.status.as_str(), WorkStatus::Cancelled.as_str()),
            changed.version,
        );
        by.audit_entry(&mut tx, now, entry).await?;
        let follow = self.workflows.get(&row.kind).map(|workflow| workflow.after_cancel(&row, now));
        if let Some(rows) = follow.filter(|rows| !rows.is_empty()) {
            ensure_in(&mut tx, now, &rows, Cause::Machine).await?;
        }
        tx.commit().await?;
        Ok(self.work_row(&by.reach(), id).await?)
    }

    /// The row of this id, if it is within reach.
    #[boxed]
    pub async fn work_row(&self, reach: &Reach, id: i64) -> Result<WorkRow, EngineError> {
        let mut reader = self.store.read().await?;
        work::by_id(&mut reader.conn(), reach, id).await?.ok_or(EngineError::NotFound)
    }

    /// A parked notification is retried, its count and next attempt reset.
    #[boxed]
    pub async fn retry_notification(
        &self,
        by: &Actor,
        id: &str,
        seen: Option<i64>,
    ) -> Result<NotificationRow, CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = own_notification(&mut tx, by, id, seen).await?;
        let refused = || {
            not_allowed("the notification", row.status.as_str(), "only a parked notification can be retried")
        };
        row.status.after(NotificationEvent::Retry).map_err(|_| refused())?;
        let Some(version) = notifications::retry(&mut tx.conn(), now, row.seq).await? else {
            return Err(self.changed_meanwhile(by, id).await);
        };
        if let (Some(work), true) = (row.work_id, row.reports_back) {
            work::count_up(&mut tx.conn(), vec![work.0]).await?;
        }
        let entry = acted(
            AuditAction::Retry,
            "notification",
            row.id,
            row.business_unit.as_deref(),
            ("parked", "pending"),
            version,
        );
        by.audit_entry(&mut tx, now, audit::Entry { reason: row.reason_code.clone(), ..entry }).await?;
        tx.raise(Stage::Delivery, now);
        tx.commit().await?;
        Ok(self.notification_row(&by.reach(), id).await?)
    }

    /// A person gives a parked notification up; the row stays.
    #[boxed]
    pub async fn discard_notification(
        &self,
        by: &Actor,
        id: &str,
        seen: Option<i64>,
    ) -> Result<NotificationRow, CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = own_notification(&mut tx, by, id, seen).await?;
        let refused = || {
            not_allowed(
                "the notification",
                row.status.as_str(),
                "only a parked notification can be discarded",
            )
        };
        row.status.after(NotificationEvent::Discard).map_err(|_| refused())?;
        let Some(version) = notifications::discard(&mut tx.conn(), now, row.seq).await? else {
            return Err(self.changed_meanwhile(by, id).await);
        };
        let to = NotificationStatus::Discarded.as_str();
        let entry = acted(
            AuditAction::Discard,
            "notification",
            row.id,
            row.business_unit.as_deref(),
            ("parked", to),
            version,
        );
        by.audit_entry(&mut tx, now, audit::Entry { reason: row.reason_code.clone(), ..entry }).await?;
        tx.commit().await?;
        Ok(self.notification_row(&by.reach(), id).await?)
    }

    /// The refusal for a notification that was still parked when it was checked: it is gone, or in another state now.
    async fn changed_meanwhile(&self, by: &Actor, id: &str) -> CommandError {
        match self.notification_row(&by.reach(), id).await {
            Ok(row) => {
                not_allowed("the notification", row.status.as_str(), "it changed in the meantime; look again")
            }
            Err(error) => error.into(),
        }
    }

    /// The notification of this id, if it is within reach.
    #[boxed]
    pub async fn notification_row(&self, reach: &Reach, id: &str) -> Result<NotificationRow, EngineError> {
        let mut reader = self.store.read().await?;
        notifications::by_id(&mut reader.conn(), reach, id).await?.ok_or(EngineError::NotFound)
    }
}

/// The row, if it is the caller's and as they saw it.
async fn own_work(tx: &mut Tx, by: &Actor, id: i64, seen: Option<i64>) -> Result<WorkRow, CommandError> {
    let row = work::by_id(&mut tx.conn(), &by.reach(), id).await?;
    let row = row.ok_or_else(|| CommandError::not_found("work row", id.to_string()))?;
    if seen.is_some_and(|seen| seen != row.version) { Err(CommandError::Stale) } else { Ok(row) }
}

pub(crate) async fn own_notification(
    tx: &mut Tx,
    by: &Actor,
    id: &str,
    seen: Option<i64>,
) -> Result<NotificationRow, CommandError> {
    let row = notifications::by_id(&mut tx.conn(), &by.reach(), id).await?;
    let row = row.ok_or_else(|| CommandError::not_found("notification", id))?;
    if seen.is_some_and(|seen| seen != row.version) { Err(CommandError::Stale) } else { Ok(row) }
}

fn not_allowed(subject: &'static str, state: &str, allowed: &'static str) -> CommandError {
    EngineError::StateNotAllowed { subject, state: state.to_owned(), allowed }.into()
}

/// What a person did to a row: from which state to which, and the version after it.
fn acted(
    action: AuditAction,
    subject_kind: &'static str,
    subject_id: impl ToString,
    unit: Option<&str>,
    (from, to): (&str, &str),
    version: i64,
) -> audit::Entry {
    audit::Entry {
        from: Some(from.to_owned()),
        to: Some(to.to_owned()),
        version: Some(version),
        ..audit::Entry::new(action, subject_kind, subject_id, unit)
    }
}
