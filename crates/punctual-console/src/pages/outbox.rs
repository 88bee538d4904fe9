//! The outbox: what is to be sent and what became of it, filtered, searched and acted upon.

mod act;
mod file;
mod filter;
mod from_template;
mod message;

pub(super) use act::done;
pub(crate) use filter::STATES;

use std::collections::HashMap;

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::Uri,
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_engine::{
    delivery_policy::blocked_channels::BlockedChannels,
    intake::UNROUTED,
    kpis::{INTERVAL, OutboxKpis},
};
use punctual_model::{NotificationId, NotificationStatus, ReasonCode};
use punctual_store::{
    StoreError, channels, lists,
    notifications::{self, ListedNotification, Next, Recipients, last_delivered},
};

use self::filter::Filter;
use crate::{
    App, Shared,
    answer::{Page, page, see_other},
    editor::routes as pages,
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::{When, rough},
    views::SavedViews,
    words::{self, Pill, counted, grouped},
};

/// Rows on one page.
const ROWS: usize = 50;
/// Names that a filter offers.
const OFFERED: i64 = 200;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/outbox", get(show))
        .route("/outbox.csv", get(file::csv))
        .route("/outbox/confirm", post(act::confirm))
        .route("/outbox/act", post(act::act))
        .route("/outbox/preview", post(message::preview))
        .merge(pages::<message::Messages>())
}

#[derive(Template)]
#[template(path = "outbox.html")]
struct Outbox {
    frame: Frame,
    views: SavedViews,
    may_author: bool,
    sentence: String,
    tiles: Vec<Tile>,
    filter: Filter,
    offered: Offered,
    /// What an action that led here did.
    done: Option<String>,
    rows: Vec<Row>,
    /// The address of this very page when newer rows have come.
    same: String,
    next: Onward,
    is_first: bool,
    can_select: bool,
    /// The span that a chart limits the list to, in words.
    span: Option<String>,
}

/// Names that the filter's fields offer.
struct Offered {
    sites: Vec<String>,
    lists: Vec<String>,
    channels: Vec<String>,
    /// Reason codes with their sentences.
    causes: Vec<(&'static str, &'static str)>,
}

/// How the list goes on.
enum Onward {
    End,
    Page(String),
    /// Searched back this far; the address of the next step.
    Further(String),
}

/// One figure above a list.
pub(super) struct Tile {
    pub name: &'static str,
    pub value: String,
    /// How many rows its link opens; none where the figure is a measure.
    pub count: Option<i64>,
    pub class: &'static str,
    /// The rows that it counts.
    pub link: String,
    pub note: String,
    pub spark: Option<String>,
}

