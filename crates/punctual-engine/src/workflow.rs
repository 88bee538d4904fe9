//! The contract of a workflow: what it reads, what it decides, and what follows when its notifications have settled.
//!
//! A workflow has its own tables and decisions, and no loop, lease, retry, timer or sender. Decisions are pure, so they
//! can be tested, simulated and forecast without a database.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_model::{
    Decided, Effect, NewNotification, NotificationId, NotificationStatus, ReasonCode, RetryPolicy,
};
use punctual_store::{Conn, StoreError, Tx};

use crate::{Engine, EngineError};

pub use punctual_store::work::Claimed;

/// Decides what becomes due, for one kind of work.
pub trait Workflow: Send + Sync {
    /// The `kind` of this workflow's work rows.
    fn kind(&self) -> &'static str;

    /// Reads the current state that the whole batch needs, in sets, in the transaction that will write the decisions.
    fn load<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        batch: &'a [Claimed],
    ) -> BoxFuture<'a, Result<Box<dyn Decide>, StoreError>>;

    /// Decides from the row alone, for a workflow that needs nothing else: nothing is loaded, and arrivals are published
    /// at `due_at`, before a transaction begins. (In a backlog one is open: listeners must be quick, or hand on.)
    fn decides_alone(&self) -> Option<&dyn Decide> {
        None
    }

    /// When transient failures are retried.
    fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy::Ladder
    }

    /// Whether rows run in a pool of their own: claimed one at a time, prepared first, with a lease that is renewed.
    fn is_long_running(&self) -> bool {
        false
    }

    /// Does the external I/O of long-running kinds; no transaction is open. The result is passed to `decide`.
    fn prepare<'a>(
        &'a self,
        _engine: &'a Engine,
        _row: &'a Claimed,
    ) -> BoxFuture<'a, Result<serde_json::Value, ReasonCode>> {
        Box::pin(async { Ok(serde_json::Value::Null) })
    }

    /// Writes what was prepared for a long-running row, in the transaction that will write its decision and before the
    /// decision: for what a [`Decided`] cannot express.
    fn take<'a>(
        &'a self,
        _tx: &'a mut Tx,
        _now: Timestamp,
        _row: &'a Claimed,
        _prepared: &'a serde_json::Value,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// Writes the rows that decisions put into the workflow's own tables ([`Effect::Put`]): those of a whole batch, in the
    /// transaction of the decisions. Called only when there are some.
    fn put<'a>(
        &'a self,
        _conn: &'a mut Conn<'_>,
        _now: Timestamp,
        _rows: Vec<serde_json::Value>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// Whether its rows do housekeeping and send nothing: lists of what is due leave them out.
    fn is_housekeeping(&self) -> bool {
        false
    }

    /// Stores the events that subscribers may want ([`Effect::PublishEvent`]), after the workflow's own rows and in the same
    /// transaction. Returns the notifications to queue for them. Called only when there are some.
    fn publish_events<'a>(
        &'a self,
        _conn: &'a mut Conn<'_>,
        _now: Timestamp,
        _events: Vec<serde_json::Value>,
    ) -> BoxFuture<'a, Result<Vec<NewNotification>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Whether `settled` is called when all notifications of a row have settled.
    fn follows_deliveries(&self) -> bool {
        false
    }

    /// Repairs what a crash or a failed write has left behind: one bounded pass, with every sweep, on every node. Returns
    /// how many it has repaired; 0 means that nothing is left that it can repair.
    fn reconcile<'a>(
        &'a self,
        _engine: &'a Engine,
        _now: Timestamp,
    ) -> BoxFuture<'a, Result<usize, EngineError>> {
        Box::pin(async { Ok(0) })
    }

    /// Removes what the workflow keeps beside its rows, such as files, and what finished before `finished_before`. Called
    /// with the purge of notifications, one bounded batch at a time until one removes nothing. Returns how many it removed.
    fn purge<'a>(
        &'a self,
        _engine: &'a Engine,
        _now: Timestamp,
        _finished_before: Timestamp,
    ) -> BoxFuture<'a, Result<usize, EngineError>> {
        Box::pin(async { Ok(0) })
    }

    /// Reads what `settled` needs for these rows, in the transaction of the last settle.
    fn load_settled<'a>(
        &'a self,
        _conn: &'a mut Conn<'_>,
        _works: &'a [SettledWork],
    ) -> BoxFuture<'a, Result<Box<dyn Settled>, StoreError>> {
        Box::pin(async { Ok(Box::new(NothingToDo) as Box<dyn Settled>) })
    }
}

/// The loaded state of a batch, and the decision on it.
pub trait Decide: Send + Sync {
    /// Pure: the same row, state and moment give the same decision.
    fn decide(&self, row: &Claimed, prepared: &serde_json::Value, now: Timestamp) -> Decided;
}

/// The loaded state of rows whose notifications have settled.
pub trait Settled: Send + Sync {
    fn settled(&self, work: &SettledWork, now: Timestamp) -> Vec<Effect>;
}

struct NothingToDo;
impl Settled for NothingToDo {
    fn settled(&self, _work: &SettledWork, _now: Timestamp) -> Vec<Effect> {
        Vec::new()
    }
}

/// A work row all of whose notifications have settled, with the outcomes of the last ones.
#[derive(Clone, Debug, PartialEq)]
pub struct SettledWork {
    pub id: i64,
    pub key: String,
    pub kind: String,
    /// Those that settled just now.
    pub outcomes: Vec<(NotificationId, NotificationStatus)>,
}
