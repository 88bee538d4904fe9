//! The type erasure behind [`Registration`](super::Registration): loaded state, prepared results and rows keep their types
//! inside trait objects that carry their workflow. Nothing is downcast.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_model::{Decided, Decision, Effect, KeyParts, NoRow, Reach, ReasonCode};
use punctual_store::{Conn, StoreError, Tx};

use crate::{
    Engine, EngineError,
    confine::panic_message,
    workflow::{
        Claimed, Decide, FollowsDeliveries, Loads, Maintains, Prepares, Settled, SettledWork, Titles,
        WritesRows,
    },
};

/// The decisions on the rows of a batch, in their order, and what they put into the workflow's own tables.
pub(crate) struct DecidedBatch {
    pub(crate) decided: Vec<Decided>,
    pub(crate) own: Option<Box<dyn OwnRows>>,
}

impl From<Vec<Decided>> for DecidedBatch {
    fn from(decided: Vec<Decided>) -> Self {
        Self { decided, own: None }
    }
}

/// What follows for rows whose notifications have settled.
pub(crate) struct FollowedBatch {
    pub(crate) effects: Vec<Effect>,
    pub(crate) own: Option<Box<dyn OwnRows>>,
    /// For these the workflow panicked, with what it said.
    pub(crate) panicked: Vec<(SettledWork, String)>,
}

/// Rows for a workflow's own tables, with the workflow that writes them.
pub(crate) trait OwnRows: Send + Sync {
    /// Keeps what decisions on these work rows put.
    fn retain(&mut self, keeps: &dyn Fn(i64) -> bool);
    fn put<'a>(&'a self, conn: &'a mut Conn<'_>, now: Timestamp) -> BoxFuture<'a, Result<(), StoreError>>;
    fn publish<'a>(
        &'a self,
        engine: &'a Engine,
        tx: &'a mut Tx,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// [`Loads`] and the decisions on what it loads.
pub(crate) trait Loading: Send + Sync {
    fn decide<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        batch: &'a [Claimed],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<DecidedBatch, StoreError>>;
}

/// The first part of [`Prepares`].
pub(crate) trait Preparing: Send + Sync {
    fn prepare<'a>(
        &'a self,
        engine: &'a Engine,
        row: &'a Claimed,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedRow>, ReasonCode>>;
}

/// A prepared row, with the workflow that decides about it.
pub(crate) trait PreparedRow: Send {
    fn decide<'a>(
        self: Box<Self>,
        tx: &'a mut Tx,
        row: &'a Claimed,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<DecidedBatch, StoreError>>
    where
        Self: 'a;
}

/// [`FollowsDeliveries`] and what follows.
pub(crate) trait Following: Send + Sync {
    fn follow<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        works: &'a [SettledWork],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<FollowedBatch, StoreError>>;
}

/// [`Titles`].
pub(crate) trait Titling: Send + Sync {
    fn titles<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        reach: &'a Reach,
        now: Timestamp,
        keys: &'a [KeyParts],
    ) -> BoxFuture<'a, Result<Vec<Option<String>>, StoreError>>;
}

impl<W: Titles> Titling for W {
    fn titles<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        reach: &'a Reach,
        now: Timestamp,
        keys: &'a [KeyParts],
    ) -> BoxFuture<'a, Result<Vec<Option<String>>, StoreError>> {
        Box::pin(Titles::titles(self, conn, reach, now, keys))
    }
}

/// [`Maintains`].
pub(crate) trait Maintaining: Send + Sync {
    fn reconcile<'a>(
        &'a self,
        engine: &'a Engine,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<usize, EngineError>>;
    fn purge<'a>(
        &'a self,
        engine: &'a Engine,
        now: Timestamp,
        finished_before: Timestamp,
    ) -> BoxFuture<'a, Result<usize, EngineError>>;
}

