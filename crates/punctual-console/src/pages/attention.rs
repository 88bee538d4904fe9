//! Everything that needs attention, over all workflows; parked messages by their cause.

pub mod causes;
mod list_form;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use punctual_engine::attention::{COUNTED, Kind, Waiting};
use punctual_store::attention::{self, StoppedCount};

use super::{
    outbox,
    work::{Asked, act::Action},
};
use crate::{
    Shared,
    answer::{Page, page},
    form::Fields,
    frame::{Frame, Visit},
    times::When,
    words::{self, counted},
};

/// Items of each kind on the page.
const SHOWN: i64 = 50;
/// Distinct causes of stopped work; an installation has a handful.
const CAUSES: i64 = 100;

pub fn routes() -> Router<Shared> {
    Router::new().route("/attention", get(show)).merge(causes::routes())
}

#[derive(Template)]
#[template(path = "attention.html")]
struct AttentionPage {
    frame: Frame,
    sentence: String,
    /// What an action that led here did.
    done: Option<String>,
    /// Parked messages by their cause.
    causes: Vec<causes::Group>,
    may_act: bool,
    groups: Vec<Group>,
    parked: String,
}

struct Group {
    title: &'static str,
    about: &'static str,
    count: String,
    /// Where the rest is, when not all are shown.
    rest: Option<&'static str>,
    /// Causes that several of them have, with one action for all of a cause.
    causes: Vec<SharedCause>,
    items: Vec<Item>,
}

/// Work that is stopped for one cause.
struct SharedCause {
    sentence: String,
    count: i64,
    /// `6 work rows`.
    what: String,
    rows: String,
    action: &'static str,
    button: String,
}

pub(super) struct Item {
    pub link: String,
    pub title: String,
    pub reason: String,
    pub pill: &'static str,
    pub word: &'static str,
    pub since: When,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let found = app.engine.attention(&visit.viewer.by.reach(), SHOWN).await?;
    let causes = causes::groups(&app, &visit).await?;
    let (held, failed) = {
        let reach = visit.viewer.by.reach();
        let mut reader = app.engine.store.read_for_people().await?;
        (
            attention::held_causes(&mut reader.conn(), &reach, COUNTED, CAUSES).await?,
            attention::failed_causes(&mut reader.conn(), &reach, COUNTED, CAUSES).await?,
        )
    };
    let shared = |kind: Kind| match kind {
        Kind::Hold => of_several(&held, "held", Action::Release),
        Kind::Failed => of_several(&failed, "failed", Action::Retry),
        _ => Vec::new(),
    };
    let groups: Vec<Group> = Kind::ALL
        .into_iter()
        // Parked messages stand by their causes, each of which opens its rows.
        .filter(|kind| *kind != Kind::Parked || causes.is_empty())
        .filter_map(|kind| {
            let count = found.counts.iter().find(|(found, _)| *found == kind)?.1;
            let own = found.items.iter().filter(|item| item.kind == kind);
            let items: Vec<Item> = own.map(|one| item(&app, &visit, one)).collect();
            let (title, about, all) = described(kind);
            let rest = all.filter(|_| usize::try_from(count).is_ok_and(|count| count > items.len()));
            Some(Group { title, about, count: up_to(count), rest, causes: shared(kind), items })
        })
        .collect();
    let total = found.total();
    let sentence = match total {
        0 => "Nothing needs attention.".to_owned(),
        1 => "One item needs attention.".to_owned(),
        _ => format!("{} items need attention.", up_to(total)),
    };
    page(&AttentionPage {
        frame: visit.frame(&app, "Attention", "/attention").await?,
        sentence,
        done: outbox::done(&Fields::of_query(&uri)),
        causes,
        may_act: visit.viewer.may_act(),
        parked: up_to(found.counts.iter().find(|(kind, _)| *kind == Kind::Parked).map_or(0, |found| found.1)),
        groups,
    })
}

/// The causes that more than one row has.
fn of_several(counts: &[StoppedCount], list: &'static str, action: Action) -> Vec<SharedCause> {
    let several = counts.iter().filter(|one| one.count > 1);
    let shaped = several.map(|one| {
        let asked = Asked::of_cause(list, one);
        let what = counted(one.count, "work row", "work rows");
        SharedCause {
            sentence: asked.said().unwrap_or_default(),
            count: one.count,
            rows: asked.link(),
            action: action.as_str(),
            button: format!("{} {what}…", if action == Action::Release { "Release" } else { "Retry" }),
            what,
        }
    });
    shaped.collect()
}

