//! Whether everything that ended or stopped other than by its routine is in the audit: checked when a test ends, so that every
//! test carries the proof along.

use punctual_model::{AuditAction, NotificationStatus, Reach, WorkStatus};
use punctual_store::{
    audit,
    work::{self, WorkFilter},
};

use super::TestBed;

/// Rows that are read.
const ROWS: i64 = 1000;

const NOTIFICATION: &str = "notification";

/// A row that must have an entry with one of these actions.
struct Wanted {
    kind: &'static str,
    id: String,
    unit: Option<String>,
    state: &'static str,
    actions: &'static [AuditAction],
}

/// What leads to each state of a message that no routine leads to.
fn of_notification(status: NotificationStatus) -> &'static [AuditAction] {
    match status {
        // What is in doubt, or could not be recorded, is parked with the entry that says so.
        NotificationStatus::Parked => {
            &[AuditAction::Park, AuditAction::Uncertain, AuditAction::SettledFailed]
        }
        NotificationStatus::Withdrawn => &[AuditAction::Withdraw],
        NotificationStatus::Discarded => &[AuditAction::Discard],
        NotificationStatus::Pending | NotificationStatus::Retrying | NotificationStatus::Delivered => &[],
    }
}

/// The same of work; a row on hold is pending.
fn of_work(status: WorkStatus, on_hold: bool) -> &'static [AuditAction] {
    match status {
        _ if on_hold => &[AuditAction::Hold, AuditAction::Conflict],
        WorkStatus::Failed => &[AuditAction::Fail],
        WorkStatus::Deactivated => &[AuditAction::Deactivate],
        WorkStatus::Cancelled => &[AuditAction::Cancel],
        WorkStatus::Pending | WorkStatus::Processing | WorkStatus::Completed => &[],
    }
}

impl TestBed {
    /// The rows that are in such a state without an entry that says so, in the business unit of the row.
    pub(super) async fn unaudited(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for Wanted { kind, id, unit, state, actions } in self.to_be_audited().await {
            let entries = audit::of(&mut self.read().await.conn(), &Reach::Everything, kind, &id).await;
            let entries = entries.unwrap_or_else(|error| panic!("{error:?}"));
            let leads_there = |entry: &audit::AuditRow| match entry.to_status.as_deref() {
                Some(to) => kind != NOTIFICATION || to == state,
                None => entry.action == actions[0].as_str(),
            };
            let says = |entry: &audit::AuditRow| {
                actions.iter().any(|action| entry.action == action.as_str()) && leads_there(entry)
            };
            let found: Vec<&audit::AuditRow> = entries.iter().filter(|entry| says(entry)).collect();
            // What moved to another unit since keeps its entries where it was.
            let is_placed = |entry: &&&audit::AuditRow| unit.is_none() || entry.business_unit.is_some();
            if found.iter().find(is_placed).is_none() {
                let units: Vec<_> = found.iter().map(|entry| &entry.business_unit).collect();
                missing.push(format!("{kind} {id} is {state} in {unit:?}, entries in {units:?}"));
            }
        }
        missing
    }

    async fn to_be_audited(&self) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        for row in self.notifications().await {
            let (id, unit) = (row.id.to_string(), row.business_unit.clone());
            let actions = of_notification(row.status);
            wanted.push(Wanted { kind: NOTIFICATION, id, unit, state: row.status.as_str(), actions });
        }
        let filter = WorkFilter { limit: ROWS, ..Default::default() };
        let rows = work::list(&mut self.read().await.conn(), &Reach::Everything, &filter).await;
        for row in rows.unwrap_or_else(|error| panic!("{error:?}")) {
            let status = row.status;
            let actions = of_work(status, row.on_hold);
            let state = if row.on_hold { "on hold" } else { status.as_str() };
            let (id, unit) = (row.id.to_string(), row.business_unit.clone());
            wanted.push(Wanted { kind: "work", id, unit, state, actions });
        }
        wanted.retain(|one| !one.actions.is_empty());
        wanted
    }
}
