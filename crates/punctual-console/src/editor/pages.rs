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
use punctual_wire::{Code, FieldError, Problem, strict};
use serde_json::{Map, Value};

use super::{
    Act, Done, Field, Form, Kind, Listing, Notice, Once, Part, Refused, Resource, Stored, field::WHOLE,
    rows::typed_tree,
};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, plain, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    links,
    pages::entries,
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
    let asked: Map<String, Value> =
        fields.pairs().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let mut draft = asked.clone();
    R::fresh(&app, &visit, &mut draft);
    draft.extend(asked);
    let draft = Value::Object(draft);
    // What an address says beside the fields is left out.
    let begun = R::to_form(&draft);
    let shown = Shown::fields(R::form(&app, &visit, &begun, None).await?.showing(&begun));
    edit_page::<R>(&app, &visit, shown, None, Opened { draft, ..Opened::default() }).await
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

/// A form with what is in it, and how it is edited.
struct Shown {
    form: Form,
    as_json: bool,
    only_json: bool,
}

impl Shown {
    /// A request as fields where they can show all of it, unless JSON is asked for.
    async fn of<R: Resource>(
        app: &App,
        visit: &Visit,
        request: &Value,
        stored: Option<&Stored>,
        as_json: bool,
    ) -> Result<Self, Refusal> {
        let draft = R::to_form(request);
        let form = R::form(app, visit, &draft, stored).await?.showing(&draft);
        let only_json = !says(&pruned(&R::of_form(form.shown())), &pruned(&R::of_form(draft)));
        if as_json || only_json {
            let mut whole = request.clone();
            // What is stored keeps its name.
            if stored.is_some() {
                super::take_text(&mut whole, R::KEY.trim_start_matches('/'));
            }
            return Ok(Self { form: json_form().showing(&whole), as_json: true, only_json });
        }
        Ok(Self { form, as_json, only_json })
    }

    fn fields(form: Form) -> Self {
        Self { form, as_json: false, only_json: false }
    }
}

/// A request without what says nothing: fields that are empty, and blanks around texts.
fn pruned(value: &Value) -> Value {
    match value {
        Value::String(text) => text.trim().replace("\r\n", "\n").into(),
        Value::Array(items) => items.iter().map(pruned).collect(),
        Value::Object(fields) => {
            let says = |value: &Value| match value {
                Value::Null => false,
                Value::String(text) => !text.is_empty(),
                Value::Object(fields) => !fields.is_empty(),
                _ => true,
            };
            let fields = fields.iter().map(|(name, value)| (name.clone(), pruned(value)));
            Value::Object(fields.filter(|(_, value)| says(value)).collect())
        }
        other => other.clone(),
    }
}

/// Whether a request says all that another one does; beside it there may be what a form adds, such as a box that is not ticked.
fn says(shown: &Value, wanted: &Value) -> bool {
    match (shown, wanted) {
        (Value::Object(shown), Value::Object(wanted)) => {
            wanted.iter().all(|(name, value)| shown.get(name).is_some_and(|own| says(own, value)))
        }
        (Value::Array(shown), Value::Array(wanted)) => {
            shown.len() == wanted.len() && shown.iter().zip(wanted).all(|(own, value)| says(own, value))
        }
        _ => shown == wanted,
    }
}

