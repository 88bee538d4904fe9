//! The circuit breaker of a channel: after consecutive failures it opens and nothing is sent; later one message probes the
//! channel.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::written;

/// When a circuit opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Breaker {
    /// The circuit opens after this many transient failures in a row, without a success between them.
    pub failures: u32,
    /// How long it stays open the first time; the time doubles whenever a probe fails.
    #[serde(with = "written")]
    pub open_for: Duration,
    #[serde(with = "written")]
    pub max_open_for: Duration,
}

/// What a channel says about its circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitSetting {
    /// `false`: the circuit never opens.
    Never,
    Opens(Breaker),
}

impl CircuitSetting {
    pub fn breaker(self) -> Breaker {
        match self {
            Self::Never => Breaker::OFF,
            Self::Opens(breaker) => breaker,
        }
    }
}

impl Serialize for CircuitSetting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Never => to.serialize_bool(false),
            Self::Opens(breaker) => breaker.serialize(to),
        }
    }
}

impl<'d> Deserialize<'d> for CircuitSetting {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Word(bool),
            Opens(Breaker),
        }
        Ok(match Stored::deserialize(from)? {
            Stored::Word(false) => Self::Never,
            Stored::Word(true) => Self::Opens(Breaker::default()),
            Stored::Opens(breaker) => Self::Opens(breaker),
        })
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Self { failures: 10, open_for: Duration::from_secs(30), max_open_for: Duration::from_secs(5 * 60) }
    }
}

impl Breaker {
    /// The circuit never opens.
    pub const OFF: Self = Self { failures: u32::MAX, open_for: Duration::ZERO, max_open_for: Duration::ZERO };

    /// Returns how long the circuit stays open when it opens for this time in a row, 1 being the first.
    pub fn duration(&self, open_count: i64) -> Duration {
        let doubled = u32::try_from(open_count.clamp(1, 31) - 1).unwrap_or(0);
        self.open_for.saturating_mul(1 << doubled).min(self.max_open_for)
    }
}

/// The state of a channel's circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState {
    /// Messages are sent.
    Closed,
    /// Nothing is sent.
    Open,
    /// One message probes whether the channel works again.
    HalfOpen,
}

impl CircuitState {
    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "halfOpen",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_open_time_doubles_up_to_its_maximum() {
        let breaker = Breaker::default();
        let seconds = |open_count| breaker.duration(open_count).as_secs();
        assert_eq!([1, 2, 3, 4, 5, 6].map(seconds), [30, 60, 120, 240, 300, 300]);
        assert_eq!([-1, 0, 1_000, i64::MAX].map(seconds), [30, 30, 300, 300]);
    }
}