/// [`WritesRows`], by its rows.
pub(super) trait Writer<Row>: Send + Sync {
    fn put<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        now: Timestamp,
        rows: &'a [Row],
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    fn publish<'a>(
        &'a self,
        engine: &'a Engine,
        tx: &'a mut Tx,
        now: Timestamp,
        rows: &'a [Row],
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

impl<W: WritesRows> Writer<W::Row> for W {
    fn put<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        now: Timestamp,
        rows: &'a [W::Row],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(WritesRows::put(self, conn, now, rows))
    }

    fn publish<'a>(
        &'a self,
        engine: &'a Engine,
        tx: &'a mut Tx,
        now: Timestamp,
        rows: &'a [W::Row],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(WritesRows::publish(self, engine, tx, now, rows))
    }
}

/// The writer of a workflow that writes no rows.
pub(super) struct NothingToWrite;

impl Writer<NoRow> for NothingToWrite {
    fn put<'a>(
        &'a self,
        _conn: &'a mut Conn<'_>,
        _now: Timestamp,
        _rows: &'a [NoRow],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn publish<'a>(
        &'a self,
        _engine: &'a Engine,
        _tx: &'a mut Tx,
        _now: Timestamp,
        _rows: &'a [NoRow],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

struct Rows<Row> {
    rows: Vec<Row>,
    /// By which work row each was put.
    by: Vec<i64>,
    writer: Arc<dyn Writer<Row>>,
}

impl<Row: Send + Sync + 'static> Rows<Row> {
    fn of(writer: &Arc<dyn Writer<Row>>) -> Self {
        Self { rows: Vec::new(), by: Vec::new(), writer: writer.clone() }
    }

    fn add(&mut self, work: i64, rows: Vec<Row>) {
        self.by.extend(std::iter::repeat_n(work, rows.len()));
        self.rows.extend(rows);
    }

    fn into_own(self) -> Option<Box<dyn OwnRows>> {
        if self.rows.is_empty() { None } else { Some(Box::new(self)) }
    }
}

impl<Row: Send + Sync> OwnRows for Rows<Row> {
    fn retain(&mut self, keeps: &dyn Fn(i64) -> bool) {
        let by = std::mem::take(&mut self.by);
        let mut of = by.iter();
        self.rows.retain(|_| of.next().is_some_and(|work| keeps(*work)));
        self.by = by.into_iter().filter(|work| keeps(*work)).collect();
    }

    fn put<'a>(&'a self, conn: &'a mut Conn<'_>, now: Timestamp) -> BoxFuture<'a, Result<(), StoreError>> {
        if self.rows.is_empty() { Box::pin(async { Ok(()) }) } else { self.writer.put(conn, now, &self.rows) }
    }

    fn publish<'a>(
        &'a self,
        engine: &'a Engine,
        tx: &'a mut Tx,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        if self.rows.is_empty() {
            return Box::pin(async { Ok(()) });
        }
        self.writer.publish(engine, tx, now, &self.rows)
    }
}

/// Asks for a decision row by row: a row whose decision panics is put on hold and affects no other.
pub(crate) fn decide_all<Row>(
    on: &(impl Decide<Row> + ?Sized),
    batch: &[Claimed],
    now: Timestamp,
) -> Vec<Decided<Row>> {
    let decide = |row: &Claimed| {
        // Pure functions over shared references: nothing is left half changed.
        catch_unwind(AssertUnwindSafe(|| on.decide(row, now))).unwrap_or_else(|panic| {
            let held = Decided::from(Decision::Hold(ReasonCode::Panic));
            held.with_trace(serde_json::json!({ "panic": panic_message(&*panic) }))
        })
    };
    batch.iter().map(decide).collect()
}

fn decided_batch<Row: Send + Sync + 'static>(
    on: &impl Decide<Row>,
    writer: &Arc<dyn Writer<Row>>,
    batch: &[Claimed],
    now: Timestamp,
) -> DecidedBatch {
    let mut own = Rows::of(writer);
    let decisions = batch.iter().zip(decide_all(on, batch, now));
    let decided = decisions.map(|(row, Decided { decision, effects, rows, trace })| {
        own.add(row.id, rows);
        Decided { decision, effects, rows: Vec::new(), trace }
    });
    DecidedBatch { decided: decided.collect(), own: own.into_own() }
}

