//! Running one test: a runtime, a bed, a deadline, and a look at what it leaves behind.

use std::{future::Future, time::Duration};

use crate::{Database, TestBed, TestBedBuilder, log};

/// No test takes so many seconds, and no trial at full scale so many; one that hangs says so.
const PATIENCE: (usize, usize) = (240, 2 * 3600);
/// How long a test waits for a signal of something that happens at once.
const SIGNAL: Duration = Duration::from_secs(60);

/// A builder for this database, changed as the test wants it.
pub fn adjusted(database: Database, with: impl FnOnce(TestBedBuilder) -> TestBedBuilder) -> TestBedBuilder {
    with(TestBedBuilder::new(database))
}

/// The crate whose tests call the store without the engine, so that nobody writes what the engine logs.
const WITHOUT_ENGINE: &str = "punctual-store";

/// Runs a test body on its own bed, and fails where it leaves open rows without saying so, or rows that wait for a person and
/// are not in the log.
///
/// # Panics
/// When the test fails, hangs, or leaves such rows.
pub fn run<F: Future<Output = ()>>(builder: TestBedBuilder, body: impl FnOnce(TestBed) -> F) {
    run_of("", builder, body);
}

/// The same for a test of this crate.
///
/// # Panics
/// When the test fails, hangs, or leaves such rows.
pub fn run_of<F: Future<Output = ()>>(
    crate_name: &str,
    builder: TestBedBuilder,
    body: impl FnOnce(TestBed) -> F,
) {
    log::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    runtime.block_on(async {
        let bed = builder.open().await;
        let patience = Duration::from_secs(scale(PATIENCE.0, PATIENCE.1) as u64);
        let ended = tokio::time::timeout(patience, body(bed.clone())).await;
        assert!(ended.is_ok(), "the test did not end within {patience:?}");
        bed.finish().await;
        if crate_name != WITHOUT_ENGINE {
            bed.is_logged().await;
            bed.is_audited().await;
        }
    });
}

/// Waits for something that must happen without anybody moving the clock.
///
/// # Panics
/// When it does not happen.
pub async fn signal<T>(what: &str, waited_for: impl Future<Output = T>) -> T {
    match tokio::time::timeout(SIGNAL, waited_for).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not happen within {SIGNAL:?}"),
    }
}

/// `commit` trials on each change, `release` of them with `PUNCTUAL_RIG_SCALE=release`.
pub fn scale(commit: usize, release: usize) -> usize {
    if std::env::var("PUNCTUAL_RIG_SCALE").is_ok_and(|scale| scale == "release") { release } else { commit }
}
