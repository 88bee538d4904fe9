//! One look at everything: the sentence, the figures, how deliveries went in the last hours, and what needs attention.

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::Timestamp;
use punctual_engine::titles::Titled;
use punctual_store::{notifications, work};

use super::{
    attention::{Item, item},
    first_run::{self, Step},
    outbox::{Tile, tiles},
};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    chart::{self, Bar, By, Chart, Figure},
    figures::{self, Interval, Range},
    form::Fields,
    frame::{Frame, Visit},
    links,
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
    steps: Vec<Step>,
    tiles: Vec<Tile>,
    charts: Option<Charts>,
    problems: Vec<Item>,
    upcoming: Vec<Upcoming>,
}

struct Charts {
    choices: Choices,
    endings: Chart,
    legend: Vec<(String, &'static str)>,
    lateness: Chart,
    ages: Chart,
    age_bars: Vec<Bar>,
    table: Vec<TableRow>,
    is_about: bool,
    total: String,
    range: &'static str,
    length: String,
}

/// What the charts can show, with what they do show.
struct Choices {
    ranges: Vec<Choice>,
    by: Vec<Choice>,
}

struct Choice {
    name: &'static str,
    link: String,
    is_chosen: bool,
}

struct TableRow {
    span: String,
    all: Figure,
    /// Of each class.
    cells: Vec<Figure>,
    late: [String; 3],
}

struct Upcoming {
    id: i64,
    title: String,
    due: When,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let (range, by) = (Range::read(fields.text("range")), By::read(fields.text("by")));
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
        let intervals = figures::intervals(&app, now, range).await?;
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
        let spark: Vec<i64> = intervals.iter().map(Interval::delivered).collect();
        shown = tiles(&app, &kpis, Some(chart::sparkline(&spark)));
        charts = Some(charted(&app, &intervals, range, by, &visit).await?);
    } else {
        sentence.push('.');
    }
    let upcoming = coming(&app, &visit, now).await?;
    let steps = first_run::steps(&app, &visit).await?;
    let frame = visit.frame(&app, "Overview", "/").await?;
    page(&Overview { frame, sentence, steps, tiles: shown, charts, problems, upcoming })
}

fn attention_words(total: i64) -> String {
    match total {
        0 => "Nothing needs attention".to_owned(),
        1 => "One item needs attention".to_owned(),
        n => format!("{} items need attention", grouped(n)),
    }
}

async fn charted(
    app: &App,
    intervals: &[Interval],
    range: Range,
    by: By,
    visit: &Visit,
) -> Result<Charts, Refusal> {
    let classes = chart::classes(intervals, by);
    let table = intervals.iter().rev().filter(|interval| interval.total() > 0).map(|interval| TableRow {
        span: chart::span(interval, range, &visit.zone),
        all: Figure { count: interval.total(), link: chart::ended(interval, &[]) },
        cells: classes.iter().map(|class| class.figure(interval)).collect(),
        late: interval.late.map_or([const { String::new() }; 3], |late| late.map(rough)),
    });
    let age_bars = ages(app, Visit::now(app)).await?;
    Ok(Charts {
        choices: choices(range, by),
        endings: chart::endings(intervals, &classes, range, &visit.zone, None),
        lateness: chart::lateness(intervals, range, &visit.zone),
        ages: chart::bars(&age_bars),
        age_bars,
        table: table.collect(),
        is_about: intervals.iter().any(|interval| interval.is_about),
        total: grouped(intervals.iter().map(Interval::total).sum()),
        legend: classes.into_iter().map(|class| (class.name, class.style)).collect(),
        range: range.in_words(),
        length: rough(i64::try_from(range.interval().as_micros()).unwrap_or(i64::MAX)),
    })
}

fn choices(range: Range, by: By) -> Choices {
    let link = |range: Range, by: By| {
        let range = if range == Range::Day { "" } else { range.as_str() };
        let by = if by == By::Outcome { "" } else { by.as_str() };
        format!("/{}", links::query([("range", range), ("by", by)]))
    };
    let ranges =
        Range::ALL.map(|one| Choice { name: one.as_str(), link: link(one, by), is_chosen: one == range });
    let by = By::ALL.map(|one| Choice { name: one.as_str(), link: link(range, one), is_chosen: one == by });
    Choices { ranges: ranges.into(), by: by.into() }
}

const MINUTE: i64 = 60_000_000;
/// The ages that what waits is divided by.
const AGES: [(i64, &str); 4] = [
    (MINUTE, "under 1 min"),
    (15 * MINUTE, "under 15 min"),
    (60 * MINUTE, "under 1 h"),
    (1_440 * MINUTE, "under 1 day"),
];

/// How long what waits has been waiting, each bar with its rows.
async fn ages(app: &App, now: Timestamp) -> Result<Vec<Bar>, Refusal> {
    let since = AGES.map(|(age, _)| now.as_microsecond() - age);
    let mut reader = app.engine.store.read_for_people().await?;
    let found = notifications::queue_ages(&mut reader.conn(), since).await?;
    drop(reader);
    let at = |micros: i64| Timestamp::from_microsecond(micros).unwrap_or_default().to_string();
    let within = [found.first, found.second, found.third, found.fourth, found.total];
    let names = AGES.iter().map(|(_, name)| *name).chain(["older"]);
    let bars = names.enumerate().map(|(n, name)| {
        let from = since.get(n).map(|from| at(*from)).unwrap_or_default();
        let to = n.checked_sub(1).and_then(|before| since.get(before)).map(|to| at(*to)).unwrap_or_default();
        let newer = n.checked_sub(1).map_or(0, |before| within[before]);
        // tidy-allow: a word of the outbox's filter, for every status that waits
        let pairs = [("status", "queued"), ("createdFrom", from.as_str()), ("createdTo", to.as_str())];
        Bar {
            name: name.to_owned(),
            count: within[n] - newer,
            link: format!("/outbox{}", links::query(pairs)),
            style: if n >= 3 { "warn" } else { "s1" },
        }
    });
    Ok(bars.collect())
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
    let titles = app.engine.titles(&mut reader.conn(), &visit.viewer.by.reach(), &titled).await?;
    let upcoming = rows.into_iter().zip(titles).map(|(row, title)| {
        let due = row.ready_at;
        Upcoming { id: row.id, title, due: visit.zone.when(due, now) }
    });
    Ok(upcoming.collect())
}
