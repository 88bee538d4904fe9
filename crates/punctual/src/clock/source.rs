//! What the machine says about the time.
#![expect(clippy::disallowed_methods, reason = "this is where the system is asked")]

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::Sample;

pub(super) struct Source {
    #[cfg(not(target_os = "linux"))]
    origin: std::time::Instant,
    /// Added to the machine's own clock, for trials.
    wrong_by: SignedDuration,
}

impl Source {
    pub(super) fn new(wrong_by: SignedDuration) -> Self {
        Self {
            #[cfg(not(target_os = "linux"))]
            origin: std::time::Instant::now(),
            wrong_by,
        }
    }

    /// The monotonic clock. On Linux the one that goes on while the machine is suspended: leases run out meanwhile.
    #[cfg(target_os = "linux")]
    pub(super) fn monotonic(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Duration::try_from(time).unwrap_or_default()
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    /// The machine's own clock.
    pub(super) fn own(&self) -> Timestamp {
        Timestamp::now().saturating_add(self.wrong_by).unwrap_or(Timestamp::MAX)
    }

    pub(super) fn own_sample(&self) -> Sample {
        let sent = self.monotonic();
        Sample { sent, theirs: self.own(), received: self.monotonic() }
    }
}
