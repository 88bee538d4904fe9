//! `/api/v1/audit`: what people, keys and the engine did, newest first.

use axum::extract::State;
use punctual_store::{
    StoreError,
    audit::{self, AuditFilter, AuditSubject, ListedEntry},
};
use punctual_wire::{
    Page,
    audit::{AuditEntry, AuditQuery, place, read_place},
    page::NamePageQuery,
};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Caller, Read},
    parameters::Parameters,
};

/// What people, keys and the engine did, newest first
///
/// A key that is limited to business units sees the entries of its units. `digest` is null until an entry is sealed;
/// `punctual audit verify` checks all of them.
#[utoipa::path(get, path = "/api/v1/audit", tag = "Audit", security(("key" = ["read"])),
    params(AuditQuery, NamePageQuery), responses((status = 200, body = Page<AuditEntry>)))]
pub async fn list(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Parameters(parameters): Parameters,
) -> Answer {
    let query = AuditQuery::read(parameters)?;
    let filter = AuditFilter {
        from: query.from,
        to: query.to,
        actor: query.actor,
        action: query.action,
        subject: query.subject.map(|subject| AuditSubject { kind: subject.kind, id: subject.id }),
        after: query.page.cursor.as_deref().and_then(read_place),
        limit: i64::from(query.page.limit),
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let found = audit::stretch(&mut reader.conn(), &caller.by.reach(), &filter).await?;
    drop(reader);
    let items: Vec<AuditEntry> = found.rows.into_iter().map(shape).collect::<Result<_, _>>()?;
    let next = found.next.map(|(at, id)| place(at, id));
    JsonResponse::ok(&Page::stretch_by_name(items, next.as_deref()))
}

fn shape(row: ListedEntry) -> Result<AuditEntry, StoreError> {
    let subject = if row.subject_id.is_empty() {
        row.subject_kind
    } else {
        format!("{}/{}", row.subject_kind, row.subject_id)
    };
    Ok(AuditEntry {
        seq: row.id,
        at: row.at,
        actor: row.actor,
        action: row.action,
        subject,
        from: row.from_status,
        to: row.to_status,
        version: row.version,
        reason: row.reason,
        // What an earlier version wrote may be no JSON.
        data: row.data.map(|text| serde_json::from_str(&text).unwrap_or(text.into())),
        business_unit: row.business_unit,
        digest: row.digest,
    })
}
