//! The calendar: what will be sent on which local day, as a heat map of six weeks, and one day's list.

use std::collections::BTreeMap;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::{Span, civil::Date, tz::Offset};
use punctual_engine::titles::Titled;
use punctual_wire::reminders::Edge;
use punctual_workflows::reminders::forecast::{self, Days, Item};

use crate::{
    Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    times::When,
    words::counted,
};

const WEEKS: usize = 6;

pub fn routes() -> Router<Shared> {
    Router::new().route("/calendar", get(show))
}

#[derive(Template)]
#[template(path = "calendar.html")]
struct CalendarPage {
    frame: Frame,
    sentence: String,
    weeks: Vec<Vec<Cell>>,
    earlier: String,
    later: String,
    chosen: Option<Day>,
}

struct Cell {
    date: String,
    text: String,
    count: u64,
    heat: usize,
    past: bool,
}

struct Day {
    date: String,
    /// What is sent: what the day counts.
    items: Vec<Listed>,
    more: u64,
    /// What happens besides, and sends nothing.
    besides: Vec<Listed>,
}

struct Listed {
    title: String,
    key: String,
    zone: String,
    note: String,
    due: When,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let now = Visit::now(&app);
    let today = Offset::UTC.to_datetime(now).date();
    let asked: Option<Date> = fields.text("from").parse().ok();
    let from = monday(asked.unwrap_or(today))?;
    let to = moved(from, 7 * WEEKS as i64)?;
    let kinds = app.engine.kinds_of_interest();
    let mut reader = app.engine.store.read_for_people().await?;
    let span = Days { now, from: Edge::Day(from), to: Edge::Day(moved(to, -1)?) };
    let found =
        forecast::forecast(&mut reader.conn(), &visit.viewer.by.reach(), &app.reminders, &kinds, span)
            .await?;
    let mut days: BTreeMap<String, (u64, Vec<(String, Item)>)> = BTreeMap::new();
    for ((date, zone), day) in found.days {
        let entry = days.entry(date).or_default();
        entry.0 += day.count;
        entry.1.extend(day.items.into_iter().map(|item| (zone.clone(), item)));
    }
    let most = days.values().map(|(count, _)| *count).max().unwrap_or(0);
    let mut weeks = Vec::with_capacity(WEEKS);
    for week in 0..WEEKS {
        let mut cells = Vec::with_capacity(7);
        for day in 0..7 {
            let date = moved(from, (7 * week + day) as i64)?;
            let count = days.get(&date.to_string()).map_or(0, |(count, _)| *count);
            cells.push(Cell {
                text: date.strftime("%-d %b").to_string(),
                date: date.to_string(),
                count,
                heat: heat(count, most),
                past: date < today,
            });
        }
        weeks.push(cells);
    }
    let total: u64 = weeks.iter().flatten().map(|cell| cell.count).sum();
    let about = if found.cut { "More than " } else { "" };
    let sentence = format!(
        "{about}{} to be sent in these six weeks, by local day.",
        counted(i64::try_from(total).unwrap_or(i64::MAX), "message is", "messages are")
    );
    let chosen = Some(fields.text("day")).filter(|day| !day.is_empty()).map(|day| {
        let (count, mut items) = days.remove(day).unwrap_or_default();
        items.sort_by_key(|(_, item)| item.due_at);
        (day, count, items)
    });
    let shown = chosen.iter().flat_map(|(_, _, items)| items);
    let shown: Vec<Titled<'_>> =
        shown.map(|(_, item)| Titled { kind: &item.workflow, key: &item.key }).collect();
    let titles = app.engine.titles(&mut reader.conn(), &visit.viewer.by.reach(), &shown).await?;
    drop(reader);
    let chosen = chosen.map(|(day, count, items)| {
        let (mut sent, mut besides) = (Vec::new(), Vec::new());
        for ((zone, item), title) in items.into_iter().zip(titles) {
            let listed = Listed {
                due: visit.zone.when(item.due_at, now),
                note: item.reason.map_or_else(String::new, |reason| reason.sentence().to_owned()),
                title,
                key: item.key,
                zone,
            };
            if item.kind.is_sent() { sent.push(listed) } else { besides.push(listed) }
        }
        let more = count.saturating_sub(sent.len() as u64);
        Day { date: day.to_owned(), items: sent, more, besides }
    });
    page(&CalendarPage {
        frame: visit.frame(&app, "Calendar", "/calendar").await?,
        sentence,
        weeks,
        earlier: moved(from, -7 * WEEKS as i64)?.to_string(),
        later: to.to_string(),
        chosen,
    })
}

/// Which of four strengths a day has.
fn heat(count: u64, most: u64) -> usize {
    match (count, most) {
        (0, _) => 0,
        (count, most) => 1 + usize::try_from((count - 1) * 4 / most.max(1)).unwrap_or(0).min(3),
    }
}

fn monday(date: Date) -> Result<Date, Refusal> {
    moved(date, -i64::from(date.weekday().to_monday_zero_offset()))
}

fn moved(date: Date, days: i64) -> Result<Date, Refusal> {
    let span = Span::new().try_days(days).map_err(|error| Refusal::internal(&error))?;
    date.checked_add(span).map_err(|error| Refusal::internal(&error))
}
