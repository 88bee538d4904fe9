//! Many sources from a table: what it would change is shown by name, and stored when it is sent once more.

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::Uri,
    routing::get,
};
use punctual_store::sources;
use punctual_wire::{Code, FieldError};
use punctual_workflows::sources::{Effect, Plan};

use super::{link, sinks};
use crate::{
    App, Shared,
    answer::{self, Page, Refusal, page},
    editor::{Field, Form, Kind, LARGE_FORM, Part},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    pages::settings::offered_units,
    words::{counted, grouped},
};

/// Lines of a plan that are shown by name.
const SHOWN: usize = 50;

pub fn pages() -> Router<Shared> {
    Router::new()
        .route("/sources/import", get(show).post(post_import))
        .layer(DefaultBodyLimit::max(LARGE_FORM))
}

#[derive(Template)]
#[template(path = "sources_import.html")]
struct ImportPage {
    frame: Frame,
    form: Form,
    plan: Option<PlanView>,
    /// What was done, and lines that were not taken.
    done: Option<String>,
    refused: Vec<(u64, String)>,
    more_refused: usize,
    /// The text that the plan is about.
    planned: String,
}

struct PlanView {
    sentence: String,
    rows: Vec<(u64, &'static str, String, String)>,
    more: usize,
    /// What the button that does it says.
    button: Option<String>,
}

async fn form(app: &App, visit: &Visit) -> Result<Form, Refusal> {
    let mut reader = app.engine.store.read_for_people().await?;
    let types = sources::types(&mut reader.conn(), &visit.viewer.by.reach()).await?;
    drop(reader);
    let fields = vec![
        Field::text("/type", "Kind of source")
            .placeholder("document")
            .offering(types.into_iter().map(|kind| (kind, String::new())).collect())
            .hint("Of lines that have no column type."),
        Field::text("/businessUnit", "Business unit")
            .offering(offered_units(app, visit).await?)
            .hint("Of lines that have no column businessUnit."),
        Field::new("/text", "Table", Kind::Area)
            .required()
            .placeholder("id,expiresOn,email\n42,2030-05-14,ann@example.org")
            .hint("CSV whose first line names the columns. One is id; type, businessUnit and active have their meaning, and every other one is a field of the state."),
    ];
    Ok(Form::of(vec![Part::new("Table", fields)]))
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    visit.must_author()?;
    let asked = serde_json::json!({ "type": Fields::of_query(&uri).text("type") });
    let form = form(&app, &visit).await?.showing(&asked);
    page(&ImportPage::new(&app, &visit, form).await?)
}

impl ImportPage {
    async fn new(app: &App, visit: &Visit, form: Form) -> Result<Self, Refusal> {
        Ok(Self {
            frame: visit.frame(app, "Import sources", "/sources").await?,
            form,
            plan: None,
            done: None,
            refused: Vec::new(),
            more_refused: 0,
            planned: String::new(),
        })
    }

    fn refusing(self, refused: Vec<(u64, String)>) -> Self {
        let more_refused = refused.len().saturating_sub(SHOWN);
        Self { refused: refused.into_iter().take(SHOWN).collect(), more_refused, ..self }
    }
}

async fn post_import(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let (kind, text) = (fields.text("/type"), fields.text("/text"));
    let unit = visit.viewer.unit_or_first(fields.text("/businessUnit"));
    let by = &visit.viewer.by;
    let plan = match Plan::read(&app.engine, by, text, kind, unit.as_deref()).await? {
        Ok(plan) => plan,
        Err(fault) => {
            let detail = format!("This is no table of sources: {fault}.");
            let fault = FieldError::new("/text", Code::ImportInvalid, detail);
            let form = form(&app, &visit).await?.typed(&fields).with_faults(&[fault]);
            return answer::form(&ImportPage::new(&app, &visit, form).await?, true);
        }
    };
    let asked = digest(&[kind, unit.as_deref().unwrap_or_default(), text]);
    if fields.text("planned") == asked {
        let (done, refused) = plan.import(&app.engine, &sinks(&app), by).await?;
        let sentence = format!(
            "{} added, {} changed, {} as they were.",
            counted(count(done.created), "source", "sources"),
            grouped(count(done.changed)),
            grouped(count(done.unchanged))
        );
        let shown = ImportPage::new(&app, &visit, form(&app, &visit).await?).await?.refusing(refused);
        return page(&ImportPage { done: Some(sentence), ..shown });
    }
    let view = view(&plan);
    let form = form(&app, &visit).await?.typed(&fields);
    let is_empty = view.button.is_none();
    let shown = ImportPage::new(&app, &visit, form).await?.refusing(plan.refused);
    let shown = ImportPage { planned: asked, plan: Some(view), ..shown };
    answer::form(&shown, is_empty && !shown.refused.is_empty())
}

fn count(many: usize) -> i64 {
    i64::try_from(many).unwrap_or(i64::MAX)
}

/// What the plan is about, so that another text is planned anew.
fn digest(parts: &[&str]) -> String {
    let joined = parts.join("\u{0}");
    punctual_engine::keys::digest(joined.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn view(plan: &Plan) -> PlanView {
    let of = |effect: Effect| plan.lines().filter(|(_, own, ..)| *own == effect).count();
    let (new, changed, unchanged) = (of(Effect::New), of(Effect::Changed), of(Effect::Unchanged));
    let changes = plan.lines().filter(|(_, effect, ..)| *effect != Effect::Unchanged);
    let rows: Vec<_> = changes
        .take(SHOWN)
        .map(|(line, effect, kind, id)| {
            let word = if effect == Effect::New { "new" } else { "changed" };
            (line, word, format!("{kind} {id}"), link(kind, id))
        })
        .collect();
    let all = new + changed;
    PlanView {
        sentence: format!(
            "{} new, {} changed, {} as they are, {} refused.",
            counted(count(new), "source is", "sources are"),
            grouped(count(changed)),
            grouped(count(unchanged)),
            grouped(count(plan.refused.len()))
        ),
        more: all - rows.len(),
        rows,
        button: (all > 0).then(|| format!("Import {}", counted(count(all), "source", "sources"))),
    }
}
