//! What people want, for operators who are asked why somebody did not get a message.

mod edit;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::Timestamp;
use punctual_model::delivery_policy::{Preference, hours::written};
use punctual_store::delivery_policy::preferences::{self, PreferenceRow};

use crate::{
    Shared,
    answer::{Page, page},
    editor::routes as pages,
    form::Fields,
    frame::{Frame, Visit},
    links::query,
    times::When,
    words,
};

/// People on one page.
const SHOWN: usize = 100;

pub fn routes() -> Router<Shared> {
    Router::new().route("/preferences", get(show)).merge(pages::<edit::Preferences>())
}

#[derive(Template)]
#[template(path = "preferences.html")]
struct PreferencesPage {
    frame: Frame,
    sentence: String,
    asked: String,
    rows: Vec<Row>,
    cap: Option<i64>,
    next: Option<String>,
    may_author: bool,
    /// Where preferences are added, with who was looked for.
    add: String,
    removed: bool,
}

struct Row {
    person: String,
    link: String,
    addresses: String,
    refused: String,
    channels: String,
    quiet: String,
    failover: String,
    changed: When,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let asked = fields.text("q").to_owned();
    let now = Visit::now(&app);
    let mut found = if asked.is_empty() {
        let mut reader = app.engine.store.read_for_people().await?;
        let limit = i64::try_from(SHOWN + 1).unwrap_or(i64::MAX);
        preferences::page(&mut reader.conn(), fields.text("after"), limit).await?
    } else {
        app.engine.preference_of(&asked).await?.into_iter().collect()
    };
    let next = (found.len() > SHOWN).then(|| {
        found.truncate(SHOWN);
        let last = found.last().map(|row| row.person.clone()).unwrap_or_default();
        format!("/preferences{}", query([("after", last.as_str())]))
    });
    app.engine.look_again().await?;
    let cap = app.engine.policy.settings().daily_cap;
    let sentence = match (found.len(), asked.is_empty()) {
        (0, true) => String::new(),
        (0, false) => format!("There are no preferences for {asked}: the delivery policy alone applies."),
        (count, _) => {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            format!("{} on this page.", words::counted(count, "person", "people"))
        }
    };
    let rows = found.iter().map(|row| shown(row, &visit, now)).collect();
    let frame = visit.frame(&app, "Preferences", "/preferences").await?;
    let unknown = if found.is_empty() { asked.as_str() } else { "" };
    let add = format!("/preferences/new{}", query([("person", unknown)]));
    let (may_author, removed) = (visit.viewer.may_author(), fields.text("done") == "removed");
    page(&PreferencesPage { frame, sentence, asked, rows, cap, next, may_author, add, removed })
}

fn shown(row: &PreferenceRow, visit: &Visit, now: Timestamp) -> Row {
    let wants = Preference::read(&row.definition);
    let refused: Vec<&str> =
        wants.topics.iter().filter(|(_, topic)| !topic.subscribed).map(|(name, _)| name.as_str()).collect();
    let addresses: Vec<String> =
        wants.addresses.iter().map(|(kind, address)| format!("{kind} {address}")).collect();
    let zone = wants.time_zone.as_deref().unwrap_or("zone not known");
    Row {
        link: format!("/preferences/edit{}", query([("key", row.person.as_str())])),
        person: row.person.clone(),
        addresses: addresses.join(", "),
        refused: refused.join(", "),
        channels: wants.channels.map_or_else(|| "all".to_owned(), |channels| channels.join(", ")),
        quiet: wants
            .quiet_hours
            .map(|span| format!("{}–{}, {zone}", written(span.from), written(span.to)))
            .unwrap_or_default(),
        failover: wants.failover.join(" → "),
        changed: visit.zone.when(row.updated_at, now),
    }
}
