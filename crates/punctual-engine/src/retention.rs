//! Purges every table except messages, files and audit, by the rules of `punctual_store::retention`: in batches, each in its
//! own transaction. A failed purge of a table is shown in Attention and does not stop the others; an interrupted purge
//! continues where it stopped.

mod windows;

use std::time::Duration;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_store::{
    Lane, facts, personal as erased,
    reminders::sends,
    retention::{self as store, Place, Window},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub use self::windows::{RetentionSettings, WindowChange, Windows};
use crate::{
    Engine, EngineError, config::earlier, confine::guarded, due::chain, purge::KNOWN_EVENTS_FOR,
    troubles::Chore,
};

/// How long a plan of an erasure is kept that nobody carried out.
const PLANS_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Rows behind the front of a walk that one run looks at again: what was open when the walk passed it.
const LOOKED_AT_AGAIN: usize = 1_000_000;
/// Tombstones that one run looks at.
const TOMBSTONES_AT_ONCE: usize = 5_000_000;

/// How far a walk over rows in the order of their making has come.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Walk {
    /// Everything up to here was read once.
    front: i64,
    /// Up to here it was read again in this turn.
    again: i64,
}

/// What one step of a walk found.
struct Step {
    /// The last row that was read, and how many were.
    last: i64,
    rows: usize,
    /// Whether it came to a row that is too young for anything before it to be over.
    is_young: bool,
}

impl Engine {
    /// Removes what is kept for days only, however the purge of messages goes.
    #[boxed]
    pub(crate) async fn purge_short_lived(&self, now: Timestamp) -> Result<(), EngineError> {
        let (answers, events) = (earlier(now, self.config.remember_for), earlier(now, KNOWN_EVENTS_FOR));
        let limit = self.config.purge_batch;
        loop {
            let mut tx = self.store.begin(Lane::Claim).await?;
            let conn = &mut tx.conn();
            let removed = store::forget_answers(conn, answers, limit).await?
                + store::forget_receipts(conn, answers, limit).await?
                + store::forget_events(conn, events, limit).await?;
            tx.commit().await?;
            if removed == 0 {
                return Ok(());
            }
        }
    }

    /// Purges every table that has its own rule.
    #[boxed]
    pub(crate) async fn purge_tables(
        &self,
        now: Timestamp,
        windows: &Windows,
        messages_before: Timestamp,
    ) -> Result<(), EngineError> {
        let before = |window: Window| windows.before(window, now);
        let work_before = before(Window::Work).unwrap_or(Timestamp::MIN);
        let done = guarded(self.purge_inbox(messages_before)).await;
        self.note_table("inbox", done, now).await;
        let done = guarded(self.purge_sends(messages_before)).await;
        self.note_table("reminder_sends", done, now).await;
        let done = guarded(self.purge_events(messages_before)).await;
        self.note_table("outbox_events", done, now).await;
        let done = guarded(self.purge_work(now, work_before)).await;
        self.note_table("work", done, now).await;
        let done = guarded(self.purge_sources(now, work_before)).await;
        self.note_table("sources", done, now).await;
        let done = guarded(self.purge_records(before(Window::Files).unwrap_or(Timestamp::MIN))).await;
        self.note_table("run_records", done, now).await;
        if let Some(before) = before(Window::Surveys) {
            let done = guarded(self.purge_surveys(now, before)).await;
            self.note_table("survey_instances", done, now).await;
        }
        if let Some(before) = before(Window::Ids) {
            let done = guarded(self.purge_tombstones(now, before)).await;
            self.note_table("tombstones", done, now).await;
        }
        let done = guarded(self.purge_few(now)).await;
        self.note_table("suppressions", done, now).await;
        Ok(())
    }

    async fn note_table(&self, table: &str, done: Result<u64, EngineError>, now: Timestamp) {
        match &done {
            Ok(0) => {}
            Ok(rows) => tracing::info!(table, rows, "purged"),
            Err(error) => {
                tracing::warn!(table, error = %chain(error), "expired rows could not be purged")
            }
        }
        self.note_chore(Chore::Purge, table, &done, now).await;
    }

    async fn purge_inbox(&self, before: Timestamp) -> Result<u64, EngineError> {
        let mut removed = 0;
        loop {
            let mut tx = self.store.begin(Lane::Claim).await?;
            let batch = store::forget_inbox(&mut tx.conn(), before, self.config.purge_batch).await?;
            tx.commit().await?;
            if batch == 0 {
                return Ok(removed);
            }
            removed += batch;
        }
    }

