//! The pages of a kind of definition: how its forms are shown, refused, kept and compared is the same for all.

mod save;
mod shown;
mod typed;

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::Uri,
    routing::{get, post},
};
use punctual_wire::Problem;
use serde_json::{Map, Value};

pub use self::typed::{again, typed_draft};
use self::{
    save::save,
    shown::{Shown, placed},
};
use super::{Form, Listing, Notice, Once, Resource, Stored};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, plain, see_other},
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
    above: &'static str,
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
    /// What saving would do, once that was asked for, and the request that it is about.
    plan: String,
    planned: String,
    plans: bool,
    beside: String,
    below: String,
    back: String,
    save_word: &'static str,
    acts: &'static [(&'static str, &'static str)],
    as_json: bool,
    /// The form cannot show all of it.
    only_json: bool,
    /// Where those who may only read find it as JSON.
    json: String,
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
    let mut routes = Router::new().route(&at("new"), get(fresh::<R>)).route(&at("save"), post(save::<R>));
    if !R::REMOVING.1.is_empty() {
        routes = routes.route(&at("delete"), post(remove::<R>));
    }
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
    let fields = Fields::of_query(&uri);
    // What is made with an adapter begins with the choice of one.
    if R::ADD.ends_with("/add") && fields.text("adapter").is_empty() {
        return see_other(R::ADD);
    }
    let asked: Map<String, Value> =
        fields.pairs().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let mut draft = asked.clone();
    R::fresh(&app, &visit, &mut draft).await;
    draft.extend(asked);
    let draft = Value::Object(draft);
    // What an address says beside the fields is left out.
    let begun = R::to_form(&draft);
    let form = R::form(&app, &visit, &begun, None).await?.showing(&begun);
    // What stands beside the form is about what the fields show, as if they were sent.
    let draft = R::of_form(form.shown());
    edit_page::<R>(&app, &visit, Shown::fields(form), None, Opened { draft, ..Opened::default() }).await
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
    opened::<R>(&app, &visit, fields.text("key"), notice, fields.text("view") == "json").await
}

/// What is stored under a key, or that there is none.
async fn stored<R: Resource>(app: &App, visit: &Visit, key: &str) -> Result<Stored, Refusal> {
    R::stored(app, visit, key).await?.ok_or_else(|| Problem::not_found(R::ONE, key).into())
}

/// The form of one that is stored.
pub async fn shown<R: Resource>(app: &App, visit: &Visit, key: &str, notice: Option<Notice>) -> Page {
    opened::<R>(app, visit, key, notice, false).await
}

async fn opened<R: Resource>(
    app: &App,
    visit: &Visit,
    key: &str,
    notice: Option<Notice>,
    as_json: bool,
) -> Page {
    let stored = stored::<R>(app, visit, key).await?;
    let mut shown = Shown::of::<R>(app, visit, &stored.draft, Some(&stored), as_json).await?;
    if let Some((verdict, faults)) =
        R::review(app, visit, &stored).await?.filter(|(_, faults)| !faults.is_empty())
    {
        shown.form = placed::<R>(shown.form, &faults, shown.as_json);
        shown.form.verdict = Some(verdict);
    }
    let opened = Opened { notice, ..Opened::of(&stored) };
    edit_page::<R>(app, visit, shown, Some(&stored), opened).await
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
    /// What it would do is shown.
    is_planned: bool,
}

impl<'f> Opened<'f> {
    /// What was open when this was sent.
    fn typed(fields: &'f Fields, draft: Value) -> Self {
        Self {
            version: fields.text("version").to_owned(),
            base: fields.text("base").to_owned(),
            typed: Some(fields),
            draft,
            ..Self::default()
        }
    }

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
    shown: Shown,
    stored: Option<&Stored>,
    opened: Opened<'_>,
) -> Page {
    let known = stored.map_or_else(String::new, |stored| stored.key.clone());
    let title = stored.map_or_else(|| format!("New {}", R::one(&opened.draft)), R::name);
    let plan = match opened.is_planned {
        true => R::plan(app, visit, stored, &opened.draft).await?,
        false => String::new(),
    };
    let beside = R::beside(app, visit, stored, &opened.draft, opened.typed).await?;
    let below = R::below(app, visit, stored, &opened.draft, opened.typed).await?;
    let may_change = R::may_change(visit).is_ok();
    let here = match stored {
        Some(_) => R::at(&known),
        None => R::HOME.to_owned(),
    };
    page(&EditPage {
        frame: visit.frame(app, &title, R::NAV).await?,
        json: format!("{here}{}view=json", if here.contains('?') { '&' } else { '?' }),
        here,
        home: R::HOME,
        above: R::ABOVE,
        one: R::one(&opened.draft),
        many: R::MANY,
        removing: R::REMOVING,
        sentence: stored.map_or_else(String::new, |stored| stored.sentence.clone()),
        notice: opened.notice,
        may_remove: may_change && stored.is_some() && !R::REMOVING.1.is_empty(),
        may_change,
        back: R::back(stored),
        save_word: R::SAVE,
        acts: R::ACTS,
        as_json: shown.as_json,
        only_json: shown.only_json,
        form: shown.form,
        known,
        version: opened.version,
        base: opened.base,
        changes: opened.changes,
        planned: if opened.is_planned { opened.draft.to_string() } else { String::new() },
        plan,
        plans: R::PLANNED,
        beside,
        below,
    })
}

/// The page with a secret.
pub async fn shown_once<R: Resource>(app: &App, visit: &Visit, once: Once) -> Page {
    let Once { title, label, secret, hint } = once;
    let frame = visit.frame(app, &title, R::NAV).await?;
    plain(page(&OncePage { frame, home: R::HOME, many: R::MANY, label, secret, hint })?)
}

async fn remove<R: Resource>(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    R::may_change(&visit)?;
    R::remove(&app, &visit, fields.text("key")).await?;
    let done = if R::REMOVING.0 == "Revoke" { "revoked" } else { "removed" };
    see_other(&format!("{}?done={done}", R::HOME))
}
