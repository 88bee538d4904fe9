//! The daily purge: removes ended notifications after their retention time, in small batches, and leaves tombstones.
//!
//! A clock that is years ahead makes all rows look old, so a run that would remove an unusual share of the ended rows removes
//! nothing and waits for confirmation. Rows that expire day by day are not unusual, however large their share: an installation
//! without new messages has no others.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{
    Conn, Lane, StoreError, consumers,
    delivery_policy::{days, digests},
    facts, invitations, notifications, quotas,
    retention::Window,
    sessions, sign_on_answers, templates,
};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{
    Actor, Engine, EngineError, Windows, audit_chain, config::earlier, confine::guarded, due::chain,
    troubles::Chore,
};

/// A local day that began so long ago is over in every zone.
const OVER_EVERYWHERE: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// A run whose window has moved on by so little is an ordinary one: the daily one, or one after a long weekend.
const ORDINARY_STEP: SignedDuration = SignedDuration::from_hours(24 * 7);
/// How long an event from a broker is known by its source and id: a broker repeats what was not acknowledged within minutes, and
/// a stream that is read again from an earlier place is repaired within weeks.
pub(crate) const KNOWN_EVENTS_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How long the count of a day of a business unit is kept.
const UNIT_ROWS_FOR: Duration = Duration::from_secs(60 * 24 * 60 * 60);
/// How many batches are one on PostgreSQL, where nobody waits for a transaction that removes rows.
const BATCHES_TOGETHER: i64 = 8;
/// The longest pause between two batches: a machine that was suspended during one does not wait as long again.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// What the purge of messages is called among the chores.
pub(crate) const NOTIFICATIONS: &str = "notifications";
/// The name under which the last run is remembered.
const FACT: &str = "purge.last";

/// What a purge did, and when; kept so that people can see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PurgeReport {
    pub at: Timestamp,
    pub removed: usize,
    /// Removed files, such as those of reports.
    #[serde(default)]
    pub files: usize,
    pub keep_for_days: u64,
    /// How many rows are past their window and wait until a person has confirmed that they may go.
    #[serde(default)]
    pub held_back: Option<i64>,
    /// Everything that ended before this has been removed; a run that was held back leaves it where it was.
    #[serde(default)]
    pub purged_before: Option<Timestamp>,
}

/// Who asked for a purge, and the word for it in the audit.
type Asked<'a> = (&'a Actor, AuditAction);

impl Engine {
    /// Removes everything that is past its window, unless that is more than the usual share.
    #[boxed]
    pub async fn purge(&self, now: Timestamp) -> Result<PurgeReport, EngineError> {
        self.check_clock()?;
        let purged = guarded(self.purge_unless_unusual(now, None)).await;
        self.note_chore(Chore::Purge, NOTIFICATIONS, &purged, now).await;
        purged
    }

    /// A purge by hand; with `confirm` also of what the daily run held back. Rows go in many transactions, and the last
    /// one writes down who asked.
    #[boxed]
    pub async fn purge_by(&self, by: &Actor, confirm: bool) -> Result<PurgeReport, EngineError> {
        let now = self.clock.now();
        let purged = if confirm {
            let windows = self.windows().await?;
            self.purge_all(now, &windows, Some((by, AuditAction::PurgeConfirmed))).await
        } else {
            self.purge_unless_unusual(now, Some((by, AuditAction::Purge))).await
        };
        self.note_chore(Chore::Purge, NOTIFICATIONS, &purged, now).await;
        purged
    }

    async fn purge_unless_unusual(
        &self,
        now: Timestamp,
        asked: Option<Asked<'_>>,
    ) -> Result<PurgeReport, EngineError> {
        let windows = self.windows().await?;
        let finished_before = purged_before(&windows, now);
        let before = self.purged_so_far(&windows).await?;
        let steps = before.map(|before| finished_before.duration_since(before));
        if steps.is_some_and(|step| step <= ORDINARY_STEP) {
            return self.purge_all(now, &windows, asked).await;
        }
        let mut reader = self.store.read().await?;
        let size = notifications::purge_size(&mut reader.conn(), finished_before).await?;
        drop(reader);
        // The table is larger than any count that a share would round.
        let share = size.doomed as f64 / size.finished.max(1) as f64;
        if size.doomed > self.config.purge_unasked && share > self.config.purge_share {
            tracing::warn!(
                size.doomed,
                size.finished,
                "a purge is held back: it would remove an unusually large share"
            );
            return self.remember_purge(now, &windows, (0, 0), Some(size.doomed), asked).await;
        }
        self.purge_all(now, &windows, asked).await
    }