    async fn purge_sends(&self, before: Timestamp) -> Result<u64, EngineError> {
        let mut removed = 0;
        loop {
            let mut tx = self.store.begin(Lane::Claim).await?;
            let batch = sends::forget(&mut tx.conn(), before, self.config.purge_batch).await?;
            tx.commit().await?;
            if batch == 0 {
                return Ok(removed);
            }
            removed += batch;
        }
    }

    async fn purge_events(&self, before: Timestamp) -> Result<u64, EngineError> {
        let (mut removed, mut after) = (0, 0);
        loop {
            let mut tx = self.store.begin(Lane::Claim).await?;
            let old = store::old_events(&mut tx.conn(), after, before, self.config.purge_batch).await?;
            let Some(last) = old.last().copied() else { return Ok(removed) };
            removed += store::delete_events(&mut tx.conn(), old).await?;
            tx.commit().await?;
            after = last;
        }
    }

    async fn purge_records(&self, before: Timestamp) -> Result<u64, EngineError> {
        let mut removed = 0;
        for (kind, _) in self.workflows.iter() {
            loop {
                let mut tx = self.store.begin(Lane::Claim).await?;
                let batch =
                    store::delete_records(&mut tx.conn(), kind, before, self.config.purge_batch).await?;
                tx.commit().await?;
                if batch == 0 {
                    break;
                }
                removed += batch;
            }
        }
        Ok(removed)
    }

    /// Deleted sources lose their state. Those that change move to the end of the walk, so that it never goes back.
    async fn purge_sources(&self, now: Timestamp, before: Timestamp) -> Result<u64, EngineError> {
        const MARK: &str = "retention.sources";
        let mut after = self.mark::<(i64, String, String)>(MARK).await?;
        let mut stripped = 0;
        loop {
            let (at, first, second) = after.clone();
            let place = Place { at, first, second };
            let mut tx = self.store.begin(Lane::Claim).await?;
            let walked =
                store::strip_sources(&mut tx.conn(), &place, before, self.config.purge_batch).await?;
            let Some((last, rows)) = walked else { return Ok(stripped) };
            stripped += rows;
            after = (last.at, last.first, last.second);
            let text = serde_json::to_string(&after).unwrap_or_default();
            facts::put(&mut tx.conn(), now, MARK, &text).await?;
            tx.commit().await?;
        }
    }

