//! Drains rows that are already due, one kind at a time, until a batch is not full.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use punctual_store::Stage;
use tokio::task::JoinSet;

use super::{Node, REST_AFTER_FAILURE, REST_WHEN_TAKEN};

/// The kinds that are being drained on this node.
#[derive(Default)]
pub(super) struct Draining(Mutex<HashSet<String>>);

/// Held while a kind is drained, and let go of however that ends.
struct Drains {
    all: Arc<Draining>,
    kind: String,
}

impl Draining {
    fn start(self: &Arc<Self>, kind: &str) -> Option<Drains> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.insert(kind.to_owned()).then(|| Drains { all: self.clone(), kind: kind.to_owned() })
    }
}

impl Drop for Drains {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.kind);
    }
}

/// How the last batch of a drain ended.
#[derive(PartialEq)]
enum Last {
    /// There is more.
    Full,
    /// Fewer rows than asked for.
    Short,
    /// Others hold what is due.
    Empty,
    Failed,
}

impl Node {
    /// Starts to drain a kind that has due rows, unless that is under way; its end wakes the due loop.
    pub(super) fn drain(&self, kind: String) {
        let Some(drains) = self.draining.start(&kind) else { return };
        let node = self.clone();
        self.spawn_watched("due", async move {
            // One row that is due does not need several workers to find that there is no second.
            let mut last = node.drain_batch(&kind).await;
            if last == Last::Full {
                // Each on a task of its own: one prepares its rows on another core while the database works for the others.
                let mut workers = JoinSet::new();
                for _ in 0..node.engine.config.batches_at_once {
                    let (node, kind) = (node.clone(), kind.clone());
                    workers.spawn(async move { node.drain_to_the_end(&kind).await });
                }
                workers.join_all().await;
                last = Last::Short;
            }
            let goes_on = match last {
                Last::Full | Last::Short => true,
                Last::Empty => node.rest(REST_WHEN_TAKEN).await,
                Last::Failed => node.rest(REST_AFTER_FAILURE).await,
            };
            drop(drains);
            if goes_on {
                node.engine.store.wake().raise(Stage::Work, node.engine.clock.now().as_microsecond());
            }
        });
    }

    async fn drain_to_the_end(&self, kind: &str) {
        while !self.stop.is_cancelled() {
            match self.drain_batch(kind).await {
                Last::Full => {}
                Last::Failed => {
                    self.rest(REST_AFTER_FAILURE).await;
                    return;
                }
                Last::Short | Last::Empty => return,
            }
        }
    }

    async fn drain_batch(&self, kind: &str) -> Last {
        let engine = &self.engine;
        // Kinds that are drained side by side take turns.
        let Ok(_permit) = self.batches.acquire().await else { return Last::Empty };
        if self.stop.is_cancelled() {
            return Last::Empty;
        }
        let batch = engine.config.batch;
        match engine.work_due(kind, engine.clock.now(), batch, true).await {
            Ok((report, hand_over)) => {
                for sending in hand_over.into_sendings() {
                    self.spawn_sending(sending);
                }
                match report.claimed {
                    0 => Last::Empty,
                    taken if i64::try_from(taken).is_ok_and(|taken| taken < batch) => Last::Short,
                    _ => Last::Full,
                }
            }
            Err(error) => {
                self.failed("due", &error);
                Last::Failed
            }
        }
    }
}
