//! A scale with round numbers on it.

/// From the lowest tick to the highest, in equal steps. Zero is always included: bars that do not start at zero mislead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub low: f64,
    pub high: f64,
    pub step: f64,
}

impl Scale {
    /// Of whole numbers every tick is one.
    pub fn over(values: impl Iterator<Item = f64>, whole: bool) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((0.0, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
        let span = high - low;
        if span <= 0.0 || !span.is_finite() {
            return Self { low: 0.0, high: 1.0, step: 1.0 };
        }
        let step = match round_step(span / 5.0) {
            step if whole && step < 1.0 => 1.0,
            step if whole && step < 5.0 && step > 2.0 => 5.0,
            step => step,
        };
        Self { low: (low / step).floor() * step, high: (high / step).ceil() * step, step }
    }

    /// Where a value lies: 0 at the bottom, 1 at the top.
    pub fn place(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    pub fn ticks(&self) -> Vec<f64> {
        let count = ((self.high - self.low) / self.step).round().clamp(1.0, 20.0) as usize;
        (0..=count)
            .map(|index| {
                let tick = self.low + self.step * index as f64;
                // So that no label says -0.
                if tick.abs() < self.step / 1e6 { 0.0 } else { tick }
            })
            .collect()
    }

    /// Decimals that the ticks need.
    pub fn decimals(&self) -> u32 {
        (0..10)
            .find(|decimals| {
                let scaled = self.step * 10f64.powi(*decimals);
                (scaled - scaled.round()).abs() < scaled * 1e-6
            })
            .unwrap_or(10)
            .unsigned_abs()
    }
}

/// The next of 1, 2, 2.5, 5 times a power of ten.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        for (values, low, high, step) in [
            (vec![3.0, 47.0], 0.0, 50.0, 10.0),
            (vec![0.12, 0.31], 0.0, 0.4, 0.1),
            (vec![-30.0, 80.0], -50.0, 100.0, 25.0),
            (vec![1_234_567.0], 0.0, 1_250_000.0, 250_000.0),
            (vec![0.0], 0.0, 1.0, 1.0),
            (vec![], 0.0, 1.0, 1.0),
            (vec![f64::NAN, 5.0], 0.0, 5.0, 1.0),
        ] {
            let scale = Scale::over(values.iter().copied(), false);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs().max(1.0);
            assert!(
                near(scale.low, low) && near(scale.high, high) && near(scale.step, step),
                "{values:?} {scale:?}"
            );
            let ticks = scale.ticks();
            assert!(near(ticks[0], low) && near(ticks[ticks.len() - 1], high), "{ticks:?}");
        }
        assert_eq!(Scale::over([0.31].into_iter(), false).decimals(), 1);
        assert_eq!(Scale::over([11.0].into_iter(), false).decimals(), 1);
        for (most, step) in [(3.0, 1.0), (12.0, 5.0), (8.0, 2.0), (60.0, 20.0), (120.0, 25.0)] {
            assert_eq!(Scale::over([most].into_iter(), true).step, step, "{most}");
        }
        assert_eq!(Scale::over([40.0].into_iter(), false).decimals(), 0);
    }
}
