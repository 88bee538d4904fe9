//! Releasing, retrying and cancelling work, one row or a selection: first a page that says what will change, by name, then the
//! button that does it.

use axum::{Router, extract::State, routing::post};
use punctual_engine::{CommandError, EngineError, operate::WorkAction, titles::Titled};
use punctual_model::WorkStatus;
use punctual_store::work::{self, ListedWork, WorkRow};
use punctual_wire::{Code, Problem};

use super::Asked;
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Act, Fields},
    frame::Visit,
    links,
    pages::{
        confirm::{Confirm, Item},
        work_row::visible,
    },
    words::{self, counted},
};

/// Rows that are acted upon at once.
const AT_ONCE: usize = 200;

pub fn routes() -> Router<Shared> {
    Router::new().route("/work/confirm", post(confirm)).route("/work/act", post(act))
}

/// What can be done with a work row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Release,
    Retry,
    Cancel,
}

impl Action {
    fn read(fields: &Fields) -> Result<Self, Problem> {
        match fields.text("action") {
            "release" => Ok(Self::Release),
            "retry" => Ok(Self::Retry),
            "cancel" => Ok(Self::Cancel),
            _ => Err(Problem::new(Code::OutOfRange, "`action` is `release`, `retry` or `cancel`.")),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
        }
    }

    /// What its button says on the page of a row in this state.
    pub fn name(self, status: WorkStatus) -> &'static str {
        match self {
            Self::Release => "Release…",
            Self::Retry if status == WorkStatus::Completed => "Repeat…",
            Self::Retry => "Retry…",
            Self::Cancel => "Cancel…",
        }
    }

    pub fn is_destructive(self) -> bool {
        matches!(self, Self::Cancel)
    }

    /// What the state of a row allows.
    pub fn of(status: WorkStatus, on_hold: bool) -> Vec<Self> {
        let mut actions = Vec::new();
        if on_hold {
            actions.push(Self::Release);
        }
        if !matches!(status, WorkStatus::Pending | WorkStatus::Processing) {
            actions.push(Self::Retry);
        }
        if matches!(status, WorkStatus::Pending | WorkStatus::Failed) {
            actions.push(Self::Cancel);
        }
        actions
    }

    fn on_row(self) -> WorkAction {
        match self {
            Self::Release => WorkAction::Release,
            Self::Retry => WorkAction::Retry,
            Self::Cancel => WorkAction::Cancel,
        }
    }

    /// What it did, as the address of the page after it says.
    fn done(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Retry => "repeat",
            Self::Cancel => "cancel",
        }
    }

    /// What the page before it asks, explains and has on its button, for so many rows.
    fn plan(self, what: &str, repeats: bool) -> (String, &'static str, String) {
        match self {
            Self::Release => (
                format!("Release {what}?"),
                "What is released continues at its due time, or at once if that has passed.",
                format!("Release {what}"),
            ),
            Self::Retry if repeats => (
                format!("Repeat {what}?"),
                "It is completed. A new row with a new key is created, and its messages are sent again.",
                format!("Repeat {what}"),
            ),
            Self::Retry => (
                format!("Retry {what}?"),
                "What is retried is due at once and decided from the present state.",
                format!("Retry {what}"),
            ),
            Self::Cancel => (
                format!("Cancel {what}?"),
                "What is cancelled is not processed. Only a person can revive it.",
                format!("Cancel {what}"),
            ),
        }
    }
}

/// A row as it was found.
struct Found {
    id: i64,
    version: i64,
    kind: String,
    key: String,
    status: WorkStatus,
    on_hold: bool,
    reason: Option<String>,
    unit: Option<String>,
}

impl From<WorkRow> for Found {
    fn from(row: WorkRow) -> Self {
        Self {
            id: row.id,
            version: row.version,
            kind: row.kind,
            key: row.key,
            status: row.status,
            on_hold: row.on_hold,
            reason: row.reason_code,
            unit: row.business_unit,
        }
    }
}

impl From<ListedWork> for Found {
    fn from(row: ListedWork) -> Self {
        Self {
            id: row.id,
            version: row.version,
            kind: row.kind,
            key: row.key,
            status: row.status,
            on_hold: row.on_hold,
            reason: row.reason_code,
            unit: row.business_unit,
        }
    }
}

/// The rows of a form: `id:version`, as the page showed them.
fn chosen(fields: &Fields) -> Vec<(i64, i64)> {
    let pairs = fields.all("row").filter_map(|text| text.split_once(':'));
    pairs.filter_map(|(id, version)| Some((id.parse().ok()?, version.parse().ok()?))).take(AT_ONCE).collect()
}

/// What a form is about.
struct Selection {
    rows: Vec<Found>,
    /// Rows that were chosen, also those that are gone.
    chosen: usize,
    there_are_more: bool,
    /// The page of the one row, or the list.
    back: String,
    is_single: bool,
}

