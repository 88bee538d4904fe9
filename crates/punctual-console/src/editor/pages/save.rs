//! What becomes of a form that is sent: stored, shown again with what is wrong or with another row, or compared with what somebody else stored
//! meanwhile.

use axum::{extract::State, http::StatusCode, response::IntoResponse};
use punctual_engine::commands::Seen;
use punctual_wire::{Code, FieldError};
use serde_json::Value;

use super::{
    Opened, edit_page,
    shown::{Shown, placed},
    shown_once,
    typed::{Typed, typed},
};
use crate::{
    App, Shared,
    answer::{Page, Refusal, see_other},
    editor::{Act, Done, Form, Refused, Resource, Stored, rows::typed_tree},
    form::{Fields, Signed},
    frame::Visit,
};

pub async fn save<R: Resource>(State(app): State<Shared>, signed: Signed) -> Page {
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
        Ok(Done::Saved { key, note }) => return see_other(&R::after(&key, note, fields.text("then"))),
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
