//! The consumers: where events are taken from, and how that goes. They are made and changed in `settings::consumers`.

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use punctual_engine::consumers::{ConsumerHealth, ConsumerState};
use punctual_store::consumers::ConsumerRow;

use crate::{
    Shared,
    answer::{Page, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::When,
    words::{self, Pill},
};

pub fn routes() -> Router<Shared> {
    Router::new().route("/consumers", get(show))
}

#[derive(Template)]
#[template(path = "consumers.html")]
struct ConsumersPage {
    frame: Frame,
    sentence: String,
    rows: Vec<Consumer>,
    may_change: bool,
    removed: bool,
}

struct Consumer {
    key: String,
    /// Where it is changed.
    link: String,
    adapter: String,
    unit: String,
    pill: Pill,
    since: When,
    lag: String,
    last_message: Option<When>,
    accepted: String,
    refused: String,
    error: Option<(When, String)>,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let mut reader = app.engine.store.read_for_people().await?;
    let found = app.engine.consumers_with_health(&mut reader.conn()).await?;
    drop(reader);
    let takes =
        |health: &ConsumerHealth| matches!(health.state, ConsumerState::Connected | ConsumerState::Off);
    let wrong = found.iter().filter(|(_, health)| !takes(health)).count();
    let all = words::counted(i64::try_from(found.len()).unwrap_or(i64::MAX), "consumer", "consumers");
    let sentence = match wrong {
        _ if found.is_empty() => String::new(),
        0 => format!("{all}, nothing wrong."),
        wrong => format!("{all}, {wrong} not connected."),
    };
    let rows = found.into_iter().map(|(row, health)| consumer(&app, &visit, row, health)).collect();
    page(&ConsumersPage {
        frame: visit.frame(&app, "Consumers", "/consumers").await?,
        sentence,
        rows,
        may_change: visit.must_admin().is_ok(),
        removed: Fields::of_query(&uri).text("done") == "removed",
    })
}

fn consumer(app: &Shared, visit: &Visit, row: ConsumerRow, health: ConsumerHealth) -> Consumer {
    let pill = match health.state {
        ConsumerState::Connected => Pill { word: "connected", class: "good" },
        ConsumerState::Connecting => Pill { word: "connecting", class: "" },
        ConsumerState::Disconnected => Pill { word: "disconnected", class: "bad" },
        ConsumerState::NotRunning => Pill { word: "not running", class: "bad" },
        ConsumerState::Off => Pill { word: "off", class: "" },
    };
    let when = |at| visit.zone.when(at, Visit::now(app));
    Consumer {
        pill,
        since: when(health.since),
        lag: health.lag.map_or_else(|| "–".to_owned(), words::grouped),
        last_message: health.last_message_at.map(when),
        accepted: words::grouped(health.accepted),
        refused: words::grouped(health.refused),
        error: health.last_error_at.map(when).zip(health.last_error),
        unit: row.business_unit.unwrap_or_else(|| "all".to_owned()),
        link: format!("/consumers/edit?key={}", links::encoded(&row.key)),
        key: row.key,
        adapter: row.adapter,
    }
}
