//! The channels as they are: what they are made of, and whether they can send. Settings are changed through the API.

use askama::Template;
use axum::{Router, extract::State, routing::get};
use punctual_store::channels;

use crate::{
    Shared,
    answer::{Page, page},
    frame::{Frame, Visit},
    times::When,
    words,
};

pub fn routes() -> Router<Shared> {
    Router::new().route("/channels", get(show))
}

#[derive(Template)]
#[template(path = "channels.html")]
struct ChannelsPage {
    frame: Frame,
    sentence: String,
    rows: Vec<Row>,
}

struct Row {
    key: String,
    adapter: String,
    pill: &'static str,
    word: &'static str,
    /// Why it cannot send.
    fault: Option<String>,
    at_most_once: bool,
    changed: Option<When>,
}

async fn show(State(app): State<Shared>, visit: Visit) -> Page {
    let now = Visit::now(&app);
    let mut reader = app.engine.store.read().await?;
    let defined = channels::all(&mut reader.conn()).await?;
    app.engine.channels.refresh(&mut reader.conn(), now).await?;
    drop(reader);
    let state = |key: &str| match app.engine.channels.broken(key) {
        Some(fault) => ("bad", "cannot send", Some(fault)),
        None if app.engine.channels.get(key).is_some() => ("good", "ready", None),
        None => ("muted", "not opened", None),
    };
    let mut rows: Vec<Row> = defined
        .iter()
        .map(|channel| {
            let (pill, word, fault) = state(&channel.key);
            let changed = jiff::Timestamp::from_microsecond(channel.updated_at).ok();
            Row {
                key: channel.key.clone(),
                adapter: channel.adapter.clone(),
                pill,
                word,
                fault,
                at_most_once: channel.at_most_once,
                changed: changed.map(|at| visit.zone.when(at, now)),
            }
        })
        .collect();
    for key in app.engine.channels.built_in() {
        if defined.iter().all(|channel| channel.key != *key) {
            let (pill, word, fault) = state(key);
            let adapter = "built in".to_owned();
            rows.push(Row {
                key: (*key).to_owned(),
                adapter,
                pill,
                word,
                fault,
                at_most_once: false,
                changed: None,
            });
        }
    }
    let broken = rows.iter().filter(|row| row.fault.is_some()).count();
    let count = words::counted(i64::try_from(rows.len()).unwrap_or(i64::MAX), "channel", "channels");
    let sentence = match broken {
        0 => format!("{count}, all of them ready."),
        n => format!("{count}, {n} of them cannot send."),
    };
    page(&ChannelsPage { frame: visit.frame(&app, "Channels", "/channels").await?, sentence, rows })
}
