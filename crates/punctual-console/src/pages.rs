//! The pages, one module each. A new page is its module, one line here, and one in `frame::NAV`.

mod attention;
mod channels;
mod confirm;
mod notification;
mod operations;
mod outbox;
mod overview;
mod sandbox;
mod sites;
mod story;
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
        .merge(operations::routes())
        .merge(sites::routes())
        .merge(channels::routes())
        .merge(sandbox::routes())
}
