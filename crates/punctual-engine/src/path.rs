//! The contract of a path: what it reads, what it decides, and what it does when its messages have settled.
//!
//! A path has its own tables and decisions, and no loop, lease, retry, timer or sender. Decisions are pure, so they
//! can be tested, simulated and forecast without a database.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_model::{Decided, Effect, NewNotification, ReasonCode, RetryPolicy};
use punctual_store::{Conn, StoreError, Tx};

use crate::{Engine, EngineError};

pub use punctual_store::work::Claimed;

/// What becomes due, for one kind of work.
pub trait Path: Send + Sync {
    /// The `kind` of this path's work rows.
    fn kind(&self) -> &'static str;

    /// Reads what the whole batch needs, in sets and fresh, in the transaction that will write the decisions.
    fn load<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        batch: &'a [Claimed],
    ) -> BoxFuture<'a, Result<Box<dyn Decide>, StoreError>>;

    /// Decides from the row alone, where a path needs nothing else: then nothing is loaded, and listeners are told at the
    /// row's moment, before a transaction is begun. (In a backlog one is open: listeners are quick, or hand on.)
    fn decides_alone(&self) -> Option<&dyn Decide> {
        None
    }

    /// How failures that may pass are repeated.
    fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy::Ladder
    }

    /// Runs in its own pool, one row a claim, with a renewed lease, and is prepared first.
    fn is_long_running(&self) -> bool {
        false
    }

    /// Outside I/O for long-running kinds; no transaction is open. What it makes is handed to `decide`.
    fn prepare<'a>(
        &'a self,
        _engine: &'a Engine,
        _row: &'a Claimed,
    ) -> BoxFuture<'a, Result<serde_json::Value, ReasonCode>> {
        Box::pin(async { Ok(serde_json::Value::Null) })
    }

    /// Writes what was prepared for a long-running row, in the transaction that will write its decision and before it is
    /// decided: for what one decision could not say.
    fn take<'a>(
        &'a self,
        _tx: &'a mut Tx,
        _now: Timestamp,
        _row: &'a Claimed,
        _prepared: &'a serde_json::Value,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// Writes what the path's decisions put into its own tables: the rows of a whole batch, in the transaction of the
    /// decisions. Called only when there are some.
    fn put<'a>(
        &'a self,
        _conn: &'a mut Conn<'_>,
        _now: Timestamp,
        _rows: Vec<serde_json::Value>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// Its rows keep the books in order and send nothing: lists of what is due leave them out.
    fn is_housekeeping(&self) -> bool {
        false
    }

    /// Keeps what others may want to hear of, after the path's own rows were written and in the same transaction; answers what
    /// is to be queued for them. Called only when there is something.
    fn tell<'a>(
        &'a self,
        _conn: &'a mut Conn<'_>,
        _now: Timestamp,
        _events: Vec<serde_json::Value>,
    ) -> BoxFuture<'a, Result<Vec<NewNotification>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Whether `settled` wants to be told when all notifications of a row have settled.
    fn follows_deliveries(&self) -> bool {
        false
    }

    /// Repairs what a crash or a failed write has left behind: one bounded pass, with every sweep, on every node. Answers
    /// how much it has repaired; a pass that repairs nothing has nothing left that it can.
    fn reconcile<'a>(
        &'a self,
        _engine: &'a Engine,
        _now: Timestamp,
    ) -> BoxFuture<'a, Result<usize, EngineError>> {
        Box::pin(async { Ok(0) })
    }

    /// Removes what the path keeps beside its rows and what was finished before a moment: one bounded batch, until one
    /// removes nothing. With the purge of notifications, and held back with it. Answers how much it has removed.
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

/// What was loaded, and how a row is decided on it.
pub trait Decide: Send + Sync {
    /// Pure: the same row, state and moment give the same decision.
    fn decide(&self, row: &Claimed, prepared: &serde_json::Value, now: Timestamp) -> Decided;
}

/// What was loaded for rows whose notifications have settled.
pub trait Settled: Send + Sync {
    fn settled(&self, work: &SettledWork, now: Timestamp) -> Vec<Effect>;
}

struct NothingToDo;
impl Settled for NothingToDo {
    fn settled(&self, _work: &SettledWork, _now: Timestamp) -> Vec<Effect> {
        Vec::new()
    }
}

/// A work row all of whose notifications have settled, with what came of each of the last ones.
#[derive(Clone, Debug, PartialEq)]
pub struct SettledWork {
    pub id: i64,
    pub key: String,
    pub kind: String,
    /// `(notification id, final status)` of those that settled just now.
    pub outcomes: Vec<(String, &'static str)>,
}
