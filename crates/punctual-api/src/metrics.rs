//! `/metrics`: Prometheus metrics, open on loopback and to keys with read access.

use axum::{
    extract::{Extension, State},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use punctual_engine::Peer;
use punctual_store::{notifications, work};
use punctual_wire::{RouteReach, figures, keys::Scope};

use crate::{Shared, answer::Failure, auth::authenticate};

/// Figures for Prometheus
///
/// The text format of Prometheus, or OpenMetrics where `Accept` asks for it. Open on loopback; elsewhere it takes a key with
/// the scope `read`.
#[utoipa::path(get, path = "/metrics", tag = "Health", security((), ("key" = ["read"])),
    responses((status = 200, content(
        (String = "text/plain"), (String = "application/openmetrics-text")
    ))))]
pub async fn metrics(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let peer = peer.map(|Extension(peer)| peer);
    let is_local = peer.is_some_and(|Peer(peer)| peer.ip().to_canonical().is_loopback());
    if !is_local && !app.options.open_metrics {
        let key = authenticate(&app, peer, &headers).await?;
        key.need(Scope::Read)?;
        RouteReach::Installation.admit(key.by.units.as_deref())?;
    }
    let now = app.engine.clock.now();
    let mut reader = app.engine.store.read_for_people().await?;
    let kinds = app.engine.workflows.keys().map(str::to_owned).collect();
    let work = work::counts(&mut reader.conn(), now.as_microsecond(), kinds, i64::MAX).await?;
    let failed_events = notifications::failed_events(&mut reader.conn()).await?;
    drop(reader);
    let outbox = app.engine.outbox_kpis(None).await?.total;
    let gauges = [
        ("work_pending", work.pending),
        ("work_ready", work.ready),
        ("work_held", work.held),
        ("work_processing", work.processing),
        ("notifications_queued", outbox.queue_depth),
        ("notifications_stuck", outbox.stuck),
        ("notifications_waiting", outbox.waiting),
        ("notifications_parked", outbox.parked),
        ("notifications_uncertain", outbox.uncertain),
        ("subscriber_deliveries_failed", failed_events),
    ];
    for (state, count) in gauges {
        app.engine.metrics.set_rows(state, count);
    }
    app.engine.metrics.set_spans(app.engine.traces.counts());
    let accept = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let (kind, text) = figures::answer(app.engine.metrics.encode(), accept);
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
