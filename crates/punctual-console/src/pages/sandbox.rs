//! The buttons of the sandbox's bar: they move its clock and run what becomes ready on the way.

use axum::{Router, extract::State, routing::post};
use jiff::{SignedDuration, Timestamp};
use punctual_model::{AuditAction, Clock};
use punctual_wire::Problem;

use crate::{
    Shared,
    answer::{Page, see_other},
    form::Act,
    links,
};

pub fn routes() -> Router<Shared> {
    Router::new().route("/sandbox/clock", post(move_clock))
}

async fn move_clock(State(app): State<Shared>, act: Act) -> Page {
    let Some(clock) = &app.sandbox else { return Err(Problem::route_not_found().into()) };
    let _alone = app.driver.lock().await;
    let now = clock.now();
    let until = match act.fields.text("to") {
        "hour" => later(now, SignedDuration::from_hours(1)),
        "day" => later(now, SignedDuration::from_hours(24)),
        _ => app.engine.next_ready().await?.unwrap_or(now).max(now),
    };
    app.engine.advance(clock, until).await?;
    let (by, to) = (&act.visit.viewer.by, until.to_string());
    app.engine.record_act(by, AuditAction::MoveClock, "sandbox", "clock", Some(&to)).await?;
    let back = Some(act.fields.text("back")).filter(|path| links::is_own_path(path));
    see_other(back.unwrap_or("/"))
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}
