//! The calls under way. Each is a task of its own, so that the calls of one channel use every core.

use std::{
    collections::VecDeque,
    panic::resume_unwind,
    task::{Context, Poll, Waker},
};

use tokio::task::{JoinError, JoinSet};

use super::call::Called;

/// What a call returned, with the number of its notification.
type Ended = (i64, Called);

/// Dropping it cancels the calls.
#[derive(Default)]
pub(super) struct Calls {
    tasks: JoinSet<Ended>,
    /// Calls that were over at once.
    ended: VecDeque<Ended>,
}

impl Calls {
    /// Starts a call. A channel that never waits is called here: a task would cost more than the call.
    pub(super) fn start(&mut self, waits: bool, call: impl Future<Output = Ended> + Send + 'static) {
        if waits {
            self.tasks.spawn(call);
            return;
        }
        let mut call = Box::pin(call);
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(ended) => self.ended.push_back(ended),
            // It waits nevertheless; its task polls it again.
            Poll::Pending => drop(self.tasks.spawn(call)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.ended.is_empty()
    }

    /// A call that has ended already.
    pub(super) fn take_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front().or_else(|| self.tasks.try_join_next().and_then(returned))
    }

    /// The next call that ends; nothing where none is under way.
    pub(super) async fn next(&mut self) -> Option<Ended> {
        if let Some(ended) = self.ended.pop_front() {
            return Some(ended);
        }
        self.tasks.join_next().await.and_then(returned)
    }
}

/// A call catches the panics of its channel; any other is a fault of the batch, which its loop survives.
fn returned(joined: Result<Ended, JoinError>) -> Option<Ended> {
    match joined {
        Ok(ended) => Some(ended),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // Cancelled with the runtime.
            Err(_) => None,
        },
    }
}