async fn selected(app: &App, visit: &Visit, fields: &Fields) -> Result<Selection, Refusal> {
    if !fields.text("id").is_empty() {
        let row = visible(app, &visit.viewer, fields.text("id")).await?;
        let back = format!("/work/{}", row.id);
        return Ok(Selection {
            rows: vec![row.into()],
            chosen: 1,
            there_are_more: false,
            back,
            is_single: true,
        });
    }
    let (reach, back) = (visit.viewer.by.reach(), back(fields));
    let mut reader = app.engine.store.read_for_people().await?;
    let matching = fields.text("matching").split_once('?').map(|(_, query)| Fields::read(query.as_bytes()));
    let (mut rows, chosen, there_are_more) = match matching {
        Some(query) => {
            let asked = Asked::read(&query);
            let Some(list) = asked.stopped() else { return Err(Problem::stale_version().into()) };
            let mut rows = work::browse(&mut reader.conn(), list, &reach, None, AT_ONCE + 1).await?;
            let there_are_more = rows.len() > AT_ONCE;
            rows.truncate(AT_ONCE);
            let count = rows.len();
            (rows.into_iter().map(Found::from).collect(), count, there_are_more)
        }
        None => {
            let chosen = chosen(fields);
            let mut rows: Vec<Found> = Vec::new();
            for (id, _) in &chosen {
                rows.extend(work::by_id(&mut reader.conn(), &reach, *id).await?.map(Found::from));
            }
            (rows, chosen.len(), false)
        }
    };
    // A selection never makes a second send of what is completed.
    rows.retain(|row| row.status != WorkStatus::Completed);
    Ok(Selection { rows, chosen, there_are_more, back, is_single: false })
}

/// Where the reader came from.
fn back(fields: &Fields) -> String {
    Some(fields.text("back")).filter(|path| links::is_own_path(path)).unwrap_or("/work").to_owned()
}

/// Says what will change. It changes nothing.
async fn confirm(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let action = Action::read(&fields)?;
    let Selection { rows, chosen, there_are_more, back, is_single } = selected(&app, &visit, &fields).await?;
    if chosen == 0 {
        return see_other(&back);
    }
    let repeats = rows.iter().any(|row| row.status == WorkStatus::Completed);
    let is_allowed = |row: &Found| {
        Action::of(row.status, row.on_hold).contains(&action)
            && visit.viewer.by.may_touch(row.unit.as_deref())
    };
    let (ready, others): (Vec<Found>, Vec<Found>) = rows.into_iter().partition(is_allowed);
    // A row that cannot be changed any more is shown all the same where it is the only one.
    let shown = if is_single && ready.is_empty() { &others } else { &ready };
    let titled: Vec<Titled<'_>> = shown.iter().map(|row| Titled { kind: &row.kind, key: &row.key }).collect();
    let mut reader = app.engine.store.read_for_people().await?;
    let titles = app.engine.titles(&mut reader.conn(), &visit.viewer.by.reach(), &titled).await?;
    drop(reader);
    let items = shown.iter().zip(titles).map(|(row, title)| Item {
        link: format!("/work/{}", row.id),
        title,
        note: words::reason(row.reason.as_deref()),
        pill: words::work(row.status, row.on_hold),
    });
    let items = items.collect();
    let count = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
    let what = counted(count(if is_single { 1 } else { ready.len() }), "work row", "work rows");
    let (title, sentence, button) = action.plan(&what, repeats);
    let mut hidden = vec![("action", action.as_str().to_owned()), ("back", back.clone())];
    match ready.first().filter(|_| is_single) {
        Some(row) => hidden.extend([("id", row.id.to_string()), ("version", row.version.to_string())]),
        None => hidden.extend(ready.iter().map(|row| ("row", format!("{}:{}", row.id, row.version)))),
    }
    let left = chosen - ready.len();
    let left_alone = if there_are_more {
        let most = words::grouped(count(AT_ONCE));
        Some(format!("More match than can be changed at once ({most}). Repeat the action for the rest."))
    } else {
        (left > 0).then(|| {
            if is_single {
                return "Its state does not allow that any more.".to_owned();
            }
            format!(
                "{} left alone: the state does not allow that any more.",
                counted(count(left), "row is", "rows are")
            )
        })
    };
    page(&Confirm {
        frame: visit.frame(&app, &title, "/work").await?,
        sentence: sentence.to_owned(),
        left_alone,
        items,
        action: "/work/act",
        hidden,
        button: (!ready.is_empty()).then_some(button),
        is_destructive: action.is_destructive(),
        back,
    })
}

/// Does what was confirmed; of a selection, what has changed since is left alone.
async fn act(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let action = Action::read(&fields)?;
    let by = visit.viewer.by.because(Some(fields.text("reason")));
    if !fields.text("id").is_empty() {
        let row = visible(&app, &visit.viewer, fields.text("id")).await?;
        let Ok(seen) = fields.text("version").parse() else { return Err(Problem::stale_version().into()) };
        let changed = app.engine.act_on_work(&by, action.on_row(), row.id, Some(seen)).await?;
        return see_other(&format!("/work/{}?done={}.1.0", changed.id, action.done()));
    }
    let (mut changed, mut left) = (0_usize, 0_usize);
    for (id, version) in chosen(&fields) {
        let done = match app.engine.act_on_work(&by, action.on_row(), id, Some(version)).await {
            Ok(_) => true,
            Err(CommandError::NotFound { .. } | CommandError::Stale) => false,
            Err(CommandError::Engine(EngineError::StateNotAllowed { .. } | EngineError::NotFound)) => false,
            Err(error) => return Err(error.into()),
        };
        if done { changed += 1 } else { left += 1 }
    }
    let path = back(&fields);
    let sign = if path.contains('?') { '&' } else { '?' };
    see_other(&format!("{path}{sign}done={}.{changed}.{left}", action.done()))
}
