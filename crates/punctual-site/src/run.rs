//! The loops: they wait and tick; everything else is in the ticks.

use std::time::Duration;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{Agent, Next, chain, config::later};

/// How often the buffer is looked after.
const WATCH_EVERY: Duration = Duration::from_secs(10);
/// How often room is looked for while the disk is full.
const ROOM_LOOKED_FOR_EVERY: Duration = Duration::from_secs(1);
/// How often the write-ahead log is folded back.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// The running loops of an agent.
pub struct Running {
    stop: CancellationToken,
    loops: TaskTracker,
    agent: Agent,
}

impl Agent {
    /// Starts forwarding and looking after the buffer.
    pub fn run(&self) -> Running {
        let (stop, loops) = (CancellationToken::new(), TaskTracker::new());
        loops.spawn(self.clone().forward_loop(stop.clone()));
        loops.spawn(self.clone().watch_loop(stop.clone()));
        loops.spawn(self.clone().room_loop(stop.clone()));
        loops.spawn(self.clone().checkpoint_loop(stop.clone()));
        loops.close();
        Running { stop, loops, agent: self.clone() }
    }

    async fn forward_loop(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            // A batch that is cut off is sent again at the next start; nobody needs to wait for its answer.
            let report = tokio::select! {
                report = self.forward_tick(self.clock.now()) => report,
                () = stop.cancelled() => return,
            };
            match report.next {
                Next::Now => {}
                Next::At(at) => {
                    tokio::select! {
                        () = self.clock.sleep_until(at) => {}
                        () = stop.cancelled() => return,
                    }
                }
                Next::WhenWoken(at) => {
                    tokio::select! {
                        () = self.arrived.notified() => {}
                        () = self.clock.sleep_until(at) => {}
                        () = stop.cancelled() => return,
                    }
                }
            }
        }
    }

    async fn watch_loop(self, stop: CancellationToken) {
        loop {
            if let Err(error) = self.watch_tick(self.clock.now()).await {
                tracing::warn!(error = chain(&error), "maintenance of the buffer failed");
            }
            if !self.rest(WATCH_EVERY, &stop).await {
                return;
            }
        }
    }

    /// After a full disk: notifications are taken again as soon as there is room.
    async fn room_loop(self, stop: CancellationToken) {
        while self.rest(ROOM_LOOKED_FOR_EVERY, &stop).await {
            self.take_room_again().await;
        }
    }

    async fn checkpoint_loop(self, stop: CancellationToken) {
        while self.rest(CHECKPOINT_EVERY, &stop).await {
            if let Err(error) = self.store.checkpoint().await {
                tracing::debug!(error = chain(&error), "the write-ahead log could not be checkpointed");
            }
        }
    }

    /// Waits; false if the agent is to stop.
    async fn rest(&self, time: Duration, stop: &CancellationToken) -> bool {
        tokio::select! {
            () = self.clock.sleep_until(later(self.clock.now(), time)) => true,
            () = stop.cancelled() => false,
        }
    }
}

impl Running {
    /// Stops forwarding and closes the buffer; what waits is forwarded after the next start.
    pub async fn stop(self) {
        self.stop.cancel();
        self.loops.wait().await;
        self.agent.store.close().await;
    }
}
