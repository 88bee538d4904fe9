//! Reconciliation for people: the progress of each provider, a pass on request, and a dry run.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, CommandError, Engine, ensure_in};
use punctual_model::{AuditAction, Cause};
use punctual_store::{Conn, Lane, StoreError, audit, foreign::ForeignFault, reminders::reconciliations};

use super::{
    Providers,
    evaluate::Plan,
    external::{self, External},
    reconcile::{self, Report},
};

/// A provider, and how far it has looked.
pub struct Look {
    pub provider: String,
    pub window_days: u32,
    /// Sources in one batch.
    pub batch: u32,
    /// Nothing where it has not looked yet.
    pub looked_until: Option<Timestamp>,
    pub last_run_at: Option<Timestamp>,
    /// What its present or last run did.
    pub report: Report,
}

/// Every provider: the kinds of triggers, then the databases of other systems.
#[boxed]
pub async fn all(conn: &mut Conn<'_>, providers: &Providers) -> Result<Vec<Look>, StoreError> {
    let rows = reconciliations::all(conn).await?;
    let triggers = providers.triggers.keys().map(|provider| {
        let bounds = providers.bounds_of(provider).unwrap_or_default();
        (provider.to_owned(), bounds.window_days, bounds.batch)
    });
    let externals = providers.externals.iter().map(|one| (one.provider(), one.window_days, one.batch));
    let look = |(provider, window_days, batch): (String, Option<u32>, Option<u32>)| {
        let row = rows.iter().find(|row| row.provider == provider);
        Look {
            provider,
            window_days: window_days.unwrap_or(0),
            batch: batch.unwrap_or(0),
            looked_until: row.map(|row| row.watermark),
            last_run_at: row.map(|row| row.last_run_at),
            report: row.and_then(|row| serde_json::from_str(&row.report).ok()).unwrap_or_default(),
        }
    };
    Ok(triggers.chain(externals).map(look).collect())
}

/// Makes a provider look now; returns the row of work that does it.
#[boxed]
pub async fn look_now(
    engine: &Engine,
    providers: &Providers,
    by: &Actor,
    provider: &str,
) -> Result<i64, CommandError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row = match named(providers, provider)? {
        Named::Trigger => reconcile::at(provider, now),
        Named::External(external) => {
            let cursor = external.cursor(&mut tx.conn()).await?;
            external.at(now, &cursor)
        }
    };
    let row = row.ok_or_else(|| missing(provider))?;
    let entry = audit::Entry::new(AuditAction::RunNow, "reconciliation", provider, None);
    by.audit_entry(&mut tx, now, entry).await?;
    let ensured = ensure_in(&mut tx, now, &[row], Cause::Person).await?;
    tx.commit().await?;
    ensured.first().map(|one| one.id).ok_or_else(|| missing(provider))
}

/// What a look would do now, and how many sources it would check; what is wrong with the other system's database, where it
/// cannot be asked.
#[boxed]
pub async fn would_do(
    engine: &Engine,
    providers: &Providers,
    provider: &str,
) -> Result<Result<(u64, Plan), ForeignFault>, CommandError> {
    let now = engine.clock.now();
    let mut reader = engine.store.read_for_people().await?;
    match named(providers, provider)? {
        Named::External(external) => {
            Ok(external::dry_run(&mut reader.conn(), providers, external, now).await?)
        }
        Named::Trigger => {
            let found = reconcile::dry_run(&mut reader.conn(), providers, provider, now).await?;
            let (report, plan) = found.ok_or_else(|| missing(provider))?;
            Ok(Ok((report.sources, plan)))
        }
    }
}

enum Named<'p> {
    Trigger,
    External(&'p External),
}

fn named<'p>(providers: &'p Providers, provider: &str) -> Result<Named<'p>, CommandError> {
    let found = match provider.strip_prefix("external:") {
        Some(name) => providers.external(name).map(Named::External),
        None => providers.triggers.get(provider).map(|_| Named::Trigger),
    };
    found.ok_or_else(|| missing(provider))
}

fn missing(provider: &str) -> CommandError {
    CommandError::not_found("trigger provider", provider)
}
