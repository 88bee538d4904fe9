//! A definition as the JSON that the API takes: the second tab of its editor. It is saved by the same command, and what is wrong is
//! named by its place.

use askama::Template;
use axum::{http::StatusCode, response::IntoResponse};
use punctual_wire::{Code, FieldError};
use serde_json::Value;

use super::{Done, Refused, Resource, seen, stored};
use crate::{
    App,
    answer::{Page, page, see_other},
    form::Fields,
    frame::{Frame, Visit},
    links,
};

/// The field with the whole text.
pub const FIELD: &str = "json";

#[derive(Template)]
#[template(path = "settings_json.html")]
struct JsonPage {
    frame: Frame,
    form: String,
    here: String,
    home: &'static str,
    one: &'static str,
    many: &'static str,
    known: String,
    version: String,
    text: String,
    faults: Vec<FieldError>,
    /// Somebody else has changed it meanwhile; this is what is stored now.
    stale: Option<String>,
    may_change: bool,
}

/// The address of the tab.
pub fn link<R: Resource>(key: &str) -> String {
    format!("{}/edit{}", R::HOME, links::query([("key", key), ("view", "json")]))
}

fn written(draft: &Value) -> String {
    serde_json::to_string_pretty(draft).unwrap_or_default()
}

/// What is stored, as text.
pub async fn shown<R: Resource>(app: &App, visit: &Visit, key: &str) -> Page {
    let stored = stored::<R>(app, visit, key).await?;
    let text = written(&stored.draft);
    page(&filled::<R>(app, visit, key, stored.version.to_string(), text).await?)
}

async fn filled<R: Resource>(
    app: &App,
    visit: &Visit,
    key: &str,
    version: String,
    text: String,
) -> Result<JsonPage, crate::answer::Refusal> {
    Ok(JsonPage {
        frame: visit.frame(app, key, R::NAV).await?,
        form: format!("{}/edit{}", R::HOME, links::query([("key", key)])),
        here: link::<R>(key),
        home: R::HOME,
        one: R::ONE,
        many: R::MANY,
        known: key.to_owned(),
        version,
        text,
        faults: Vec::new(),
        stale: None,
        may_change: R::may_change(visit).is_ok(),
    })
}

/// Saves what was typed. The key stays what it is.
pub async fn save<R: Resource>(app: &App, visit: &Visit, fields: &Fields) -> Page {
    let (known, text) = (fields.text("known"), fields.text(FIELD));
    let now = stored::<R>(app, visit, known).await?;
    let mut again =
        filled::<R>(app, visit, known, fields.text("version").to_owned(), text.to_owned()).await?;
    let status = match serde_json::from_str::<Value>(text) {
        Err(error) => {
            again.faults.push(FieldError::new("", Code::OutOfRange, format!("This is not JSON: {error}.")));
            StatusCode::UNPROCESSABLE_ENTITY
        }
        Ok(mut draft) => {
            if let (Some(name), Some(object)) = (R::KEY.strip_prefix('/'), draft.as_object_mut()) {
                object.insert(name.to_owned(), known.into());
            }
            match R::save(app, visit, seen(fields), draft).await {
                Ok(Done::Saved { key, note }) => {
                    return see_other(&format!(
                        "{}/edit{}",
                        R::HOME,
                        links::query([("key", key.as_str()), ("done", note)])
                    ));
                }
                Ok(Done::Once(once)) => return super::shown_once::<R>(app, visit, once).await,
                Err(Refused::Faults(faults)) => {
                    again.faults = faults;
                    StatusCode::UNPROCESSABLE_ENTITY
                }
                Err(Refused::Stale) => {
                    // The next save goes on from what is stored now.
                    again.version = now.version.to_string();
                    again.stale = Some(written(&now.draft));
                    StatusCode::CONFLICT
                }
                Err(Refused::Other(refusal)) => return Err(refusal),
            }
        }
    };
    Ok((status, page(&again)?).into_response())
}
