//! `/metrics`: figures for Prometheus, open to this machine and to whoever has a key that reads.

mod prometheus_text;

use axum::{
    extract::{Extension, State},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use punctual_engine::Peer;
use punctual_store::{notifications, work};
use punctual_wire::{RouteReach, keys::Scope};

use crate::{Shared, answer::Failure, auth::authenticate};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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
    let text = app.engine.metrics.encode();
    Ok(if wants_open_metrics(&headers) {
        ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response()
    } else {
        ([(header::CONTENT_TYPE, prometheus_text::CONTENT_TYPE)], prometheus_text::of(&text)).into_response()
    })
}

/// Whoever can read OpenMetrics says so by name; `*/*` and nothing at all get what every scraper reads.
fn wants_open_metrics(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut accepted = accepted.flat_map(|value| value.split(','));
    accepted.any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_it =
            parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/openmetrics-text"));
        is_it && !parts.any(|part| part == "q=0" || part == "q=0.0")
    })
}
