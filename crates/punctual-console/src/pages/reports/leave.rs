//! The two ways out of a rollout: back to the old scheduler, or to its end. Each says what it does, then asks once.

use axum::{
    Router,
    extract::{Path, State},
    routing::{get, post},
};
use punctual_wire::{Code, Problem, keys};
use punctual_workflows::{
    reports::{
        RunKey,
        rollouts::{self as moving, NotEnded},
    },
    rollout::{Stage, stages::Scope},
};

use super::rollout::{link, must_touch, read_scope, title};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::Act,
    frame::Visit,
    links,
    pages::confirm::{Confirm, Item},
    words::{Pill, counted},
};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/reports/rollouts/{scope}/{id}/back", get(ask_back))
        .route("/reports/rollouts/{scope}/{id}/end", get(ask_end))
        .route("/reports/rollouts/back", post(back))
        .route("/reports/rollouts/end", post(end))
}

/// The rollout of an address or a form, if the viewer may change it, with its stage.
async fn asked(app: &App, visit: &Visit, scope: &str, id: &str) -> Result<(Scope, Stage), Refusal> {
    if !visit.viewer.may_act() {
        return Err(Problem::scope_missing(keys::Scope::Operate.as_str()).into());
    }
    let read = read_scope(scope, id)?;
    must_touch(app, visit, &read).await?;
    let row = moving::find(&app.engine, &read).await?;
    let stage = Stage::of(row.as_ref()).ok_or_else(|| Problem::not_found("rollout", id))?;
    Ok((read, stage))
}

async fn of_form(app: &App, form: &Act) -> Result<(Scope, Stage), Refusal> {
    let Act { visit, fields } = form;
    let (scope, stage) = asked(app, visit, fields.text("scope"), fields.text("id")).await?;
    // Somebody else has moved it since the page was read.
    if stage.number().to_string() != fields.text("stage") {
        return Err(Problem::stale_version().into());
    }
    Ok((scope, stage))
}

fn hidden(scope: &Scope, stage: Stage) -> Vec<(&'static str, String)> {
    let (kind, id) = match scope {
        Scope::Subject(guid) => ("subscription", guid),
        Scope::BusinessUnit(unit) => ("business-unit", unit),
    };
    vec![("scope", kind.to_owned()), ("id", id.clone()), ("stage", stage.number().to_string())]
}

async fn ask_back(
    State(app): State<Shared>,
    visit: Visit,
    Path((scope, id)): Path<(String, String)>,
) -> Page {
    let (scope, stage) = asked(&app, &visit, &scope, &id).await?;
    let name = title(&app, &visit, &scope).await?;
    let can = stage > Stage::Shadow;
    let keys = if can { moving::would_give_back(&app.engine, &scope).await? } else { Vec::new() };
    let count = i64::try_from(keys.len()).unwrap_or(i64::MAX);
    let sentence = match (can, count) {
        (false, _) => "The old scheduler already owns every run.".to_owned(),
        (true, 0) => "The stage becomes 1 (shadow). No run is taken here and undelivered, so none is given back; what was \
                      delivered stays delivered."
            .to_owned(),
        (true, _) => format!(
            "The stage becomes 1 (shadow, a dry run), and {} given back to the old scheduler; what was delivered stays delivered.",
            counted(count, "run that is taken here and not delivered is", "runs that are taken here and not delivered are")
        ),
    };
    let mut items = vec![about(&scope, &name, stage)];
    items.extend(keys.into_iter().map(|key| {
        Item {
            link: RunKey::read(&key)
                .map(|run| format!("/reports/{}/runs/{}", run.guid, links::encoded(&key)))
                .unwrap_or_default(),
            note: "given back".to_owned(),
            pill: Pill { word: "taken", class: "neutral" },
            title: key,
        }
    }));
    page(&Confirm {
        frame: visit.frame(&app, &format!("Roll back {name}?"), "/reports").await?,
        sentence,
        left_alone: None,
        items,
        action: "/reports/rollouts/back",
        hidden: hidden(&scope, stage),
        button: can.then(|| "Roll back".to_owned()),
        is_destructive: true,
        back: link(&scope),
    })
}

async fn back(State(app): State<Shared>, form: Act) -> Page {
    let (scope, _) = of_form(&app, &form).await?;
    let by = form.visit.viewer.by.because(Some(form.fields.text("reason")));
    let change = moving::change(&scope, Stage::Shadow, Vec::new(), &by);
    let (_, freed) = moving::roll_back(&app.engine, &change).await?;
    see_other(&format!("{}?done=back&freed={}", link(&scope), freed.len()))
}

async fn ask_end(State(app): State<Shared>, visit: Visit, Path((scope, id)): Path<(String, String)>) -> Page {
    let (scope, stage) = asked(&app, &visit, &scope, &id).await?;
    let name = title(&app, &visit, &scope).await?;
    let can = stage == Stage::Cutover;
    let sentence = match can {
        true => "From then on there is no old scheduler: every run is made here, nothing is compared any more, and there \
                 is no way back but a new rollout."
            .to_owned(),
        false => format!(
            "A rollout ends at stage 4 (cutover), and this one is at stage {}: the old scheduler still has runs of its own.",
            stage.number()
        ),
    };
    page(&Confirm {
        frame: visit.frame(&app, &format!("End the rollout of {name}?"), "/reports").await?,
        sentence,
        left_alone: None,
        items: vec![about(&scope, &name, stage)],
        action: "/reports/rollouts/end",
        hidden: hidden(&scope, stage),
        button: can.then(|| "End the rollout".to_owned()),
        is_destructive: true,
        back: link(&scope),
    })
}

async fn end(State(app): State<Shared>, form: Act) -> Page {
    let (scope, _) = of_form(&app, &form).await?;
    let by = form.visit.viewer.by.because(Some(form.fields.text("reason")));
    match moving::end(&app.engine, &by, &scope).await? {
        Ok(()) => {}
        Err(NotEnded::Missing) => return Err(Problem::not_found("rollout", scope.parts().1).into()),
        Err(NotEnded::TooEarly(stage)) => {
            let detail = format!("A rollout ends at stage 4; this one is at stage {stage}.");
            return Err(Problem::new(Code::StateNotAllowed, detail).into());
        }
    }
    see_other(&format!("{}?done=ended", link(&scope)))
}

fn about(scope: &Scope, name: &str, stage: Stage) -> Item {
    Item {
        link: link(scope),
        title: name.to_owned(),
        note: if matches!(scope, Scope::Subject(_)) { "subscription" } else { "business unit" }.to_owned(),
        pill: super::stage_pill(stage),
    }
}
