//! The dedup lab: a recipe run over the last events of a survey. What would be taken for the same, and what would never
//! be recognised.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    routing::get,
};
use punctual_model::survey::Candidate;
use punctual_store::{
    survey_instances::{self, InstanceFilter, InstanceRow},
    surveys::SurveyRow,
};
use serde_json::{Map, Value};

use super::found_with_rows;
use crate::{
    Shared,
    answer::{Page, page},
    form::Fields,
    frame::{Frame, Visit},
    words,
};

/// Events that a recipe is run over.
const EVENTS: i64 = 500;
/// Groups that are shown.
const GROUPS: usize = 50;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/surveys/{id}/lab", get(show))
}

#[derive(Template)]
#[template(path = "survey_lab.html")]
struct LabPage {
    frame: Frame,
    survey: SurveyRow,
    recipe: String,
    sentence: String,
    /// What always differs, and so never lets a repeat be recognised.
    never: Vec<String>,
    groups: Vec<Group>,
    fields: Vec<String>,
}

/// Events that the recipe takes for one.
struct Group {
    text: String,
    events: Vec<(String, String, String)>,
}

async fn show(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: axum::http::Uri) -> Page {
    let survey = found_with_rows(&app, &visit, &id).await?;
    let given = Fields::of_query(&uri).text("recipe").to_owned();
    let recipe = if given.is_empty() { own_recipe(&survey) } else { given };
    let paths: Vec<&str> = recipe.split([',', ' ', '\n', '\r']).filter(|path| !path.is_empty()).collect();
    let filter = InstanceFilter { survey_id: survey.id, limit: EVENTS, ..InstanceFilter::default() };
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = survey_instances::list(&mut reader.conn(), &visit.viewer.by.reach(), &filter).await?;
    drop(reader);
    let events: Vec<(InstanceRow, Map<String, Value>)> = rows
        .into_iter()
        .map(|row| {
            let payload = serde_json::from_str(&row.metadata).unwrap_or_default();
            (row, payload)
        })
        .collect();
    let mut groups: BTreeMap<String, Vec<&InstanceRow>> = BTreeMap::new();
    let mut values: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    let mut fields: BTreeMap<String, usize> = BTreeMap::new();
    for (row, payload) in &events {
        let parts: Vec<String> = paths
            .iter()
            .map(|path| {
                let value = value(row, payload, path);
                *values.entry(path).or_default().entry(value.clone()).or_default() += 1;
                format!("{path}={value}")
            })
            .collect();
        groups.entry(parts.join(" · ")).or_default().push(row);
        for key in payload.keys() {
            *fields.entry(format!("candidate.{key}")).or_default() += 1;
        }
    }
    let collisions: Vec<(String, Vec<&InstanceRow>)> =
        groups.into_iter().filter(|(_, rows)| rows.len() > 1).collect();
    let never = values
        .iter()
        .filter(|(path, values)| {
            path.starts_with("candidate.") && events.len() > 9 && values.len() == events.len()
        })
        .map(|(path, _)| (*path).to_owned())
        .collect();
    let taken: usize = collisions.iter().map(|(_, rows)| rows.len() - 1).sum();
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let sentence = format!(
        "Of the last {}, {} would be duplicates.",
        words::counted(count(events.len()), "event", "events"),
        words::grouped(count(taken))
    );
    let groups = collisions
        .into_iter()
        .take(GROUPS)
        .map(|(text, rows)| Group {
            text,
            events: rows
                .into_iter()
                .take(10)
                .map(|row| (row.public_id.clone(), row.recipient_address.clone(), row.metadata.clone()))
                .collect(),
        })
        .collect();
    let title = format!("{}: duplicate rules", survey.name);
    page(&LabPage {
        frame: visit.frame(&app, &title, "/surveys").await?,
        recipe: paths.join("\n"),
        fields: fields.into_keys().collect(),
        survey,
        sentence,
        never,
        groups,
    })
}

fn value(row: &InstanceRow, payload: &Map<String, Value>, path: &str) -> String {
    let candidate = Candidate {
        survey_id: row.survey_id,
        payload,
        address: &row.recipient_address,
        locale: row.recipient_locale.as_deref(),
        customer_ref: row.customer_ref.as_deref(),
    };
    match candidate.get(path).as_deref() {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The recipe of the survey's first trigger, as its author left it.
fn own_recipe(survey: &SurveyRow) -> String {
    let draft: Value = serde_json::from_str(&survey.draft).unwrap_or_default();
    let paths = draft.pointer("/triggers/0/dedupRecipe").and_then(Value::as_array);
    paths.into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}
