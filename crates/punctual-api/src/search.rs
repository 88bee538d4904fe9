//! `/api/v1/search`: messages, work, sources, people and settings by what people know of them.

use axum::extract::State;
use punctual_wire::search::{SearchHit, SearchQuery, SearchResults};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Caller, Read},
    parameters::Parameters,
};

/// Search messages, work, sources, people and settings
///
/// The best twenty. Ids and keys are found whatever there is; the address of a message, and a part of a name, a subject or an error,
/// among the newest rows, and `cut` names the kinds that have more. A caller who is limited to business units searches theirs among
/// the newest of the installation; `cut` then names every kind, whatever there is.
#[utoipa::path(get, path = "/api/v1/search", tag = "Search", security(("key" = ["read"])),
    params(SearchQuery), responses((status = 200, body = SearchResults)))]
pub async fn search(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Parameters(parameters): Parameters,
) -> Answer {
    let query = SearchQuery::read(parameters)?;
    let found = app.engine.search(&caller.by.reach(), &query.q).await?;
    let items = found.hits.into_iter().map(|hit| SearchHit {
        kind: hit.kind.as_str().into(),
        id: hit.id,
        title: hit.title,
        note: hit.note,
        link: hit.link,
    });
    let cut = found.cut.into_iter().map(|kind| kind.as_str().into()).collect();
    JsonResponse::ok(&SearchResults { items: items.collect(), cut })
}
