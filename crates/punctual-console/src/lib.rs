//! The operator's console: pages made on the server, for those who look when something is wrong.
//!
//! A page is one module under `pages` with its routes, one template, and one line in `frame::NAV` if it is in the
//! navigation. Pages hold no rule of the business: they read through the store and act through the engine, with the
//! rights of the key or the account that signed in. Reading works without script; `assets/console.js` adds the keyboard and keeps
//! what is shown up to date.

mod answer;
mod assets;
mod chart;
mod compress;
mod cookies;
mod device;
mod editor;
mod figures;
mod form;
mod frame;
mod guard;
mod invitation;
mod kept;
mod links;
mod live;
mod meanwhile;
mod pages;
mod preference_page;
mod refusals;
mod session;
mod sign_in;
mod sign_on;
mod survey_page;
mod times;
mod views;
mod words;

use std::sync::{Arc, atomic::AtomicBool};

use axum::{
    Extension, Router,
    middleware::{from_fn, from_fn_with_state},
};
use punctual_engine::{Engine, PublicLimits, commands::SignOns};
use punctual_model::{Clock, ManualClock};
use punctual_reports::Sources;
use punctual_wire::RouteReach;
use punctual_workflows::{reminders::Providers, surveys::Catalogue};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

pub use links::sign_in_link;

/// What the console works with. The binary fills it in.
pub struct ConsoleState {
    pub engine: Engine,
    /// Wall time, for sessions and limits: in the sandbox the engine's clock is another one.
    pub wall: Arc<dyn Clock>,
    /// The clock that the console moves, in the sandbox.
    pub sandbox: Option<Arc<ManualClock>>,
    /// Where reports come from.
    pub reports: Arc<Sources>,
    /// What is published, as this node has read it.
    pub surveys: Arc<Catalogue>,
    /// What anybody may do without signing in, counted for this node.
    pub public: Arc<PublicLimits>,
    /// The single sign-on of people, wherever it is set up.
    pub sign_on: Arc<SignOns>,
    /// Ends open live connections, which otherwise would keep a stopping server waiting.
    pub stop: CancellationToken,
}

pub(crate) struct App {
    pub engine: Engine,
    pub wall: Arc<dyn Clock>,
    pub sandbox: Option<Arc<ManualClock>>,
    pub reminders: Arc<Providers>,
    pub reports: Arc<Sources>,
    pub stop: CancellationToken,
    pub public: Arc<PublicLimits>,
    /// What is published, as this node has read it.
    pub surveys: Arc<Catalogue>,
    pub sign_on: Arc<SignOns>,
    pub slow_down: punctual_engine::SlowDown,
    pub figures: figures::Kept,
    /// The first steps were all seen to be done.
    pub is_set_up: AtomicBool,
    pub live: live::Watch,
    /// One at a time moves the sandbox's clock.
    pub driver: Mutex<()>,
}

pub(crate) type Shared = Arc<App>;

/// Every page, its assets and the live connection.
pub fn router(state: ConsoleState) -> Router {
    around(Router::new(), state)
}

/// The console around the API: an address at which neither has anything is a page for people, and what the API says for
/// programs; both are compressed.
pub fn around(api: Router, state: ConsoleState) -> Router {
    let app = Arc::new(App {
        reminders: Arc::new(Providers::built_in()),
        engine: state.engine,
        wall: state.wall,
        sandbox: state.sandbox,
        reports: state.reports,
        stop: state.stop,
        public: state.public,
        surveys: state.surveys,
        sign_on: state.sign_on,
        slow_down: punctual_engine::SlowDown::default(),
        figures: figures::Kept::default(),
        is_set_up: AtomicBool::new(false),
        live: live::Watch::default(),
        driver: Mutex::new(()),
    });
    let public = sign_in::routes().merge(sign_on::routes()).merge(invitation::routes());
    let pages = pages::routes()
        .merge(public.route_layer(Extension(RouteReach::Public)))
        .layer(axum::extract::DefaultBodyLimit::max(form::BODY_LIMIT))
        .layer(from_fn(guard::without_nul));
    let pages = pages
        .merge(survey_page::routes(app.clone()).layer(axum::extract::DefaultBodyLimit::max(form::BODY_LIMIT)))
        .merge(
            preference_page::routes(app.clone())
                .layer(axum::extract::DefaultBodyLimit::max(form::BODY_LIMIT)),
        )
        .merge(live::routes())
        .merge(assets::routes())
        .layer(from_fn(guard::harden))
        .with_state(app.clone());
    api.merge(pages).layer(from_fn_with_state(app, refusals::in_frame)).layer(from_fn(compress::compressed))
}
