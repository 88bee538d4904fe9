//! The pages, one module each. A new page is its module, one line here, and one in `frame::NAV`.

mod account;
mod attention;
mod audit;
mod calendar;
mod channels;
mod confirm;
mod consumers;
pub mod entries;
mod first_run;
mod inbox;
mod nodes;
mod notification;
mod operations;
mod outbox;
mod overview;
mod preferences;
mod recipients;
mod reminders;
mod reports;
mod restore;
mod sandbox;
mod search;
mod settings;
mod sign_on;
mod sites;
mod sources;
mod suppressions;
mod surveys;
mod timeline;
mod users;
mod why;
mod work;
mod work_row;
mod zone;

use axum::{Extension, Router};
use punctual_wire::RouteReach;

use crate::Shared;

/// Every page and form. Each is in the function of its reach: a page without one is shown to nobody.
pub fn routes() -> Router<Shared> {
    let reaching = |reach: RouteReach, routes: Router<Shared>| routes.route_layer(Extension(reach));
    reaching(RouteReach::Units, of_units())
        .merge(reaching(RouteReach::Shared, of_everybody()))
        .merge(reaching(RouteReach::Installation, of_the_installation()))
}

/// Rows and definitions of business units: each page keeps to those of its viewer.
fn of_units() -> Router<Shared> {
    Router::new()
        .merge(overview::routes())
        .merge(attention::routes())
        .merge(search::routes())
        .merge(recipients::routes())
        .merge(audit::routes())
        .merge(outbox::routes())
        .merge(notification::routes())
        .merge(work::routes())
        .merge(work_row::routes())
        .merge(calendar::routes())
        .merge(reminders::routes())
        .merge(sources::routes())
        .merge(why::routes())
        .merge(operations::routes())
        .merge(surveys::routes())
        .merge(reports::routes())
        .merge(inbox::routes())
        .merge(settings::of_units())
}

/// Definitions that everybody reads, and everybody's own account.
fn of_everybody() -> Router<Shared> {
    Router::new()
        .merge(channels::routes())
        .merge(account::routes())
        .merge(zone::routes())
        .merge(crate::views::routes())
        .merge(settings::of_everybody())
}

/// What concerns all business units together: for viewers without a limit.
fn of_the_installation() -> Router<Shared> {
    Router::new()
        .merge(channels::forms())
        .merge(nodes::routes())
        .merge(consumers::routes())
        .merge(sites::routes())
        .merge(suppressions::routes())
        .merge(preferences::routes())
        .merge(restore::routes())
        .merge(sandbox::routes())
        .merge(users::routes())
        .merge(sign_on::routes())
        .merge(settings::of_the_installation())
        .merge(surveys::subscribers::routes())
}
