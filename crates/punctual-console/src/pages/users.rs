//! People who sign in to the console: the list, and who vouches for them.

mod act;
mod edit;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use punctual_store::users::{self, UserRow};

use crate::{
    Shared,
    answer::{Page, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::When,
    words::{Pill, counted},
};

/// Where the list is; everything about people is below it.
const HERE: &str = "/settings/users";
/// People on one page.
const SHOWN: usize = 100;

pub fn routes() -> Router<Shared> {
    Router::new().route("/settings/users", get(list)).merge(edit::routes()).merge(act::routes())
}

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage {
    frame: Frame,
    sentence: String,
    rows: Vec<Row>,
    next: Option<String>,
    done: Option<&'static str>,
    sign_on: Option<Provider>,
}

/// The single sign-on as it is configured.
struct Provider {
    name: String,
    issuer: String,
    redirect_uri: String,
    mappings: Vec<(String, &'static str, String)>,
}

struct Row {
    link: String,
    id: String,
    name: String,
    email: String,
    role: String,
    units: String,
    pill: Pill,
    seen: Option<When>,
}

async fn list(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    visit.must_admin()?;
    let fields = Fields::of_query(&uri);
    let mut reader = app.engine.store.read_for_people().await?;
    let mut found = users::page(&mut reader.conn(), fields.text("after"), SHOWN as i64 + 1).await?;
    drop(reader);
    let more = found.len() > SHOWN;
    found.truncate(SHOWN);
    let next = found.last().filter(|_| more).map(|row| row.email.clone());
    let waiting = found.iter().filter(|row| pill(row).word == "invited").count();
    let mut sentence = counted(i64::try_from(found.len()).unwrap_or(i64::MAX), "person", "people");
    sentence.push_str(match waiting {
        0 => " on this page, all of whom have signed up.",
        _ => " on this page, ",
    });
    if waiting > 0 {
        sentence.push_str(&format!("{waiting} of whom not yet signed up."));
    }
    let now = app.wall.now();
    let rows: Vec<Row> = found
        .into_iter()
        .map(|row| Row {
            link: format!("{HERE}/{}", links::encoded(&row.id)),
            pill: pill(&row),
            units: units(&row).map_or_else(|| "all".to_owned(), |units| units.join(", ")),
            seen: row.last_sign_in_at.map(|at| visit.zone.when(at, now)),
            id: row.id,
            name: row.name,
            email: row.email,
            role: row.role,
        })
        .collect();
    page(&UsersPage {
        frame: visit.frame(&app, "Users", HERE).await?,
        sentence: if rows.is_empty() { String::new() } else { sentence },
        next: next.map(|after| format!("{HERE}{}", links::query([("after", after.as_str())]))),
        rows,
        done: match fields.text("done") {
            "saved" => Some("Saved. It applies to open sessions too."),
            "removed" => Some("Removed. Their sessions have ended."),
            _ => None,
        },
        sign_on: app.sign_on.current(&app.engine).await?.map(|sign_on| Provider {
            name: sign_on.provider.name().to_owned(),
            issuer: sign_on.provider.issuer().to_owned(),
            redirect_uri: format!("{}/sign-in/answer", app.engine.public_address()),
            mappings: sign_on
                .mappings
                .iter()
                .map(|mapping| {
                    let units = mapping.business_units.as_ref().map(|units| units.join(", "));
                    (mapping.group.clone(), mapping.role.as_str(), units.unwrap_or_else(|| "all".to_owned()))
                })
                .collect(),
        }),
    })
}

/// The business units somebody is limited to.
fn units(row: &UserRow) -> Option<Vec<String>> {
    row.business_units.as_deref().map(|text| serde_json::from_str(text).unwrap_or_default())
}

fn pill(row: &UserRow) -> Pill {
    if !row.active {
        Pill { word: "disabled", class: "muted" }
    } else if row.password_hash.is_none() && row.subject.is_none() {
        Pill { word: "invited", class: "neutral" }
    } else {
        Pill { word: "active", class: "good" }
    }
}
