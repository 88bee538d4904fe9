//! The pages of a kind of definition: how its forms are shown, refused, kept and compared is the same for all.

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::{StatusCode, Uri},
    response::IntoResponse,
    routing::{get, post},
};
use punctual_engine::commands::Seen;
use punctual_wire::{Code, FieldError, Problem};
use serde_json::{Map, Value};

use super::{Done, Form, Kind, Listing, Notice, Once, Refused, Resource, Stored};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    links,
};

#[derive(Template)]
#[template(path = "settings_list.html")]
struct ListPage {
    frame: Frame,
    home: &'static str,
    add: &'static str,
    one: &'static str,
    edited: bool,
    removing: (&'static str, &'static str),
    may_change: bool,
    listing: Listing,
    notice: Option<&'static str>,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "settings_edit.html")]
struct EditPage {
    frame: Frame,
    here: String,
    home: &'static str,
    one: &'static str,
    many: &'static str,
    removing: (&'static str, &'static str),
    sentence: String,
    notice: Option<Notice>,
    form: Form,
    /// The key of one that is stored.
    known: String,
    version: String,
    /// What was stored when the form was opened.
    base: String,
    may_change: bool,
    may_remove: bool,
    /// What somebody else changed meanwhile.
    changes: Option<Vec<(String, String, String)>>,
    below: String,
}

#[derive(Template)]
#[template(path = "settings_once.html")]
struct OncePage {
    frame: Frame,
    home: &'static str,
    many: &'static str,
    label: &'static str,
    secret: String,
    hint: String,
}

/// A list of ten thousand addresses, as it is typed and as it was.
pub const LARGE_FORM: usize = 4 << 20;

/// The pages to make, change and remove one; the list is [`index`].
pub fn routes<R: Resource>() -> Router<Shared> {
    let at = |end: &str| format!("{}/{end}", R::HOME);
    let mut routes = Router::new()
        .route(&at("new"), get(fresh::<R>))
        .route(&at("save"), post(save::<R>))
        .route(&at("delete"), post(remove::<R>));
    if R::EDITED {
        routes = routes.route(&at("edit"), get(edit::<R>));
    }
    routes.layer(DefaultBodyLimit::max(LARGE_FORM))
}

/// The pages of something that there is one of.
pub fn routes_of_one<R: Resource>() -> Router<Shared> {
    let at = |end: &str| format!("{}/{end}", R::HOME);
    Router::new().route(&at("edit"), get(edit::<R>)).route(&at("save"), post(save::<R>))
}

/// The list of a kind.
pub async fn index<R: Resource>(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let listing = R::list(&app, &visit, &fields).await?;
    let notice = match fields.text("done") {
        "removed" => Some("Removed."),
        "revoked" => Some("Revoked."),
        _ => None,
    };
    let next = listing.next.as_ref().map(|after| format!("{}?after={}", R::HOME, links::encoded(after)));
    page(&ListPage {
        frame: visit.frame(&app, R::MANY, R::NAV).await?,
        home: R::HOME,
        add: R::ADD,
        one: R::ONE,
        edited: R::EDITED,
        removing: R::REMOVING,
        may_change: R::may_change(&visit).is_ok(),
        listing,
        notice,
        next,
    })
}

async fn fresh<R: Resource>(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    R::may_change(&visit)?;
    let mut draft = Map::new();
    R::fresh(&mut draft);
    for (name, value) in Fields::of_query(&uri).pairs() {
        draft.insert(name.to_owned(), value.into());
    }
    let draft = Value::Object(draft);
    let form = R::form(&app, &visit, &draft, None).await?.showing(&draft);
    edit_page::<R>(&app, &visit, form, None, Opened { draft, ..Opened::default() }).await
}

async fn edit<R: Resource>(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let text = match fields.text("done") {
        "saved" => Some("Saved."),
        "channel-unknown" => {
            Some("Saved. There is no such channel yet: messages are parked until it is made.")
        }
        _ => None,
    };
    let notice = text.map(|text| Notice { text: text.to_owned(), warn: text != "Saved." });
    shown::<R>(&app, &visit, fields.text("key"), notice).await
}

/// The form of one that is stored.
pub async fn shown<R: Resource>(app: &App, visit: &Visit, key: &str, notice: Option<Notice>) -> Page {
    let missing = || Refusal::from(Problem::not_found(R::ONE, key));
    let stored = R::stored(app, visit, key).await?.ok_or_else(missing)?;
    let form = R::form(app, visit, &stored.draft, Some(&stored)).await?.showing(&stored.draft);
    let opened = Opened { notice, ..Opened::of(&stored) };
    edit_page::<R>(app, visit, form, Some(&stored), opened).await
}

/// What an open form knows of what it changes.
#[derive(Default)]
struct Opened<'f> {
    version: String,
    base: String,
    notice: Option<Notice>,
    changes: Option<Vec<(String, String, String)>>,
    /// The request that is in the form.
    draft: Value,
    typed: Option<&'f Fields>,
}

impl Opened<'_> {
    fn of(stored: &Stored) -> Self {
        Self {
            version: stored.version.to_string(),
            base: stored.draft.to_string(),
            draft: stored.draft.clone(),
            ..Self::default()
        }
    }
}

