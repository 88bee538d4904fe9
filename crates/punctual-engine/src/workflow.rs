//! The contract of a workflow: one small trait per capability. A workflow implements only those it needs.
//!
//! | trait | what the workflow does |
//! |---|---|
//! | [`Workflow`] | has a kind and a retry policy: every workflow |
//! | [`Titles`] | says what its rows are about, for people: every workflow |
//! | [`Decide`] | decides one row, pure, on the loaded data |
//! | [`Loads`] | reads the data for the decisions of a batch; a workflow without data is a [`Decide`] itself |
//! | [`Prepares`] | does I/O before a row is decided: the long-running kinds, instead of [`Loads`] |
//! | [`WritesRows`] | writes its decisions into its own tables |
//! | [`FollowsDeliveries`] | runs when all notifications of a row have settled |
//! | [`WatchesAttempts`] | is called for each attempt to deliver, for its log |
//! | [`Maintains`] | repairs its rows after a crash, and purges its own tables |
//!
//! A workflow has no loop, lease, retry, timer or sender. Decisions are pure, so they can be tested, simulated and forecast
//! without a database. A workflow lists its traits once, in its [`Registration`](crate::Registration).

use jiff::Timestamp;
use punctual_model::{
    Decided, Followed, KeyParts, NewWork, NoRow, NotificationId, NotificationStatus, Origin, Reach,
    ReasonCode, RetryPolicy, SendOutcome,
};
use punctual_store::{Conn, StoreError, Tx, work::WorkRow};

use crate::{Engine, EngineError};

pub use punctual_store::work::Claimed;

/// Decides what becomes due, for one kind of work.
pub trait Workflow: Send + Sync + 'static {
    /// The `kind` of this workflow's work rows.
    fn kind(&self) -> &'static str;

    /// When transient failures are retried.
    fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy::Ladder
    }

    /// What continues when a person cancels one of its rows: rows that are ensured with the cancel, in one transaction. A
    /// cancel ends one row, never what would have followed it.
    fn after_cancel(&self, _cancelled: &WorkRow, _now: Timestamp) -> Vec<NewWork> {
        Vec::new()
    }

    /// Whether its rows do housekeeping and send nothing: lists of what is due leave them out.
    fn is_housekeeping(&self) -> bool {
        false
    }
}

/// A workflow that says what its rows are about, for people. Every one does: it is asked for where a workflow is registered.
pub trait Titles: Workflow {
    /// The titles of these keys, in their order, made from their definitions and sources, which are read in sets, as far as
    /// they are within the reach of whoever is shown them: what a row is about may have moved to another business unit. None
    /// where a key says nothing to it; it then has the title of a key of no known shape.
    fn titles(
        &self,
        _conn: &mut Conn<'_>,
        _reach: &Reach,
        _now: Timestamp,
        keys: &[KeyParts],
    ) -> impl Future<Output = Result<Vec<Option<String>>, StoreError>> + Send {
        let none = vec![None; keys.len()];
        async { Ok(none) }
    }
}

/// The state that rows are decided on, and the decision. `Row` is what decisions put into the workflow's own tables.
///
/// A workflow that decides from the row alone implements this itself. Nothing is loaded then, and arrivals are published
/// at `due_at`, before a transaction begins. (In a backlog one is open: listeners must be quick, or hand on.)
pub trait Decide<Row = NoRow>: Send + Sync {
    /// Pure: the same row, state and moment give the same decision.
    fn decide(&self, row: &Claimed, now: Timestamp) -> Decided<Row>;
}

/// A workflow that decides on what is stored elsewhere.
pub trait Loads: Workflow {
    /// What a batch is decided on: a [`Decide`].
    type Loaded: Send + Sync;

    /// Reads the current state that the whole batch needs, in sets, in the transaction that will write the decisions.
    fn load(
        &self,
        conn: &mut Conn<'_>,
        batch: &[Claimed],
    ) -> impl Future<Output = Result<Self::Loaded, StoreError>> + Send;
}

/// A workflow whose rows need I/O before they can be decided. They run in their own pool: claimed one at a time, with a lease
/// that is renewed while they are prepared.
pub trait Prepares: Workflow {
    /// What came of the I/O.
    type Prepared: Send;
    /// What the row is decided on: a [`Decide`], with what it needs of the prepared.
    type Loaded: Send + Sync;

