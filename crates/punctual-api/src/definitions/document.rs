//! `/api/v1/definitions`: everything that people define, exported and imported as one document.

use std::collections::BTreeMap;

use axum::extract::State;
use punctual_model::fault::pointer_step;
use punctual_wire::definitions::{DefinitionsDocument, DefinitionsPlan, DefinitionsRequest};
use punctual_workflows::definitions::{Context, Import, ImportError, Refusal, export as exported};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse, field_error},
    auth::{Admin, Caller, Read},
    body::{Bulk, Json},
    idempotency::IdempotencyKey,
};

/// Export every definition
///
/// Definitions by kind and id, each in the format of its own route, always in the same order. A secret is its stored reference,
/// such as `env:NAME`, or `{"set": true}`; an import then keeps the server's secret.
#[utoipa::path(get, path = "/api/v1/definitions", tag = "Definitions", security(("key" = ["read"])),
    responses((status = 200, body = DefinitionsDocument)))]
pub async fn export(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    let definitions = exported(&app.engine).await?.into_iter().map(|(kind, of_kind)| {
        let of_kind: BTreeMap<_, _> =
            of_kind.into_iter().map(|(id, document)| (id, document.into_value())).collect();
        (kind.name().to_owned(), of_kind)
    });
    JsonResponse::ok(&DefinitionsDocument { definitions: definitions.collect() })
}

/// Import definitions, or see what an import would change
///
/// The whole document is checked, including references within it, and stored completely or not at all. Definitions that are not
/// in the document stay, unless `prune` is set: then they are removed, for the kinds in the document. The response names each
/// changed field; a second import of the same document changes nothing. The audit log records each definition as if it were
/// saved separately.
#[utoipa::path(post, path = "/api/v1/definitions", tag = "Definitions", security(("key" = ["admin"])),
    request_body(content = DefinitionsRequest, example = json!({"plan": true, "definitions": {"lists": {"ops": {"type": "email", "targets": ["a@example.org"]}}}})),
    responses((status = 200, body = DefinitionsPlan)))]
pub async fn import(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    body: Json<Bulk>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let DefinitionsRequest { plan, prune, definitions } = DefinitionsRequest::read(&body.value, "")?;
    let import = Import { definitions, plan, prune };
    once.run(app, caller, &body.bytes, |_| async move {
        let context =
            Context { engine: &app.engine, providers: &app.reminders, sources: &app.reports, by: &caller.by };
        let plan: DefinitionsPlan = import.run(&context).await.map_err(refused)?;
        if plan.applied {
            // A site that was removed has no token any more.
            app.keys.forget();
        }
        JsonResponse::ok(&plan)
    })
    .await
}

fn refused(error: ImportError) -> Failure {
    match error {
        ImportError::Refused(refusals) => refusals.into_iter().map(placed).collect::<Vec<_>>().into(),
        ImportError::Command(error) => error.into(),
    }
}

/// A fault with its place in the document.
fn placed(refusal: Refusal) -> punctual_wire::FieldError {
    let Refusal { kind, id, fault } = refusal;
    let within = format!("/definitions/{}/{}", kind.name(), pointer_step(&id));
    field_error(fault).within(&within)
}