pub(super) struct Row {
    pub id: String,
    version: i64,
    pub subject: String,
    pub pill: Pill,
    stuck: bool,
    /// It waits for an hour, a limit or its channel.
    waits: bool,
    uncertain: bool,
    site: Option<String>,
    pub list: Option<String>,
    /// The first address where it names some.
    recipient: String,
    /// The same where it is the only one.
    alone: Option<String>,
    pub channel: String,
    pub reason: String,
    pub when: When,
    is_parked: bool,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let filter = Filter::read(&fields, &visit.zone);
    if let Some(id) = known_id(&app, &visit, &filter).await? {
        return see_other(&format!("/notifications/{id}"));
    }
    let now = Visit::now(&app);
    let blocked = app.engine.blocked_channels().await?;
    let browse = filter.browse(blocked.stuck(), ROWS);
    let mut reader = app.engine.store.read_for_people().await?;
    let found = notifications::browse(&mut reader.conn(), &visit.viewer.by.reach(), &browse).await?;
    let seqs = found.rows.iter().map(|row| row.seq).collect();
    let recipients = notifications::recipients(&mut reader.conn(), seqs).await?;
    let lists = lists::page(&mut reader.conn(), &visit.viewer.by.reach(), "", OFFERED).await?;
    let last = last_delivered(&mut reader.conn()).await?;
    let defined = channels::all(&mut reader.conn()).await?;
    drop(reader);
    let (mut sentence, mut shown, mut sites) = (String::new(), Vec::new(), Vec::new());
    if visit.viewer.sees_all() {
        let kpis = app.engine.outbox_kpis(None).await?;
        sentence = summary(&kpis, last, &visit, now);
        shown = tiles(&app, &kpis, None);
        sites = kpis.by_site.into_iter().map(|site| site.site).collect();
    }
    let next = match found.next {
        Next::End => Onward::End,
        Next::Page(place) => Onward::Page(filter.at(place)),
        Next::Further(place) => Onward::Further(filter.at(place)),
    };
    let recipients: HashMap<i64, Recipients> = recipients.into_iter().map(|to| (to.seq, to)).collect();
    let shown_row = |row: ListedNotification| {
        let to = recipients.get(&row.seq);
        let alone = to.filter(|to| to.count == 1).and_then(|to| to.first.clone());
        let recipient = to.map(named).unwrap_or_default();
        Row { recipient, alone, ..shaped(row, &visit, now, &blocked) }
    };
    let rows: Vec<Row> = found.rows.into_iter().map(shown_row).collect();
    let may_act = visit.viewer.may_act();
    page(&Outbox {
        frame: visit.frame(&app, "Outbox", "/outbox").await?,
        views: SavedViews::of(&app, &visit).await?,
        may_author: visit.viewer.may_author(),
        sentence,
        tiles: shown,
        same: found.top.map_or(String::new(), |top| filter.at(top)),
        next,
        is_first: filter.place.is_none(),
        can_select: may_act && rows.iter().any(|row| row.is_parked),
        done: act::done(&fields),
        offered: Offered {
            sites,
            lists: lists.into_iter().map(|list| list.name).collect(),
            channels: defined.into_iter().map(|channel| channel.key).collect(),
            causes: ReasonCode::all().iter().map(|code| (code.as_str(), code.sentence())).collect(),
        },
        span: span(&filter, &visit),
        rows,
        filter,
    })
}

fn span(filter: &Filter, visit: &Visit) -> Option<String> {
    let (created, ended) = (filter.created.is_any(), filter.ended.is_any());
    let queued = created.then(|| format!("queued {}", filter.created.shown(&visit.zone)));
    let ended = ended.then(|| format!("ended {}", filter.ended.shown(&visit.zone)));
    queued.into_iter().chain(ended).reduce(|one, other| format!("{one}, {other}"))
}

/// The message that a search names by its whole id, if the viewer may see it.
async fn known_id(app: &App, visit: &Visit, filter: &Filter) -> Result<Option<NotificationId>, StoreError> {
    let Ok(id) = filter.q.trim().parse::<NotificationId>() else { return Ok(None) };
    let mut reader = app.engine.store.read_for_people().await?;
    let row = notifications::by_id(&mut reader.conn(), &visit.viewer.by.reach(), &id.to_string()).await?;
    Ok(row.map(|row| row.id))
}

/// `ada@x.example +2`.
fn named(to: &Recipients) -> String {
    let first = to.first.clone().unwrap_or_default();
    if to.count > 1 { format!("{first} +{}", grouped(to.count - 1)) } else { first }
}

fn summary(kpis: &OutboxKpis, last: Option<i64>, visit: &Visit, now: Timestamp) -> String {
    let last = last
        .and_then(|at| Timestamp::from_microsecond(at).ok())
        .map_or("nothing delivered yet".to_owned(), |at| {
            format!("last delivery {}", visit.zone.when(at, now).text)
        });
    format!(
        "{} parked · {} stuck · {} waiting · {last}",
        grouped(kpis.total.parked),
        grouped(kpis.total.stuck),
        grouped(kpis.total.queue_depth)
    )
}

