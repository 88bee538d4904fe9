//! Settings: everything that the API can define, by page. Each kind is a module with its description; how it is listed, edited
//! and removed is in `editor`.

mod channel_health;
pub mod channels;
mod consumers;
mod keys;
mod lists;
mod personal_data;
mod policy;
mod retention;
mod sites;
mod subscribers;
pub(in crate::pages) mod templates;
mod units;
mod uses;

use askama::Template;
use axum::{Router, extract::State, routing::get};
use punctual_model::Scope;
use punctual_store::{StoreError, business_units};

use crate::{
    App, Shared,
    answer::{Page, page},
    editor::{index, routes, routes_of_one},
    frame::{Frame, Visit},
};

/// Rows of a list on one page.
const SHOWN: i64 = 100;
/// Values that a field offers.
const OFFERED: i64 = 500;

/// What keeps to the business units of its viewer.
pub fn of_units() -> Router<Shared> {
    Router::new()
        .route("/settings", get(show))
        .route("/settings/lists", get(index::<lists::Lists>))
        .merge(routes::<lists::Lists>())
        .route("/settings/units", get(index::<units::Units>))
        .merge(routes::<units::Units>())
        .merge(personal_data::pages())
}

/// Definitions without a unit: everybody reads them.
pub fn of_everybody() -> Router<Shared> {
    Router::new().route("/settings/templates", get(index::<templates::Templates>))
}

/// What concerns all business units together.
pub fn of_the_installation() -> Router<Shared> {
    Router::new()
        .merge(channels::pages())
        .merge(consumers::pages())
        .merge(routes::<templates::Templates>())
        .merge(templates::preview())
        .route("/settings/keys", get(index::<keys::Keys>))
        .merge(routes::<keys::Keys>())
        .route("/settings/sites", get(index::<sites::Sites>))
        .merge(routes::<sites::Sites>())
        .merge(sites::tokens())
        .route("/settings/subscribers", get(index::<subscribers::Subscribers>))
        .merge(routes::<subscribers::Subscribers>())
        .merge(subscribers::chooser())
        .merge(policy::page())
        .merge(routes_of_one::<policy::Policy>())
        .merge(retention::pages())
        .merge(routes_of_one::<retention::Retention>())
}

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    frame: Frame,
    groups: Vec<(&'static str, Vec<Entry>)>,
}

/// One page of the settings.
pub struct Entry {
    pub path: &'static str,
    pub name: &'static str,
    pub about: &'static str,
}

const fn entry(path: &'static str, name: &'static str, about: &'static str) -> Entry {
    Entry { path, name, about }
}

async fn show(State(app): State<Shared>, visit: Visit) -> Page {
    let groups = entries(&visit);
    page(&SettingsPage { frame: visit.frame(&app, "Settings", "/settings").await?, groups })
}

/// The pages of the settings that the viewer has, by group.
pub fn entries(visit: &Visit) -> Vec<(&'static str, Vec<Entry>)> {
    let sees_all = visit.viewer.sees_all();
    let mut groups = vec![(
        "Messages",
        vec![
            entry("/channels", "Channels", "Ways to send messages: mail, SMS, chat, webhooks, brokers"),
            entry("/settings/lists", "Lists", "Recipients: named sets of addresses"),
            entry("/settings/templates", "Templates", "Texts of messages, in each language"),
        ],
    )];
    if sees_all {
        groups[0].1.extend([
            entry("/settings/policy", "Delivery policy", "Daily caps, digests and topics for everybody"),
            entry("/suppressions", "Suppressions", "Addresses that get no messages, and why"),
            entry("/settings/subscribers", "Subscribers", "Programs that get events"),
            entry("/consumers", "Consumers", "Brokers that events are received from"),
        ]);
    }
    let mut access = vec![entry("/settings/units", "Business units", "Owners of data, and their time zones")];
    if sees_all {
        access.extend([
            entry("/settings/users", "Users", "People with a role"),
            entry("/settings/keys", "Keys", "Programs with scopes"),
            entry("/settings/sites", "Sites", "Agents at other places, with tokens"),
        ]);
    }
    groups.push(("Access", access));
    let mut records = vec![entry("/audit", "Audit", "Who did what")];
    if visit.viewer.has(Scope::Admin) {
        let about = "Data about a person: export or erase";
        records.push(entry("/settings/personal-data", "Personal data", about));
    }
    if sees_all {
        records.push(entry(
            "/settings/retention",
            "Retention",
            "How long data is kept, and what the purge did",
        ));
    }
    groups.push(("Records", records));
    groups
}

/// The business units that the viewer may choose from.
pub(in crate::pages) async fn offered_units(
    app: &App,
    visit: &Visit,
) -> Result<Vec<(String, String)>, StoreError> {
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = business_units::page(&mut reader.conn(), &visit.viewer.by.reach(), "", OFFERED).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

/// A page of rows: those that are shown, and the key to go on after.
fn cut<T>(mut rows: Vec<T>, key: impl Fn(&T) -> String) -> (Vec<T>, Option<String>) {
    let most = usize::try_from(SHOWN).unwrap_or(usize::MAX);
    let more = rows.len() > most;
    rows.truncate(most);
    let next = rows.last().filter(|_| more).map(key);
    (rows, next)
}
