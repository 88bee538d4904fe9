//! The pages, one module each. A new page is its module, one line here, and one in `frame::NAV`.

mod attention;
mod calendar;
mod channels;
mod confirm;
mod entries;
mod inbox;
mod notification;
mod operations;
mod outbox;
mod overview;
mod preferences;
mod reminders;
mod reports;
mod sandbox;
mod sites;
mod sources;
mod story;
mod suppressions;
mod surveys;
mod why;
mod work;
mod work_row;

use axum::Router;

use crate::Shared;

pub fn routes() -> Router<Shared> {
    Router::new()
        .merge(overview::routes())
        .merge(attention::routes())
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
        .merge(sites::routes())
        .merge(channels::routes())
        .merge(suppressions::routes())
        .merge(inbox::routes())
        .merge(preferences::routes())
        .merge(sandbox::routes())
}
