//! Background tasks that keep failing (repairs of workflows, purges, audit sealing), stored so that Attention can show them.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_store::{Conn, Lane, StoreError, facts};
use serde::{Deserialize, Serialize};

use crate::{Engine, EngineError, audit_chain::SEAL, config::later, due::chain};

/// What is done regularly, beside messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    /// The repair of one workflow, with every sweep.
    Reconcile,
    /// A purge, once a day; one that fails is retried every ten minutes.
    Purge,
    /// Sealing the audit, with every sweep, and checking the whole chain, once a day.
    Audit,
}

impl Chore {
    const ALL: [Self; 3] = [Self::Reconcile, Self::Purge, Self::Audit];

    /// What people read.
    fn title(self, name: &str) -> String {
        match self {
            Self::Reconcile => format!("repair of {name}"),
            Self::Purge => format!("purge of {name}"),
            Self::Audit if name == SEAL => "seals of the audit".to_owned(),
            Self::Audit => "chain of the audit".to_owned(),
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Reconcile => "trouble:reconcile:",
            Self::Purge => "trouble:purge:",
            Self::Audit => "trouble:audit:",
        }
    }

    /// From how many failures in a row on a person should look. A sweep that failed is over in seconds.
    fn shown_from(self) -> u32 {
        match self {
            Self::Reconcile => 3,
            Self::Purge | Self::Audit => 1,
        }
    }

    /// A failure older than this was not met again: its node is gone.
    fn shown_for(self) -> Duration {
        match self {
            Self::Reconcile => Duration::from_secs(60 * 60),
            Self::Purge | Self::Audit => Duration::from_secs(2 * 24 * 60 * 60),
        }
    }
}

/// Which chores failed last time, as far as this node knows.
#[derive(Default)]
pub(crate) struct Chores(Mutex<HashMap<String, bool>>);

impl Chores {
    fn failed_last(&self, name: &str) -> Option<bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    fn went(&self, name: String, failed: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name, failed);
    }
}

/// How often a chore has failed in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trouble {
    since: Timestamp,
    last_at: Timestamp,
    times: u32,
    error: String,
}

/// A chore that fails.
pub struct FailingChore {
    /// The workflow, or what is purged.
    pub(crate) name: String,
    /// What people read, such as `purge of notifications`.
    pub title: String,
    pub since: Timestamp,
    pub times: u32,
    pub error: String,
}

/// All chores that keep failing, for a check-up from outside.
#[boxed]
pub async fn failing_chores(conn: &mut Conn<'_>, now: Timestamp) -> Result<Vec<FailingChore>, StoreError> {
    let mut all = Vec::new();
    for chore in Chore::ALL {
        all.extend(failing(conn, chore, now).await?);
    }
    Ok(all)
}

async fn failing(conn: &mut Conn<'_>, chore: Chore, now: Timestamp) -> Result<Vec<FailingChore>, StoreError> {
    let known = facts::with_prefix(conn, chore.prefix()).await?;
    let failing = known.into_iter().filter_map(|fact| {
        let trouble: Trouble = serde_json::from_str(&fact.value).ok()?;
        let is_shown = trouble.times >= chore.shown_from() && later(trouble.last_at, chore.shown_for()) > now;
        let name = &fact.name[chore.prefix().len()..];
        is_shown.then(|| FailingChore {
            name: name.to_owned(),
            title: chore.title(name),
            since: trouble.since,
            times: trouble.times,
            error: trouble.error,
        })
    });
    Ok(failing.collect())
}

impl Engine {
    /// Remembers how a chore ended. An outage of the database is no fault of the chore, and is seen elsewhere.
    pub(crate) async fn note_chore<T>(
        &self,
        chore: Chore,
        name: &str,
        ended: &Result<T, EngineError>,
        now: Timestamp,
    ) {
        let fact = format!("{}{name}", chore.prefix());
        let noted = match ended {
            Ok(_) if self.chores.failed_last(&fact) == Some(false) => return,
            Ok(_) => self.forget_trouble(&fact).await,
            Err(error) if error.is_unavailable() => return,
            Err(error) => self.count_trouble(&fact, chain(error), now).await,
        };
        match noted {
            Ok(()) => self.chores.went(fact, ended.is_err()),
            Err(error) => {
                tracing::warn!(chore = fact, error = %chain(&error), "a failure could not be recorded")
            }
        }
    }

    async fn forget_trouble(&self, fact: &str) -> Result<(), EngineError> {
        let known = {
            let mut reader = self.store.read().await?;
            facts::get(&mut reader.conn(), fact).await?
        };
        if known.is_some() {
            let mut tx = self.store.begin(Lane::Intake).await?;
            facts::forget(&mut tx.conn(), fact).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    async fn count_trouble(&self, fact: &str, error: String, now: Timestamp) -> Result<(), EngineError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let before = facts::get(&mut tx.conn(), fact).await?;
        let before: Option<Trouble> = before.and_then(|text| serde_json::from_str(&text).ok());
        let (since, times) = before.map_or((now, 0), |before| (before.since, before.times));
        let trouble = Trouble { since, last_at: now, times: times.saturating_add(1), error };
        let text = serde_json::to_string(&trouble).unwrap_or_default();
        facts::put(&mut tx.conn(), now, fact, &text).await?;
        Ok(tx.commit().await?)
    }

    /// The chores of one kind that keep failing.
    pub(crate) async fn failing_chores(
        &self,
        conn: &mut Conn<'_>,
        chore: Chore,
    ) -> Result<Vec<FailingChore>, StoreError> {
        failing(conn, chore, self.clock.now()).await
    }
}