fn up_to(count: i64) -> String {
    if count >= COUNTED { format!("{}+", words::grouped(COUNTED)) } else { words::grouped(count) }
}

pub(super) fn item(app: &Shared, visit: &Visit, one: &Waiting) -> Item {
    Item {
        link: one.link.clone(),
        title: one.title.clone(),
        reason: words::quoted(&one.reason),
        pill: if matches!(one.kind, Kind::Hold | Kind::RunHeld) { "bad outline" } else { "bad" },
        word: one.kind.word(),
        since: visit.zone.when(one.since, Visit::now(app)),
    }
}

/// The title of a kind, what it means, and where all of it is listed.
fn described(kind: Kind) -> (&'static str, &'static str, Option<&'static str>) {
    match kind {
        Kind::Hold => (
            "Work on hold",
            "Punctual could not decide these. Repair the cause and release them.",
            Some("/work?list=held"),
        ),
        Kind::Parked => (
            "Parked notifications",
            "These are not retried automatically. Retry or discard them.",
            Some("/outbox?status=parked"),
        ),
        Kind::Subscriber => ("Subscribers", "Deliveries to subscribers that will not be retried.", None),
        Kind::Sync => (
            "Out of step",
            "Rules whose schedule is out of date. They are retried automatically; a repair does it at once.",
            Some("/operations?view=list"),
        ),
        Kind::Site => (
            "Silent sites",
            "Their agents are not in contact. Messages wait at the site until they are.",
            Some("/sites"),
        ),
        Kind::Circuit => (
            "Channels that fail",
            "Calls fail, so sending has stopped. One message is tried at the time shown; if it succeeds, the others follow.",
            Some("/channels"),
        ),
        Kind::Receipt => (
            "Not delivered",
            "The provider accepted these messages, but they did not arrive. Contact the person another way and acknowledge them.",
            None,
        ),
        Kind::RunHeld => (
            "Reports on hold",
            "These runs were not made: the other scheduler owns them, or a person held them. Check who owns a run before you retry it.",
            Some("/work?list=held"),
        ),
        Kind::RunFailed => (
            "Reports that failed",
            "These are not retried automatically. Repair the cause and retry them; they disappear once a later run is delivered.",
            Some("/work?list=failed"),
        ),
        Kind::Orphan => (
            "Reports without an owner or recipients",
            "Their owner no longer exists, or their list is gone or empty. Transfer them, change the list, or pause them.",
            Some("/reports"),
        ),
        Kind::Node => (
            "Nodes",
            "They stopped without signing off, cannot reach the database, or run an older version.",
            Some("/nodes"),
        ),
        Kind::Clock => (
            "Wrong clocks",
            "These machines show the wrong time. Their nodes use the correct time; correct the clocks of the machines.",
            Some("/nodes"),
        ),
        Kind::Failed => (
            "Work that failed",
            "These are not retried automatically. Repair the cause and retry them, or cancel them.",
            Some("/work?list=failed"),
        ),
        Kind::Owed => (
            "Follow-ups that fail",
            "Their messages have ended, but the next step failed. It is retried automatically.",
            None,
        ),
        Kind::Reconcile => (
            "Reconciliations",
            "These fail or are overdue. They are retried automatically; changes that events missed are not repaired until then.",
            None,
        ),
        Kind::Purge => (
            "Purges",
            "Old data stays until these have run. Those that fail are retried automatically; one that is held back waits for a confirmation.",
            None,
        ),
        Kind::Audit => (
            "Audit",
            "The audit cannot be sealed, or was changed after it was written. punctual audit verify names the first entry at fault.",
            Some("/audit"),
        ),
        Kind::Consumer => (
            "Consumers",
            "They receive no events from their brokers. They reconnect automatically; until then events wait at the broker.",
            Some("/consumers"),
        ),
        Kind::Restore => (
            "After a restore",
            "These were due when the database was restored. Some may have been sent already; release or discard them.",
            None,
        ),
        Kind::Quota => (
            "Quotas",
            "These business units have been given all rows of their day. Requests for more are refused until their next day begins.",
            Some("/settings/units"),
        ),
        Kind::Locked => (
            "Locked rows",
            "Their claims ran out and no node took them over. The logs of the nodes say why.",
            None,
        ),
    }
}
