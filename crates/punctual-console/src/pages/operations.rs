//! Events and tasks as a calendar: by month, by week, or as a list, with the messages of each.

mod calendars;
mod edit;
mod fields;
mod one;
mod organisations;
mod people;
mod shape;
mod when;

pub(super) use self::people::ahead_of;

use punctual_model::SyncStatus;
use std::collections::{BTreeMap, HashMap};

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use punctual_store::operations::{
    rules::{self, RuleRow},
    subjects::{self, Between, SubjectRow},
};
use punctual_wire::FieldError;

use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    times::{When, Zone},
    words::{self, Pill},
};

/// Events and tasks on one page.
const SHOWN: i64 = 1_000;
/// Items in one day of the month before it says how many more there are.
const PER_DAY: usize = 4;
/// Those without a date that a list shows at its end.
const UNDATED: i64 = 50;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/operations", get(show))
        .merge(one::routes())
        .merge(edit::routes())
        .merge(calendars::routes())
        .merge(people::routes())
        .merge(organisations::routes())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Month,
    Week,
    List,
}

impl View {
    const ALL: [Self; 3] = [Self::Month, Self::Week, Self::List];

    fn as_str(self) -> &'static str {
        match self {
            Self::Month => "month",
            Self::Week => "week",
            Self::List => "list",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Month => "Month",
            Self::Week => "Week",
            Self::List => "List",
        }
    }

    /// The days it shows: the first, and the one after the last.
    fn days(self, on: Date) -> (Date, Date) {
        let monday = |day: Date| {
            let since = i64::from(day.weekday().to_monday_zero_offset());
            day.checked_sub(since.days()).unwrap_or(day)
        };
        let later = |day: Date, days: i64| day.checked_add(days.days()).unwrap_or(day);
        match self {
            Self::Month => {
                let last = monday(on.last_of_month());
                (monday(on.first_of_month()), later(last, 7))
            }
            Self::Week => (monday(on), later(monday(on), 7)),
            Self::List => (on, later(on, 30)),
        }
    }

    /// The day that the page before and the page after are about.
    fn turn(self, on: Date) -> (Date, Date) {
        let (back, ahead) = match self {
            Self::Month => {
                (on.first_of_month().checked_sub(1.day()), on.last_of_month().checked_add(1.day()))
            }
            Self::Week => (on.checked_sub(7.days()), on.checked_add(7.days())),
            Self::List => (on.checked_sub(30.days()), on.checked_add(30.days())),
        };
        (back.unwrap_or(on), ahead.unwrap_or(on))
    }

    fn title(self, on: Date) -> String {
        match self {
            Self::Month => on.strftime("%B %Y").to_string(),
            Self::Week => {
                let (first, end) = self.days(on);
                let last = end.yesterday().unwrap_or(end);
                format!("{} – {}", first.strftime("%-d %b"), last.strftime("%-d %b %Y"))
            }
            Self::List => format!("30 days from {}", on.strftime("%-d %b %Y")),
        }
    }
}

#[derive(Template)]
#[template(path = "operations.html")]
struct OperationsPage {
    frame: Frame,
    here: String,
    sentence: String,
    title: String,
    view: &'static str,
    tabs: Vec<Tab>,
    back: String,
    ahead: String,
    today: String,
    may_author: bool,
    weeks: Vec<Vec<Day>>,
    rows: Vec<Item>,
    undated: Vec<Item>,
    is_empty: bool,
    removed: bool,
}

struct Tab {
    name: &'static str,
    link: String,
    current: bool,
}

struct Day {
    number: String,
    name: String,
    /// In this month.
    inside: bool,
    today: bool,
    items: Vec<Item>,
    more: usize,
    link: String,
}

