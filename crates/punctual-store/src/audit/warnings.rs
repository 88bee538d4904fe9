//! One line in the log for everything that will not continue by itself: parked, on hold or failed.
//!
//! All of these are entries of the audit, with their ids and reasons, so the line is written where entries are: nobody can write
//! one and forget the other. It comes just before the commit: a database that then fails may leave a line too many, and never
//! one too few. An attempt with an end that nobody knows is logged where it is counted, in [`crate::attempts`]. That each such
//! row has its line is checked at the end of every test of the engine and of all that is above it.

use punctual_model::{AuditAction, NotificationStatus};

use super::Entry;

pub(super) fn write(entries: &[Entry]) {
    for entry in entries {
        // By where the row went, whatever the entry is about: a sweep parks what it is in doubt about.
        let is_parked = entry.to.as_deref() == Some(NotificationStatus::Parked.as_str());
        let what = match entry.action {
            _ if is_parked => "parked",
            AuditAction::Hold => "on hold",
            AuditAction::Conflict if entry.subject_kind == "work" => "on hold",
            AuditAction::Conflict => "refused: its id is known with another content",
            AuditAction::Fail => "failed",
            _ => continue,
        };
        let (id, reason, unit) =
            (&*entry.subject_id, entry.reason.as_deref(), entry.business_unit.as_deref());
        match entry.subject_kind {
            "notification" => tracing::warn!(notification.id = id, reason, unit.id = unit, "{what}"),
            "work" => tracing::warn!(work.id = id, reason, unit.id = unit, "{what}"),
            other => tracing::warn!(subject.kind = other, subject.id = id, reason, unit.id = unit, "{what}"),
        }
    }
}
