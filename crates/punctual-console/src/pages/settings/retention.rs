//! Retention: how long is kept, what the purge did last, and a purge by hand.

use std::time::Duration;

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::Uri,
    routing::{get, post},
};
use punctual_store::retention::{TABLES, Window};

use crate::{
    Shared,
    answer::{Page, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    times::When,
    words::{counted, grouped},
};

pub fn pages() -> Router<Shared> {
    Router::new().route("/settings/retention", get(show)).route("/settings/retention/purge", post(purge))
}

#[derive(Template)]
#[template(path = "settings_retention.html")]
struct RetentionPage {
    frame: Frame,
    sentence: String,
    notice: Option<String>,
    windows: Vec<(&'static str, String, &'static str)>,
    /// Table, rule and why.
    tables: Vec<(&'static str, String, &'static str)>,
    last: Option<Last>,
    may_purge: bool,
}

struct Last {
    at: When,
    removed: String,
    files: String,
    held_back: Option<String>,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let days = |window: Duration| {
        counted(i64::try_from(window.as_secs() / 86_400).unwrap_or(i64::MAX), "day", "days")
    };
    let window = |window: Window| {
        let kept = app.engine.window(window).map_or_else(|| "for good".to_owned(), days);
        (window.title(), kept, window.setting())
    };
    let windows = Window::ALL.into_iter().map(window).collect();
    let tables = TABLES.iter().map(|one| (one.table, app.engine.rule_sentence(one), one.why)).collect();
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let last = app.engine.last_purge().await?.map(|run| Last {
        at: visit.zone.when(run.at, Visit::now(&app)),
        removed: counted(number(run.removed), "row", "rows"),
        files: counted(number(run.files), "file", "files"),
        held_back: run.held_back.map(grouped),
    });
    let sentence = match &last {
        Some(last) => format!("The last purge removed {} and {}.", last.removed, last.files),
        None => "Nothing has been purged yet.".to_owned(),
    };
    let notice = match Fields::of_query(&uri).text("done") {
        "" => None,
        _ => Some("The purge has run.".to_owned()),
    };
    page(&RetentionPage {
        frame: visit.frame(&app, "Retention", "/settings").await?,
        sentence,
        notice,
        windows,
        tables,
        last,
        may_purge: visit.viewer.may_define(),
    })
}

async fn purge(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_admin()?;
    app.engine.purge_by(&visit.viewer.by, fields.text("confirm") == "yes").await?;
    see_other("/settings/retention?done=purged")
}
