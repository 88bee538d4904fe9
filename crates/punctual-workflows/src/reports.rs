//! Report subscriptions: recurring reports, one owner for each run.
//!
//! Only the next run of a subscription is planned ([`plan`]); every outcome of a run plans the one after it. A run is
//! long-running work: first it takes its ownership (see [`crate::rollout`]), then it fetches and renders the table and writes
//! its files under the hash of its key ([`prepare`]), and then it is decided on the present subscription ([`decide`]).
//! [`commands`] has the actions of people. (These subscriptions are unrelated to the outbox.)

mod builtins;
pub mod cadence;
pub mod commands;
mod cron;
pub mod decide;
pub mod draft;
pub mod forecast;
pub mod ownership;
pub mod period;
pub mod plan;
pub mod prepare;
mod purge;
pub mod readers;
pub mod reconcile;
pub mod rollouts;
pub(crate) mod rule;
pub mod runs;
pub mod subscription;
mod titles;

use std::sync::Arc;

use jiff::Timestamp;
use punctual_engine::{Claimed, Engine, EngineError, Maintains, Prepares, Workflow, WritesRows};
use punctual_model::{KeyParts, ReasonCode, RetryPolicy, WorkKey};
use punctual_reports::Sources;
use punctual_store::{Conn, StoreError, Tx, rollouts::RolloutRow};

use crate::rollout::RunKind;

pub use builtins::{built_in, with_built_ins};
pub use cadence::{Cadence, Occurrence};
pub use draft::Draft;
pub use prepare::Prepared;
pub use subscription::{CatchUp, Planned, Subscription};

/// The kind of a run's work row, and the workflow of its rollout.
pub const KIND: &str = "report-subscription";
/// The type of source of a run: the subscription.
pub const SOURCE_TYPE: &str = "report-subscription";
/// What this side writes as its version when it takes a run.
pub const OWNER_VERSION: &str = "1";

/// What the key of a run says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunKey {
    pub guid: String,
    pub kind: RunKind,
    /// The id of a run that somebody asked for.
    pub manual_run: Option<String>,
}

impl RunKey {
    /// Reads the key of a planned run, of one that was asked for, or of one that was asked for again.
    pub fn read(key: &str) -> Option<Self> {
        match WorkKey::parse(key).ok()?.parts() {
            KeyParts::ReportScheduled { guid, .. } => {
                Some(Self { guid, kind: RunKind::Scheduled, manual_run: None })
            }
            KeyParts::ReportManual { guid, manual_run } => {
                Some(Self { guid, kind: RunKind::Manual, manual_run: Some(manual_run) })
            }
            KeyParts::SupportRetry { of, .. } => {
                // A person asked for it.
                Self::read(of.as_str()).map(|run| Self { kind: RunKind::Manual, ..run })
            }
            _ => None,
        }
    }

    /// What kind of run it is under a rollout: at stage 2 people may have chosen single ones.
    pub fn kind_under(&self, rollout: Option<&RolloutRow>) -> RunKind {
        self.kind.under(rollout, self.manual_run.as_deref())
    }
}

/// The name of a blob of a run.
pub fn blob_name(hash: &str, file: &str) -> String {
    format!("runs/{hash}/{file}")
}

/// The workflow of reports.
pub struct Reports {
    sources: Arc<Sources>,
    walk: reconcile::Walk,
}

impl Reports {
    pub fn new(sources: Arc<Sources>) -> Self {
        Self { sources, walk: reconcile::Walk::default() }
    }
}

impl Workflow for Reports {
    fn kind(&self) -> &'static str {
        KIND
    }

    /// A query that fails is retried tomorrow, and the day after.
    fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy::Daily
    }
}

impl Prepares for Reports {
    type Prepared = Prepared;
    type Loaded = decide::Loaded;

    async fn prepare(&self, engine: &Engine, row: &Claimed) -> Result<Prepared, ReasonCode> {
        prepare::prepare(engine, &self.sources, row).await.map_err(|error| {
            tracing::warn!(work.key = row.key, %error, "a report could not be prepared");
            ReasonCode::ReportStorage
        })
    }

    async fn load(
        &self,
        tx: &mut Tx,
        _now: Timestamp,
        row: &Claimed,
        prepared: Prepared,
    ) -> Result<decide::Loaded, StoreError> {
        decide::Loaded::load(&mut tx.conn(), row, prepared).await
    }
}

impl WritesRows for Reports {
    type Row = decide::Put;

    async fn put(&self, conn: &mut Conn<'_>, now: Timestamp, rows: &[decide::Put]) -> Result<(), StoreError> {
        decide::put(conn, now, rows).await
    }
}

impl Maintains for Reports {
    async fn purge(
        &self,
        engine: &Engine,
        now: Timestamp,
        finished_before: Timestamp,
    ) -> Result<usize, EngineError> {
        purge::purge(engine, now, finished_before).await
    }

    async fn reconcile(&self, engine: &Engine, now: Timestamp) -> Result<usize, EngineError> {
        Ok(self.walk.pass(engine, now).await?.repaired)
    }
}
