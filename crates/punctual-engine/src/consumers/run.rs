//! The running consumers of a node: one task each, started, stopped and replaced when definitions change.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use jiff::Timestamp;
use punctual_model::{FeedFault, Received, Settled};
use punctual_store::{
    Lane,
    consumers::{self, ConsumerRow},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{EventIntake, MessageTaken, health::Status};
use crate::{Actor, Engine, EngineError, config::later, confine::panic_message, due::chain, run::Node};

/// How often definitions are read again: one that was saved on another node is followed within this time.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long one look for messages waits; it also bounds how old a known lag is.
const RECEIVE_WAIT: Duration = Duration::from_secs(5);
/// Pauses after a fault: from the first to the longest, each twice the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A crash point: what is committed and not acknowledged.
const ACKNOWLEDGE: &str = "consumers.acknowledge";

/// A consumer that runs here.
struct Task {
    written: (i64, Timestamp),
    status: Arc<Status>,
    /// Ends it, whatever becomes of the loop that started it.
    _stop: DropGuard,
}

impl Node {
    /// Keeps the tasks in line with the definitions and reports how they are.
    pub(crate) async fn consume_loop(self, intake: Arc<dyn EventIntake>) {
        let mut tasks: HashMap<String, Task> = HashMap::new();
        loop {
            if let Err(error) = self.follow_definitions(&mut tasks, &intake).await {
                self.failed("consumers", &error);
            }
            self.report_consumers(&tasks).await;
            let next = later(self.engine.clock.now(), LOOK_EVERY);
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = self.engine.consumers.written.notified() => {}
                () = self.engine.clock.sleep_until(next) => {}
            }
        }
        self.report_consumers(&tasks).await;
    }

    async fn follow_definitions(
        &self,
        tasks: &mut HashMap<String, Task>,
        intake: &Arc<dyn EventIntake>,
    ) -> Result<(), EngineError> {
        let mut reader = self.engine.store.read().await?;
        let rows = consumers::all(&mut reader.conn()).await?;
        drop(reader);
        let wanted: HashMap<&str, &ConsumerRow> =
            rows.iter().filter(|row| row.active).map(|row| (row.key.as_str(), row)).collect();
        tasks.retain(|key, task| {
            let stays =
                wanted.get(key.as_str()).is_some_and(|row| task.written == (row.version, row.updated_at));
            if !stays {
                self.engine.metrics.consumer_gone(key);
            }
            stays
        });
        for row in wanted.into_values() {
            if !tasks.contains_key(&row.key) {
                tasks.insert(row.key.clone(), self.start_consumer(row.clone(), intake.clone()));
            }
        }
        Ok(())
    }

    fn start_consumer(&self, row: ConsumerRow, intake: Arc<dyn EventIntake>) -> Task {
        let stop = self.stop.child_token();
        let status = Arc::new(Status::new(&row.key, &self.engine.config.node, self.engine.clock.now()));
        let written = (row.version, row.updated_at);
        let running =
            RunningConsumer { node: self.clone(), row, intake, status: status.clone(), stop: stop.clone() };
        self.tasks.spawn(running.run());
        Task { written, status, _stop: stop.drop_guard() }
    }

    async fn report_consumers(&self, tasks: &HashMap<String, Task>) {
        let now = self.engine.clock.now();
        for (key, task) in tasks {
            let (is_connected, lag) = task.status.state();
            self.engine.metrics.consumer_state(key, is_connected, lag);
        }
        let reports: Vec<_> =
            tasks.values().filter_map(|task| Some((task, task.status.report(now)?))).collect();
        if reports.is_empty() {
            return;
        }
        let rows: Vec<_> = reports.iter().map(|(_, row)| row.clone()).collect();
        let written = async {
            let mut tx = self.engine.store.begin(Lane::Intake).await?;
            consumers::report(&mut tx.conn(), &rows).await?;
            Ok::<_, EngineError>(tx.commit().await?)
        };
        if let Err(error) = written.await {
            reports.iter().for_each(|(task, row)| task.status.not_stored(row));
            self.failed("consumers", &error);
        }
    }
}

