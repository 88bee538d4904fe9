//! Removes the files of runs after their retention time. Their records stay, marked as purged.

use jiff::Timestamp;
use punctual_engine::{Engine, EngineError};
use punctual_store::{Lane, run_records};

use super::{KIND, runs::listed};

/// Runs whose files one batch removes.
const AT_ONCE: i64 = 100;

/// Removes the files of some runs that were decided before a moment; returns how many files.
pub(super) async fn purge(
    engine: &Engine,
    now: Timestamp,
    decided_before: Timestamp,
) -> Result<usize, EngineError> {
    let mut reader = engine.store.read().await?;
    let old = run_records::with_old_files(&mut reader.conn(), KIND, decided_before, AT_ONCE).await?;
    drop(reader);
    let (mut removed, mut gone) = (0, Vec::with_capacity(old.len()));
    for run in old {
        let files = serde_json::from_str(&run.details).map(|details| listed(&details)).unwrap_or_default();
        for file in &files {
            // The files are removed before that is recorded: if this stops in between, the next pass repeats it.
            engine.blobs.delete(&file.blob).await?;
        }
        // A record that names none counts too, so that the walk continues.
        removed += files.len().max(1);
        gone.push((run.key, run.decided_at));
    }
    let mut tx = engine.store.begin(Lane::Settle).await?;
    run_records::files_purged(&mut tx.conn(), now, &gone).await?;
    tx.commit().await?;
    Ok(removed)
}
