//! One line in the log for everything that will not go on by itself: parked, on hold, failed, or with an end that nobody knows.
//!
//! All of these are entries of the audit, with their ids and reasons, so the line is written where entries are: nobody can write
//! one and forget the other. It comes just before the commit: a database that then fails may leave a line too many, and never
//! one too few.

use punctual_model::AuditAction;

use super::Entry;

pub(super) fn write(entries: &[Entry]) {
    for entry in entries {
        let is_parked = entry.to.as_deref() == Some("parked");
        let what = match entry.action {
            AuditAction::Park => "parked",
            AuditAction::SettledFailed if is_parked => "parked",
            AuditAction::Hold => "on hold",
            AuditAction::Conflict if entry.subject_kind == "work" => "on hold",
            AuditAction::Conflict => "refused: its id is known with another content",
            AuditAction::Fail => "failed",
            AuditAction::Uncertain => "an attempt may or may not have reached its target",
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
