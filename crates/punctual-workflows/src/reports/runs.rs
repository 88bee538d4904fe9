//! Runs for people: the work row, its owner, its files and the outcome of its messages.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{Reach, WorkKey, WorkStatus};
use punctual_store::{
    Conn, StoreError, Stretch,
    attempts::{self, AttemptRow},
    notifications::{self, NotificationRow},
    run_ownership::{self, OwnershipRow},
    run_records::{self, RecordRow},
    work::{self, WorkFilter, WorkRow},
};
use serde_json::Value;

use super::{KIND, RunKey, SOURCE_TYPE, prepare::Artefact};

/// A run with all that is known about it.
#[derive(Clone, Debug)]
pub struct RunView {
    pub work: WorkRow,
    pub ownership: Option<OwnershipRow>,
    pub record: Option<RecordRow>,
    pub notifications: Vec<NotificationRow>,
    /// The latest attempts of its messages, newest first; only where one run is shown.
    pub attempts: Vec<AttemptRow>,
}

/// Attempts of a run that are shown; a message shows all of its own.
pub const ATTEMPTS_SHOWN: usize = 100;

impl RunView {
    pub fn storage_hash(&self) -> String {
        WorkKey::parse(&self.work.key).map(|key| key.storage_hash()).unwrap_or_default()
    }

    /// What the workflow recorded about it.
    pub fn details(&self) -> Value {
        let text = self.record.as_ref().map(|record| record.details.as_str());
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
    }

    pub fn artefacts(&self) -> Vec<Artefact> {
        listed(&self.details())
    }

    /// When its files were removed, where they were.
    pub fn files_purged_at(&self) -> Option<Timestamp> {
        self.record.as_ref()?.files_purged_at
    }

    pub fn coordinates(&self) -> Option<Value> {
        let text = self.ownership.as_ref()?.coordinates.as_deref()?;
        serde_json::from_str(text).ok()
    }
}

/// The files that a record names.
pub(super) fn listed(details: &Value) -> Vec<Artefact> {
    let files = details.get("artefacts").cloned().unwrap_or(Value::Null);
    serde_json::from_value(files).unwrap_or_default()
}

/// The ids of the messages of a run that is completed.
#[boxed]
pub async fn notifications_of(conn: &mut Conn<'_>, run: &WorkRow) -> Result<Vec<String>, StoreError> {
    let queued = work::queued(conn, std::slice::from_ref(run)).await?;
    Ok(queued.into_values().flatten().collect())
}

/// The key that a segment of an address names: a whole key, or the id of a run that was asked for.
pub fn key_of(guid: &str, named: &str) -> Option<String> {
    if named.contains(':') {
        return RunKey::read(named).filter(|run| run.guid == guid).map(|_| named.to_owned());
    }
    WorkKey::report_manual(guid, &named.to_lowercase()).ok().map(|key| key.to_string())
}

/// One run of a subscription, if it is within reach.
#[boxed]
pub async fn find(
    conn: &mut Conn<'_>,
    reach: &Reach,
    guid: &str,
    named: &str,
) -> Result<Option<RunView>, StoreError> {
    let Some(key) = key_of(guid, named) else { return Ok(None) };
    let Some(row) = work::by_key(conn, reach, &key).await? else { return Ok(None) };
    let Some(mut found) = view(conn, reach, vec![row]).await?.pop() else { return Ok(None) };
    let seqs = found.notifications.iter().map(|row| row.seq).collect();
    let shown = i64::try_from(ATTEMPTS_SHOWN).unwrap_or(i64::MAX);
    found.attempts = attempts::latest(conn, seqs, shown).await?;
    Ok(Some(found))
}

/// The runs of a subscription, newest first.
#[boxed]
pub async fn of(
    conn: &mut Conn<'_>,
    reach: &Reach,
    guid: &str,
    status: Option<WorkStatus>,
    before: Option<i64>,
    limit: i64,
) -> Result<Stretch<WorkRow>, StoreError> {
    let filter = WorkFilter {
        kind: Some(KIND.to_owned()),
        source_type: Some(SOURCE_TYPE.to_owned()),
        source_id: Some(guid.to_owned()),
        status,
        before,
        limit,
        ..WorkFilter::default()
    };
    work::page(conn, reach, &filter).await
}

/// The runs of all subscriptions, newest first. What they are of is named too, because an index finds that.
#[boxed]
pub async fn of_all(
    conn: &mut Conn<'_>,
    reach: &Reach,
    before: Option<i64>,
    limit: i64,
) -> Result<Stretch<WorkRow>, StoreError> {
    let filter = WorkFilter {
        kind: Some(KIND.to_owned()),
        source_type: Some(SOURCE_TYPE.to_owned()),
        before,
        limit,
        ..WorkFilter::default()
    };
    work::page(conn, reach, &filter).await
}

/// Rows with their ownership, record and those of their messages that are within reach, in the same order.
#[boxed]
pub async fn view(
    conn: &mut Conn<'_>,
    reach: &Reach,
    rows: Vec<WorkRow>,
) -> Result<Vec<RunView>, StoreError> {
    let keys: Vec<String> = rows.iter().map(|row| row.key.clone()).collect();
    let mut owned = run_ownership::by_keys(conn, keys.clone()).await?;
    let mut records = run_records::by_keys(conn, keys).await?;
    let mut queued = work::queued(conn, &rows).await?;
    let mut views = Vec::with_capacity(rows.len());
    for row in rows {
        let ids = queued.remove(&row.id).unwrap_or_default();
        let notifications =
            if ids.is_empty() { Vec::new() } else { notifications::by_ids(conn, reach, ids).await? };
        let ownership = owned.iter().position(|one| one.key == row.key).map(|at| owned.swap_remove(at));
        let record = records.iter().position(|one| one.key == row.key).map(|at| records.swap_remove(at));
        views.push(RunView { work: row, ownership, record, notifications, attempts: Vec::new() });
    }
    Ok(views)
}
