//! One person: a form that the API's own checks are behind, and their sessions.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use punctual_engine::{
    CommandError,
    commands::{NewUser, UserChange},
};
use punctual_model::Role;
use punctual_store::{
    business_units,
    sessions::Owner,
    users::{self, UserRow},
};
use punctual_wire::{Problem, users::UserRequest};
use serde_json::{Value, json};

use super::{HERE, act::invited, pill, units};
use crate::{
    App, Shared,
    answer::{self, Page, Refusal, Refused, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    meanwhile::{Change, Labelled, Opened, labelled},
    pages::account::{OpenRow, open_rows},
    words::{self, Pill},
};

/// Business units that the form offers.
const OFFERED: i64 = 500;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/settings/users/new", get(new))
        .route("/settings/users/save", post(save))
        .route("/settings/users/{id}", get(show))
}

#[derive(Template)]
#[template(path = "user.html")]
struct UserPage {
    frame: Frame,
    here: String,
    sentence: String,
    done: Option<&'static str>,
    pill: Option<Pill>,
    entered: Entered,
    base: String,
    changes: Option<Vec<Change>>,
    one: &'static str,
    faults: BTreeMap<String, String>,
    roles: [(&'static str, &'static str); 4],
    offered: Vec<(String, String)>,
    active: bool,
    from_provider: bool,
    sessions: Vec<OpenRow>,
}

/// What is in the fields.
#[derive(Clone, Default)]
struct Entered {
    /// The id of somebody who is there already.
    known: String,
    email: String,
    name: String,
    role: String,
    /// Limited to the units below.
    limited: bool,
    units: String,
}

impl Entered {
    fn read(fields: &Fields) -> Self {
        let text = |name: &str| fields.text(name).to_owned();
        Self {
            known: text("known"),
            email: text("email"),
            name: text("name"),
            role: text("role"),
            limited: fields.text("reach") == "some",
            units: fields.all("businessUnits").collect::<Vec<_>>().join(", "),
        }
    }

    fn of(row: &UserRow) -> Self {
        let units = units(row);
        Self {
            known: row.id.clone(),
            email: row.email.clone(),
            name: row.name.clone(),
            role: row.role.clone(),
            limited: units.is_some(),
            units: units.unwrap_or_default().join(", "),
        }
    }

    /// The fields as the form shows them.
    fn labelled(&self) -> Labelled {
        labelled([
            ("Name", &self.name),
            ("Email", &self.email),
            ("Role", &self.role),
            ("Business units", if self.limited { &self.units } else { "all" }),
        ])
    }

    /// Whether one of the units that the form offers is chosen.
    fn has_unit(&self, id: &str) -> bool {
        self.units.split(", ").any(|unit| unit == id)
    }

    /// The same request that the API takes, so that both refuse the same.
    fn request(&self) -> Value {
        let mut request = json!({});
        let texts = [("email", &self.email), ("name", &self.name), ("role", &self.role)];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            request[name] = text.as_str().into();
        }
        if self.limited {
            let units = self.units.split([',', ' ', '\n', '\r']).filter(|unit| !unit.is_empty());
            request["businessUnits"] = units.collect::<Vec<_>>().into();
        }
        request
    }
}

const ROLES: [(&str, &str); 4] = [
    (Role::Viewer.as_str(), "Viewer: views, changes nothing"),
    (Role::Operator.as_str(), "Operator: also retries, discards, releases, cancels"),
    (Role::Author.as_str(), "Author: also writes definitions"),
    (Role::Admin.as_str(), "Admin: everything"),
];

async fn new(State(app): State<Shared>, visit: Visit) -> Page {
    visit.must_admin()?;
    let entered = Entered { role: Role::Viewer.as_str().to_owned(), ..Entered::default() };
    form(&app, &visit, entered, Opened::default(), BTreeMap::new(), None).await
}

async fn show(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: Uri) -> Page {
    visit.must_admin()?;
    let row = found(&app, &id).await?;
    let done = match Fields::of_query(&uri).text("done") {
        "enabled" => Some("They can sign in again."),
        "disabled" => Some("They cannot sign in any more. Their sessions have ended."),
        "ended" => Some("The session has ended."),
        "all-ended" => Some("All their sessions have ended."),
        _ => None,
    };
    let entered = Entered::of(&row);
    let opened = Opened::on(&entered.labelled());
    form(&app, &visit, entered, opened, BTreeMap::new(), done).await
}

pub(super) async fn found(app: &App, id: &str) -> Result<UserRow, Refusal> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = users::get(&mut reader.conn(), id).await?;
    row.ok_or_else(|| Problem::not_found("user", id).into())
}

