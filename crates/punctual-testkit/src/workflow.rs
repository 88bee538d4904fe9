//! A workflow that decides as the test says.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_engine::{Claimed, Decide, Engine, Settled, SettledWork, Workflow};
use punctual_model::{Decided, Effect, ReasonCode, RetryPolicy};
use punctual_store::{Conn, StoreError};

type DecideFn = dyn Fn(&Claimed, Timestamp) -> Decided + Send + Sync;
type SettledFn = dyn Fn(&SettledWork, Timestamp) -> Vec<Effect> + Send + Sync;
type PrepareFn = dyn Fn(&Claimed) -> BoxFuture<'static, Result<serde_json::Value, ReasonCode>> + Send + Sync;

/// One kind of work, with one function for its decisions.
#[derive(Clone)]
pub struct TestWorkflow {
    kind: &'static str,
    decide: Arc<DecideFn>,
    policy: RetryPolicy,
    prepare: Option<Arc<PrepareFn>>,
    settled: Option<Arc<SettledFn>>,
    settled_calls: Arc<Mutex<Vec<SettledWork>>>,
}

impl TestWorkflow {
    pub fn new<D: Into<Decided>>(
        kind: &'static str,
        decide: impl Fn(&Claimed, Timestamp) -> D + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind,
            decide: Arc::new(move |row, now| decide(row, now).into()),
            policy: RetryPolicy::Ladder,
            prepare: None,
            settled: None,
            settled_calls: Arc::default(),
        }
    }

    #[must_use]
    pub fn policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Makes the kind long-running.
    #[must_use]
    pub fn prepared_by<F>(mut self, prepare: impl Fn(&Claimed) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<serde_json::Value, ReasonCode>> + Send + 'static,
    {
        self.prepare = Some(Arc::new(move |row| Box::pin(prepare(row))));
        self
    }

    /// Follows its deliveries, with these effects when the last one has settled.
    #[must_use]
    pub fn settled(
        mut self,
        settled: impl Fn(&SettledWork, Timestamp) -> Vec<Effect> + Send + Sync + 'static,
    ) -> Self {
        self.settled = Some(Arc::new(settled));
        self
    }

    /// Returns the calls of `settled` so far, also in transactions that did not commit.
    pub fn settled_calls(&self) -> Vec<SettledWork> {
        self.settled_calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Workflow for TestWorkflow {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn load<'a>(
        &'a self,
        _conn: &'a mut Conn<'_>,
        _batch: &'a [Claimed],
    ) -> BoxFuture<'a, Result<Box<dyn Decide>, StoreError>> {
        Box::pin(async { Ok(Box::new(self.clone()) as Box<dyn Decide>) })
    }

    fn retry_policy(&self) -> RetryPolicy {
        self.policy
    }

    fn is_long_running(&self) -> bool {
        self.prepare.is_some()
    }

    fn prepare<'a>(
        &'a self,
        _engine: &'a Engine,
        row: &'a Claimed,
    ) -> BoxFuture<'a, Result<serde_json::Value, ReasonCode>> {
        match &self.prepare {
            Some(prepare) => prepare(row),
            None => Box::pin(async { Ok(serde_json::Value::Null) }),
        }
    }

    fn follows_deliveries(&self) -> bool {
        self.settled.is_some()
    }

    fn load_settled<'a>(
        &'a self,
        _conn: &'a mut Conn<'_>,
        _works: &'a [SettledWork],
    ) -> BoxFuture<'a, Result<Box<dyn Settled>, StoreError>> {
        Box::pin(async { Ok(Box::new(self.clone()) as Box<dyn Settled>) })
    }
}

impl Decide for TestWorkflow {
    fn decide(&self, row: &Claimed, _prepared: &serde_json::Value, now: Timestamp) -> Decided {
        (self.decide)(row, now)
    }
}

impl Settled for TestWorkflow {
    fn settled(&self, work: &SettledWork, now: Timestamp) -> Vec<Effect> {
        self.settled_calls.lock().unwrap_or_else(PoisonError::into_inner).push(work.clone());
        self.settled.as_ref().map_or_else(Vec::new, |settled| settled(work, now))
    }
}
