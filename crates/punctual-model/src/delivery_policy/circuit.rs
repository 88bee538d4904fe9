//! How long a channel rests that does not work: longer each time, within bounds, and one message tries whether it works again.

use std::time::Duration;

/// When a channel rests, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// So many failures that may pass, one after another and without a success between them, make it rest.
    pub after: u32,
    pub first: Duration,
    pub longest: Duration,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { after: 10, first: Duration::from_secs(30), longest: Duration::from_secs(5 * 60) }
    }
}

impl Breaker {
    /// Never rests.
    pub const OFF: Self = Self { after: u32::MAX, first: Duration::ZERO, longest: Duration::ZERO };

    /// The length of the rest of that number, 1 being the first.
    pub fn rest(&self, number: i64) -> Duration {
        let doubled = u32::try_from(number.clamp(1, 31) - 1).unwrap_or(0);
        self.first.saturating_mul(1 << doubled).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_and_stay_within_their_bound() {
        let breaker = Breaker::default();
        let seconds = |number| breaker.rest(number).as_secs();
        assert_eq!([1, 2, 3, 4, 5, 6].map(seconds), [30, 60, 120, 240, 300, 300]);
        assert_eq!([-1, 0, 1_000, i64::MAX].map(seconds), [30, 30, 300, 300]);
    }
}
