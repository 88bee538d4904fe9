//! The registration of a workflow: lists its traits once and hides its types from the engine.
//!
//! ```ignore
//! Registration::of(Messages).loads().into()
//! Registration::of(Surveys::new(link)).writes_rows().loads().follows_deliveries().into()
//! Registration::of(Reports::new(sources)).writes_rows().prepares().maintains().into()
//! ```

mod erased;

use std::sync::Arc;

use punctual_model::NoRow;

use crate::workflow::{
    Decide, FollowsDeliveries, Loads, Maintains, Prepares, Settled, Titles, WatchesAttempts, Workflow,
    WritesRows,
};
use erased::{Follower, Loader, NothingToWrite, Preparer, Writer};

pub(crate) use erased::{
    DecidedBatch, Following, Loading, Maintaining, OwnRows, Preparing, Titling, decide_all,
};

/// A workflow with all that it has. Cheap to clone.
#[derive(Clone)]
pub struct Registration {
    workflow: Arc<dyn Workflow>,
    pub(crate) titles: Arc<dyn Titling>,
    pub(crate) deciding: Deciding,
    pub(crate) follows: Option<Arc<dyn Following>>,
    pub(crate) watches: Option<Arc<dyn WatchesAttempts>>,
    pub(crate) maintains: Option<Arc<dyn Maintaining>>,
}

/// How rows of a kind come to a decision.
#[derive(Clone)]
pub(crate) enum Deciding {
    Alone(Arc<dyn Decide>),
    Loaded(Arc<dyn Loading>),
    Prepared(Arc<dyn Preparing>),
}

impl Registration {
    /// Begins the registration of a workflow.
    pub fn of<W: Titles>(workflow: W) -> Undecided<W, NoRow> {
        let workflow = Arc::new(workflow);
        Undecided { titles: workflow.clone(), workflow, writer: Arc::new(NothingToWrite) }
    }

    /// Whether rows run in their own pool: claimed one at a time, prepared first, with a lease that is renewed.
    pub(crate) fn is_long_running(&self) -> bool {
        matches!(self.deciding, Deciding::Prepared(_))
    }
}

impl std::ops::Deref for Registration {
    type Target = dyn Workflow;
    fn deref(&self) -> &Self::Target {
        &*self.workflow
    }
}

/// A workflow of which it is not yet said how it comes to its decisions.
pub struct Undecided<W, Row> {
    workflow: Arc<W>,
    titles: Arc<dyn Titling>,
    writer: Arc<dyn Writer<Row>>,
}

impl<W: WritesRows> Undecided<W, NoRow> {
    /// It writes rows into its own tables.
    pub fn writes_rows(self) -> Undecided<W, W::Row> {
        Undecided { titles: self.titles, writer: self.workflow.clone(), workflow: self.workflow }
    }
}

impl<W: Workflow + Decide> Undecided<W, NoRow> {
    /// It decides from the row alone.
    pub fn decides_alone(self) -> Registered<W, NoRow> {
        let deciding = Deciding::Alone(self.workflow.clone());
        self.registered(deciding)
    }
}

impl<W: Workflow, Row: Send + Sync + 'static> Undecided<W, Row> {
    /// It reads what a batch is decided on.
    pub fn loads(self) -> Registered<W, Row>
    where
        W: Loads,
        W::Loaded: Decide<Row>,
    {
        let loader = Loader { workflow: self.workflow.clone(), writer: self.writer.clone() };
        self.registered(Deciding::Loaded(Arc::new(loader)))
    }

    /// Its rows are long-running: prepared before they are decided.
    pub fn prepares(self) -> Registered<W, Row>
    where
        W: Prepares,
        W::Loaded: Decide<Row>,
    {
        let preparer = Preparer { workflow: self.workflow.clone(), writer: self.writer.clone() };
        self.registered(Deciding::Prepared(Arc::new(preparer)))
    }

    fn registered(self, deciding: Deciding) -> Registered<W, Row> {
        let Self { workflow, titles, writer } = self;
        let whole = Registration {
            workflow: workflow.clone(),
            titles,
            deciding,
            follows: None,
            watches: None,
            maintains: None,
        };
        Registered { workflow, writer, whole }
    }
}

/// A workflow that can be used, and may have more.
pub struct Registered<W, Row> {
    workflow: Arc<W>,
    writer: Arc<dyn Writer<Row>>,
    whole: Registration,
}

impl<W: Workflow, Row: Send + Sync + 'static> Registered<W, Row> {
    /// It continues when all notifications of a row have settled.
    pub fn follows_deliveries(mut self) -> Self
    where
        W: FollowsDeliveries,
        W::Loaded: Settled<Row>,
    {
        let follower = Follower { workflow: self.workflow.clone(), writer: self.writer.clone() };
        self.whole.follows = Some(Arc::new(follower));
        self
    }

    /// It is called for each attempt to deliver.
    pub fn watches_attempts(mut self) -> Self
    where
        W: WatchesAttempts,
    {
        self.whole.watches = Some(self.workflow.clone());
        self
    }

    /// It reconciles or purges.
    pub fn maintains(mut self) -> Self
    where
        W: Maintains,
    {
        self.whole.maintains = Some(self.workflow.clone());
        self
    }
}

impl<W, Row> From<Registered<W, Row>> for Registration {
    fn from(registered: Registered<W, Row>) -> Self {
        registered.whole
    }
}