pub(super) struct Loader<W, Row> {
    pub(super) workflow: Arc<W>,
    pub(super) writer: Arc<dyn Writer<Row>>,
}

impl<W: Loads, Row: Send + Sync + 'static> Loading for Loader<W, Row>
where
    W::Loaded: Decide<Row>,
{
    fn decide<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        batch: &'a [Claimed],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<DecidedBatch, StoreError>> {
        Box::pin(async move {
            let loaded = self.workflow.load(conn, batch).await?;
            Ok(decided_batch(&loaded, &self.writer, batch, now))
        })
    }
}

pub(super) struct Preparer<W, Row> {
    pub(super) workflow: Arc<W>,
    pub(super) writer: Arc<dyn Writer<Row>>,
}

struct PreparedBy<W: Prepares, Row> {
    workflow: Arc<W>,
    writer: Arc<dyn Writer<Row>>,
    prepared: W::Prepared,
}

impl<W: Prepares, Row: Send + Sync + 'static> Preparing for Preparer<W, Row>
where
    W::Loaded: Decide<Row>,
{
    fn prepare<'a>(
        &'a self,
        engine: &'a Engine,
        row: &'a Claimed,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedRow>, ReasonCode>> {
        Box::pin(async move {
            let prepared = self.workflow.prepare(engine, row).await?;
            let (workflow, writer) = (self.workflow.clone(), self.writer.clone());
            Ok(Box::new(PreparedBy { workflow, writer, prepared }) as Box<dyn PreparedRow>)
        })
    }
}

impl<W: Prepares, Row: Send + Sync + 'static> PreparedRow for PreparedBy<W, Row>
where
    W::Loaded: Decide<Row>,
{
    fn decide<'a>(
        self: Box<Self>,
        tx: &'a mut Tx,
        row: &'a Claimed,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<DecidedBatch, StoreError>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let loaded = self.workflow.load(tx, now, row, self.prepared).await?;
            Ok(decided_batch(&loaded, &self.writer, std::slice::from_ref(row), now))
        })
    }
}

pub(super) struct Follower<W, Row> {
    pub(super) workflow: Arc<W>,
    pub(super) writer: Arc<dyn Writer<Row>>,
}

impl<W: FollowsDeliveries, Row: Send + Sync + 'static> Following for Follower<W, Row>
where
    W::Loaded: Settled<Row>,
{
    fn follow<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        works: &'a [SettledWork],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<FollowedBatch, StoreError>> {
        Box::pin(async move {
            let loaded = self.workflow.load_settled(conn, works).await?;
            let mut own = Rows::of(&self.writer);
            let (mut effects, mut panicked) = (Vec::new(), Vec::new());
            for work in works {
                // A workflow that panics here must not undo the record of what was sent, or it would be sent again.
                match catch_unwind(AssertUnwindSafe(|| loaded.settled(work, now))) {
                    Ok(followed) => {
                        effects.extend(followed.effects);
                        own.add(work.id, followed.rows);
                    }
                    Err(panic) => panicked.push((work.clone(), panic_message(&*panic))),
                }
            }
            Ok(FollowedBatch { effects, own: own.into_own(), panicked })
        })
    }
}

impl<W: Maintains> Maintaining for W {
    fn reconcile<'a>(
        &'a self,
        engine: &'a Engine,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<usize, EngineError>> {
        Box::pin(Maintains::reconcile(self, engine, now))
    }

    fn purge<'a>(
        &'a self,
        engine: &'a Engine,
        now: Timestamp,
        finished_before: Timestamp,
    ) -> BoxFuture<'a, Result<usize, EngineError>> {
        Box::pin(Maintains::purge(self, engine, now, finished_before))
    }
}
