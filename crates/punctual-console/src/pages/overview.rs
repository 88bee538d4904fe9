//! One look at everything: the sentence, the figures, how deliveries went in the last hours, and what needs a person.

use askama::Template;
use axum::{Router, extract::State, routing::get};
use jiff::Timestamp;
use punctual_engine::titles::Titled;
use punctual_store::{notifications, work};

use super::{
    attention::{Item, item},
    outbox::{Tile, tiles},
};
use crate::{
    Shared,
    answer::{Page, page},
    chart::{self, Chart},
    figures::{self, Interval},
    frame::{Frame, Visit},
    times::{When, rough},
    words::{counted, grouped},
};

/// Problems that the page names.
const PROBLEMS: i64 = 6;

pub fn routes() -> Router<Shared> {
    Router::new().route("/", get(show))
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    frame: Frame,
    sentence: String,
    tiles: Vec<Tile>,
    charts: Option<Charts>,
    problems: Vec<Item>,
    upcoming: Vec<Upcoming>,
}

struct Charts {
    outcomes: Chart,
    lateness: Chart,
    table: Vec<TableRow>,
    is_about: bool,
    total: String,
}

struct TableRow {
    span: String,
    delivered: String,
    parked: String,
    set_aside: String,
    late: [String; 3],
}

struct Upcoming {
    id: i64,
    title: String,
    due: When,
}

async fn show(State(app): State<Shared>, visit: Visit) -> Page {
    let now = Visit::now(&app);
    let found = app.engine.attention(&visit.viewer.by.reach(), PROBLEMS).await?;
    let problems: Vec<Item> = found
        .items
        .iter()
        .take(usize::try_from(PROBLEMS).unwrap_or(0))
        .map(|one| item(&app, &visit, one))
        .collect();
    let (mut sentence, mut shown, mut charts) = (attention_words(found.total()), Vec::new(), None);
    if visit.viewer.sees_all() {
        let kpis = app.engine.outbox_kpis(None).await?;
        let intervals = figures::intervals(&app, now).await?;
        let mut reader = app.engine.store.read_for_people().await?;
        let last = notifications::last_delivered(&mut reader.conn()).await?;
        drop(reader);
        let waiting = match kpis.total.queue_depth {
            0 => "no message waits".to_owned(),
            n => counted(n, "message waits", "messages wait"),
        };
        let last = last.and_then(|at| Timestamp::from_microsecond(at).ok());
        let last = last.map_or("nothing was delivered yet".to_owned(), |at| {
            format!("the last delivery was {}", visit.zone.when(at, now).text)
        });
        sentence = format!("{sentence}, {waiting}, {last}.");
        let spark: Vec<i64> = intervals.iter().map(|interval| interval.delivered).collect();
        shown = tiles(&app, &kpis, Some(chart::sparkline(&spark)));
        charts = Some(charted(&intervals, &visit));
    } else {
        sentence.push('.');
    }
    let upcoming = coming(&app, &visit, now).await?;
    let frame = visit.frame(&app, "Overview", "/").await?;
    page(&Overview { frame, sentence, tiles: shown, charts, problems, upcoming })
}

fn attention_words(total: i64) -> String {
    match total {
        0 => "Nothing needs attention".to_owned(),
        1 => "One item needs attention".to_owned(),
        n => format!("{} items need attention", grouped(n)),
    }
}

fn charted(intervals: &[Interval], visit: &Visit) -> Charts {
    let table = intervals.iter().rev().filter(|interval| interval.total() > 0).map(|interval| {
        let end = interval.start + figures::INTERVAL;
        TableRow {
            span: format!("{}–{}", visit.zone.clock(interval.start), visit.zone.clock(end)),
            delivered: grouped(interval.delivered),
            parked: grouped(interval.parked),
            set_aside: grouped(interval.set_aside),
            late: interval.late.map_or([const { String::new() }; 3], |late| late.map(rough)),
        }
    });
    Charts {
        outcomes: chart::outcomes(intervals, &visit.zone),
        lateness: chart::lateness(intervals, &visit.zone),
        table: table.collect(),
        is_about: intervals.iter().any(|interval| interval.is_about),
        total: grouped(intervals.iter().map(Interval::total).sum()),
    }
}

async fn coming(
    app: &Shared,
    visit: &Visit,
    now: Timestamp,
) -> Result<Vec<Upcoming>, punctual_store::StoreError> {
    let kinds = app.engine.kinds_of_interest();
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = work::coming(&mut reader.conn(), &kinds, &visit.viewer.by.reach(), None, 6).await?;
    let titled: Vec<Titled<'_>> = rows.iter().map(|row| Titled { kind: &row.kind, key: &row.key }).collect();
    let titles = app.engine.titles(&mut reader.conn(), &titled).await?;
    let upcoming = rows.into_iter().zip(titles).map(|(row, title)| {
        let due = Timestamp::from_microsecond(row.ready_at).unwrap_or_default();
        Upcoming { id: row.id, title, due: visit.zone.when(due, now) }
    });
    Ok(upcoming.collect())
}
