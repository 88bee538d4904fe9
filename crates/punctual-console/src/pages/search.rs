//! One search over everything: a page of results that works without script, and what the palette shows.

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use punctual_engine::search::{Hit, HitKind};
use punctual_model::Scope;

use crate::{
    Shared,
    answer::{Page, page},
    form::Fields,
    frame::{Frame, NAV, Visit},
    links::encoded,
    words,
};

/// Longer texts than this are cut; no name that people search for is.
const LONGEST: usize = 200;

pub fn routes() -> Router<Shared> {
    Router::new().route("/search", get(show))
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    frame: Frame,
    q: String,
    sentence: String,
    groups: Vec<Group>,
    cut: Option<String>,
    /// Where what is stored about the address is found, for those who may erase it.
    personal: Option<String>,
}

struct Group {
    title: &'static str,
    items: Vec<Item>,
}

struct Item {
    title: String,
    note: String,
    link: String,
}

/// What can be made or done, with the page that does it.
const ACTIONS: [(&str, &str); 6] = [
    ("Create reminder", "/reminders/new"),
    ("Create survey", "/surveys/new"),
    ("Create report", "/reports/new"),
    ("Create event or task", "/operations/new"),
    ("Add person", "/operations/people/new"),
    ("Show parked messages", "/outbox?status=parked"),
];

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let q: String = Fields::of_query(&uri).text("q").trim().chars().take(LONGEST).collect();
    let found = app.engine.search(&visit.viewer.by.reach(), &q).await?;
    let fits = |name: &str| name.to_lowercase().contains(&q.to_lowercase());
    let places = NAV.iter().map(|entry| (entry.name, entry.path));
    let named = |all: Vec<(&str, &str)>| -> Vec<Item> {
        let fitting = all.into_iter().filter(|(name, _)| fits(name));
        fitting
            .map(|(name, link)| Item { title: name.into(), note: String::new(), link: link.into() })
            .collect()
    };
    let mut groups: Vec<Group> = HitKind::ALL
        .into_iter()
        .map(|kind| Group { title: titled(kind), items: of_kind(&found.hits, kind) })
        .collect();
    if q.contains('@') || q.starts_with('+') {
        let item = Item {
            title: format!("Everything to {q}"),
            note: "messages, preferences, suppressions".to_owned(),
            link: super::recipients::link(&q),
        };
        groups.insert(0, Group { title: "Recipients", items: vec![item] });
    }
    groups.push(Group { title: "Pages", items: named(places.collect()) });
    if visit.viewer.may_author() {
        groups.push(Group { title: "Actions", items: named(ACTIONS.to_vec()) });
    }
    groups.retain(|group| !group.items.is_empty());
    let sentence = match (q.is_empty(), found.hits.len()) {
        (true, _) => "Type an id, an address, or a part of a name, a subject or an error.".to_owned(),
        (false, 0) => "No message, work, source, person or setting matches.".to_owned(),
        (false, _) => "The best matches.".to_owned(),
    };
    let cut: Vec<&str> = found.cut.iter().map(|kind| titled(*kind)).collect();
    let cut = (!cut.is_empty() && !q.is_empty()).then(|| {
        format!("{}: only the newest were searched. Ids and keys are always found.", cut.join(", "))
    });
    let is_address = q.contains('@') || q.starts_with('+');
    let personal = (is_address && visit.viewer.has(Scope::Admin))
        .then(|| format!("/settings/personal-data?address={}", encoded(&q)));
    let frame = visit.frame(&app, "Search", "/search").await?;
    page(&SearchPage { frame, q, sentence, groups, cut, personal })
}

fn of_kind(hits: &[Hit], kind: HitKind) -> Vec<Item> {
    let own = hits.iter().filter(|hit| hit.kind == kind);
    let item =
        |hit: &Hit| Item { title: hit.title.clone(), note: words::quoted(&hit.note), link: hit.link.clone() };
    own.map(item).collect()
}

fn titled(kind: HitKind) -> &'static str {
    match kind {
        HitKind::Person => "People",
        HitKind::Setting => "Settings",
        HitKind::Source => "Sources",
        HitKind::Work => "Work",
        HitKind::Message => "Messages",
    }
}
