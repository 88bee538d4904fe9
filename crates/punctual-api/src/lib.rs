//! The HTTP API: one file per resource, keys and scopes, problem+json, the OpenAPI document and its page.
//!
//! A handler extracts its input, authorises, calls one function of the engine or the store, and formats the response; it
//! contains no business rule. `punctual-wire` has the JSON shapes and their validation. `envelope` has the shared parts of all
//! requests (request id, error format).

mod answer;
mod attention;
mod audit;
mod auth;
mod blobs;
mod body;
mod business_units;
mod callbacks;
mod channels;
mod consumers;
mod definitions;
mod docs;
mod envelope;
mod erasures;
mod events;
mod forecast;
mod health;
mod idempotency;
mod inbox;
mod keys;
mod lists;
mod messages;
mod metrics;
mod nodes;
mod notifications;
mod openapi;
mod operations;
mod outcomes;
mod parameters;
mod preferences;
mod proxies;
mod reconciliations;
mod reminder_settings;
mod reports;
mod restore;
mod retention;
mod sandbox;
mod scheduler;
mod schedules;
mod search;
mod secrets;
mod serve;
mod sites;
mod sources;
mod subscribers;
mod suppressions;
mod surveys;
mod templates;
mod trace_context;
mod users;
mod window;
mod work;

use std::{sync::Arc, time::Duration};

use axum::{Extension, routing::get};
use punctual_channels::Captured;
use punctual_engine::{Engine, EventSinks, PublicLimits, SlowDown};
use punctual_model::{Clock, ManualClock};
use punctual_reports::Sources;
use punctual_wire::RouteReach;
use punctual_workflows::{
    reminders::{Providers, ReminderSink},
    reports::built_in,
    surveys::{Catalogue, SurveySink},
};
use tokio::sync::{Mutex, Semaphore};

pub use openapi::document;
pub use proxies::{InvalidProxy, TrustedProxies, behind_proxies};
pub use serve::{Budget, Limits, serve, serve_within};

/// What the API works with. The binary fills it in.
pub struct ApiState {
    pub engine: Engine,
    /// Wall time, for keys and limits: in the sandbox the engine's clock is another one.
    pub wall: Arc<dyn Clock>,
    pub sandbox: Option<Sandbox>,
    /// Who listens to events.
    pub sinks: EventSinks,
    /// How reminders are triggered, addressed and delivered.
    pub reminders: Arc<Providers>,
    /// Where reports come from.
    pub reports: Arc<Sources>,
    /// What is published, as this node has read it.
    pub surveys: Arc<Catalogue>,
    /// What anybody may do without a key, counted for this node.
    pub public: Arc<PublicLimits>,
    pub options: ApiOptions,
}

impl ApiState {
    /// Without sandbox or special bounds; the built-in workflows listen to events.
    pub fn new(engine: Engine, wall: Arc<dyn Clock>) -> Self {
        Self::with_reminders(engine, wall, Arc::new(Providers::built_in()))
    }

    /// With reminders by these providers, which the engine's workflows must have too.
    pub fn with_reminders(engine: Engine, wall: Arc<dyn Clock>, reminders: Arc<Providers>) -> Self {
        let mut sinks = EventSinks::default();
        sinks.add(Arc::new(ReminderSink::new(reminders.clone())));
        Self {
            engine,
            wall,
            sandbox: None,
            sinks,
            reminders,
            reports: built_in(),
            surveys: Arc::default(),
            public: Arc::default(),
            options: ApiOptions::default(),
        }
    }
}

/// A clock that the API moves, and channels that keep what they were given.
pub struct Sandbox {
    pub clock: Arc<ManualClock>,
    pub captured: Arc<Captured>,
    /// The clock runs by itself and so do the loops: the demo.
    pub flowing: bool,
}

/// Bounds of the API, with the defaults that ship.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    /// `/metrics` needs no key, wherever the caller is; on loopback it never does.
    pub open_metrics: bool,
    /// Bytes of a body on most routes: a thousand notifications of 2 KiB.
    pub body_limit: usize,
    /// Bytes of a body on routes for bulk imports.
    pub bulk_body_limit: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self {
            open_metrics: false,
            body_limit: 2 << 20,
            bulk_body_limit: 16 << 20,
            body_time: Duration::from_secs(30),
        }
    }
}

/// Everything a handler reaches: the state, and what the API itself remembers.
pub(crate) struct App {
    pub engine: Engine,
    pub wall: Arc<dyn Clock>,
    pub sandbox: Option<Sandbox>,
    pub sinks: EventSinks,
    /// What is published, as this node has read it.
    pub surveys: Arc<Catalogue>,
    pub public: Arc<PublicLimits>,
    pub reminders: Arc<Providers>,
    pub reports: Arc<Sources>,
    pub options: ApiOptions,
    pub keys: auth::KeyCache,
    /// Guesses at keys that an operator chose.
    pub guesses: SlowDown,
    pub request_ids: envelope::RequestIds,
    /// Calls of providers under way at once: they have a budget of their own.
    pub callbacks: Semaphore,
    /// One at a time moves the clock or ticks, so that a response describes its own request alone.
    pub driver: Mutex<()>,
    pub known_parameters: parameters::KnownParameters,
    /// The OpenAPI document as it is served.
    pub document: String,
}

impl App {
    /// Where keys made here are good, as their texts say.
    pub fn env(&self) -> &'static str {
        if self.sandbox.is_some() { "sandbox" } else { "live" }
    }
}

pub(crate) type Shared = Arc<App>;

/// Anybody may call; each call is one short transaction.
const CALLBACKS_AT_ONCE: usize = 64;

/// Every route.
pub fn router(state: ApiState) -> axum::Router {
    let (routes, document) = openapi::routes().split_for_parts();
    let app = app(state, &document);
    wrapped(
        routes
            .merge(docs::routes())
            .merge(operations::feeds::public())
            .merge(reports::as_known().route_layer(Extension(RouteReach::Units)))
            .fallback(envelope::no_such_route),
        app,
    )
}

/// Health, readiness and figures alone: what a node serves that only works.
pub fn probes(state: ApiState) -> axum::Router {
    let routes = axum::Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .fallback(envelope::only_works);
    wrapped(routes, app(state, &openapi::described()))
}

fn app(state: ApiState, document: &utoipa::openapi::OpenApi) -> Shared {
    let mut sinks = state.sinks;
    sinks.add(Arc::new(SurveySink::new(state.engine.clone(), state.surveys.clone())));
    Arc::new(App {
        keys: auth::KeyCache::default(),
        guesses: SlowDown::default(),
        request_ids: envelope::RequestIds::new(state.engine.random.as_ref()),
        callbacks: Semaphore::new(CALLBACKS_AT_ONCE),
        driver: Mutex::new(()),
        known_parameters: parameters::KnownParameters::of(document),
        document: openapi::text(document),
        engine: state.engine,
        wall: state.wall,
        sandbox: state.sandbox,
        sinks,
        surveys: state.surveys,
        public: state.public,
        reminders: state.reminders,
        reports: state.reports,
        options: state.options,
    })
}

fn wrapped(routes: axum::Router<Shared>, app: Shared) -> axum::Router {
    routes
        .method_not_allowed_fallback(envelope::no_such_method)
        .layer(axum::middleware::from_fn_with_state(app.clone(), envelope::wrap))
        .with_state(app)
}
