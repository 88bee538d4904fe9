//! One's own account: the password, and where one is signed in.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::{HeaderMap, Uri},
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_engine::{CommandError, commands::SigningIn, keys::secret_hash, passwords};
use punctual_model::Secret;
use punctual_store::{
    StoreError,
    sessions::Owner,
    users::{self, UserRow},
};
use punctual_wire::Problem;

use crate::{
    App, Shared,
    answer::{self, Page, Refusal, see_other},
    cookies, device,
    form::{Fields, Signed},
    frame::{Frame, Visit},
    sign_in::with_session,
    times::When,
    words,
};

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/account", get(show))
        .route("/account/password", post(change_password))
        .route("/account/end-sessions", post(end_sessions))
}

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    frame: Frame,
    sentence: String,
    done: Option<&'static str>,
    has_password: bool,
    shortest: usize,
    faults: BTreeMap<String, String>,
    sessions: Vec<OpenRow>,
}

/// An open session as a page shows it.
pub struct OpenRow {
    pub hash: String,
    pub device: String,
    pub created: When,
    pub used: When,
    /// The one that this page was asked for with.
    pub is_this: bool,
}

/// The open sessions of a key or a person; `secret` is the one of whoever looks, if it is among them.
pub async fn open_rows(
    app: &App,
    visit: &Visit,
    owner: &Owner,
    secret: Option<&str>,
) -> Result<Vec<OpenRow>, StoreError> {
    let now = app.wall.now();
    let own = secret.map(secret_hash);
    let at = |at: Timestamp| visit.zone.when(at, now);
    let open = app.engine.open_sessions(now, owner).await?;
    Ok(open
        .into_iter()
        .map(|one| OpenRow {
            is_this: own.as_deref() == Some(one.hash.as_str()),
            device: one.device.unwrap_or_else(|| "An unknown program".to_owned()),
            created: at(one.created_at),
            used: at(one.last_used_at),
            hash: one.hash,
        })
        .collect())
}

async fn show(State(app): State<Shared>, visit: Visit, headers: HeaderMap, uri: Uri) -> Page {
    let done = match Fields::of_query(&uri).text("done") {
        "password" => Some("Your password is changed. All other sessions have ended."),
        "ended" => Some("The session has ended."),
        "all-ended" => Some("All other sessions have ended."),
        _ => None,
    };
    shown(&app, &visit, &headers, BTreeMap::new(), done).await
}

/// The account of the viewer, where they have one.
async fn account(app: &App, visit: &Visit) -> Result<Option<UserRow>, StoreError> {
    let Owner::User(id) = &visit.viewer.owner else { return Ok(None) };
    let mut reader = app.engine.store.read_for_people().await?;
    users::get(&mut reader.conn(), id).await
}

async fn shown(
    app: &App,
    visit: &Visit,
    headers: &HeaderMap,
    faults: BTreeMap<String, String>,
    done: Option<&'static str>,
) -> Page {
    let user = account(app, visit).await?;
    let reach = match &visit.viewer.by.units {
        None => "all business units".to_owned(),
        Some(units) if units.is_empty() => "no business unit".to_owned(),
        Some(units) => units.join(", "),
    };
    let sentence = match &user {
        Some(user) => format!("{}, {} for {reach}.", user.email, user.role),
        None => format!("Signed in with the key {}, for {reach}.", visit.viewer.name),
    };
    let is_refused = !faults.is_empty();
    answer::form(
        &AccountPage {
            frame: visit.frame(app, "My account", "/account").await?,
            sentence,
            done,
            has_password: user.is_some_and(|user| user.password_hash.is_some()),
            shortest: passwords::SHORTEST,
            faults,
            sessions: open_rows(app, visit, &visit.viewer.owner, cookies::session(headers)).await?,
        },
        is_refused,
    )
}

/// Changes the password. All sessions end, and this browser gets a new one.
async fn change_password(State(app): State<Shared>, headers: HeaderMap, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    let Owner::User(id) = &visit.viewer.owner else {
        return Err(Problem::not_found("user", &visit.viewer.name).into());
    };
    let fault = |field: &str, detail: String| BTreeMap::from([(field.to_owned(), detail)]);
    if fields.text("password") != fields.text("again") {
        let faults = fault("again", "The two passwords differ.".to_owned());
        return shown(&app, &visit, &headers, faults, None).await;
    }
    let now = app.wall.now();
    // Who finds a browser that is signed in must not guess on either.
    if let Err(seconds) = app.slow_down.attempt(None, &visit.viewer.name, now) {
        return Err(Problem::rate_limited(seconds).into());
    }
    let (old, new) = (Secret::new(fields.text("old")), Secret::new(fields.text("password")));
    let user = match app.engine.change_password(now, id, &old, &new).await {
        Ok(user) => user,
        Err(CommandError::Invalid(faults)) => {
            let faults = faults
                .into_iter()
                .map(|fault| {
                    let said = words::said(&fault.pointer, &fault.detail);
                    (fault.pointer.trim_start_matches('/').to_owned(), said)
                })
                .collect();
            return shown(&app, &visit, &headers, faults, None).await;
        }
        Err(error) => return Err(Refusal::from(error)),
    };
    app.slow_down.succeeded(None, &visit.viewer.name, now);
    let secret =
        app.engine.start_session(now, SigningIn::User(&user), None, Some(&device::of(&headers))).await?;
    with_session(&headers, &secret, see_other("/account?done=password")?)
}

/// Ends one session of one's own, or all but this one.
async fn end_sessions(State(app): State<Shared>, headers: HeaderMap, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    let (viewer, now) = (&visit.viewer, app.wall.now());
    let done = match fields.text("session") {
        "" => {
            app.engine.end_sessions_of(&viewer.by, now, &viewer.owner, cookies::session(&headers)).await?;
            "all-ended"
        }
        hash => {
            app.engine.end_session_of(&viewer.by, now, &viewer.owner, hash).await?;
            "ended"
        }
    };
    see_other(&format!("/account?done={done}"))
}