/// The five figures, each a link to its rows.
pub(super) fn tiles(app: &App, kpis: &OutboxKpis, spark: Option<String>) -> Vec<Tile> {
    let total = &kpis.total;
    let alarm = |count: i64, class: &'static str| if count > 0 { class } else { "" };
    let oldest = total.oldest_created_at.map(|at| kpis.at.as_microsecond() - at);
    let tile = |name, count: i64, class, link: &str, note: String| {
        let (value, count, link) = (grouped(count), Some(count), link.to_owned());
        Tile { name, value, count, class, link, note, spark: None }
    };
    let since = kpis.at.checked_sub(INTERVAL).unwrap_or(kpis.at).to_string();
    let delivered =
        links::query([("status", NotificationStatus::Delivered.as_str()), ("endedFrom", since.as_str())]);
    let stuck_after = rough(i64::try_from(app.engine.config.stuck_after.as_micros()).unwrap_or(i64::MAX));
    let held = match total.waiting {
        0 => "to be sent".to_owned(),
        n => format!("to be sent · {} held back", grouped(n)),
    };
    let uncertain = match total.uncertain {
        0 => "need attention".to_owned(),
        n => format!("need attention · {} uncertain", grouped(n)),
    };
    vec![
        tile("Waiting", total.queue_depth, "", "/outbox?status=queued", held),
        tile(
            "Stuck",
            total.stuck,
            alarm(total.stuck, "warn"),
            "/outbox?stuck=1",
            format!("longer than {stuck_after}"),
        ),
        tile("Parked", total.parked, alarm(total.parked, "bad"), "/outbox?status=parked", uncertain),
        Tile {
            spark,
            ..tile(
                "Delivered",
                total.delivered,
                "",
                &format!("/outbox{delivered}"),
                format!("in the last {} s", INTERVAL.as_secs()),
            )
        },
        Tile {
            value: oldest.map_or("–".to_owned(), rough),
            count: None,
            ..tile("Oldest", 0, "", "/outbox?status=queued", "waiting".to_owned())
        },
    ]
}

pub(super) fn shaped(
    row: ListedNotification,
    visit: &Visit,
    now: Timestamp,
    blocked: &BlockedChannels,
) -> Row {
    use NotificationStatus::{Delivered, Discarded, Parked, Pending, Retrying, Withdrawn};
    let (stuck, waits) = (blocked.is_stuck(&row), blocked.waits(&row));
    let reason = match (row.status, waits) {
        (Parked | Withdrawn | Discarded, _) => {
            let words = words::reason(row.reason_code.as_deref());
            joined(&words, row.last_error.as_deref())
        }
        (Pending | Retrying, Some((reason, until))) => {
            let until = if until > now { visit.zone.when(until, now).text } else { String::new() };
            joined(reason.sentence(), Some(&until))
        }
        (Retrying, None) => {
            let next = visit.zone.when(row.ready_at, now).text;
            let attempts = counted(row.retry_count, "attempt", "attempts");
            joined(&format!("{attempts}, next {next}"), row.last_error.as_deref())
        }
        (Pending, None) if row.ready_at > now => {
            format!("to be sent {}", visit.zone.when(row.ready_at, now).text)
        }
        (Pending | Delivered, _) => String::new(),
    };
    Row {
        when: visit.zone.when(row.delivered_at.unwrap_or(row.created_at), now),
        is_parked: row.status == NotificationStatus::Parked
            && visit.viewer.by.may_touch(row.business_unit.as_deref()),
        pill: words::notification(row.status),
        stuck,
        waits: waits.is_some(),
        uncertain: row.uncertain > 0,
        reason,
        id: row.id.to_string(),
        version: row.version,
        subject: words::called(&row.subject, row.template.as_deref()),
        site: row.source_site,
        list: row.list_name,
        recipient: String::new(),
        alone: None,
        channel: channel_name(&row.channel.to_string()),
    }
}

fn joined(words: &str, answer: Option<&str>) -> String {
    match (words, words::quoted(answer.unwrap_or_default())) {
        (words, answer) if answer.is_empty() => words.to_owned(),
        ("", answer) => answer,
        (words, answer) => format!("{words}: {answer}"),
    }
}

/// The page of all notifications of one site, or list.
fn of(name: &str, value: &str) -> String {
    format!("/outbox{}", links::query([(name, value)]))
}

impl Row {
    fn site_link(&self) -> String {
        of("site", self.site.as_deref().unwrap_or_default())
    }

    /// Everything to the only one who gets it.
    fn recipient_link(&self) -> Option<String> {
        self.alone.as_deref().map(super::recipients::link)
    }

    fn list_link(&self) -> String {
        of("list", self.list.as_deref().unwrap_or_default())
    }
}

/// The channel as people read it: none where the list that would say it does not exist.
pub fn channel_name(key: &str) -> String {
    if key == UNROUTED { "no channel".to_owned() } else { key.to_owned() }
}
