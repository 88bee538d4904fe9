//! The loops: they wait, tick and record; everything else is in the stages.
//!
//! A loop sleeps until its earliest known row and is woken when an earlier one is written. A row is claimed shortly before it
//! is due and handled when it is due, so that the commit of the claim does not delay it. Rows that are already due are drained,
//! one transaction per batch.

mod drain;
mod held;
mod lanes;
mod loops;

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError},
    time::Duration,
};

use futures_util::FutureExt;
use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_store::{Lane, Stage, notifications, work};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Engine, EngineError, SweepReport,
    config::later,
    confine::panic_message,
    consumers::EventIntake,
    delivery::{Sending, Until},
    due::{Batch, chain},
};
use drain::Draining;
pub(crate) use held::Held;
use lanes::Lanes;

/// Long-running rows at once on one node.
const LONG_RUNNING_AT_ONCE: u32 = 2;
/// How long a loop waits after a pass failed, so that a database that is down is not hammered.
const REST_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long to wait when rows are ready and others hold them.
const REST_WHEN_TAKEN: Duration = Duration::from_millis(5);

/// How long a stopping node waits until the database has taken back what did not end.
const GIVES_BACK_WITHIN: Duration = Duration::from_secs(3);

/// The running loops of one node.
pub struct Running {
    engine: Engine,
    stop: CancellationToken,
    loops: TaskTracker,
    tasks: TaskTracker,
}

/// What the loops share.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) engine: Engine,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    held: Arc<Held>,
    draining: Arc<Draining>,
    lanes: Arc<Lanes>,
    batches: Arc<Semaphore>,
    long: Arc<Semaphore>,
}

impl Engine {
    /// Starts every loop of a working node but that of consumers.
    pub fn run(&self) -> Running {
        self.run_with(None)
    }

    /// Starts every loop of a working node; with an intake for their events, also its consumers.
    pub fn run_with(&self, intake: Option<Arc<dyn EventIntake>>) -> Running {
        let (stop, loops, tasks) = (CancellationToken::new(), TaskTracker::new(), TaskTracker::new());
        let node = Node {
            engine: self.clone(),
            stop: stop.clone(),
            tasks: tasks.clone(),
            held: self.held.clone(),
            draining: Arc::default(),
            lanes: Arc::default(),
            batches: Arc::new(Semaphore::new(self.config.batches_at_once)),
            long: Arc::new(Semaphore::new(LONG_RUNNING_AT_ONCE as usize)),
        };
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(node.clone());
        loops.spawn(node.clone().supervised("due", Node::due_loop));
        loops.spawn(node.clone().supervised("delivery", Node::delivery_loop));
        loops.spawn(node.clone().supervised("sweep", Node::sweep_loop));
        if self.config.purges {
            loops.spawn(node.clone().supervised("purge", Node::purge_loop));
        }
        loops.spawn(node.clone().supervised("index", Node::index_loop));
        loops.spawn(node.clone().supervised("checkpoint", Node::checkpoint_loop));
        if let Some(intake) = intake {
            let consume = move |node: Node| node.consume_loop(intake.clone());
            loops.spawn(node.clone().supervised("consumers", consume));
        }
        loops.spawn(node.supervised("listen", Node::listen_loop));
        loops.close();
        Running { engine: self.clone(), stop, loops, tasks }
    }
}

impl Running {
    /// Stops claiming, lets what is under way finish within the grace time, and gives the rest back.
    #[boxed]
    pub async fn stop(self) {
        self.stop.cancel();
        self.engine.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let patience =
            self.engine.clock.sleep_until(later(self.engine.clock.now(), self.engine.config.grace));
        // Loops end at their next step, which may be a call that hangs.
        let ended = async {
            self.loops.wait().await;
            self.tasks.close();
            self.tasks.wait().await;
        };
        tokio::select! {
            () = ended => return,
            () = patience => {}
        }
        match tokio::time::timeout(GIVES_BACK_WITHIN, self.engine.give_back()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(error = %chain(&error), "claimed rows could not be released; they are taken over when their leases expire");
            }
            Err(_) => {
                tracing::warn!(
                    "releasing claimed rows timed out; they are taken over when their leases expire"
                );
            }
        }
    }
}

impl Engine {
    /// This node's loops, where they may claim: then it may send what it has just stored.
    pub(crate) fn may_send(&self) -> Option<Node> {
        self.running().filter(|_| self.doubt().is_none())
    }

    /// This node's loops, where they run.
    pub(crate) fn running(&self) -> Option<Node> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether this node works: false once a stop was asked for.
    pub fn is_running(&self) -> bool {
        self.running().is_some()
    }

