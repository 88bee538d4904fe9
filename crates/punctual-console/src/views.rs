//! Saved views: the filters of a list under a name, kept with the account or the key that signed in.
//!
//! A list has them by one call of [`SavedViews::of`] and one line in its template. Saving and removing are plain forms.

use askama::Template;
use axum::{Router, extract::State, routing::post};
use punctual_engine::{CommandError, commands::SavedView};
use punctual_wire::Problem;

use crate::{
    App, Shared,
    answer::{Page, Refusal, see_other},
    form::{Fields, Signed},
    frame::Visit,
    links,
};

/// Parameters that say where a page begins or what an act did, and are no filter.
const NO_FILTER: [&str; 7] = ["cursor", "after", "before", "done", "count", "view-done", "view-name"];

/// Characters of a refused name that stay in the field.
const NAME_KEPT: usize = 200;

pub fn routes() -> Router<Shared> {
    Router::new().route("/views/save", post(save)).route("/views/remove", post(remove))
}

/// The views of one list, for its template.
#[derive(Template)]
#[template(path = "views.html")]
pub struct SavedViews {
    token: String,
    page: String,
    /// The filters of the address, as a query; empty where there are none.
    query: String,
    views: Vec<View>,
    notice: Option<&'static str>,
    /// A name that could not be taken.
    refused: Option<String>,
}

struct View {
    name: String,
    link: String,
    is_here: bool,
}

impl SavedViews {
    /// Those of the list at the address that is shown.
    pub async fn of(app: &App, visit: &Visit) -> Result<Self, Refusal> {
        let page = visit.path().to_owned();
        let fields = visit.query();
        let query = filters_of(&fields);
        let found = app.engine.saved_views(&visit.viewer.owner, &page).await?;
        let views = found.into_iter().map(|view| {
            let own = view.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let own = links::query(own);
            View { is_here: own == query, link: format!("{page}{own}"), name: view.name }
        });
        let notice = match fields.text("view-done") {
            "saved" => Some("The view is saved."),
            "removed" => Some("The view is removed."),
            _ => None,
        };
        let refused = (fields.text("view-done") == "refused").then(|| fields.text("view-name").to_owned());
        let token = visit.viewer.form_token(app.engine.random.as_ref());
        Ok(Self { token, views: views.collect(), page, query, notice, refused })
    }
}

/// The filters among the parameters of an address, in one order.
fn pairs(fields: &Fields) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = fields
        .pairs()
        .filter(|(name, value)| !value.trim().is_empty() && !NO_FILTER.contains(name))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    pairs.sort();
    pairs
}

fn filters_of(fields: &Fields) -> String {
    let pairs = pairs(fields);
    links::query(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// The list that a form is about, and its filters as they are in the address.
fn place(fields: &Fields) -> Result<(String, Fields), Refusal> {
    let page = Some(fields.text("page")).filter(|page| links::is_own_path(page) && !page.contains('?'));
    let page = page.ok_or_else(|| Refusal::from(Problem::not_found("list", fields.text("page"))))?;
    let query = fields.text("query").trim_start_matches('?');
    Ok((page.to_owned(), Fields::read(query.as_bytes())))
}

/// Back to the list, with what became of it.
fn back(page: &str, query: &Fields, done: &str, name: &str) -> Page {
    let pairs = pairs(query);
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    see_other(&format!("{page}{}", links::query(pairs.chain([("view-done", done), ("view-name", name)]))))
}

async fn save(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    let (page, query) = place(&fields)?;
    let view = SavedView { name: fields.text("name").to_owned(), pairs: pairs(&query) };
    match app.engine.save_view(&visit.viewer.by, &visit.viewer.owner, &page, &view).await {
        Ok(()) => back(&page, &query, "saved", ""),
        Err(CommandError::Invalid(_)) => {
            let name: String = view.name.chars().take(NAME_KEPT).collect();
            back(&page, &query, "refused", &name)
        }
        Err(error) => Err(error.into()),
    }
}

async fn remove(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    let (page, query) = place(&fields)?;
    app.engine.remove_view(&visit.viewer.by, &visit.viewer.owner, &page, fields.text("name")).await?;
    back(&page, &query, "removed", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_its_filters_and_nothing_else() {
        let fields = Fields::read(b"status=parked&q=+ann%40b.example&cursor=7.1&site=&done=2");
        assert_eq!(filters_of(&fields), "?q=ann%40b.example&status=parked");
    }
}
