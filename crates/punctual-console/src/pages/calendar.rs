//! The calendar: what will be sent on which local day, as a heat map of six weeks, and one day's list.

use std::collections::{BTreeMap, HashMap};

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::{Span, civil::Date, tz::Offset};
use punctual_engine::titles::Titled;
use punctual_store::work;
use punctual_wire::reminders::Edge;
use punctual_workflows::reminders::forecast::{self, Days, Item};

use crate::{
    Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::When,
    words::counted,
};

const WEEKS: usize = 6;
/// Entries of a day on one page.
const SHOWN: usize = 100;

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
    is_chosen: bool,
}

struct Day {
    date: String,
    /// What is sent, or a page of it: what the day counts.
    items: Vec<Listed>,
    next: Option<String>,
    /// What happens besides, and sends nothing.
    besides: Vec<Listed>,
}

struct Listed {
    title: String,
    key: String,
    /// The page of its row, where it is stored already.
    link: Option<String>,
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
    let reach = visit.viewer.by.reach();
    // One day is read for itself, so that all of it can be named.
    let chosen: Option<Date> = fields.text("day").parse().ok();
    let mut on_day: Vec<(String, Item)> = Vec::new();
    if let Some(day) = chosen {
        let span = Days { now, from: Edge::Day(day), to: Edge::Day(day), named: forecast::MOST };
        let found = forecast::forecast(&mut reader.conn(), &reach, &app.reminders, &kinds, span).await?;
        for ((date, zone), of_day) in found.days {
            if date == day.to_string() {
                on_day.extend(of_day.items.into_iter().map(|item| (zone.clone(), item)));
            }
        }
        on_day.sort_by(|(_, one), (_, other)| (one.due_at, &one.key).cmp(&(other.due_at, &other.key)));
    }
    let span = Days { now, from: Edge::Day(from), to: Edge::Day(moved(to, -1)?), named: 0 };
    let found = forecast::forecast(&mut reader.conn(), &reach, &app.reminders, &kinds, span).await?;
    let mut days: BTreeMap<String, u64> = BTreeMap::new();
    for ((date, _), day) in found.days {
        *days.entry(date).or_default() += day.count;
    }
    let most = days.values().copied().max().unwrap_or(0);
    let mut weeks = Vec::with_capacity(WEEKS);
    for week in 0..WEEKS {
        let mut cells = Vec::with_capacity(7);
        for day in 0..7 {
            let date = moved(from, (7 * week + day) as i64)?;
            let count = days.get(&date.to_string()).copied().unwrap_or(0);
            cells.push(Cell {
                text: date.strftime("%-d %b").to_string(),
                date: date.to_string(),
                count,
                heat: heat(count, most),
                past: date < today,
                is_chosen: chosen == Some(date),
            });
        }
        weeks.push(cells);
    }
    let total: u64 = weeks.iter().flatten().map(|cell| cell.count).sum();
    let about = if found.cut { "More than " } else { "" };
    let sentence = format!(
        "{about}{} to be sent in these six weeks, each on the day of its own time zone.",
        counted(i64::try_from(total).unwrap_or(i64::MAX), "message is", "messages are")
    );
    let (sent, besides): (Vec<_>, Vec<_>) = on_day.into_iter().partition(|(_, item)| item.kind.is_sent());
    let after: usize = fields.text("after").parse().unwrap_or(0);
    let is_more = sent.len() > after.saturating_add(SHOWN);
    let sent: Vec<_> = sent.into_iter().skip(after).take(SHOWN).collect();
    let besides: Vec<_> = besides.into_iter().take(if after == 0 { SHOWN } else { 0 }).collect();
    let shown: Vec<Titled<'_>> = sent
        .iter()
        .chain(&besides)
        .map(|(_, item)| Titled { kind: &item.workflow, key: &item.key })
        .collect();
    let mut titles = app.engine.titles(&mut reader.conn(), &reach, &shown).await?.into_iter();
    let keys = shown.iter().map(|one| one.key.to_owned()).collect();
    let stored = work::by_keys(&mut reader.conn(), &reach, keys).await?;
    drop(reader);
    let ids: HashMap<&str, i64> = stored.iter().map(|row| (row.key.as_str(), row.id)).collect();
    let mut listed = |items: Vec<(String, Item)>| -> Vec<Listed> {
        let titled = items.into_iter().zip(titles.by_ref());
        titled
            .map(|((zone, item), title)| Listed {
                due: visit.zone.when(item.due_at, now),
                note: item.reason.map_or_else(String::new, |reason| reason.sentence().to_owned()),
                title,
                link: ids.get(item.key.as_str()).map(|id| format!("/work/{id}")),
                key: item.key,
                zone,
            })
            .collect()
    };
    let chosen = chosen.map(|day| Day {
        items: listed(sent),
        besides: listed(besides),
        next: is_more.then(|| {
            let (from, after) = (from.to_string(), (after + SHOWN).to_string());
            let pairs = [("from", from.as_str()), ("day", &day.to_string()), ("after", &after)];
            format!("/calendar{}", links::query(pairs))
        }),
        date: day.strftime("%a %-d %B %Y").to_string(),
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