#[derive(Clone)]
pub(super) struct Item {
    pub link: String,
    pub title: String,
    is_task: bool,
    /// The local time, or nothing for a whole day.
    pub clock: String,
    pub date: String,
    pill: Pill,
    rules: String,
    next: Option<When>,
    sent: Option<When>,
    days: Vec<Date>,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let now = Visit::now(&app);
    let today = visit.zone.day(now);
    let view = View::ALL.into_iter().find(|view| view.as_str() == fields.text("view")).unwrap_or(View::Month);
    let on = fields.text("on").parse().unwrap_or(today);
    let (first, end) = view.days(on);
    let (from, to) = (visit.zone.begins(first), visit.zone.begins(end));
    let mut reader = app.engine.store.read_for_people().await?;
    // Whole days are kept as days of UTC: those of other zones begin and end within a day of it.
    let widened = |at: Timestamp, hours: i64| at.checked_add(hours.hours()).unwrap_or(at);
    let (from, to) = (widened(from, -24), widened(to, 24));
    let wanted = Between { from, to, limit: SHOWN, ..Between::default() };
    let found = subjects::between(&mut reader.conn(), &visit.viewer.by.reach(), &wanted).await?;
    let mut undated = Vec::new();
    if view == View::List {
        undated = subjects::undated(&mut reader.conn(), &visit.viewer.by.reach(), UNDATED).await?;
    }
    let ids = found.iter().chain(&undated).map(|row| row.id.clone()).collect();
    let own = rules::of_subjects(&mut reader.conn(), &visit.viewer.by.reach(), ids).await?;
    drop(reader);
    let mut by_subject: HashMap<String, Vec<RuleRow>> = HashMap::new();
    for rule in own {
        by_subject.entry(rule.subject_id.clone()).or_default().push(rule);
    }
    let item = |row: &SubjectRow| {
        let own = by_subject.get(&row.id).map(Vec::as_slice).unwrap_or_default();
        item(row, own, &visit.zone, now)
    };
    let mut items: Vec<Item> = found.iter().map(item).collect();
    items.retain(|item| item.days.iter().any(|day| (first..end).contains(day)));
    items.sort_by(|a, b| (a.days.first(), &a.clock).cmp(&(b.days.first(), &b.clock)));
    let undated: Vec<Item> = undated.iter().map(item).collect();
    let link = |view: View, on: Date| format!("/operations?view={}&on={on}", view.as_str());
    let (before, after) = view.turn(on);
    page(&OperationsPage {
        frame: visit.frame(&app, "Operations", "/operations").await?,
        here: link(view, on),
        sentence: sentence(&items, view, on, now),
        title: view.title(on),
        view: view.as_str(),
        tabs: tabs(on, view.name()),
        back: link(view, before),
        ahead: link(view, after),
        today: link(view, today),
        may_author: visit.viewer.may_author(),
        weeks: if view == View::List { Vec::new() } else { weeks(&items, view, on, today) },
        is_empty: items.is_empty() && undated.is_empty(),
        rows: if view == View::List { items } else { Vec::new() },
        undated,
        removed: fields.text("done") == "removed",
    })
}

/// The views of the calendar, on this day, and whom it is about.
fn tabs(on: Date, current: &str) -> Vec<Tab> {
    let views = View::ALL.map(|view| (view.name(), format!("/operations?view={}&on={on}", view.as_str())));
    let others = [
        ("People", "/operations/people"),
        ("Organisations", "/operations/organisations"),
        ("Calendars", "/operations/calendars"),
    ];
    let others = others.map(|(name, link)| (name, link.to_owned()));
    let all = views.into_iter().chain(others);
    all.map(|(name, link)| Tab { name, link, current: name == current }).collect()
}

fn sentence(items: &[Item], view: View, on: Date, now: Timestamp) -> String {
    let count = |number: usize, one: &str, many: &str| {
        words::counted(i64::try_from(number).unwrap_or(i64::MAX), one, many)
    };
    let tasks = items.iter().filter(|item| item.is_task).count();
    let mut text = format!(
        "{} and {} in {}",
        count(items.len() - tasks, "event", "events"),
        count(tasks, "task", "tasks"),
        if view == View::Month { on.strftime("%B").to_string() } else { "these days".to_owned() }
    );
    let out_of_step = items.iter().filter(|item| item.pill.class == "bad").count();
    if out_of_step > 0 {
        text.push_str(&format!(", {out_of_step} out of step"));
    }
    let next = items.iter().filter_map(|item| item.next.as_ref()).min_by(|a, b| a.iso.cmp(&b.iso));
    if let Some(next) = next.filter(|next| next.iso > now.to_string()) {
        text.push_str(&format!(", the next message {}", next.text));
    }
    text.push('.');
    text
}

