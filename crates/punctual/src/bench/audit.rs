//! What sealing the audit costs what is due: the same drain and the same deliveries beside as many entries as rows, which wait in
//! one run and are sealed in the next. Routine rows write no entries, so that without these there would be nothing to seal.

use anyhow::Result;
use punctual_engine::{EngineConfig, Listeners};
use punctual_model::{AuditAction, Clock};
use punctual_store::{
    Lane,
    audit::{self, Entry},
};

use super::{Bench, Measured, Rig, config, deliver, drain};

/// Entries of one transaction.
const BATCH: usize = 500;

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Vec<Measured>> {
    let sealing = |seals_audit| EngineConfig { seals_audit, ..config("bench") };
    let mut measured = Vec::new();
    for (test, seals) in [("drain-unsealed", false), ("drain-sealed", true)] {
        measured.push(drain::measure_on(bench, test, jobs, sealing(seals), jobs).await?);
    }
    for (test, seals) in [("deliver-unsealed", false), ("deliver-sealed", true)] {
        let rig = bench.rig_of(test, Listeners::default(), Vec::new(), sealing(seals)).await?;
        write(bench, &rig, jobs).await?;
        measured.push(deliver::measure_on(bench, rig, test, jobs, false).await?);
    }
    Ok(measured)
}

/// Entries that wait to be sealed.
pub(super) async fn write(bench: &Bench, rig: &Rig, entries: usize) -> Result<()> {
    let numbers: Vec<usize> = (0..entries).collect();
    for some in numbers.chunks(BATCH) {
        let entries: Vec<Entry> = some
            .iter()
            .map(|number| Entry {
                data: Some(format!("{{\"number\":{number}}}")),
                ..Entry::new(AuditAction::Put, "bench", number, None)
            })
            .collect();
        let mut tx = rig.engine.store.begin(Lane::Intake).await?;
        audit::append(&mut tx.conn(), bench.clock.now(), &entries).await?;
        tx.commit().await?;
    }
    Ok(())
}
