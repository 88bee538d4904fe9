//! `/api/v1/erasures`: a person is erased, after a plan; `/api/v1/personal-data/export`: what is stored about one.

use axum::extract::State;
use punctual_engine::personal::{self, EraseOptions, Person};
use punctual_wire::erasures::{
    Erasure, ErasureCertificate, ErasureRequest, KindCount, PersonalData, PersonalDataRequest,
};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Admin, Caller},
    body::Json,
    idempotency::IdempotencyKey,
    parameters::Segments,
};

/// Plan the erasure of a person, or carry it out
///
/// Without `confirm` it says what would be erased, by kind and count. Addresses, names, texts and answers go; rows, keys, outcomes and
/// counts stay. A caller that is limited to business units erases within them.
#[utoipa::path(post, path = "/api/v1/erasures", tag = "Personal data", security(("key" = ["admin"])),
    request_body(content = ErasureRequest, example = json!({"address": "ann@example.org"})),
    responses((status = 201, body = Erasure)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = ErasureRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let person = person(request.address, request.person);
        let erasure = if request.confirm {
            let options = EraseOptions { keep_suppressions: request.keep_suppressions };
            app.engine.erase_person(&caller.by, &person, options).await?
        } else {
            app.engine.plan_erasure(&caller.by, &person).await?
        };
        JsonResponse::created(&shape(erasure))
    })
    .await
}

/// An erasure with its certificate, or a planned one
#[utoipa::path(get, path = "/api/v1/erasures/{id}", tag = "Personal data", security(("key" = ["admin"])),
    params(("id" = String, Path)), responses((status = 200, body = Erasure)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Admin>, Segments(id): Segments<String>) -> Answer {
    JsonResponse::ok(&shape(app.engine.erasure(&caller.by, &id).await?))
}

/// What is stored about a person
///
/// One document, with at most ten thousand rows of each kind. A caller limited to business units gets only their data.
#[utoipa::path(post, path = "/api/v1/personal-data/export", tag = "Personal data", security(("key" = ["admin"])),
    request_body(content = PersonalDataRequest, example = json!({"address": "ann@example.org"})),
    responses((status = 200, body = PersonalData)))]
pub async fn export(State(app): State<Shared>, caller: Caller<Admin>, body: Json) -> Answer {
    let request = PersonalDataRequest::read(&body.value, "")?;
    let person = person(request.address, request.person);
    let document = app.engine.export_person(&caller.by, &person).await?;
    JsonResponse::ok(&PersonalData { at: app.engine.clock.now(), data: document.data, cut: document.cut })
}

fn person(address: Option<String>, id: Option<String>) -> Person {
    match (address, id) {
        (Some(address), _) => Person::Address(address),
        (None, id) => Person::Id(id.unwrap_or_default()),
    }
}

fn counts(counts: Vec<personal::KindCount>) -> Vec<KindCount> {
    counts.into_iter().map(|count| KindCount { kind: count.kind, rows: count.rows }).collect()
}

fn shape(erasure: personal::Erasure) -> Erasure {
    Erasure {
        id: erasure.id,
        status: erasure.status.as_str().to_owned(),
        created_at: erasure.created_at,
        found: counts(erasure.found),
        certificate: erasure.certificate.map(|one| ErasureCertificate {
            id: one.id,
            erased_at: one.erased_at,
            erased_by: one.erased_by,
            business_units: one.business_units,
            subject_hash: one.subject_hash,
            salt: one.salt,
            erased: counts(one.erased),
            remaining: counts(one.remaining),
            kept: one.kept,
            signature: one.signature,
        }),
    }
}