/// What one task works with.
struct RunningConsumer {
    node: Node,
    row: ConsumerRow,
    intake: Arc<dyn EventIntake>,
    status: Arc<Status>,
    stop: CancellationToken,
}

/// Why a consumer does not continue.
enum End {
    Stopped,
    Fault(String),
}

impl From<FeedFault> for End {
    fn from(fault: FeedFault) -> Self {
        Self::Fault(fault.0)
    }
}

impl RunningConsumer {
    fn engine(&self) -> &Engine {
        &self.node.engine
    }

    /// Takes events until it is stopped: after a fault or a panic it connects again, after a pause.
    async fn run(self) {
        let key = self.row.key.as_str();
        let mut pause = FIRST_PAUSE;
        loop {
            let fault = match AssertUnwindSafe(self.connected(&mut pause)).catch_unwind().await {
                Ok(End::Stopped) => return,
                Ok(End::Fault(fault)) => fault,
                Err(panic) => {
                    self.node.panicked("consumer", &*panic);
                    format!("panicked: {}", panic_message(&*panic))
                }
            };
            tracing::warn!(
                consumer.key = key,
                error = fault,
                "a consumer is disconnected; it connects again"
            );
            self.status.failed(self.engine().clock.now(), &fault);
            self.engine().consumers.invalidate();
            if !self.rest(pause).await {
                return;
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Waits for a while; false at the end.
    async fn rest(&self, how_long: Duration) -> bool {
        let clock = &self.engine().clock;
        tokio::select! {
            () = self.stop.cancelled() => false,
            () = clock.sleep_until(later(clock.now(), how_long)) => true,
        }
    }

    /// One connection, from its start to its end.
    async fn connected(&self, pause: &mut Duration) -> End {
        match self.work(pause).await {
            Ok(end) | Err(end) => end,
        }
    }

    async fn work(&self, pause: &mut Duration) -> Result<End, End> {
        let clock = &self.engine().clock;
        let consumer = self.engine().open_consumer(&self.row).map_err(End::Fault)?;
        let name = format!("punctual-{}-{}", self.engine().config.node, self.row.key);
        let mut feed = tokio::select! {
            () = self.stop.cancelled() => return Ok(End::Stopped),
            feed = consumer.connect(&name) => feed?,
        };
        tracing::info!(consumer.key = self.row.key, "a consumer is connected");
        self.status.connected(clock.now());
        self.engine().consumers.invalidate();
        loop {
            let messages = tokio::select! {
                () = self.stop.cancelled() => return Ok(End::Stopped),
                messages = feed.receive(RECEIVE_WAIT) => messages?,
            };
            *pause = FIRST_PAUSE;
            self.status.lags(feed.lag());
            if messages.is_empty() {
                continue;
            }
            let Some(taken) = self.take(&messages).await else { return Ok(End::Stopped) };
            self.engine().store.reached(ACKNOWLEDGE).map_err(|error| End::Fault(error.to_string()))?;
            self.status.took(clock.now(), &taken);
            self.engine().metrics.consumed(&self.row.key, &taken);
            let settled: Vec<Settled> = messages
                .iter()
                .zip(taken)
                .map(|(message, taken)| Settled { tag: message.tag, refused: taken.refused })
                .collect();
            feed.settle(&settled).await?;
        }
    }

    /// Hands messages in until the database has taken them; nothing where it is stopped before. While the database is away
    /// they are kept, and the broker sends no more than a batch.
    async fn take(&self, messages: &[Received]) -> Option<Vec<MessageTaken>> {
        let by = Actor::consumer(&self.row.key, self.row.business_unit.clone());
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.intake.take(&by, messages).await {
                Ok(taken) => {
                    self.status.connected(self.engine().clock.now());
                    return Some(taken);
                }
                Err(error) => chain(&error),
            };
            tracing::warn!(
                consumer.key = self.row.key,
                error,
                "events could not be stored; they are retried"
            );
            self.status.failed(self.engine().clock.now(), &error);
            if !self.rest(pause).await {
                return None;
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }
}
