//! Results of surveys with very many links, computed in the background because counting ten million links takes seconds: one
//! survey at a time, in batches. Results are cached with their time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_engine::Engine;
use tokio::sync::Semaphore;

use super::{Asked, Results};
use crate::surveys::Version;

/// Links that a request counts itself.
const AT_ONCE: i64 = 10_000;
/// What was counted is counted again when somebody asks after so long, and at most so much of the time.
const FRESH: SignedDuration = SignedDuration::from_secs(60);
const RESTS: i32 = 20;
/// Results that are kept; the one that was asked for least lately goes.
const MOST: usize = 100;

/// What one node has counted.
pub struct Kept {
    at_once: i64,
    all: Arc<Mutex<Vec<Entry>>>,
    /// One is counted at a time, so that others who read continue.
    turn: Arc<Semaphore>,
}

/// What was asked, by when it was asked last.
struct Entry {
    asked: Asked,
    results: Option<Results>,
    again_at: Timestamp,
    is_counting: bool,
}

impl Default for Kept {
    fn default() -> Self {
        Self::of_more_than(AT_ONCE)
    }
}

impl Kept {
    /// For surveys with more links than this.
    pub fn of_more_than(at_once: i64) -> Self {
        Self { at_once, all: Arc::default(), turn: Arc::new(Semaphore::new(1)) }
    }

    /// Links that a request counts itself.
    pub fn at_once(&self) -> i64 {
        self.at_once
    }

    /// Waits until nothing is being counted.
    #[boxed]
    pub async fn settled(&self) {
        while lock(&self.all).iter().any(|entry| entry.is_counting) {
            // The permit for counting: one count at a time.
            let _turn = self.turn.acquire().await;
            tokio::task::yield_now().await;
        }
    }

    /// What was counted last. Where that is nothing, or a while ago, it is counted behind this request.
    pub(super) fn known_or_counted_soon(
        &self,
        engine: &Engine,
        asked: &Asked,
        versions: &[Arc<Version>],
    ) -> Option<Results> {
        let now = engine.clock.now();
        let mut all = lock(&self.all);
        let mut entry = match all.iter().position(|entry| entry.asked == *asked) {
            Some(place) => all.remove(place),
            None => Entry { asked: asked.clone(), results: None, again_at: now, is_counting: false },
        };
        if entry.again_at <= now && !entry.is_counting {
            entry.is_counting = true;
            tokio::spawn(count(
                engine.clone(),
                asked.clone(),
                versions.to_vec(),
                Counting(self.all.clone(), asked.clone()),
                self.turn.clone(),
            ));
        }
        let results = entry.results.clone();
        all.push(entry);
        let surplus = all.len().saturating_sub(MOST);
        all.drain(..surplus);
        results
    }
}

fn lock(all: &Mutex<Vec<Entry>>) -> MutexGuard<'_, Vec<Entry>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The entry of what is being counted; however that ends, it can be asked for again.
struct Counting(Arc<Mutex<Vec<Entry>>>, Asked);

impl Counting {
    fn entry(&self, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = lock(&self.0).iter_mut().find(|entry| entry.asked == self.1) {
            change(entry);
        }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.entry(|entry| entry.is_counting = false);
    }
}

async fn count(
    engine: Engine,
    asked: Asked,
    versions: Vec<Arc<Version>>,
    counting: Counting,
    turn: Arc<Semaphore>,
) {
    let Ok(_turn) = turn.acquire().await else { return };
    let began = engine.clock.now();
    match asked.count_all(&engine, &versions).await {
        Ok(results) => {
            let now = engine.clock.now();
            let rest = FRESH.max(now.duration_since(began) * RESTS);
            counting.entry(|entry| {
                entry.results = Some(results);
                entry.again_at = now.checked_add(rest).unwrap_or(now);
            });
        }
        Err(error) => {
            tracing::warn!(survey.id = asked.survey_id, %error, "the results of a survey could not be counted");
        }
    }
}
