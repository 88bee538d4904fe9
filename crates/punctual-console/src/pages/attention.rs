//! Everything that needs a person, over all workflows.

use askama::Template;
use axum::{Router, extract::State, routing::get};
use punctual_engine::attention::{COUNTED, Kind, Waiting};

use crate::{
    Shared,
    answer::{Page, page},
    frame::{Frame, Visit},
    times::When,
    words,
};

/// Items of each kind on the page.
const SHOWN: i64 = 50;

pub fn routes() -> Router<Shared> {
    Router::new().route("/attention", get(show))
}

#[derive(Template)]
#[template(path = "attention.html")]
struct AttentionPage {
    frame: Frame,
    sentence: String,
    groups: Vec<Group>,
}

struct Group {
    title: &'static str,
    about: &'static str,
    count: String,
    /// Where the rest is, when not all are shown.
    rest: Option<&'static str>,
    items: Vec<Item>,
}

pub(super) struct Item {
    pub link: String,
    pub title: String,
    pub reason: String,
    pub pill: &'static str,
    pub word: &'static str,
    pub since: When,
}

async fn show(State(app): State<Shared>, visit: Visit) -> Page {
    let found = app.engine.attention(visit.viewer.units.as_deref(), SHOWN).await?;
    let groups: Vec<Group> = Kind::ALL
        .into_iter()
        .filter_map(|kind| {
            let count = found.counts.iter().find(|(found, _)| *found == kind)?.1;
            let own = found.items.iter().filter(|item| item.kind == kind);
            let items: Vec<Item> = own.map(|one| item(&app, &visit, one)).collect();
            let (title, about, all) = told(kind);
            let rest = all.filter(|_| usize::try_from(count).is_ok_and(|count| count > items.len()));
            Some(Group { title, about, count: up_to(count), rest, items })
        })
        .collect();
    let total = found.total();
    let sentence = match total {
        0 => "Nothing needs a person.".to_owned(),
        1 => "One thing needs a person.".to_owned(),
        _ => format!("{} things need a person.", up_to(total)),
    };
    page(&AttentionPage { frame: visit.frame(&app, "Attention", "/attention").await?, sentence, groups })
}

fn up_to(count: i64) -> String {
    if count >= COUNTED { format!("{}+", words::grouped(COUNTED)) } else { words::grouped(count) }
}

pub(super) fn item(app: &Shared, visit: &Visit, one: &Waiting) -> Item {
    Item {
        link: one.link.clone(),
        title: one.title.clone(),
        reason: one.reason.clone(),
        pill: if matches!(one.kind, Kind::Hold | Kind::RunHeld) { "bad outline" } else { "bad" },
        word: one.kind.word(),
        since: visit.zone.when(one.since, Visit::now(app)),
    }
}

/// The title of a kind, what it means, and where all of it is listed.
fn told(kind: Kind) -> (&'static str, &'static str, Option<&'static str>) {
    match kind {
        Kind::Hold => (
            "Work on hold",
            "Punctual could not decide these by itself. Look at the reason, put it right, and release them.",
            Some("/work?list=held"),
        ),
        Kind::Parked => (
            "Parked notifications",
            "These will not be retried by themselves. Retry them once the cause is gone, or discard them.",
            Some("/outbox?status=parked"),
        ),
        Kind::Subscriber => ("Subscribers", "Deliveries to subscribers that will not be retried.", None),
        Kind::Sync => (
            "Out of step",
            "Rules whose schedule could not be brought up to date. They are retried by themselves; a repair does it at once.",
            Some("/operations?view=list"),
        ),
        Kind::Site => (
            "Silent sites",
            "Their agents do not call. What scripts hand in there waits at the site until they do.",
            Some("/sites"),
        ),
        Kind::Receipt => (
            "Not delivered",
            "Their provider took these messages, and they did not arrive. Look at the reason, reach the person another way, and say that you have seen it.",
            None,
        ),
        Kind::RunHeld => (
            "Reports on hold",
            "Nothing was made for these runs: the other scheduler owns them, or somebody held them. Look at who owns a run before it is retried.",
            Some("/work?list=held"),
        ),
        Kind::RunFailed => (
            "Reports that failed",
            "These will not be retried by themselves. Put the cause right and retry them; once a later run has gone out, they are no longer listed.",
            Some("/work?list=failed"),
        ),
        Kind::Orphan => (
            "Reports without an owner or recipients",
            "Their owner is no longer among the people, or their list is gone or empty. Hand them over, change the list, or pause them.",
            Some("/reports"),
        ),
    }
}
