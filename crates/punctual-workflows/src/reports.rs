//! Report subscriptions: recurring reports, one owner for each run.
//!
//! Only the next run of a subscription is ever planned ([`plan`]); what follows is decided with each run, whatever came
//! of it. A run is long-running work: it is taken first (see [`crate::rollout`]), then the table is fetched and presented
//! and its files are written under the hash of its key ([`prepare`]), and then it is decided on the subscription as it is
//! by then ([`decide`]). What people do is in [`commands`]. (A subscription to a report is no subscription of the outbox,
//! and none that is billed.)

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
mod reconcile;
pub mod rollouts;
mod rule;
pub mod runs;
pub mod subscription;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_engine::{Claimed, Decide, Engine, EngineError, Workflow};
use punctual_model::{KeyParts, ReasonCode, RetryPolicy, WorkKey};
use punctual_reports::Sources;
use punctual_store::{Conn, StoreError};
use serde_json::Value;

use crate::rollout::RunKind;

pub use builtins::{built_in, with_built_ins};
pub use cadence::{Cadence, Occurrence};
pub use draft::Draft;
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
}

impl RunKey {
    /// Reads the key of a planned run, of one that was asked for, or of one that was asked for again.
    pub fn read(key: &str) -> Option<Self> {
        match WorkKey::parse(key).ok()?.parts() {
            KeyParts::ReportScheduled { guid, .. } => Some(Self { guid, kind: RunKind::Scheduled }),
            KeyParts::ReportManual { guid, .. } => Some(Self { guid, kind: RunKind::Manual }),
            KeyParts::SupportRetry { of, .. } => {
                // A person asked for it.
                Self::read(of.as_str()).map(|run| Self { kind: RunKind::Manual, ..run })
            }
            _ => None,
        }
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

    fn is_long_running(&self) -> bool {
        true
    }

    /// A query that fails is retried tomorrow, and the day after.
    fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy::Daily
    }

    fn prepare<'a>(
        &'a self,
        engine: &'a Engine,
        row: &'a Claimed,
    ) -> BoxFuture<'a, Result<Value, ReasonCode>> {
        Box::pin(async move {
            match prepare::prepare(engine, &self.sources, row).await {
                Ok(prepared) => serde_json::to_value(prepared).map_err(|_| ReasonCode::ReportUnreadable),
                Err(error) => {
                    tracing::warn!(work.key = row.key, %error, "a report could not be prepared");
                    Err(ReasonCode::ReportStorage)
                }
            }
        })
    }

    fn load<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        batch: &'a [Claimed],
    ) -> BoxFuture<'a, Result<Box<dyn Decide>, StoreError>> {
        Box::pin(async move { Ok(Box::new(decide::Loaded::load(conn, batch).await?) as Box<dyn Decide>) })
    }

    fn put<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        now: Timestamp,
        rows: Vec<Value>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(decide::put(conn, now, rows))
    }

    fn purge<'a>(
        &'a self,
        engine: &'a Engine,
        now: Timestamp,
        finished_before: Timestamp,
    ) -> BoxFuture<'a, Result<usize, EngineError>> {
        Box::pin(purge::purge(engine, now, finished_before))
    }

    fn reconcile<'a>(
        &'a self,
        engine: &'a Engine,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<usize, EngineError>> {
        Box::pin(async move { Ok(self.walk.pass(engine, now).await?) })
    }
}
