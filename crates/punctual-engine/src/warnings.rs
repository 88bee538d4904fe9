//! One line in the log for everything that will not go on by itself: parked, on hold, failed, or with an end that nobody knows.
//!
//! The entries of the audit are where all of these pass, with their ids and reasons. The line is written with the entry, just
//! before the commit: a database that then fails may leave a line too many, and never one too few.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{Conn, StoreError, audit};

/// Writes entries to the audit, and a warning for each that a person should know of.
#[boxed]
pub(crate) async fn append(
    conn: &mut Conn<'_>,
    now: Timestamp,
    entries: &[audit::Entry],
) -> Result<(), StoreError> {
    for entry in entries {
        let what = match entry.action {
            AuditAction::Park => "parked",
            AuditAction::Hold | AuditAction::Conflict => "on hold",
            AuditAction::Fail => "failed",
            AuditAction::Uncertain => "an attempt may or may not have reached its target",
            _ => continue,
        };
        let (id, reason) = (entry.subject_id.as_str(), entry.reason.as_deref());
        match entry.subject_kind {
            "notification" => tracing::warn!(notification.id = id, reason, "{what}"),
            "work" => tracing::warn!(work.id = id, reason, "{what}"),
            other => tracing::warn!(subject.kind = other, subject.id = id, reason, "{what}"),
        }
    }
    audit::append(conn, now, entries).await
}
