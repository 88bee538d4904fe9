//! Until when the calls of a batch may start.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

/// The end of the lease that these calls trust. Each call looks for itself in the moment it starts: the process may have been
/// stopped for long between the choice of a call and its start.
pub(super) struct Trust(AtomicI64);

impl Trust {
    pub(super) fn until(end: Timestamp) -> Self {
        Self(AtomicI64::new(end.as_microsecond()))
    }

    pub(super) fn extend(&self, end: Timestamp) {
        self.0.store(end.as_microsecond(), Ordering::Release);
    }

    /// No call starts until it is extended.
    pub(super) fn end(&self) {
        self.0.store(i64::MIN, Ordering::Release);
    }

    pub(super) fn holds(&self, now: Timestamp) -> bool {
        now.as_microsecond() < self.0.load(Ordering::Acquire)
    }
}
