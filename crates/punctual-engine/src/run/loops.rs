//! The loops, one function each.

use std::time::Duration;

use jiff::Timestamp;
use punctual_store::{Stage, StoreError};

use super::{Node, REST_AFTER_FAILURE, REST_WHEN_TAKEN};
use crate::{
    EngineError,
    config::{earlier, later},
};

/// How often the write-ahead log is checked on SQLite.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked whether the purge is due.
const PURGE_LOOKED_AT_EVERY: Duration = Duration::from_secs(10 * 60);
/// How often addresses of new rows are put into their index.
const INDEX_EVERY: Duration = Duration::from_secs(30);
/// How often the purge runs.
const PURGE_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// The same where no wake-up of another node can come.
const POLL_WITHOUT_WAKING: Duration = Duration::from_secs(1);
/// Listening again after the connection to PostgreSQL was lost.
const LISTEN_AGAIN_AFTER: Duration = Duration::from_secs(2);

impl Node {
    pub(super) async fn due_loop(self) {
        let engine = &self.engine;
        let mut next = Timestamp::MIN;
        loop {
            let now = engine.clock.now();
            if let Some(raised) = engine.store.wake().take(Stage::Work) {
                next = next.min(Timestamp::from_microsecond(raised).unwrap_or(Timestamp::MIN));
            }
            let start = earlier(next, engine.config.claim_ahead);
            if start > now && !self.wait(Stage::Work, start).await {
                return;
            }
            if self.stop.is_cancelled() {
                return;
            }
            if start > now && start > engine.clock.now() {
                continue;
            }
            next = match self.due_pass().await {
                Ok(next) => next,
                Err(error) => {
                    self.failed("due", &error);
                    if !self.rest(REST_AFTER_FAILURE).await {
                        return;
                    }
                    Timestamp::MIN
                }
            };
        }
    }

    /// Has what is due drained, claims what nearly is, and hands it to workers; returns when to look again.
    async fn due_pass(&self) -> Result<Timestamp, EngineError> {
        let engine = &self.engine;
        let now = engine.clock.now();
        let ready_by = later(now, engine.config.claim_ahead);
        let mut next = later(now, self.poll_every());
        for (kind, at) in engine.earliest_work().await? {
            let at = Timestamp::from_microsecond(at).unwrap_or(now);
            if at > ready_by {
                next = next.min(at);
                continue;
            }
            let long = engine.workflows.get(&kind).is_some_and(|workflow| workflow.is_long_running());
            if at <= now && !long {
                self.drain(kind);
                continue;
            }
            let permits = if long { &self.long } else { &self.batches };
            let permit = if long {
                // A busy pool is no reason to hold up the others; its end wakes this loop.
                match permits.clone().try_acquire_owned() {
                    Ok(permit) => permit,
                    Err(_) => continue,
                }
            } else {
                tokio::select! {
                    () = self.stop.cancelled() => return Ok(next),
                    permit = permits.clone().acquire_owned() => match permit {
                        Ok(permit) => permit,
                        Err(_) => return Ok(next),
                    },
                }
            };
            if self.stop.is_cancelled() {
                return Ok(next);
            }
            let claimed = match engine.claim(&kind, now, ready_by, engine.config.batch).await {
                // One kind must not keep the others from their turn.
                Err(error) if !error.is_unavailable() => {
                    self.failed("due", &error);
                    next = next.min(later(now, REST_AFTER_FAILURE));
                    continue;
                }
                claimed => claimed?,
            };
            match claimed {
                Some(batch) => {
                    self.spawn_batch(batch, permit);
                    next = Timestamp::MIN;
                }
                None => next = next.min(later(now, REST_WHEN_TAKEN + engine.config.claim_ahead)),
            }
        }
        Ok(next)
    }

    pub(super) async fn delivery_loop(self) {
        let engine = &self.engine;
        let mut next = Timestamp::MIN;
        loop {
            let now = engine.clock.now();
            if let Some(raised) = engine.store.wake().take(Stage::Delivery) {
                next = next.min(Timestamp::from_microsecond(raised).unwrap_or(Timestamp::MIN));
            }
            if next > now {
                if !self.wait(Stage::Delivery, next).await {
                    return;
                }
                if next > engine.clock.now() {
                    continue;
                }
            }
            if self.stop.is_cancelled() {
                return;
            }
            next = match self.delivery_pass().await {
                Ok(next) => next,
                Err(error) => {
                    self.failed("delivery", &error);
                    if !self.rest(REST_AFTER_FAILURE).await {
                        return;
                    }
                    Timestamp::MIN
                }
            };
        }
    }

    /// Has every channel worked that has something ready; returns when to look again.
    async fn delivery_pass(&self) -> Result<Timestamp, EngineError> {
        let engine = &self.engine;
        let now = engine.clock.now();
        engine.refresh_channels(now).await?;
        let mut next = later(now, self.poll_every());
        for (key, class, at) in engine.earliest_by_class().await? {
            let at = Timestamp::from_microsecond(at).unwrap_or(now);
            if at > now {
                next = next.min(at);
            } else {
                self.work_lane(key, class);
            }
        }
        Ok(next)
    }

    /// How often rows of other nodes are looked for, whether or not a wake-up came.
    fn poll_every(&self) -> Duration {
        let usual = self.engine.config.poll_every;
        if self.engine.store.listens_to_others() { usual } else { usual.min(POLL_WITHOUT_WAKING) }
    }

    pub(super) async fn sweep_loop(self) {
        while self.rest(self.engine.config.sweep_every).await {
            if let Err(error) = self.engine.sweep_tick(self.engine.clock.now()).await {
                self.failed("sweep", &error);
            }
        }
    }

    /// Once a day over all nodes and restarts: the last run is remembered in the database.
    pub(super) async fn purge_loop(self) {
        while self.rest(PURGE_LOOKED_AT_EVERY).await {
            if let Err(error) = self.purge_if_due().await {
                self.failed("purge", &error);
            }
        }
    }

    async fn purge_if_due(&self) -> Result<(), EngineError> {
        let now = self.engine.clock.now();
        let last = self.engine.last_purge().await?;
        if last.is_none_or(|last| later(last.at, PURGE_EVERY) <= now) {
            self.engine.purge(now).await?;
        }
        Ok(())
    }

    /// A background pass: a search for an address scans the rows that it has not indexed yet.
    pub(super) async fn index_loop(self) {
        while self.rest(INDEX_EVERY).await {
            if let Err(error) = self.engine.index_addresses(self.engine.clock.now()).await {
                self.failed("index", &error);
            }
        }
    }

    pub(super) async fn checkpoint_loop(self) {
        if !self.engine.store.is_single_process() {
            return;
        }
        while self.rest(CHECKPOINT_EVERY).await {
            if let Err(error) = self.engine.store.checkpoint().await {
                self.failed("checkpoint", &error.into());
            }
        }
    }

    /// Listens for rows that nodes without workers write; without it the slow poll finds them.
    pub(super) async fn listen_loop(self) {
        loop {
            match self.listen().await {
                Ok(()) => return,
                Err(error) => self.failed("listen", &error.into()),
            }
            if !self.rest(LISTEN_AGAIN_AFTER).await {
                return;
            }
        }
    }

    async fn listen(&self) -> Result<(), StoreError> {
        let Some(mut listener) = self.engine.store.listener().await? else { return Ok(()) };
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return Ok(()),
                payload = listener.recv() => self.engine.store.wake().raise_all(&payload?),
            }
        }
    }
}
