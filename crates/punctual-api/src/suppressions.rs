//! `/api/v1/suppressions`: addresses that get nothing, whatever workflow wants to reach them.

use axum::extract::State;
use punctual_model::local_time::as_stored;
use punctual_store::{
    StoreError,
    suppressions::{self, SuppressionFilter, SuppressionRow},
};
use punctual_wire::{
    Page, Problem,
    page::NamePageQuery,
    suppressions::{Suppression, SuppressionQuery, SuppressionRequest, read_key},
};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Operate, Read},
    body::{Json, Optional},
    parameters::{Parameters, Segments},
};

/// The list, by type and address
///
/// A hard bounce, a complaint, the owner of an address or an operator adds an address. Messages to it are not sent; the outcome
/// of the target is `suppressed`.
#[utoipa::path(get, path = "/api/v1/suppressions", tag = "Suppressions", security(("key" = ["read"])),
    params(SuppressionQuery, NamePageQuery), responses((status = 200, body = Page<Suppression>)))]
pub async fn list(
    State(app): State<Shared>,
    _caller: Caller<Read>,
    Parameters(parameters): Parameters,
) -> Answer {
    // An address belongs to no business unit.
    let query = SuppressionQuery::read(parameters)?;
    let after = query.page.cursor.unwrap_or_default();
    let (kind, address) = after.split_once(':').unwrap_or_default();
    let filter = SuppressionFilter {
        channel_type: query.channel_type,
        reason: query.reason,
        q: query.q,
        after: (kind.to_owned(), address.to_owned()),
        limit: i64::from(query.page.limit),
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let found = suppressions::stretch(&mut reader.conn(), &filter).await?;
    let items: Vec<Suppression> = found.rows.into_iter().map(shape).collect::<Result<_, _>>()?;
    let next = found.next.map(|(kind, address)| format!("{kind}:{address}"));
    JsonResponse::ok(&Page::stretch_by_name(items, next.as_deref()))
}

/// Look at an address
#[utoipa::path(get, path = "/api/v1/suppressions/{channelType}/{address}", tag = "Suppressions", security(("key" = ["read"])),
    params(("channelType" = String, Path, example = "email"), ("address" = String, Path)),
    responses((status = 200, body = Suppression)))]
pub async fn get(
    State(app): State<Shared>,
    _caller: Caller<Read>,
    Segments((kind, address)): Segments<(String, String)>,
) -> Answer {
    let (kind, address) = read_key(&kind, &address)?;
    let mut reader = app.engine.store.read_for_people().await?;
    let row = suppressions::get(&mut reader.conn(), &kind, &address).await?;
    let row = row.ok_or_else(|| Failure::from(Problem::not_found("suppression", address)))?;
    JsonResponse::ok(&shape(row)?)
}

/// Put an address on the list
///
/// It replaces an existing suppression of the address.
#[utoipa::path(put, path = "/api/v1/suppressions/{channelType}/{address}", tag = "Suppressions", security(("key" = ["operate"])),
    params(("channelType" = String, Path, example = "email"), ("address" = String, Path)),
    request_body(content = Option<SuppressionRequest>, example = json!({"reason": "manual", "detail": "asked on the phone"})),
    responses((status = 200, body = Suppression)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    Segments((kind, address)): Segments<(String, String)>,
    body: Json<Optional>,
) -> Answer {
    let (channel_type, address) = read_key(&kind, &address)?;
    let request = SuppressionRequest::read(&body.value, "")?;
    let row = SuppressionRow {
        channel_type,
        address,
        reason: request.reason,
        source: caller.by.name().to_owned(),
        detail: request.detail,
        since: app.engine.clock.now(),
        expires_at: request.expires_at.map(as_stored),
    };
    app.engine.suppress(&caller.by, &row).await?;
    JsonResponse::ok(&shape(row)?)
}

/// Take an address off the list
#[utoipa::path(delete, path = "/api/v1/suppressions/{channelType}/{address}", tag = "Suppressions", security(("key" = ["operate"])),
    params(("channelType" = String, Path, example = "email"), ("address" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    Segments((kind, address)): Segments<(String, String)>,
) -> Answer {
    let (kind, address) = read_key(&kind, &address)?;
    if !app.engine.unsuppress(&caller.by, &kind, &address).await? {
        return Err(Problem::not_found("suppression", address).into());
    }
    JsonResponse::no_content()
}

fn shape(row: SuppressionRow) -> Result<Suppression, StoreError> {
    Ok(Suppression {
        since: row.since,
        expires_at: row.expires_at,
        channel_type: row.channel_type,
        address: row.address,
        reason: row.reason,
        source: row.source,
        detail: row.detail,
    })
}
