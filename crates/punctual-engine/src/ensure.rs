//! Ensure: after the call the row exists exactly once, for any caller and any number of calls.

mod requested;

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, Cause, NewWork, ReasonCode, WorkStatus, local_time::as_stored};
use punctual_store::{
    Stage, StoreError, Tx, audit,
    work::{self, Asked, Existing},
};

pub use self::requested::{Requested, ensure_requested_in};
use crate::{Engine, EngineError, QuotaReached};

/// What ensure did about one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnsureOutcome {
    Created,
    Updated,
    Unchanged,
    Reactivated,
    /// Already done; its coordinates are returned and nothing is sent again.
    Completed,
    InProgress,
    /// It was cancelled, and stays so.
    LeftCancelled,
    /// It was cancelled, and the caller wants it back.
    Revived,
    /// The key is known with another input: the request is refused, and nothing was changed.
    Reused,
    /// The key is known with another input: the row is on hold.
    Conflict {
        stored: String,
        given: String,
    },
    /// The business unit has been given all rows of its day: the request is refused, and nothing was stored.
    OverQuota(QuotaReached),
}

impl EnsureOutcome {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Reactivated | Self::Revived => "reactivated",
            Self::Reused | Self::OverQuota(_) => "rejected",
            Self::Completed => "completed",
            Self::InProgress => "inProgress",
            Self::LeftCancelled => "cancelled",
            Self::Conflict { .. } => "conflict",
        }
    }
}

/// One answer of ensure, in the order of what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ensured {
    pub id: i64,
    pub outcome: EnsureOutcome,
    /// The coordinates of a completed row.
    pub result: Option<String>,
}

impl Ensured {
    /// The answer to a row that was asked for before in the same set, by then at this time or at another one.
    fn repeated(&self, at_this_time: bool) -> Self {
        use EnsureOutcome::{Created, Reactivated, Revived, Unchanged, Updated};
        let outcome = match &self.outcome {
            Created | Updated | Unchanged | Reactivated | Revived if at_this_time => Unchanged,
            Created | Updated | Unchanged | Reactivated | Revived => Updated,
            other => other.clone(),
        };
        Self { outcome, ..self.clone() }
    }
}

impl Engine {
    /// Ensures a set of rows in one transaction.
    #[boxed]
    pub async fn ensure(&self, rows: &[NewWork], cause: Cause) -> Result<Vec<Ensured>, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(punctual_store::Lane::Intake).await?;
        let ensured = ensure_in(&mut tx, now, rows, cause).await?;
        tx.commit().await?;
        Ok(ensured)
    }
}

/// Ensures a set of rows in a transaction that the caller commits.
#[boxed]
pub async fn ensure_in(
    tx: &mut Tx,
    now: Timestamp,
    rows: &[NewWork],
    cause: Cause,
) -> Result<Vec<Ensured>, StoreError> {
    // Sorted by key, so that two callers lock in the same order; a repeated key counts once, the last one wins. One that
    // comes back with another input is a conflict with the first, as if it had been asked for later.
    let mut wanted: BTreeMap<&str, &NewWork> = BTreeMap::new();
    let mut at_odds: BTreeMap<&str, &NewWork> = BTreeMap::new();
    for row in rows {
        match wanted.get(row.key.as_str()) {
            Some(first) if first.input_hash != row.input_hash => drop(at_odds.insert(row.key.as_str(), row)),
            _ => drop(wanted.insert(row.key.as_str(), row)),
        }
    }
    let mut answers: HashMap<&str, Ensured> = HashMap::with_capacity(wanted.len());
    let unique: Vec<&NewWork> = wanted.values().copied().collect();
    for inserted in work::insert_absent(&mut tx.conn(), now, &unique).await? {
        if let Some((key, new)) = wanted.get_key_value(inserted.key.as_str()) {
            tx.raise(Stage::Work, new.due_at);
            tx.count_row(new.business_unit.as_deref(), now);
            answers.insert(*key, Ensured { id: inserted.id, outcome: EnsureOutcome::Created, result: None });
        }
    }
    if answers.len() < wanted.len() {
        reconcile(tx, now, &wanted, cause, &mut answers).await?;
    }
    note_traces(tx, &wanted, &answers).await?;
    let mut conflicts = HashMap::new();
    if !at_odds.is_empty() {
        reconcile(tx, now, &at_odds, cause, &mut conflicts).await?;
    }
    let has_repeats = wanted.len() < rows.len();
    let mut asked_before: HashMap<&str, Timestamp> = HashMap::new();
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let key = row.key.as_str();
        let is_first = wanted.get(key).is_some_and(|first| first.input_hash == row.input_hash);
        let answer = if is_first { answers.get(key) } else { conflicts.get(key) };
        let answer = answer.ok_or(StoreError::Stored("a row that was just ensured"))?;
        let before = if has_repeats && is_first { asked_before.insert(key, row.due_at) } else { None };
        all.push(before.map_or_else(|| answer.clone(), |before| answer.repeated(before == row.due_at)));
    }
    Ok(all)
}

