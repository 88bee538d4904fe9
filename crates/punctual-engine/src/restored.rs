//! After a restore: rows that were due or under way since the backup wait for an operator.
//!
//! It is unknown whether those messages were sent between the backup and the restore, and Punctual must not send them twice by
//! itself. A restore therefore leaves a mark, and no node serves or claims before every such row is on hold (work) or parked
//! (messages) with the reason `restored`. An operator releases or discards them, one by one or all together. Rows that become
//! due later are processed as usual.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, NotificationStatus, ReasonCode, WorkStatus};
use punctual_store::{
    Conn, Lane, Stage, Store, StoreError, audit, facts,
    notifications::Retried,
    restored::{self, Left},
    work::{self, Changed},
};
use serde::{Deserialize, Serialize};

use crate::{Actor, CommandError, Engine, EngineError, attention::COUNTED};

/// The fact that says what was restored, and whether its rows are held.
const FACT: &str = "restore.last";
/// Rows of one transaction.
const BATCH: i64 = 500;
/// The maximum number of rows of each table per command; callers repeat the command for more.
const AT_ONCE: usize = 10_000;

/// What is known about the last restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restore {
    /// When the backup was taken; nothing where only the fact of the restore is known.
    pub backup_at: Option<Timestamp>,
    pub restored_at: Timestamp,
    /// The first start after it: what was due by then waits.
    #[serde(default)]
    pub held_by: Option<Timestamp>,
    /// Whether every such row is held, and how many they were.
    #[serde(default)]
    pub held: Option<Held>,
}

/// How many rows wait for a person because of a restore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub work: usize,
    pub notifications: usize,
    /// What workflows had not been called for: what follows from it may have been sent.
    #[serde(default)]
    pub owed: usize,
}

/// What becomes of what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRestore {
    /// It is sent, although it may have been sent before.
    Release,
    /// It is not sent, although it may never have been.
    Discard,
}

/// Marks a database as restored: the next start holds what was due. The mark is for a database that no node works on.
#[boxed]
pub async fn mark_restored(
    store: &Store,
    now: Timestamp,
    backup_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    let mut tx = store.begin(Lane::Intake).await?;
    let mark = Restore { backup_at, restored_at: now, held_by: None, held: None };
    put(&mut tx.conn(), now, &mark).await?;
    tx.commit().await
}

/// The text of the mark, for a restore that writes it with the rows.
pub fn mark_text(now: Timestamp, backup_at: Option<Timestamp>) -> (&'static str, String) {
    let mark = Restore { backup_at, restored_at: now, held_by: None, held: None };
    (FACT, serde_json::to_string(&mark).unwrap_or_default())
}

async fn put(conn: &mut Conn<'_>, now: Timestamp, restore: &Restore) -> Result<(), StoreError> {
    facts::put(conn, now, FACT, &serde_json::to_string(restore).unwrap_or_default()).await
}

/// The last restore of this database, if there was one.
pub(crate) async fn last(conn: &mut Conn<'_>) -> Result<Option<Restore>, StoreError> {
    let Some(text) = facts::get(conn, FACT).await? else { return Ok(None) };
    // A mark that cannot be read must not be taken for none: rows would be sent again.
    serde_json::from_str(&text).map(Some).map_err(|_| StoreError::Stored("restore.last"))
}

impl Engine {
    /// At a start, before anything is served or claimed: holds what a restore left in doubt. Returns how many rows it
    /// held; nothing where there was no restore, or its rows are held already.
    #[boxed]
    pub async fn hold_restored(&self, now: Timestamp) -> Result<Option<Held>, EngineError> {
        let Some((restore, by)) = self.begin_holding(now).await? else { return Ok(None) };
        let mut held = Held::default();
        loop {
            let batch = self.hold_claimed_work(by, now).await?;
            held.work += batch;
            if batch == 0 {
                break;
            }
        }
        for (kind, _) in self.workflows.iter() {
            loop {
                let batch = self.hold_due_work(kind, by, now).await?;
                held.work += batch;
                if batch == 0 {
                    break;
                }
            }
        }
        held.notifications = self.park_restored(by, now).await?;
        let mut tx = self.store.begin(Lane::Settle).await?;
        held.owed = usize::try_from(restored::hold_owed(&mut tx.conn(), by).await?).unwrap_or(usize::MAX);
        put(&mut tx.conn(), now, &Restore { held: Some(held), held_by: Some(by), ..restore }).await?;
        tx.commit().await?;
        tracing::warn!(
            work = held.work,
            notifications = held.notifications,
            owed = held.owed,
            "this database was restored: what was due since the backup waits for a person, see Attention"
        );
        Ok(Some(held))
    }

