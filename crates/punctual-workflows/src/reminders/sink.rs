//! Handles source events: first deactivates rows that no longer apply, then ensures the required rows, for a whole batch of
//! sources in the transaction of the events.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{
    EnsureOutcome, EventSink, StoredEvent, effects, ensure_in,
    events::{SOURCE_CHANGED, SOURCE_DELETED, Touched},
};
use punctual_model::{AuditAction, Cause, NewWork, ReasonCode, WorkStatus};
use punctual_store::{
    Conn, StoreError, Tx, audit,
    reminders::states,
    sources::{self, SourceRow},
    work::{self, Transfer},
};
use std::sync::Arc;

use super::{
    Providers, children,
    evaluate::{Inputs, Outcome, Scope, evaluate},
    load,
};

/// Listens to what happens to sources.
pub struct ReminderSink {
    providers: Arc<Providers>,
}

impl ReminderSink {
    pub fn new(providers: Arc<Providers>) -> Self {
        Self { providers }
    }
}

impl EventSink for ReminderSink {
    fn subscribes_to(&self, kind: &str) -> bool {
        kind == SOURCE_CHANGED || kind == SOURCE_DELETED
    }

    fn take<'a>(
        &'a self,
        tx: &'a mut Tx,
        now: Timestamp,
        events: &'a [StoredEvent<'a>],
    ) -> BoxFuture<'a, Result<Vec<Touched>, StoreError>> {
        Box::pin(async move {
            // Which event speaks for a source: the last one about it.
            let mut speaks: BTreeMap<(String, String), (usize, &SourceRow)> = BTreeMap::new();
            for (index, event) in events.iter().enumerate() {
                if let Some(source) = event.source {
                    speaks.insert((source.source_type.clone(), source.source_id.clone()), (index, source));
                }
            }
            let rows = speaks.values().map(|(_, source)| (*source).clone()).collect();
            let touched = apply_to(&self.providers, tx, now, rows).await?;
            let mut answers = vec![Touched::default(); events.len()];
            for (place, did) in touched {
                // Parents of counted sources have no event: the first of the batch speaks for them.
                let index = speaks.get(&place).map_or(0, |(index, _)| *index);
                if let Some(answer) = answers.get_mut(index) {
                    answer.add(&did);
                }
            }
            Ok(answers)
        })
    }
}

/// Brings the work of these sources, and of the parents that they count for, in line with all settings. The transaction holds
/// the rows of the sources: the writer does.
async fn apply_to(
    providers: &Providers,
    tx: &mut Tx,
    now: Timestamp,
    mut rows: Vec<SourceRow>,
) -> Result<HashMap<(String, String), Touched>, StoreError> {
    let places: BTreeSet<(String, String)> =
        rows.iter().map(|row| (row.source_type.clone(), row.source_id.clone())).collect();
    let mut types: Vec<String> = places.iter().map(|(kind, _)| kind.clone()).collect();
    types.dedup();
    let mut conn = tx.conn();
    // Without settings there may still be rows of old ones.
    let settings = load::of_types(&mut conn, providers, &types).await?;
    let counted = children::diff(&mut conn, &settings, &rows).await?;
    counted.write(&mut conn).await?;
    let more: BTreeSet<(String, String)> = counted.parents.difference(&places).cloned().collect();
    if !more.is_empty() {
        rows.extend(sources::lock(&mut conn, &borrowed(&more)).await?);
    }
    let inputs = Inputs::load(&mut conn, settings, rows, true).await?;
    let outcome = evaluate(providers, &inputs, now, Scope::All);
    write(tx, now, outcome).await
}

fn borrowed(places: &BTreeSet<(String, String)>) -> Vec<(&str, &str)> {
    places.iter().map(|(kind, id)| (kind.as_str(), id.as_str())).collect()
}

