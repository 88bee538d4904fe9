//! What the machine says about the time.
#![expect(clippy::disallowed_methods, reason = "this is where the system is asked")]

use std::{path::PathBuf, time::Duration};

use jiff::{SignedDuration, Timestamp};
use punctual_model::Sample;

pub(super) struct Source {
    #[cfg(not(target_os = "linux"))]
    origin: std::time::Instant,
    /// Added to the machine's own clock, for trials.
    wrong_by: WrongBy,
}

/// How wrong the machine's own clock is, in trials.
#[derive(Clone, Debug, PartialEq)]
pub enum WrongBy {
    Constant(SignedDuration),
    /// As many seconds as the file says whenever the clock is read: a clock that is set while we run.
    File(PathBuf),
}

impl Default for WrongBy {
    fn default() -> Self {
        Self::Constant(SignedDuration::ZERO)
    }
}

impl WrongBy {
    fn now(&self) -> SignedDuration {
        match self {
            Self::Constant(by) => *by,
            Self::File(file) => {
                let text = std::fs::read_to_string(file).unwrap_or_default();
                SignedDuration::from_secs(text.trim().parse().unwrap_or(0))
            }
        }
    }
}

impl Source {
    pub(super) fn new(wrong_by: WrongBy) -> Self {
        Self {
            #[cfg(not(target_os = "linux"))]
            origin: std::time::Instant::now(),
            wrong_by,
        }
    }

    /// The monotonic clock. On Linux the one that continues while the machine is suspended: leases run out meanwhile.
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
        Timestamp::now().saturating_add(self.wrong_by.now()).unwrap_or(Timestamp::MAX)
    }

    pub(super) fn own_sample(&self) -> Sample {
        let sent = self.monotonic();
        Sample { sent, theirs: self.own(), received: self.monotonic() }
    }
}
