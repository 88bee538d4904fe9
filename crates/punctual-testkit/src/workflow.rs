//! A workflow that decides as the test says.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_engine::{
    Claimed, Decide, Engine, FollowsDeliveries, Loads, Prepares, Registration, Settled, SettledWork, Titles,
    Workflow,
};
use punctual_model::{Decided, Effect, Followed, ReasonCode, RetryPolicy};
use punctual_store::{Conn, StoreError, Tx};

type DecideFn = dyn Fn(&Claimed, Timestamp) -> Decided + Send + Sync;
type SettledFn = dyn Fn(&SettledWork, Timestamp) -> Vec<Effect> + Send + Sync;
type PrepareFn = dyn Fn(&Claimed) -> BoxFuture<'static, Result<(), ReasonCode>> + Send + Sync;

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
        F: Future<Output = Result<(), ReasonCode>> + Send + 'static,
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

impl From<TestWorkflow> for Registration {
    fn from(workflow: TestWorkflow) -> Self {
        let (prepares, follows) = (workflow.prepare.is_some(), workflow.settled.is_some());
        let begun = Self::of(workflow);
        let registered = if prepares { begun.prepares() } else { begun.loads() };
        if follows { registered.follows_deliveries().into() } else { registered.into() }
    }
}

impl Workflow for TestWorkflow {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn retry_policy(&self) -> RetryPolicy {
        self.policy.clone()
    }
}

impl Titles for TestWorkflow {}

impl Loads for TestWorkflow {
    type Loaded = Self;

    async fn load(&self, _conn: &mut Conn<'_>, _batch: &[Claimed]) -> Result<Self, StoreError> {
        Ok(self.clone())
    }
}

impl Prepares for TestWorkflow {
    type Prepared = ();
    type Loaded = Self;

    async fn prepare(&self, _engine: &Engine, row: &Claimed) -> Result<(), ReasonCode> {
        match &self.prepare {
            Some(prepare) => prepare(row).await,
            None => Ok(()),
        }
    }

    async fn load(&self, _tx: &mut Tx, _now: Timestamp, _row: &Claimed, (): ()) -> Result<Self, StoreError> {
        Ok(self.clone())
    }
}

impl FollowsDeliveries for TestWorkflow {
    type Loaded = Self;

    async fn load_settled(&self, _conn: &mut Conn<'_>, _works: &[SettledWork]) -> Result<Self, StoreError> {
        Ok(self.clone())
    }
}

impl Decide for TestWorkflow {
    fn decide(&self, row: &Claimed, now: Timestamp) -> Decided {
        (self.decide)(row, now)
    }
}

impl Settled for TestWorkflow {
    fn settled(&self, work: &SettledWork, now: Timestamp) -> Followed {
        self.settled_calls.lock().unwrap_or_else(PoisonError::into_inner).push(work.clone());
        self.settled.as_ref().map_or_else(Followed::default, |settled| settled(work, now).into())
    }
}