    /// Up to when what ended has been removed, as far as that is known.
    async fn purged_so_far(&self, windows: &Windows) -> Result<Option<Timestamp>, EngineError> {
        let Some(last) = self.last_purge().await? else { return Ok(None) };
        // Reports of earlier versions do not say it; one that was not held back removed everything of its time.
        let derived = last.held_back.is_none().then(|| purged_before(windows, last.at));
        Ok(last.purged_before.or(derived))
    }

    /// Removes everything that is past its window, however much it is: a person has seen the number.
    #[boxed]
    pub async fn purge_confirmed(&self, now: Timestamp) -> Result<PurgeReport, EngineError> {
        let windows = self.windows().await?;
        self.purge_all(now, &windows, None).await
    }

    async fn purge_all(
        &self,
        now: Timestamp,
        windows: &Windows,
        asked: Option<Asked<'_>>,
    ) -> Result<PurgeReport, EngineError> {
        let finished_before = purged_before(windows, now);
        let mut removed = 0;
        loop {
            let (batch, took) = timed(self.purge_some(now, finished_before)).await;
            let batch = batch?;
            removed += batch;
            if batch == 0 {
                break;
            }
            if self.store.is_single_process() {
                leave_room_for_others(took).await;
            }
        }
        // A chain that is broken keeps what it has: it is what somebody will look at.
        let checked = self.check_audit().await;
        self.note_chore(Chore::Audit, audit_chain::CHECK, &checked, now).await;
        let purged = match checked {
            Ok(()) => self.purge_audit(now).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = purged {
            tracing::warn!(error = %chain(&error), "expired audit entries could not be removed");
        }
        self.purge_tables(now, windows, finished_before).await?;
        self.purge_index().await?;
        let files = self.purge_files(now, windows).await? + self.purge_uploads(now, finished_before).await?;
        tracing::info!(removed, files, "purged");
        self.remember_purge(now, windows, (removed, files), None, asked).await
    }

    /// Removes one batch; returns how many rows went.
    async fn purge_some(&self, now: Timestamp, finished_before: Timestamp) -> Result<usize, EngineError> {
        if self.store.is_single_process() {
            let mut tx = self.store.begin(Lane::Claim).await?;
            let purged =
                notifications::purge(&mut tx.conn(), now, finished_before, self.config.purge_batch).await?;
            tx.commit().await?;
            return Ok(purged.notifications);
        }
        let batch = self.config.purge_batch.saturating_mul(BATCHES_TOGETHER);
        let mut tx = self.store.begin(Lane::Claim).await?;
        let buried = notifications::bury(&mut tx.conn(), now, finished_before, batch).await?;
        tx.commit().await?;
        if buried.is_empty() {
            return Ok(0);
        }
        self.writers_ended().await?;
        let mut tx = self.store.begin(Lane::Claim).await?;
        let purged = notifications::remove_buried(&mut tx.conn(), finished_before, buried).await?;
        tx.commit().await?;
        Ok(purged.notifications)
    }

    /// Waits for every transaction that began to write notifications before now: each lasts milliseconds.
    async fn writers_ended(&self) -> Result<(), EngineError> {
        let mut reader = self.store.read().await?;
        let mut before = notifications::writers(&mut reader.conn()).await?;
        // Each look is a call to the database, and none of them lasts longer than a silent transaction may.
        while !before.is_empty() {
            let open = notifications::writers(&mut reader.conn()).await?;
            before.retain(|writer| open.contains(writer));
        }
        Ok(())
    }

    /// Purges what workflows keep beside their rows. One that cannot reach its files does not stop the others.
    async fn purge_files(&self, now: Timestamp, windows: &Windows) -> Result<usize, EngineError> {
        let finished_before = windows.before(Window::Files, now).unwrap_or(Timestamp::MIN);
        let mut removed = 0;
        for (kind, workflow) in self.workflows.iter() {
            let Some(maintains) = &workflow.maintains else { continue };
            loop {
                let purged = guarded(maintains.purge(self, now, finished_before)).await;
                if !matches!(purged, Ok(1..)) {
                    self.note_chore(Chore::Purge, kind, &purged, now).await;
                }
                match purged {
                    Ok(0) => break,
                    Ok(files) => removed += files,
                    Err(error) => {
                        tracing::warn!(work.kind = kind, error = %chain(&error), "expired files could not be removed");
                        break;
                    }
                }
            }
        }
        Ok(removed)
    }

    async fn remember_purge(
        &self,
        now: Timestamp,
        windows: &Windows,
        (removed, files): (usize, usize),
        held_back: Option<i64>,
        asked: Option<Asked<'_>>,
    ) -> Result<PurgeReport, EngineError> {
        let keep_for_days = windows.days(Window::Messages).unwrap_or_default();
        let finished_before = purged_before(windows, now);
        let purged_before =
            if held_back.is_some() { self.purged_so_far(windows).await? } else { Some(finished_before) };
        let report = PurgeReport { at: now, removed, files, keep_for_days, held_back, purged_before };
        self.purge_short_lived(now).await?;
        let mut tx = self.store.begin(Lane::Claim).await?;
        // What has run out goes where nobody signs in for long, too.
        sessions::forget(&mut tx.conn(), now).await?;
        sign_on_answers::forget(&mut tx.conn(), now).await?;
        invitations::forget(&mut tx.conn(), now).await?;
        consumers::forget_health(&mut tx.conn(), earlier(now, KNOWN_EVENTS_FOR)).await?;
        quotas::forget(&mut tx.conn(), earlier(now, UNIT_ROWS_FOR)).await?;
        if held_back.is_none() {
            // As long as messages are there, what their templates said is too.
            templates::forget_versions(&mut tx.conn(), finished_before).await?;
        }
        let day = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
        days::forget(&mut tx.conn(), &day(earlier(now, OVER_EVERYWHERE))).await?;
        digests::forget(&mut tx.conn(), &day(finished_before)).await?;
        let text = serde_json::to_string(&report).unwrap_or_default();
        facts::put(&mut tx.conn(), now, FACT, &text).await?;
        if let Some((by, action)) = asked {
            by.audit(&mut tx, now, action, "retention", "notifications", None).await?;
        }
        tx.commit().await?;
        Ok(report)
    }

    /// What the last purge did, if there was one.
    #[boxed]
    pub async fn last_purge(&self) -> Result<Option<PurgeReport>, EngineError> {
        let mut reader = self.store.read().await?;
        Ok(last(&mut reader.conn()).await?)
    }
}

/// What a future returns, and how long it took on this machine.
#[expect(clippy::disallowed_methods, reason = "the machine's time, which no clock of an installation sets")]
async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let began = Instant::now();
    (work.await, began.elapsed())
}

/// SQLite has one writer and one disk for everybody: after a batch both are free for twice as long as it took.
#[expect(clippy::disallowed_methods, reason = "the machine's time, which no clock of an installation sets")]
async fn leave_room_for_others(took: Duration) {
    tokio::time::sleep((took * 2).min(LONGEST_PAUSE)).await;
}

/// Messages that ended before this are past their window.
fn purged_before(windows: &Windows, now: Timestamp) -> Timestamp {
    windows.before(Window::Messages, now).unwrap_or(Timestamp::MIN)
}

/// The same as [`Engine::last_purge`], on a connection.
pub(crate) async fn last(conn: &mut Conn<'_>) -> Result<Option<PurgeReport>, StoreError> {
    let fact = facts::get(conn, FACT).await?;
    Ok(fact.and_then(|text| serde_json::from_str(&text).ok()))
}
