//! One search over everything: a page of results that works without script, and what the palette shows.

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use punctual_engine::search::{Hit, HitKind};
use punctual_model::Scope;

use super::settings;
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

/// What somebody may do who makes definitions, with the page that does it.
const BY_AUTHORS: [(&str, &str); 11] = [
    ("Create reminder", "/reminders/new"),
    ("Create survey", "/surveys/new"),
    ("Create report", "/reports/new"),
    ("Create event or task", "/operations/new"),
    ("Create message", "/outbox/new"),
    ("Create schedule", "/work/new"),
    ("Create list", "/settings/lists/new"),
    ("Add source", "/sources/new"),
    ("Import sources from a table", "/sources/import"),
    ("Add person", "/operations/people/new"),
    ("Add organisation", "/operations/organisations/new"),
];
/// The same for those who define the installation.
const BY_ADMINS: [(&str, &str); 9] = [
    ("Add channel", "/channels/add"),
    ("Send test message", "/channels"),
    ("Create template", "/settings/templates/new"),
    ("Invite user", "/settings/users/new"),
    ("Create key", "/settings/keys/new"),
    ("Add business unit", "/settings/units/new"),
    ("Add site", "/settings/sites/new"),
    ("Add subscriber", "/settings/subscribers/add"),
    ("Add consumer", "/consumers/add"),
];
/// What everybody may look at, beside the pages themselves.
const BY_ALL: [(&str, &str); 3] = [
    ("Show parked messages", "/outbox?status=parked"),
    ("Show stuck messages", "/outbox?stuck=1"),
    ("My account", "/account"),
];
/// Words that people use for the same.
const MAKING: [&str; 5] = ["create", "add", "new", "make", "invite"];

/// Whether a name has every word that is asked for.
fn fits(name: &str, q: &str) -> bool {
    let (name, q) = (name.to_lowercase(), q.to_lowercase());
    q.split_whitespace().all(|word| {
        let is_making = MAKING.contains(&word) && MAKING.iter().any(|making| name.starts_with(making));
        is_making || name.contains(word)
    })
}

/// The pages and actions that fit, for those who may have them.
fn places(visit: &Visit, q: &str) -> [Group; 2] {
    let items = |all: Vec<(&str, &str, &str)>| -> Vec<Item> {
        let fitting = all.into_iter().filter(|(name, ..)| fits(name, q));
        fitting
            .map(|(name, note, link)| Item { title: name.into(), note: note.into(), link: link.into() })
            .collect()
    };
    let settings = settings::entries(visit).into_iter().flat_map(|(_, entries)| entries);
    let settings = settings.filter(|entry| NAV.iter().all(|page| page.path != entry.path));
    let pages = NAV.iter().map(|page| (page.name, "", page.path));
    let pages = pages.chain(settings.map(|entry| (entry.name, entry.about, entry.path)));
    let viewer = &visit.viewer;
    let mut actions = BY_ALL.to_vec();
    actions.extend(viewer.may_author().then_some(BY_AUTHORS).into_iter().flatten());
    actions.extend(viewer.may_define().then_some(BY_ADMINS).into_iter().flatten());
    let actions = actions.into_iter().map(|(name, link)| (name, "", link));
    [
        Group { title: "Pages", items: items(pages.collect()) },
        Group { title: "Actions", items: items(actions.collect()) },
    ]
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let q: String = Fields::of_query(&uri).text("q").trim().chars().take(LONGEST).collect();
    let found = app.engine.search(&visit.viewer.by.reach(), &q).await?;
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
    groups.extend(places(&visit, &q));
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
    // A row of work has its title; its key is a detail of its page.
    let note = |hit: &Hit| match kind {
        HitKind::Work => String::new(),
        _ => words::quoted(&hit.note),
    };
    own.map(|hit| Item { title: hit.title.clone(), note: note(hit), link: hit.link.clone() }).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_by_its_words_and_by_other_words_for_making() {
        for (name, q) in [
            ("Create reminder", "new reminder"),
            ("Create reminder", "reminder create"),
            ("Invite user", "add user"),
            ("Delivery policy", "policy"),
            ("Show parked messages", ""),
        ] {
            assert!(fits(name, q), "{name}: {q}");
        }
        assert!(!fits("Create reminder", "new survey") && !fits("Reminders", "new reminder"));
    }
}
