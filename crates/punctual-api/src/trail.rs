//! What the API itself writes to the audit: who changed which definition, and what an operator said about an action.

use jiff::Timestamp;
use punctual_store::{Lane, StoreError, Tx, audit};

use crate::{App, auth::Principal};

/// Writes down who changed which definition, in the transaction of the change.
pub async fn audited(
    tx: &mut Tx,
    now: Timestamp,
    caller: &Principal,
    action: &'static str,
    subject_kind: &'static str,
    subject_id: &str,
) -> Result<(), StoreError> {
    let entry = entry(caller, action, subject_kind, subject_id);
    audit::append(&mut tx.conn(), now, &[entry]).await
}

/// Keeps the reason that an operator gave for an action which was just done.
pub async fn noted(
    app: &App,
    caller: &Principal,
    subject_kind: &'static str,
    subject_id: &str,
    reason: Option<String>,
) -> Result<(), StoreError> {
    if reason.is_none() {
        return Ok(());
    }
    let entry = audit::Entry { reason, ..entry(caller, "note", subject_kind, subject_id) };
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    audit::append(&mut tx.conn(), app.engine.clock.now(), &[entry]).await?;
    tx.commit().await
}

fn entry(
    caller: &Principal,
    action: &'static str,
    subject_kind: &'static str,
    subject_id: &str,
) -> audit::Entry {
    audit::Entry {
        actor: caller.actor(),
        action,
        subject_kind,
        subject_id: subject_id.to_owned(),
        ..audit::Entry::default()
    }
}
