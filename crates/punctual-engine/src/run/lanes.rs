//! The tasks of a channel: one for each class of messages, so that a fault in one channel, or a message that waits for a
//! permit, does not delay others.
//!
//! A claim takes as many messages as there are free permits. On a channel with fast calls it takes as many as can start within
//! a short time, so that one commit ends some messages and starts the next.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use punctual_store::Stage;
use tokio_util::sync::CancellationToken;

use super::{Node, REST_AFTER_FAILURE, REST_WHEN_TAKEN};
use crate::{
    Opened,
    delivery::{Class, Open, Permit},
};

/// How long a task waits for a permit before it looks whether the channel was replaced.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long messages are claimed ahead of their calls. Short, because others cannot have them meanwhile, and what stops a
/// message comes too late for one that is claimed.
const CLAIMED_AHEAD: Duration = Duration::from_millis(100);

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

/// How many messages the next claim of a lane takes.
#[derive(Default)]
struct Ahead {
    limit: usize,
    claimed_at: Option<Timestamp>,
}

impl Ahead {
    /// As many as there are permits, at most `most`; more where the messages of the claim before were all begun soon.
    fn next(&mut self, permits: usize, most: usize, now: Timestamp) -> usize {
        let took = self.claimed_at.map(|at| now.duration_since(at).unsigned_abs());
        let wanted = match took {
            Some(soon) if soon <= CLAIMED_AHEAD / 2 => self.limit.saturating_mul(2),
            Some(late) if late > CLAIMED_AHEAD => {
                (self.limit as f64 * CLAIMED_AHEAD.as_secs_f64() / late.as_secs_f64()) as usize
            }
            Some(_) | None => self.limit,
        };
        self.claimed_at = Some(now);
        self.limit = wanted.clamp(permits.min(most), most);
        self.limit
    }
}

impl Node {
    /// Starts to work the ready messages of one class of a channel, unless that is under way; its end wakes the delivery
    /// loop.
    pub(super) fn work_lane(&self, key: String, class: Class) {
        let Some(working) = self.lanes.start((key, class)) else { return };
        let node = self.clone();
        self.spawn_watched("delivery", async move {
            let key = &working.lane.0;
            let (mut last, mut ahead) = (Last::Full, Ahead::default());
            while last == Last::Full {
                last = node.claim_lane(key, class, &mut ahead).await;
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
                    match goes_on {
                        false => return Err(Last::Stopped),
                        true if self.engine.channels.is_current(key, channel) => {}
                        true => return Err(Last::Full),
                    }
                }
            }
        }
    }

    /// Waits until every message that was claimed is begun, the node stops or the channel is replaced.
    async fn wait_until_begun(
        &self,
        key: &str,
        channel: &Arc<Opened>,
        started: Vec<CancellationToken>,
    ) -> Last {
        let all_started = async {
            for started in &started {
                started.cancelled().await;
            }
        };
        let mut all_started = std::pin::pin!(all_started);
        loop {
            tokio::select! {
                () = &mut all_started => return Last::Full,
                goes_on = self.rest(LOOK_AGAIN_AFTER) => match goes_on {
                    false => return Last::Stopped,
                    true if self.engine.channels.is_current(key, channel) => {}
                    true => return Last::Full,
                }
            }
        }
    }

    /// Waits for permits, claims messages for them, and has them sent.
    async fn claim_lane(&self, key: &str, class: Class, ahead: &mut Ahead) -> Last {
        let engine = &self.engine;
        let batch = engine.config.batch;
        let channel = match engine.channel_for(key, engine.clock.now()).await {
            Ok(channel) => channel,
            Err(error) => {
                self.failed("delivery", &error.into());
                return Last::Failed;
            }
        };
        let (open, limit) = match &channel {
            None => (None, batch),
            Some(channel) => {
                let most = usize::try_from(batch).unwrap_or(1);
                let mut permits = channel.permits.take_free(class, most);
                if permits.count() == 0 {
                    permits = match self.wait_for_permit(key, channel, class).await {
                        Ok(permit) => permit,
                        Err(last) => return last,
                    };
                    permits.append(channel.permits.take_free(class, most - 1));
                }
                let limit = ahead.next(permits.count(), most, engine.clock.now());
                (Some(Open { channel: channel.clone(), permits }), i64::try_from(limit).unwrap_or(batch))
            }
        };
        if self.stop.is_cancelled() {
            return Last::Stopped;
        }
        let (report, sendings) =
            match engine.claim_deliveries(key, engine.clock.now(), limit, class, open).await {
                Ok(claimed) => claimed,
                Err(error) => {
                    self.failed("delivery", &error);
                    return Last::Failed;
                }
            };
        if report.deferred + report.retrying > 0 {
            // Given back: there are no slots for more, or they are large.
            *ahead = Ahead::default();
        }
        let mut started = Vec::new();
        for mut sending in sendings {
            started.extend(sending.backlog());
            self.spawn_sending(sending);
        }
        if let Some(channel) = channel
            && self.wait_until_begun(key, &channel, started).await == Last::Stopped
        {
            return Last::Stopped;
        }
        match i64::try_from(report.claimed + report.parked) {
            Ok(0) => Last::Empty,
            Ok(taken) if taken < limit => Last::Short,
            _ => Last::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claims after so many milliseconds each, with ten permits, and at most 500 messages.
    fn limits(after: &[i64]) -> Vec<usize> {
        let (mut ahead, mut now) = (Ahead::default(), Timestamp::UNIX_EPOCH);
        let limits = after.iter().map(|after| {
            now += jiff::SignedDuration::from_millis(*after);
            ahead.next(10, 500, now)
        });
        limits.collect()
    }

    #[test]
    fn claims_grow_while_calls_start_soon_and_shrink_to_the_permits_where_they_do_not() {
        assert_eq!(limits(&[0, 1, 1, 1, 1, 1, 1, 1]), [10, 20, 40, 80, 160, 320, 500, 500]);
        assert_eq!(limits(&[0, 1, 1, 60, 80, 100]), [10, 20, 40, 40, 40, 40], "as long as they may take");
        assert_eq!(limits(&[0, 1, 1, 200, 1_000]), [10, 20, 40, 20, 10]);
        assert_eq!(limits(&[0, 5_000, 5_000]), [10, 10, 10], "calls are slow: no message is claimed ahead");
    }

    #[test]
    fn a_claim_takes_no_less_than_there_are_permits_and_no_more_than_a_batch() {
        let mut ahead = Ahead::default();
        assert_eq!(ahead.next(3, 500, Timestamp::UNIX_EPOCH), 3);
        assert_eq!(ahead.next(64, 500, Timestamp::UNIX_EPOCH), 64);
        assert_eq!(Ahead::default().next(200, 50, Timestamp::UNIX_EPOCH), 50);
    }
}