fn weeks(items: &[Item], view: View, on: Date, today: Date) -> Vec<Vec<Day>> {
    let (first, end) = view.days(on);
    let most = if view == View::Month { PER_DAY } else { usize::MAX };
    let days: Vec<Date> = first.series(1.day()).take_while(|day| *day < end).collect();
    let day = |day: &Date| {
        let mut own: Vec<Item> = items.iter().filter(|item| item.days.contains(day)).cloned().collect();
        // What goes on from the day before has no hour at which it starts.
        for item in own.iter_mut().filter(|item| item.days.first() != Some(day)) {
            item.clock = "…".to_owned();
        }
        let more = own.len().saturating_sub(most);
        own.truncate(if more > 0 { most } else { own.len() });
        Day {
            number: day.day().to_string(),
            name: day.strftime("%a %-d %b").to_string(),
            inside: view != View::Month || day.month() == on.month(),
            today: *day == today,
            items: own,
            more,
            link: format!("/operations?view=week&on={day}"),
        }
    };
    days.chunks(7).map(|week| week.iter().map(day).collect()).collect()
}

fn item(row: &SubjectRow, own: &[RuleRow], zone: &Zone, now: Timestamp) -> Item {
    let day = |at: Timestamp| match row.is_all_day {
        true => TimeZone::UTC.to_datetime(at).date(),
        false => zone.day(at),
    };
    let first = row.start_at.or(row.end_at);
    let last = row.end_at.or(row.start_at);
    let days = match first.zip(last) {
        Some((first, last)) => {
            let (first, last) = (day(first), day(last));
            first.series(1.day()).take_while(|day| *day <= last).take(62).collect()
        }
        None => Vec::new(),
    };
    let clock = match first {
        Some(at_first) if !row.is_all_day => zone.clock(at_first),
        _ => String::new(),
    };
    let next = own
        .iter()
        .filter(|rule| rule.active && rule.sync_status == SyncStatus::Synced)
        .filter_map(|rule| rule.run_at);
    let next = next.filter(|at| *at > now).min();
    let sent = own.iter().filter_map(|rule| rule.last_sent_at).max();
    Item {
        link: format!("/operations/{}s/{}", row.subject_type, row.id),
        title: row.title.clone(),
        is_task: row.subject_type == "task",
        date: days.first().map(|day: &Date| day.strftime("%a %-d %b %Y").to_string()).unwrap_or_default(),
        clock,
        pill: state(own, next.is_some(), sent.is_some()),
        rules: words::counted(i64::try_from(own.len()).unwrap_or(i64::MAX), "message", "messages"),
        next: next.map(|at| zone.when(at, now)),
        sent: sent.map(|at| zone.when(at, now)),
        days,
    }
}

/// The state of the messages of an event, in one word.
fn state(own: &[RuleRow], has_next: bool, was_sent: bool) -> Pill {
    if own.iter().any(|rule| rule.sync_status == SyncStatus::Failed) {
        Pill { word: "out of step", class: "bad" }
    } else if own.is_empty() || own.iter().all(|rule| !rule.active) {
        Pill { word: "silent", class: "muted" }
    } else if has_next {
        Pill { word: "planned", class: "neutral" }
    } else if was_sent {
        Pill { word: "sent", class: "good" }
    } else {
        Pill { word: "past", class: "muted" }
    }
}

/// What is wrong, by the field of the form; the first of each.
fn by_field(faults: Vec<FieldError>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for fault in faults {
        let mut parts = fault.pointer.split('/').skip(1);
        let field = parts.next().unwrap_or_default().to_owned();
        let line = parts.next().and_then(|part| part.parse::<usize>().ok()).filter(|_| field == "rules");
        let said = words::said(&fault.pointer, &fault.detail);
        let says = match line {
            Some(line) => format!("Line {}: {said}", line + 1),
            None => said,
        };
        found.entry(field).or_insert(says);
    }
    found
}

/// Words that are between commas or blanks.
fn listed(text: &str) -> Vec<String> {
    text.split([',', ' ', '\n', '\r']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A subject of this type that the viewer may see.
async fn visible(app: &App, visit: &Visit, subject_type: &str, id: &str) -> Result<SubjectRow, Refusal> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row =
        subjects::by_ids(&mut reader.conn(), &visit.viewer.by.reach(), vec![id.to_owned()]).await?.pop();
    row.filter(|row| row.subject_type == subject_type)
        .ok_or_else(|| punctual_wire::Problem::not_found(subject_type, id).into())
}