    /// Does the external I/O; no transaction is open. A reason means that the row is retried later.
    fn prepare(
        &self,
        engine: &Engine,
        row: &Claimed,
    ) -> impl Future<Output = Result<Self::Prepared, ReasonCode>> + Send;

    /// Reads what the row is decided on, in the transaction that will write the decision. What was prepared and a
    /// [`Decided`] cannot express is written here.
    fn load(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        row: &Claimed,
        prepared: Self::Prepared,
    ) -> impl Future<Output = Result<Self::Loaded, StoreError>> + Send;
}

/// A workflow whose decisions write to its own tables.
pub trait WritesRows: Workflow {
    /// What a decision puts: [`Decided::rows`] and [`Followed::rows`].
    type Row: Send + Sync + 'static;

    /// Writes the rows of a whole batch, in the transaction of the decisions and before their effects. Called only when there
    /// are some.
    fn put(
        &self,
        conn: &mut Conn<'_>,
        now: Timestamp,
        rows: &[Self::Row],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Publishes to subscribers what these rows mean to them, after the effects and in the same transaction.
    fn publish(
        &self,
        _engine: &Engine,
        _tx: &mut Tx,
        _now: Timestamp,
        _rows: &[Self::Row],
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }
}

/// A workflow that continues when all notifications of one of its rows have settled.
pub trait FollowsDeliveries: Workflow {
    /// What that is decided on: a [`Settled`].
    type Loaded: Send + Sync;

    /// Reads what [`Settled::settled`] needs for these rows, in the transaction of the last settle.
    fn load_settled(
        &self,
        conn: &mut Conn<'_>,
        works: &[SettledWork],
    ) -> impl Future<Output = Result<Self::Loaded, StoreError>> + Send;
}

/// The loaded state of rows whose notifications have settled, and what follows. Pure, as [`Decide`] is.
pub trait Settled<Row = NoRow>: Send + Sync {
    fn settled(&self, work: &SettledWork, now: Timestamp) -> Followed<Row>;
}

/// A workflow that is called for each attempt to deliver what it decided, by the [`Origin`] that it gave the notification.
pub trait WatchesAttempts: Workflow {
    /// Called once for each attempt by the node that made it, after the answers are on disk. Nothing can be written or
    /// refused here: it is for the log.
    fn attempted(&self, attempt: &Attempted<'_>);
}

/// What an attempt to deliver a notification came to. An attempt with many targets is reported in parts, as answers come.
#[derive(Clone, Debug)]
pub struct Attempted<'a> {
    pub origin: &'a Origin,
    pub channel: &'a str,
    /// Targets that were called, and what came of it.
    pub answers: Vec<(&'a str, &'a SendOutcome)>,
    /// Set with the last part of an attempt that did not reach everybody: a word for the cause, and the error.
    pub failure: Option<(&'a str, &'a str)>,
}

/// A workflow that looks after what it keeps.
pub trait Maintains: Workflow {
    /// Repairs what a crash or a failed write has left behind: one bounded pass, with every sweep, on every node. Returns
    /// how many it has repaired; 0 means that nothing is left that it can repair.
    fn reconcile(
        &self,
        _engine: &Engine,
        _now: Timestamp,
    ) -> impl Future<Output = Result<usize, EngineError>> + Send {
        async { Ok(0) }
    }

    /// Removes what the workflow keeps beside its rows, such as files, and what finished before `finished_before`. Called
    /// with the purge of notifications, one bounded batch at a time until one removes nothing. Returns how many it removed.
    fn purge(
        &self,
        _engine: &Engine,
        _now: Timestamp,
        _finished_before: Timestamp,
    ) -> impl Future<Output = Result<usize, EngineError>> + Send {
        async { Ok(0) }
    }
}

/// A work row all of whose notifications have settled, with the outcomes of the last ones.
#[derive(Clone, Debug, PartialEq)]
pub struct SettledWork {
    pub id: i64,
    pub key: String,
    pub kind: String,
    pub business_unit: Option<String>,
    /// Those that settled just now.
    pub outcomes: Vec<(NotificationId, NotificationStatus)>,
}