async fn edit_page<R: Resource>(
    app: &App,
    visit: &Visit,
    form: Form,
    stored: Option<&Stored>,
    opened: Opened<'_>,
) -> Page {
    let known = stored.map_or_else(String::new, |stored| stored.key.clone());
    let title = if known.is_empty() { format!("New {}", R::ONE) } else { known.clone() };
    let below = R::below(app, visit, stored, &opened.draft, opened.typed).await?;
    let may_change = R::may_change(visit).is_ok();
    page(&EditPage {
        frame: visit.frame(app, &title, R::NAV).await?,
        here: match stored {
            Some(_) => format!("{}/edit?key={}", R::HOME, links::encoded(&known)),
            None => R::HOME.to_owned(),
        },
        home: R::HOME,
        one: R::ONE,
        many: R::MANY,
        removing: R::REMOVING,
        sentence: stored.map_or_else(String::new, |stored| stored.sentence.clone()),
        notice: opened.notice,
        may_remove: may_change && stored.is_some() && !R::REMOVING.1.is_empty(),
        may_change,
        form,
        known,
        version: opened.version,
        base: opened.base,
        changes: opened.changes,
        below,
    })
}

async fn save<R: Resource>(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    R::may_change(&visit)?;
    let (stored, form, draft) = typed::<R>(&app, &visit, &fields).await?;
    let seen = match fields.text("version") {
        "" => Seen::Nothing,
        version => version.parse().map_or(Seen::Nothing, Seen::Version),
    };
    let refused = match R::save(&app, &visit, seen, draft.clone()).await {
        Ok(Done::Saved { key, note }) if R::EDITED => {
            return see_other(&format!("{}/edit?key={}&done={note}", R::HOME, links::encoded(&key)));
        }
        Ok(Done::Saved { .. }) => return see_other(R::HOME),
        Ok(Done::Once(once)) => return shown_once::<R>(&app, &visit, once).await,
        Err(refused) => refused,
    };
    let form = form.typed(&fields);
    let opened = Opened {
        version: fields.text("version").to_owned(),
        base: fields.text("base").to_owned(),
        typed: Some(&fields),
        draft: draft.clone(),
        ..Opened::default()
    };
    let (status, form, opened) = match refused {
        Refused::Faults(faults) => (StatusCode::UNPROCESSABLE_ENTITY, form.with_faults(&faults), opened),
        Refused::Stale => {
            let (before, now) = (serde_json::from_str(&opened.base), stored.as_ref());
            let changes = match (before, now) {
                (Ok(before), Some(now)) => form.changes(&before, &now.draft),
                _ => Vec::new(),
            };
            // The next save goes on from what is stored now.
            let now = now.map(Opened::of).unwrap_or_default();
            (
                StatusCode::CONFLICT,
                form,
                Opened { changes: Some(changes), typed: Some(&fields), draft, ..now },
            )
        }
        Refused::Other(refusal) => {
            let problem = refusal.into_problem();
            if problem.code != Code::IdReused {
                return Err(problem.into());
            }
            let detail = format!("There is a {} of this name already.", R::ONE);
            let taken = FieldError::new(R::KEY, Code::IdReused, detail);
            (StatusCode::CONFLICT, form.with_faults(&[taken]), opened)
        }
    };
    let answer = edit_page::<R>(&app, &visit, form, stored.as_ref(), opened).await?;
    Ok((status, answer).into_response())
}

/// The page with a secret.
pub async fn shown_once<R: Resource>(app: &App, visit: &Visit, once: Once) -> Page {
    let Once { title, label, secret, hint } = once;
    let frame = visit.frame(app, &title, R::NAV).await?;
    page(&OncePage { frame, home: R::HOME, many: R::MANY, label, secret, hint })
}

/// What is stored, the form for what was typed, and that as a request.
async fn typed<R: Resource>(
    app: &App,
    visit: &Visit,
    fields: &Fields,
) -> Result<(Option<Stored>, Form, Value), Refusal> {
    let stored = match fields.text("known") {
        "" => None,
        known => R::stored(app, visit, known).await?,
    };
    // A form may depend on what is in it, such as the adapter: those fields are in every request.
    let mut given = Map::new();
    for (name, value) in fields.pairs().filter_map(|(name, value)| Some((name.strip_prefix('/')?, value))) {
        given.insert(name.to_owned(), value.into());
    }
    let form = R::form(app, visit, &Value::Object(given), stored.as_ref()).await?;
    let draft = form.draft(fields);
    Ok((stored, form, draft))
}

/// What was typed, as a request.
pub async fn typed_draft<R: Resource>(app: &App, visit: &Visit, fields: &Fields) -> Result<Value, Refusal> {
    typed::<R>(app, visit, fields).await.map(|(_, _, draft)| draft)
}

/// The form again with what was typed, for what is shown beside it.
pub async fn again<R: Resource>(app: &App, visit: &Visit, fields: &Fields) -> Page {
    let (stored, form, draft) = typed::<R>(app, visit, fields).await?;
    let opened = Opened {
        version: fields.text("version").to_owned(),
        base: fields.text("base").to_owned(),
        typed: Some(fields),
        draft,
        ..Opened::default()
    };
    edit_page::<R>(app, visit, form.typed(fields), stored.as_ref(), opened).await
}

async fn remove<R: Resource>(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    R::may_change(&visit)?;
    R::remove(&app, &visit, fields.text("key")).await?;
    let done = if R::REMOVING.0 == "Revoke" { "revoked" } else { "removed" };
    see_other(&format!("{}?done={done}", R::HOME))
}
