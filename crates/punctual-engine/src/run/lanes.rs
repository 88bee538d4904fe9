//! Working a channel: one task for each class of messages, so that nothing that happens in one channel, and no message
//! that waits for a permit, holds back another.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use punctual_store::Stage;

use super::{Node, REST_AFTER_FAILURE, REST_WHEN_TAKEN};
use crate::{
    Opened,
    delivery::{Class, Open, Permit},
};

/// How long a task waits for a permit before it looks whether the channel was replaced.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

type Lane = (String, Class);

/// The lanes that are being worked on this node.
#[derive(Default)]
pub(super) struct Lanes(Mutex<HashSet<Lane>>);

/// Held while a lane is worked, and let go of however that ends.
struct Working {
    all: Arc<Lanes>,
    lane: Lane,
}

impl Lanes {
    fn start(self: &Arc<Self>, lane: Lane) -> Option<Working> {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.insert(lane.clone()).then(|| Working { all: self.clone(), lane })
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.lane);
    }
}

/// How the last claim of a lane ended.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// There is more.
    Full,
    /// Fewer rows than asked for.
    Short,
    /// Others hold what is ready.
    Empty,
    Failed,
    Stopped,
}

impl Node {
    /// Starts to work the ready messages of one class of a channel, unless that is under way; its end wakes the delivery
    /// loop.
    pub(super) fn work_lane(&self, key: String, class: Class) {
        let Some(working) = self.lanes.start((key, class)) else { return };
        let node = self.clone();
        self.spawn_watched("delivery", async move {
            let key = &working.lane.0;
            let mut last = Last::Full;
            while last == Last::Full {
                last = node.claim_lane(key, class).await;
            }
            let goes_on = match last {
                Last::Full | Last::Short => true,
                Last::Empty => node.rest(REST_WHEN_TAKEN).await,
                Last::Failed => node.rest(REST_AFTER_FAILURE).await,
                Last::Stopped => false,
            };
            drop(working);
            if goes_on {
                node.engine.store.wake().raise(Stage::Delivery, node.engine.clock.now().as_microsecond());
            }
        });
    }

    /// Waits for a permit of a channel, unless the node stops or the channel is replaced meanwhile.
    async fn wait_for_permit(&self, key: &str, channel: &Arc<Opened>, class: Class) -> Result<Permit, Last> {
        let mut permit = Box::pin(channel.permits.clone().wait(class));
        loop {
            tokio::select! {
                permit = &mut permit => return Ok(permit),
                goes_on = self.rest(LOOK_AGAIN_AFTER) => {
                    let is_same = |now: Arc<Opened>| Arc::ptr_eq(&now, channel);
                    match goes_on {
                        false => return Err(Last::Stopped),
                        true if self.engine.channels.get(key).is_some_and(is_same) => {}
                        true => return Err(Last::Full),
                    }
                }
            }
        }
    }

    /// Waits for permits, claims as many messages as there are, and has them sent.
    async fn claim_lane(&self, key: &str, class: Class) -> Last {
        let engine = &self.engine;
        let batch = engine.config.batch;
        let channel = match engine.channel_for(key, engine.clock.now()).await {
            Ok(channel) => channel,
            Err(error) => {
                self.failed("delivery", &error.into());
                return Last::Failed;
            }
        };
        let (open, limit) = match channel {
            None => (None, batch),
            Some(channel) => {
                let most = usize::try_from(batch).unwrap_or(1);
                let mut permits = channel.permits.take_free(class, most);
                if permits.count() == 0 {
                    permits = match self.wait_for_permit(key, &channel, class).await {
                        Ok(permit) => permit,
                        Err(last) => return last,
                    };
                    permits.append(channel.permits.take_free(class, most - 1));
                }
                let limit = i64::try_from(permits.count()).unwrap_or(batch);
                (Some(Open { channel, permits }), limit)
            }
        };
        if self.stop.is_cancelled() {
            return Last::Stopped;
        }
        match engine.claim_deliveries(key, engine.clock.now(), limit, class, open).await {
            Ok((report, sendings)) => {
                sendings.into_iter().for_each(|sending| self.spawn_sending(sending));
                match i64::try_from(report.claimed + report.parked) {
                    Ok(0) => Last::Empty,
                    Ok(taken) if taken < limit => Last::Short,
                    _ => Last::Full,
                }
            }
            Err(error) => {
                self.failed("delivery", &error);
                Last::Failed
            }
        }
    }
}