    /// The restore whose rows are not held yet, and the moment by which they were due: that of the first node that starts.
    async fn begin_holding(&self, now: Timestamp) -> Result<Option<(Restore, Timestamp)>, EngineError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        let Some(mut restore) = last(&mut tx.conn()).await?.filter(|restore| restore.held.is_none()) else {
            return Ok(None);
        };
        let by = *restore.held_by.get_or_insert(now);
        put(&mut tx.conn(), now, &restore).await?;
        tx.commit().await?;
        Ok(Some((restore, by)))
    }

    async fn hold_due_work(&self, kind: &str, by: Timestamp, now: Timestamp) -> Result<usize, EngineError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        let rows = restored::hold_due_work(&mut tx.conn(), now, kind, by, BATCH).await?;
        audit::append(&mut tx.conn(), now, &held(&rows, WorkStatus::Pending)).await?;
        tx.commit().await?;
        Ok(rows.len())
    }

    async fn hold_claimed_work(&self, by: Timestamp, now: Timestamp) -> Result<usize, EngineError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        let rows = restored::hold_claimed_work(&mut tx.conn(), now, by, BATCH).await?;
        audit::append(&mut tx.conn(), now, &held(&rows, WorkStatus::Processing)).await?;
        tx.commit().await?;
        Ok(rows.len())
    }

    /// The last restore, and what still waits because of it.
    #[boxed]
    pub async fn last_restore(&self) -> Result<Option<(Restore, Left)>, EngineError> {
        let mut reader = self.store.read().await?;
        let Some(restore) = last(&mut reader.conn()).await? else { return Ok(None) };
        let left = restored::left(&mut reader.conn(), COUNTED).await?;
        Ok(Some((restore, left)))
    }

    /// Releases or discards what waits because of a restore, oldest first, in batches that each commit. Every row has its
    /// entry in the audit. Returns how many of each, up to ten thousand.
    #[boxed]
    pub async fn settle_restored(&self, by: &Actor, choice: AfterRestore) -> Result<Held, CommandError> {
        let mut done = Held::default();
        let mut after = 0;
        while done.work < AT_ONCE {
            let Some(last) = self.settle_held_work(by, choice, after, &mut done).await? else { break };
            after = last;
        }
        after = 0;
        while done.notifications < AT_ONCE {
            let Some(last) = self.settle_parked(by, choice, after, &mut done).await? else { break };
            after = last;
        }
        done.owed = self.settle_owed(by, choice).await?;
        if done.work + done.notifications + done.owed > 0 {
            self.settled_by(by, choice, &done).await?;
        }
        Ok(done)
    }

    /// What somebody decided about a restore, and why: beside the entries of the rows.
    async fn settled_by(&self, by: &Actor, choice: AfterRestore, done: &Held) -> Result<(), CommandError> {
        let action = match choice {
            AfterRestore::Release => AuditAction::Release,
            AfterRestore::Discard => AuditAction::Discard,
        };
        let rows =
            serde_json::json!({ "work": done.work, "notifications": done.notifications, "owed": done.owed });
        let entry = audit::Entry {
            data: Some(rows.to_string()),
            ..audit::Entry::new(action, "restore", "last", None)
        };
        let mut tx = self.store.begin(Lane::Intake).await?;
        by.audit_entry(&mut tx, self.clock.now(), entry).await?;
        Ok(tx.commit().await?)
    }

    /// What workflows were not called for: they are called now, or never.
    async fn settle_owed(&self, by: &Actor, choice: AfterRestore) -> Result<usize, CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Settle).await?;
        let (rows, action) = match choice {
            AfterRestore::Release => {
                (restored::release_owed(&mut tx.conn(), now).await?, AuditAction::Release)
            }
            AfterRestore::Discard => (restored::discard_owed(&mut tx.conn()).await?, AuditAction::Discard),
        };
        if rows > 0 {
            by.audit(&mut tx, now, action, "restore", "owed", None).await?;
            tx.commit().await?;
        }
        Ok(usize::try_from(rows).unwrap_or(usize::MAX))
    }

    async fn settle_held_work(
        &self,
        by: &Actor,
        choice: AfterRestore,
        after: i64,
        done: &mut Held,
    ) -> Result<Option<i64>, CommandError> {
        if choice == AfterRestore::Discard {
            let ids = {
                let mut reader = self.store.read().await?;
                restored::held_work(&mut reader.conn(), after, BATCH).await?
            };
            // One by one: a cancelled row may be a link of a chain, which continues.
            for id in &ids {
                self.cancel_work(by, *id, None).await?;
                done.work += 1;
            }
            return Ok(ids.last().copied());
        }
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let rows = restored::release_work(&mut tx.conn(), now, after, BATCH).await?;
        let entries = rows.iter().map(|row| audit::Entry {
            actor: by.name().to_owned(),
            from: Some(WorkStatus::Pending.as_str().into()),
            to: Some(WorkStatus::Pending.as_str().into()),
            version: Some(row.version),
            reason: Some(ReasonCode::Restored.into()),
            ..audit::Entry::new(AuditAction::Release, "work", row.id, row.business_unit.as_deref())
        });
        audit::append(&mut tx.conn(), now, &entries.collect::<Vec<_>>()).await?;
        tx.raise(Stage::Work, now);
        tx.commit().await?;
        done.work += rows.len();
        Ok(rows.iter().map(|row| row.id).max())
    }

    async fn settle_parked(
        &self,
        by: &Actor,
        choice: AfterRestore,
        after: i64,
        done: &mut Held,
    ) -> Result<Option<i64>, CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let conn = &mut tx.conn();
        let (rows, action, to) = match choice {
            AfterRestore::Release => {
                let rows = restored::retry_notifications(conn, now, after, BATCH).await?;
                let waiting = rows.iter().filter_map(|row| row.waiting_work).map(|work| work.0).collect();
                work::count_up(conn, waiting).await?;
                (rows, AuditAction::Retry, NotificationStatus::Pending)
            }
            AfterRestore::Discard => {
                let rows = restored::discard_notifications(conn, now, after, BATCH).await?;
                (rows, AuditAction::Discard, NotificationStatus::Discarded)
            }
        };
        let entry = |row: &Retried| audit::Entry {
            actor: by.name().to_owned(),
            from: Some(NotificationStatus::Parked.as_str().into()),
            to: Some(to.as_str().into()),
            version: Some(row.version),
            reason: Some(ReasonCode::Restored.into()),
            ..audit::Entry::new(action, "notification", row.id, row.business_unit.as_deref())
        };
        let entries: Vec<audit::Entry> = rows.iter().map(entry).collect();
        audit::append(&mut tx.conn(), now, &entries).await?;
        tx.raise(Stage::Delivery, now);
        tx.commit().await?;
        done.notifications += rows.len();
        Ok(rows.iter().map(|row| row.seq).max())
    }
}

fn held(rows: &[Changed], from: WorkStatus) -> Vec<audit::Entry> {
    let entry = |row: &Changed| audit::Entry {
        from: Some(from.as_str().into()),
        to: Some(WorkStatus::Pending.as_str().into()),
        version: Some(row.version),
        reason: Some(ReasonCode::Restored.into()),
        ..audit::Entry::new(AuditAction::Hold, "work", row.id, row.business_unit.as_deref())
    };
    rows.iter().map(entry).collect()
}