async fn form(
    app: &App,
    visit: &Visit,
    entered: Entered,
    opened: Opened,
    faults: BTreeMap<String, String>,
    done: Option<&'static str>,
) -> Page {
    let row = if entered.known.is_empty() { None } else { Some(found(app, &entered.known).await?) };
    let mut reader = app.engine.store.read_for_people().await?;
    let offered = business_units::page(&mut reader.conn(), &visit.viewer.by.reach(), "", OFFERED).await?;
    drop(reader);
    let sessions = match &row {
        Some(row) => open_rows(app, visit, &Owner::User(row.id.clone()), None).await?,
        None => Vec::new(),
    };
    let (title, sentence) = match &row {
        None => ("Invite a user".to_owned(), "They get a link, set a password and sign in.".to_owned()),
        Some(row) => (row.name.clone(), format!("Signs in as {}.", row.email)),
    };
    let refusal = Refused::of(!faults.is_empty(), &opened);
    answer::form(
        &UserPage {
            frame: visit.frame(app, &title, HERE).await?,
            here: match &row {
                None => format!("{HERE}/new"),
                Some(row) => format!("{HERE}/{}", row.id),
            },
            sentence,
            done,
            pill: row.as_ref().map(pill),
            entered,
            base: opened.base,
            changes: opened.changes,
            one: "user",
            faults,
            roles: ROLES,
            offered: offered.into_iter().map(|unit| (unit.id, unit.name)).collect(),
            active: row.as_ref().is_some_and(|row| row.active),
            from_provider: row.as_ref().is_some_and(|row| row.rights_from_provider),
            sessions,
        },
        refusal,
    )
}

async fn save(State(app): State<Shared>, form_sent: Signed) -> Page {
    let Signed { visit, fields } = form_sent;
    visit.must_admin()?;
    let entered = Entered::read(&fields);
    let request = match UserRequest::read(&entered.request(), "") {
        Ok(request) => request,
        Err(faults) => {
            let at = faults.iter().map(|fault| (fault.pointer.as_str(), fault.detail.as_str()));
            return form(&app, &visit, entered, Opened::sent(&fields), by_field(at), None).await;
        }
    };
    // Who is limited to nothing sees nothing: nobody means that who leaves the choice open.
    if entered.limited && entered.units.is_empty() && entered.known.is_empty() {
        let detail = "Choose at least one business unit.".to_owned();
        let faults = BTreeMap::from([("businessUnits".to_owned(), detail)]);
        return form(&app, &visit, entered, Opened::sent(&fields), faults, None).await;
    }
    if !entered.known.is_empty() {
        let stored = Entered::of(&found(&app, &entered.known).await?).labelled();
        if let Some(opened) = Opened::overtaken(&fields, &stored) {
            return form(&app, &visit, entered, opened, BTreeMap::new(), None).await;
        }
    }
    let now = app.wall.now();
    let UserRequest { email, name, role, business_units } = request;
    let saved = if entered.known.is_empty() {
        let id = app.engine.random.ordered_uuid(now);
        let new = NewUser { email, name, role, business_units };
        app.engine.create_user(&visit.viewer.by, now, id, new).await
    } else {
        let change = UserChange {
            email: Some(email),
            name: Some(name),
            role: Some(role),
            business_units: Some(business_units),
            active: None,
        };
        app.engine.change_user(&visit.viewer.by, now, &entered.known, change).await
    };
    match saved {
        Ok(user) if entered.known.is_empty() => invited(&app, &visit, &user.id).await,
        Ok(_) => see_other(&format!("{HERE}?done=saved")),
        Err(CommandError::Invalid(faults)) => {
            let at = faults.iter().map(|fault| (fault.pointer.as_str(), fault.detail.as_str()));
            form(&app, &visit, entered, Opened::sent(&fields), by_field(at), None).await
        }
        Err(CommandError::IdReused { id, .. }) => {
            let detail = format!("There is already a user with the email {id}.");
            let faults = BTreeMap::from([("email".to_owned(), detail)]);
            form(&app, &visit, entered, Opened::sent(&fields), faults, None).await
        }
        Err(error) => Err(error.into()),
    }
}

/// What is wrong at which place, by the field that it stands beside.
fn by_field<'f>(faults: impl Iterator<Item = (&'f str, &'f str)>) -> BTreeMap<String, String> {
    faults.map(|(pointer, detail)| (field_of(pointer), words::said(pointer, detail))).collect()
}

/// The field that a pointer leads to: `businessUnits` for `/businessUnits/1`.
fn field_of(pointer: &str) -> String {
    pointer.split('/').nth(1).unwrap_or_default().to_owned()
}
