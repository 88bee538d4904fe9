//! `/api/v1/attention`: everything that needs attention, over all workflows.

use axum::extract::State;
use punctual_engine::attention::Kind;
use punctual_wire::attention::{Attention, AttentionItem};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Caller, Read},
};

/// Items of each kind in one answer.
const ITEMS: i64 = 200;

/// Everything that needs attention, newest first
///
/// At most 200 of each kind; `counts` has how many there are.
#[utoipa::path(get, path = "/api/v1/attention", tag = "Attention", security(("key" = ["read"])),
    responses((status = 200, body = Attention)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>) -> Answer {
    let found = app.engine.attention(&caller.by.reach(), ITEMS).await?;
    let of =
        |kind: Kind| found.counts.iter().find(|(found, _)| *found == kind).map_or(0, |(_, count)| *count);
    let counts = Kind::ALL.into_iter().map(|kind| (kind.as_str().to_owned(), of(kind)));
    let counts = counts.chain([("total".to_owned(), found.total())]).collect();
    let causes = found.causes;
    let items = found.items.into_iter().map(|item| AttentionItem {
        count: item.cause.as_ref().and_then(|cause| {
            let same = causes.iter().find(|one| one.reason == cause.reason && one.about == cause.about);
            same.map(|one| one.count)
        }),
        cause: item.cause.map(|cause| format!("{}: {}", cause.reason, cause.about)),
        kind: item.kind.as_str().into(),
        word: item.kind.word().into(),
        id: item.id,
        title: item.title,
        reason: item.reason,
        since: item.since,
        link: item.link,
    });
    JsonResponse::ok(&Attention { items: items.collect(), counts })
}