/// Writes an outcome; returns what it did, by source.
#[boxed]
pub async fn write(
    tx: &mut Tx,
    now: Timestamp,
    outcome: Outcome,
) -> Result<HashMap<(String, String), Touched>, StoreError> {
    let Outcome { gone, wanted, transfers, mut over, failed, states, unchanged, gone_of, .. } = outcome;
    let mut touched: HashMap<(String, String), Touched> = HashMap::new();
    for (place, count) in unchanged {
        touched.entry(place).or_default().unchanged += count;
    }
    states::put(&mut tx.conn(), now, &states).await?;
    for (reason, keys) in gone {
        for key in &keys {
            if let Some(place) = gone_of.get(key) {
                touched.entry(place.clone()).or_default().deactivated += 1;
            }
        }
        effects::deactivate(tx, now, reason, keys).await?;
    }
    transfer(&mut tx.conn(), now, &transfers).await?;
    if !wanted.is_empty() {
        let ensured = ensure_in(tx, now, &wanted, Cause::Machine).await?;
        for (row, did) in wanted.iter().zip(ensured) {
            let counts = touched.entry(place_of(row)).or_default();
            match did.outcome {
                EnsureOutcome::Created => counts.created += 1,
                EnsureOutcome::Updated | EnsureOutcome::Reactivated => counts.updated += 1,
                _ => counts.unchanged += 1,
            }
        }
    }
    if !over.is_empty() {
        over.sort_by(|a, b| a.key.cmp(&b.key));
        over.dedup_by(|a, b| a.key == b.key);
        for row in write_over(tx, now, &over).await? {
            touched.entry(row).or_default().deactivated += 1;
        }
    }
    write_failed(&mut tx.conn(), now, &failed).await?;
    Ok(touched)
}

/// What cannot be planned is written down as failed, with the reason: it is shown to people and never dropped.
pub(super) async fn write_failed(
    conn: &mut Conn<'_>,
    now: Timestamp,
    failed: &[(ReasonCode, NewWork)],
) -> Result<(), StoreError> {
    let mut by_reason: BTreeMap<ReasonCode, BTreeMap<&str, &NewWork>> = BTreeMap::new();
    for (reason, row) in failed {
        by_reason.entry(*reason).or_default().insert(row.key.as_str(), row);
    }
    for (reason, rows) in by_reason {
        let wanted: Vec<&NewWork> = rows.values().copied().collect();
        let inserted = work::insert_failed(conn, now, reason.as_str(), &wanted).await?;
        let unit = |key: &str| rows.get(key).and_then(|row| row.business_unit.as_deref());
        let entries: Vec<audit::Entry> = inserted
            .iter()
            .map(|row| ended(row.id, unit(&row.key), AuditAction::Fail, WorkStatus::Failed, reason))
            .collect();
        audit::append(conn, now, &entries).await?;
    }
    Ok(())
}

/// The entry of a row that had ended when it was made.
fn ended(
    id: i64,
    unit: Option<&str>,
    action: AuditAction,
    status: WorkStatus,
    reason: ReasonCode,
) -> audit::Entry {
    audit::Entry {
        to: Some(status.as_str().into()),
        version: Some(1),
        reason: Some(reason.into()),
        ..audit::Entry::new(action, "work", id, unit)
    }
}

/// Planned rows of a source move with it to another business unit. The source itself says so, so this is no conflict between
/// two who use one key; it is written down for each row.
pub(super) async fn transfer(
    conn: &mut Conn<'_>,
    now: Timestamp,
    transfers: &[Transfer],
) -> Result<(), StoreError> {
    if transfers.is_empty() {
        return Ok(());
    }
    let entries: Vec<audit::Entry> = work::transfer(conn, now, transfers)
        .await?
        .into_iter()
        .map(|row| audit::Entry {
            from: Some(row.status.as_str().into()),
            to: Some(row.status.as_str().into()),
            version: Some(row.version),
            reason: Some(ReasonCode::BusinessUnitChanged.into()),
            data: Some(serde_json::json!({ "businessUnit": row.business_unit }).to_string()),
            ..audit::Entry::new(AuditAction::Transfer, "work", row.id, row.business_unit.as_deref())
        })
        .collect();
    audit::append(conn, now, &entries).await
}

fn place_of(row: &NewWork) -> (String, String) {
    row.source.clone().unwrap_or_default()
}

/// What is over before it was known is written down, with the reason, for those who ask why nothing came.
async fn write_over(
    tx: &mut Tx,
    now: Timestamp,
    over: &[NewWork],
) -> Result<Vec<(String, String)>, StoreError> {
    const REASON: ReasonCode = ReasonCode::DueInPast;
    let refs: Vec<&NewWork> = over.iter().collect();
    let inserted = work::insert_ended(&mut tx.conn(), now, REASON.as_str(), &refs).await?;
    let by_key: HashMap<&str, &NewWork> = over.iter().map(|row| (row.key.as_str(), row)).collect();
    let unit = |key: &str| by_key.get(key).and_then(|row| row.business_unit.as_deref());
    let (action, status) = (AuditAction::Deactivate, WorkStatus::Deactivated);
    let entries: Vec<audit::Entry> =
        inserted.iter().map(|row| ended(row.id, unit(&row.key), action, status, REASON)).collect();
    audit::append(&mut tx.conn(), now, &entries).await?;
    Ok(inserted.iter().filter_map(|row| by_key.get(row.key.as_str())).map(|row| place_of(row)).collect())
}
