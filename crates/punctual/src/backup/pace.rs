//! Work that rests: `pg_dump` and the session that serves it would take a core each for as long as they may, and intake beside
//! them was half of what it is alone on two cores. Whoever writes into a full pipe waits. The copy of a SQLite file goes step by step.

use std::io::Result;

use clap::ValueEnum;
use jiff::{SignedDuration, Timestamp};
use punctual_model::Clock;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// How long it is copied without a rest. Short, so that no request waits for long.
const WORKS: SignedDuration = SignedDuration::from_millis(50);
/// What a rest is measured by at most: a machine that was suspended meanwhile has rested.
const LONGEST: SignedDuration = SignedDuration::from_secs(1);
/// How many times longer a rest is. Whoever reads the tables has a core for itself while it works, and so has whoever writes them into the
/// pipe: a tenth of the time is what intake may feel of it on two cores that are busy.
const RESTS: i32 = 9;
/// SQLite cannot start its write-ahead log over while a copy is made. Rests become shorter as the log grows, and there are none once it grew
/// by so much: the copy is then done before the log fills the disk or makes lookups in it slow.
const LOG_GROWS_BY: u64 = 2 << 30;
/// Bytes that are read at once: what fits into a pipe.
const AT_ONCE: usize = 1 << 16;

/// How a backup shares the machine with what runs beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pace {
    /// With rests: about ten times longer, and intake hardly notices.
    Gentle,
    /// As fast as it can.
    Full,
}

/// The rests of one piece of work.
pub struct Rests<'c> {
    clock: &'c dyn Clock,
    pace: Pace,
    /// Since when there was no rest.
    began: Timestamp,
}

impl<'c> Rests<'c> {
    pub fn new(clock: &'c dyn Clock, pace: Pace) -> Self {
        Self { clock, pace, began: clock.now() }
    }

    /// Rests where enough was done since the last rest.
    pub async fn rest(&mut self) {
        self.rest_beside_log(0).await;
    }

    /// The same, for less time the more bytes SQLite's log grew by.
    pub async fn rest_beside_log(&mut self, grew: u64) {
        let now = self.clock.now();
        let worked = now.duration_since(self.began);
        if self.pace == Pace::Full || worked < WORKS {
            return;
        }
        let left = i128::from(LOG_GROWS_BY.saturating_sub(grew));
        let rest = (worked.min(LONGEST) * RESTS).as_micros() * left / i128::from(LOG_GROWS_BY);
        let rest = SignedDuration::from_micros(i64::try_from(rest).unwrap_or(0));
        self.clock.sleep_until(now + rest).await;
        self.began = self.clock.now();
    }
}

/// Copies all of it, with rests where they are wanted.
pub async fn copy(
    mut rests: Rests<'_>,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<()> {
    let mut buffer = vec![0; AT_ONCE];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.flush().await;
        }
        to.write_all(&buffer[..read]).await?;
        rests.rest().await;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        sync::Mutex,
        task::{Context, Poll},
    };

    use futures_util::future::BoxFuture;
    use tokio::io::ReadBuf;

    use super::*;

    /// The time, and how much of it was slept.
    #[derive(Default)]
    struct Watch(Mutex<(Timestamp, SignedDuration)>);

    impl Clock for Watch {
        fn now(&self) -> Timestamp {
            self.0.lock().unwrap().0
        }

        fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
            let mut state = self.0.lock().unwrap();
            let slept = at.duration_since(state.0);
            state.1 += slept;
            state.0 = at;
            Box::pin(std::future::ready(()))
        }
    }

    /// Gives a thousand bytes forty times, each after twenty milliseconds.
    struct Slow<'a>(&'a Watch, usize);

    impl AsyncRead for Slow<'_> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<Result<()>> {
            if self.1 < 40 {
                self.1 += 1;
                self.0.0.lock().unwrap().0 += SignedDuration::from_millis(20);
                buffer.put_slice(&[7; 1_000]);
            }
            Poll::Ready(Ok(()))
        }
    }

    async fn slept(pace: Pace) -> SignedDuration {
        let (watch, mut copied) = (Watch::default(), Vec::new());
        copy(Rests::new(&watch, pace), &mut Slow(&watch, 0), &mut copied).await.unwrap();
        assert_eq!(copied, [7; 40_000]);
        let state = watch.0.lock().unwrap();
        state.1
    }

    #[tokio::test]
    async fn a_gentle_copy_rests_nine_times_as_long_as_it_works() {
        // Of forty reads three at a time are worked: thirteen rests of 540 ms.
        assert_eq!(slept(Pace::Gentle).await, SignedDuration::from_millis(13 * 540));
        assert_eq!(slept(Pace::Full).await, SignedDuration::ZERO);
    }

    #[tokio::test]
    async fn rests_become_shorter_as_the_log_grows() {
        const GIB: u64 = 1 << 30;
        for (grew, rested) in [(0, 900), (GIB, 450), (2 * GIB, 0), (3 * GIB, 0)] {
            let watch = Watch::default();
            let mut rests = Rests::new(&watch, Pace::Gentle);
            watch.0.lock().unwrap().0 += SignedDuration::from_millis(100);
            rests.rest_beside_log(grew).await;
            assert_eq!(watch.0.lock().unwrap().1, SignedDuration::from_millis(rested), "{grew}");
        }
    }
}