    /// Ends the leases this node still holds, so that nobody has to wait for them to run out. A send without an answer
    /// becomes uncertain, as it is.
    async fn give_back(&self) -> Result<(), EngineError> {
        let now = self.clock.now();
        let (works, sends) = self.held.all();
        let mut tx = self.store.begin(Lane::Settle).await?;
        if !works.is_empty() {
            work::release(&mut tx.conn(), now, &works).await?;
        }
        if !sends.is_empty() {
            notifications::renew(&mut tx.conn(), now, &sends).await?;
        }
        tx.commit().await?;
        self.sweep_leases(now, &mut SweepReport::default()).await
    }
}

impl Node {
    /// Runs a loop, and starts it again where it panics.
    async fn supervised<F: Future<Output = ()>>(self, name: &'static str, run: impl Fn(Self) -> F) {
        while let Err(panic) = AssertUnwindSafe(run(self.clone())).catch_unwind().await {
            self.panicked(name, &*panic);
            if !self.rest(REST_AFTER_FAILURE).await {
                return;
            }
        }
    }

    /// Runs a task whose panic is counted and ends nothing but the task.
    fn spawn_watched(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let node = self.clone();
        self.tasks.spawn(async move {
            if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await {
                node.panicked(name, &*panic);
                // What it left is looked for again, after a pause.
                if node.rest(REST_AFTER_FAILURE).await {
                    let now = node.engine.clock.now().as_microsecond();
                    node.engine.store.wake().raise(Stage::Work, now);
                    node.engine.store.wake().raise(Stage::Delivery, now);
                }
            }
        });
    }

    pub(crate) fn panicked(&self, task: &'static str, panic: &(dyn Any + Send)) {
        self.engine.metrics.panicked(task);
        tracing::error!(task, error = panic_message(panic), "a task panicked");
    }

    /// Waits until the loops hold no long-running row, and keeps them from taking another.
    pub(crate) async fn pause_long_running(&self) -> Option<OwnedSemaphorePermit> {
        self.long.clone().acquire_many_owned(LONG_RUNNING_AT_ONCE).await.ok()
    }

    /// Waits until `at`, a wake-up for `stage`, or the end; false at the end.
    async fn wait(&self, stage: Stage, at: Timestamp) -> bool {
        tokio::select! {
            () = self.stop.cancelled() => false,
            () = self.engine.store.wake().wait(stage) => true,
            () = self.engine.clock.sleep_until(at) => true,
        }
    }

    /// Waits for a while; false at the end.
    async fn rest(&self, how_long: Duration) -> bool {
        tokio::select! {
            () = self.stop.cancelled() => false,
            () = self.engine.clock.sleep_until(later(self.engine.clock.now(), how_long)) => true,
        }
    }

    /// Works a batch whose rows may have been claimed a little early, each at its moment.
    fn spawn_batch(&self, batch: Batch, permit: OwnedSemaphorePermit) {
        let node = self.clone();
        self.spawn_watched("due", async move {
            let Batch { workflow, mut rows } = batch;
            let _held = node.held.work(rows.iter().map(|row| (row.id, row.version)).collect());
            while let Some(first) = rows.first() {
                let moment = first.ready_at;
                if moment > node.engine.clock.now() {
                    node.engine.clock.sleep_until(moment).await;
                }
                let now = node.engine.clock.now();
                let later = rows.split_off(rows.partition_point(|row| row.ready_at <= now).max(1));
                let ready = std::mem::replace(&mut rows, later);
                match node.engine.work_on(Batch { workflow: workflow.clone(), rows: ready }, now, true).await
                {
                    Ok((_, hand_over)) => {
                        for sending in hand_over.into_sendings() {
                            node.spawn_sending(sending);
                        }
                    }
                    Err(error) => node.failed("due", &error),
                }
            }
            drop(permit);
            if workflow.is_long_running() {
                // Others of the kind may have waited for the permit.
                node.engine.store.wake().raise(Stage::Work, node.engine.clock.now().as_microsecond());
            }
        });
    }

    /// Sends a claimed batch, and wakes the delivery loop when it has ended.
    pub(crate) fn spawn_sending(&self, sending: Sending) {
        let node = self.clone();
        self.spawn_watched("sending", async move {
            let held = sending.items.iter().map(|item| (item.row.seq, item.row.version)).collect();
            let _held = node.held.sends(held);
            let now = node.engine.clock.now();
            if let Err(error) = node.engine.send_all(sending, Until::Written(node.stop.clone())).await {
                node.failed("delivery", &error);
            }
            node.engine.store.wake().raise(Stage::Delivery, now.as_microsecond());
        });
    }

    pub(crate) fn failed(&self, stage: &'static str, error: &EngineError) {
        self.engine.metrics.loop_failed();
        tracing::warn!(stage, error = %chain(error), "a pass failed; it is retried");
    }
}