/// The form of a request as text.
fn json_form() -> Form {
    let hint = "The request of the API, as it would be sent. Secrets are not shown; those that are left out stay as they are.";
    let field = Field::new("", "Definition", Kind::Json).hint(hint);
    Form::of(vec![Part::new("JSON", vec![field])])
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

/// Faults of a request at their fields.
fn placed<R: Resource>(form: Form, faults: &[FieldError], as_json: bool) -> Form {
    let place = |fault: &FieldError| {
        let pointer = if as_json { fault.pointer.clone() } else { R::place(&fault.pointer) };
        FieldError::new(pointer, fault.code, fault.detail.clone())
    };
    form.with_faults(&faults.iter().map(place).collect::<Vec<_>>())
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

async fn save<R: Resource>(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    R::may_change(&visit)?;
    if let Some(act) = Act::read(&fields) {
        return changed_form::<R>(&app, &visit, &fields, &act).await;
    }
    let Typed { stored, form, request, faults, as_json } = typed::<R>(&app, &visit, &fields).await?;
    let seen = seen(&fields);
    let asked = request.to_string();
    let is_planned = !R::PLANNED || fields.text("planned") == asked;
    let saved = match (faults.is_empty(), is_planned) {
        (false, _) => Err(Refused::Faults(faults)),
        (true, true) => R::save(&app, &visit, seen, request.clone()).await,
        (true, false) => match R::check(&app, &visit, seen, &request).await {
            Ok(()) => {
                let opened = Opened { is_planned: true, ..Opened::typed(&fields, request) };
                let shown = Shown { form: form.typed(&fields), as_json, only_json: false };
                return edit_page::<R>(&app, &visit, shown, stored.as_ref(), opened).await;
            }
            Err(refused) => Err(refused),
        },
    };
    let refused = match saved {
        Ok(Done::Saved { key, note }) if R::EDITED => {
            return see_other(&R::after(&key, note, fields.text("then")));
        }
        Ok(Done::Saved { .. }) => return see_other(R::HOME),
        Ok(Done::Once(once)) => return shown_once::<R>(&app, &visit, once).await,
        Err(refused) => refused,
    };
    let form = form.typed(&fields);
    let opened = Opened::typed(&fields, request);
    let (status, form, opened) = match refused {
        Refused::Faults(faults) => {
            (StatusCode::UNPROCESSABLE_ENTITY, placed::<R>(form, &faults, as_json), opened)
        }
        Refused::Stale => {
            let changes = match (serde_json::from_str(&opened.base), stored.as_ref()) {
                (Ok(before), Some(now)) => meanwhile::<R>(&app, &visit, &before, now).await?,
                _ => Vec::new(),
            };
            // The next save goes on from what is stored now.
            let now = stored.as_ref().map(Opened::of).unwrap_or_default();
            let opened = Opened { version: now.version, base: now.base, changes: Some(changes), ..opened };
            (StatusCode::CONFLICT, form, opened)
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
    let shown = Shown { form, as_json, only_json: false };
    let answer = edit_page::<R>(&app, &visit, shown, stored.as_ref(), opened).await?;
    Ok((status, answer).into_response())
}

/// What somebody else has changed since the form was opened.
async fn meanwhile<R: Resource>(
    app: &App,
    visit: &Visit,
    before: &Value,
    now: &Stored,
) -> Result<Vec<(String, String, String)>, Refusal> {
    let shown = async |request: &Value| {
        let draft = R::to_form(request);
        Ok::<Form, Refusal>(R::form(app, visit, &draft, Some(now)).await?.showing(&draft))
    };
    Ok(shown(before).await?.changes(&shown(&now.draft).await?))
}

/// The form after one of its own buttons: with another row, or as JSON. Nothing is stored.
async fn changed_form<R: Resource>(app: &App, visit: &Visit, fields: &Fields, act: &Act) -> Page {
    let typed = typed::<R>(app, visit, fields).await?;
    let stored = typed.stored.as_ref();
    let opened = Opened::typed(fields, typed.request.clone());
    if !typed.faults.is_empty() {
        let form = placed::<R>(typed.form.typed(fields), &typed.faults, true);
        let shown = Shown { form, as_json: true, only_json: false };
        let answer = edit_page::<R>(app, visit, shown, stored, opened).await?;
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, answer).into_response());
    }
    let shown = match (act.word.as_str(), act.pointer.as_str()) {
        ("as", tab) => Shown::of::<R>(app, visit, &typed.request, stored, tab == "json").await?,
        _ if typed.as_json => Shown { form: typed.form.typed(fields), as_json: true, only_json: false },
        (word, _) => {
            let mut tree = typed_tree(fields);
            let place = R::act(act, &mut tree).or_else(|| act.apply(&mut tree));
            let place = place.unwrap_or_else(|| act.pointer.clone());
            let form = R::form(app, visit, &tree, stored).await?.showing_typed(&tree);
            Shown::fields(form.focused(&place, word == "add"))
        }
    };
    edit_page::<R>(app, visit, shown, stored, opened).await
}

/// What the form was opened on.
fn seen(fields: &Fields) -> Seen {
    match fields.text("version") {
        "" => Seen::Nothing,
        version => version.parse().map_or(Seen::Nothing, Seen::Version),
    }
}

/// The page with a secret.
pub async fn shown_once<R: Resource>(app: &App, visit: &Visit, once: Once) -> Page {
    let Once { title, label, secret, hint } = once;
    let frame = visit.frame(app, &title, R::NAV).await?;
    plain(page(&OncePage { frame, home: R::HOME, many: R::MANY, label, secret, hint })?)
}

/// What somebody sent.
struct Typed {
    stored: Option<Stored>,
    /// The form for it, empty.
    form: Form,
    /// It as a request.
    request: Value,
    /// Why it is no request at all.
    faults: Vec<FieldError>,
    as_json: bool,
}

async fn typed<R: Resource>(app: &App, visit: &Visit, fields: &Fields) -> Result<Typed, Refusal> {
    let known = fields.text("known");
    let stored = if known.is_empty() { None } else { R::stored(app, visit, known).await? };
    if fields.text("as") == "json" {
        let read = strict::read(fields.text(WHOLE).as_bytes()).map_err(entries::faults);
        let (mut request, faults) = match read {
            Ok(request) => (request, Vec::new()),
            Err(faults) => (Value::Object(Map::new()), faults),
        };
        // What is stored keeps its name, whatever the text says.
        let name = R::KEY.trim_start_matches('/');
        if let (false, Some(request)) = (known.is_empty() || name.is_empty(), request.as_object_mut()) {
            request.insert(name.to_owned(), known.into());
        }
        return Ok(Typed { stored, form: json_form(), request, faults, as_json: true });
    }
    // A form depends on what is in it, such as the adapter, and how many rows there are.
    let tree = typed_tree(fields);
    let form = R::form(app, visit, &tree, stored.as_ref()).await?.settled(&tree);
    let request = R::of_form(form.draft(fields));
    Ok(Typed { stored, form, request, faults: Vec::new(), as_json: false })
}

/// What was typed, as a request.
pub async fn typed_draft<R: Resource>(app: &App, visit: &Visit, fields: &Fields) -> Result<Value, Refusal> {
    typed::<R>(app, visit, fields).await.map(|typed| typed.request)
}

/// The form again with what was typed, for what is shown beside it.
pub async fn again<R: Resource>(app: &App, visit: &Visit, fields: &Fields) -> Page {
    let Typed { stored, form, request, faults, as_json } = typed::<R>(app, visit, fields).await?;
    let form = placed::<R>(form.typed(fields), &faults, as_json);
    let shown = Shown { form, as_json, only_json: false };
    edit_page::<R>(app, visit, shown, stored.as_ref(), Opened::typed(fields, request)).await
}

async fn remove<R: Resource>(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    R::may_change(&visit)?;
    R::remove(&app, &visit, fields.text("key")).await?;
    let done = if R::REMOVING.0 == "Revoke" { "revoked" } else { "removed" };
    see_other(&format!("{}?done={done}", R::HOME))
}