/// Writes in which trace rows were asked for that are new or have moved, where one is recorded.
async fn note_traces(
    tx: &mut Tx,
    wanted: &BTreeMap<&str, &NewWork>,
    answers: &HashMap<&str, Ensured>,
) -> Result<(), StoreError> {
    let Some(asked) = tx.asked() else { return Ok(()) };
    let rows: Vec<(i64, Asked)> = wanted
        .iter()
        .filter_map(|(key, new)| {
            let ensured = answers.get(key)?;
            let is_written = matches!(
                ensured.outcome,
                EnsureOutcome::Created
                    | EnsureOutcome::Updated
                    | EnsureOutcome::Reactivated
                    | EnsureOutcome::Revived
            );
            is_written.then(|| asked.of(new)).flatten().map(|asked| (ensured.id, asked))
        })
        .collect();
    work::note_traces(&mut tx.conn(), &rows).await
}

/// What is already there is locked, compared, and changed only where it differs.
async fn reconcile<'k>(
    tx: &mut Tx,
    now: Timestamp,
    wanted: &BTreeMap<&'k str, &'k NewWork>,
    cause: Cause,
    answers: &mut HashMap<&'k str, Ensured>,
) -> Result<(), StoreError> {
    let known: Vec<String> =
        wanted.keys().filter(|key| !answers.contains_key(**key)).map(|key| (*key).to_owned()).collect();
    let existing = work::lock_existing(&mut tx.conn(), known).await?;
    let (mut moves, mut ended, mut conflicts, mut entries) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for row in &existing {
        let Some((key, new)) = wanted.get_key_value(row.key.as_str()) else { continue };
        let outcome = compare(row, new, cause);
        match &outcome {
            EnsureOutcome::Updated => {
                tx.raise(Stage::Work, new.due_at);
                moves.push((row, *new));
            }
            EnsureOutcome::Reactivated | EnsureOutcome::Revived => {
                tx.raise(Stage::Work, new.due_at);
                ended.push((row, *new));
            }
            EnsureOutcome::Conflict { stored, given } if !row.on_hold => {
                conflicts.push(row.id);
                let unit = row.business_unit.as_deref();
                entries.push(audit::Entry {
                    from: Some(row.status.as_str().into()),
                    to: Some(row.status.as_str().into()),
                    version: Some(row.version + 1),
                    reason: Some(ReasonCode::InputConflict.into()),
                    data: Some(serde_json::json!({ "stored": stored, "given": given }).to_string()),
                    ..audit::Entry::new(AuditAction::Conflict, "work", row.id, unit)
                });
            }
            _ => {}
        }
        answers.insert(key, Ensured { id: row.id, outcome, result: row.result.clone() });
    }
    if !moves.is_empty() {
        work::reschedule(&mut tx.conn(), now, &moves).await?;
    }
    work::reactivate(&mut tx.conn(), now, &ended).await?;
    if !conflicts.is_empty() {
        work::put_on_hold_as_conflict(&mut tx.conn(), now, conflicts).await?;
    }
    audit::append(&mut tx.conn(), now, &entries).await
}

/// The table of the design, first match wins.
fn compare(row: &Existing, new: &NewWork, cause: Cause) -> EnsureOutcome {
    let same_input = row.input_hash == new.input_hash.to_string();
    match row.status {
        // The unit counts as content, so that a caller never touches, or learns of, another unit's row by its key.
        _ if matches!(cause, Cause::Request { .. })
            && (!same_input || row.business_unit != new.business_unit) =>
        {
            EnsureOutcome::Reused
        }
        WorkStatus::Completed => EnsureOutcome::Completed,
        WorkStatus::Processing => EnsureOutcome::InProgress,
        _ if !same_input => {
            EnsureOutcome::Conflict { stored: row.input_hash.clone(), given: new.input_hash.to_string() }
        }
        // A held row waits for a person; a changed due time must not slip past them. One that the engine ended comes back
        // held, as it was.
        WorkStatus::Pending | WorkStatus::Failed | WorkStatus::Cancelled if row.on_hold => {
            EnsureOutcome::Unchanged
        }
        WorkStatus::Pending => {
            let local = new.local.as_ref().map(|(date, zone)| (Some(date.as_str()), Some(zone.as_str())));
            let stored_local = (row.local_date.as_deref(), row.time_zone.as_deref());
            if row.due_at == as_stored(new.due_at) && local.unwrap_or((None, None)) == stored_local {
                EnsureOutcome::Unchanged
            } else {
                EnsureOutcome::Updated
            }
        }
        WorkStatus::Cancelled => match cause {
            Cause::Machine if row.cancelled_by_person => EnsureOutcome::LeftCancelled,
            Cause::Machine | Cause::Person => EnsureOutcome::Reactivated,
            Cause::Request { revive: true } => EnsureOutcome::Revived,
            Cause::Request { revive: false } => EnsureOutcome::LeftCancelled,
        },
        WorkStatus::Failed | WorkStatus::Deactivated => EnsureOutcome::Reactivated,
    }
}