    async fn mark<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, EngineError> {
        let mut reader = self.store.read().await?;
        let text = facts::get(&mut reader.conn(), name).await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    async fn keep_walk(&self, now: Timestamp, name: &str, walk: Walk) -> Result<(), EngineError> {
        let mut tx = self.store.begin(Lane::Claim).await?;
        facts::put(&mut tx.conn(), now, name, &serde_json::to_string(&walk).unwrap_or_default()).await?;
        Ok(tx.commit().await?)
    }

    /// Walks from where the last run stopped to the first row that is too young, and then some of what lies behind once more:
    /// what was open when the walk passed it.
    async fn walk<F>(
        &self,
        now: Timestamp,
        name: &str,
        step: impl Fn(i64, i64) -> F,
    ) -> Result<(), EngineError>
    where
        F: Future<Output = Result<Step, EngineError>>,
    {
        let mut walk: Walk = self.mark(name).await?;
        loop {
            let found = step(walk.front, i64::MAX).await?;
            walk.front = found.last;
            if found.rows == 0 || found.is_young {
                break;
            }
            self.keep_walk(now, name, walk).await?;
        }
        let mut looked_at = 0;
        while looked_at < LOOKED_AT_AGAIN {
            let found = step(walk.again, walk.front).await?;
            looked_at += found.rows;
            walk.again = found.last;
            if found.rows == 0 {
                walk.again = 0;
                break;
            }
        }
        self.keep_walk(now, name, walk).await
    }

    async fn purge_work(&self, now: Timestamp, before: Timestamp) -> Result<u64, EngineError> {
        let stripped = std::sync::atomic::AtomicU64::new(0);
        let count = &stripped;
        self.walk(now, "retention.work", |after, up_to| async move {
            let (step, rows) = self.strip_some_work(after, up_to, before).await?;
            count.fetch_add(rows, std::sync::atomic::Ordering::Relaxed);
            Ok(step)
        })
        .await?;
        Ok(stripped.into_inner())
    }

    async fn strip_some_work(
        &self,
        after: i64,
        up_to: i64,
        before: Timestamp,
    ) -> Result<(Step, u64), EngineError> {
        let mut reader = self.store.read().await?;
        let rows =
            store::ended_work(&mut reader.conn(), after, up_to, before, self.config.purge_batch).await?;
        drop(reader);
        let old = rows.iter().take_while(|row| row.created_at < before);
        let old: Vec<_> = old.collect();
        let step = Step {
            last: old.last().map_or(after, |row| row.id),
            rows: old.len(),
            is_young: old.len() < rows.len(),
        };
        let over = |row: &&store::EndedWork| {
            row.is_over && (row.input != store::PURGED_INPUT || row.trace_blob.is_some())
        };
        let over: Vec<_> = old.into_iter().filter(over).collect();
        if over.is_empty() {
            return Ok((step, 0));
        }
        // First the files, then the row that names them: whatever stops this in between is made good by the next run.
        for blob in over.iter().filter_map(|row| row.trace_blob.as_deref()) {
            self.blobs.delete(blob).await?;
        }
        let messages = over.iter().filter(|row| row.kind == "message").filter_map(|row| {
            let input: serde_json::Value = serde_json::from_str(&row.input).ok()?;
            input["messageId"].as_str().map(str::to_owned)
        });
        let messages: Vec<String> = messages.collect();
        let mut tx = self.store.begin(Lane::Claim).await?;
        let ids = over.iter().map(|row| row.id).collect();
        let stripped = store::strip_work(&mut tx.conn(), ids, before).await?;
        if !messages.is_empty() {
            store::strip_messages(&mut tx.conn(), messages).await?;
        }
        tx.commit().await?;
        Ok((step, stripped))
    }

    async fn purge_surveys(&self, now: Timestamp, before: Timestamp) -> Result<u64, EngineError> {
        let stripped = std::sync::atomic::AtomicU64::new(0);
        let count = &stripped;
        self.walk(now, "retention.surveys", |after, up_to| async move {
            let (step, rows) = self.strip_some_surveys(after, up_to, before).await?;
            count.fetch_add(rows, std::sync::atomic::Ordering::Relaxed);
            Ok(step)
        })
        .await?;
        Ok(stripped.into_inner())
    }

    /// What an erasure leaves of an instance: that it was there, how it ended and when.
    async fn strip_some_surveys(
        &self,
        after: i64,
        up_to: i64,
        before: Timestamp,
    ) -> Result<(Step, u64), EngineError> {
        let mut tx = self.store.begin(Lane::Claim).await?;
        let conn = &mut tx.conn();
        let rows = store::ended_instances(conn, after, up_to, before, self.config.purge_batch).await?;
        let old: Vec<_> = rows.iter().take_while(|row| row.triggered_at < before).collect();
        let step = Step {
            last: old.last().map_or(after, |row| row.id),
            rows: old.len(),
            is_young: old.len() < rows.len(),
        };
        let over: Vec<_> = old.into_iter().filter(|row| row.is_over).collect();
        let ids: Vec<i64> = over.iter().map(|row| row.id).collect();
        if ids.is_empty() {
            return Ok((step, 0));
        }
        let mut sends = Vec::new();
        for row in &over {
            sends.extend(erased::sends_of(conn, &row.public_id).await?);
        }
        erased::erase_survey_attempts(conn, sends).await?;
        let responses = erased::responses_of(conn, ids.clone()).await?;
        erased::blank_responses(conn, responses.into_iter().map(|row| row.id).collect()).await?;
        let stripped = erased::blank_instances(conn, ids).await?;
        tx.commit().await?;
        Ok((step, stripped))
    }

    async fn purge_tombstones(&self, now: Timestamp, before: Timestamp) -> Result<u64, EngineError> {
        const MARK: &str = "retention.tombstones";
        let mut after: String = self.mark(MARK).await?;
        let (mut removed, mut looked_at) = (0, 0);
        let batch = self.config.purge_batch;
        while looked_at < TOMBSTONES_AT_ONCE {
            let mut tx = self.store.begin(Lane::Claim).await?;
            let walked = store::old_tombstones(&mut tx.conn(), &after, before, batch).await?;
            let (old, last) = walked.unwrap_or_default();
            let is_end = last.is_empty();
            if !old.is_empty() {
                removed += store::delete_tombstones(&mut tx.conn(), old).await?;
            }
            let text = serde_json::to_string(&last).unwrap_or_default();
            facts::put(&mut tx.conn(), now, MARK, &text).await?;
            tx.commit().await?;
            if is_end {
                break;
            }
            after = last;
            looked_at += usize::try_from(batch).unwrap_or(usize::MAX);
        }
        Ok(removed)
    }

    async fn purge_few(&self, now: Timestamp) -> Result<u64, EngineError> {
        let mut tx = self.store.begin(Lane::Claim).await?;
        let plans = store::planned_erasures(&mut tx.conn(), earlier(now, PLANS_FOR)).await?;
        let ended = store::expired_suppressions(&mut tx.conn(), now).await?;
        tx.commit().await?;
        Ok(plans + ended)
    }
}
