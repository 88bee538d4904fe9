//! Migration from an old scheduler: the stage, what must be confirmed, what both sides say, and the one click back.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use jiff::{SignedDuration, Timestamp};
use punctual_store::rollouts::{self, RolloutRow};
use punctual_wire::{Code, Problem, rollouts::RolloutRequest};
use punctual_workflows::{
    reports::{KIND, rollouts as moving},
    rollout::{
        CHECKLIST, Compared, Stage, Verdict, selected,
        stages::{self, Refused, Scope},
    },
};

use serde_json::json;

use super::{found, leave, stage_pill};
use crate::{
    App, Shared,
    answer::{self, Page, Refusal, page, see_other},
    form::{Act, Fields},
    frame::{Frame, Visit},
    links,
    pages::entries,
    times::When,
    words::{self, Pill},
};

/// How far back figures and comparison look.
const BACK: SignedDuration = SignedDuration::from_hours(24 * 35);
/// Compared runs that are listed; those that differ come first.
const LISTED: usize = 100;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/reports/rollouts", get(list))
        .route("/reports/rollouts/{scope}/{id}", get(show))
        .route("/reports/rollouts/{scope}/{id}/stage", post(set))
        .merge(leave::routes())
}

#[derive(Template)]
#[template(path = "report_rollouts.html")]
struct RolloutsPage {
    frame: Frame,
    sentence: String,
    rows: Vec<Row>,
}

struct Row {
    link: String,
    title: String,
    what: &'static str,
    pill: Pill,
    changed: When,
    /// What can be asked for from the list: where it leads, and its name.
    ways: Vec<(String, &'static str)>,
}

async fn list(State(app): State<Shared>, visit: Visit) -> Page {
    let now = Visit::now(&app);
    let mut reader = app.engine.store.read_for_people().await?;
    let stored = rollouts::page(&mut reader.conn(), &visit.viewer.by.reach(), KIND, ("", ""), 1_000).await?;
    drop(reader);
    let mut rows = Vec::new();
    for row in stored {
        let scope = scope_of(&row);
        let Ok(title) = title(&app, &visit, &scope).await else { continue };
        let may_act = visit.viewer.may_act() && may_touch(&app, &visit, &scope).await;
        let ways = if may_act { ways(&scope, Stage::of(Some(&row))) } else { Vec::new() };
        rows.push(Row {
            ways,
            link: link(&scope),
            title,
            what: if matches!(scope, Scope::Subject(_)) { "subscription" } else { "business unit" },
            pill: Stage::of(Some(&row)).map_or(Pill { word: "unknown", class: "muted" }, stage_pill),
            changed: visit.zone.when(row.updated_at, now),
        });
    }
    let over = rows.iter().filter(|row| row.pill.word == "4 cutover").count();
    let sentence =
        if rows.is_empty() { String::new() } else { format!("{over} of {} are migrated.", rows.len()) };
    page(&RolloutsPage { frame: visit.frame(&app, "Migration", "/reports").await?, sentence, rows })
}

#[derive(Template)]
#[template(path = "report_rollout.html")]
struct RolloutPage {
    frame: Frame,
    title: String,
    link: String,
    sentence: String,
    done: Option<String>,
    fault: Option<String>,
    at_fault: &'static str,
    steps: Vec<Step>,
    points: Vec<Point>,
    /// The runs that are chosen at stage 2, one a line.
    runs: String,
    figures: Vec<StageLine>,
    counts: [(&'static str, usize, &'static str); 3],
    compared: Vec<ComparedLine>,
    cut: bool,
    gives_back: Vec<String>,
    may_act: bool,
    is_begun: bool,
    can_go_back: bool,
    can_end: bool,
}

/// One stage on the way.
struct Step {
    number: i64,
    name: &'static str,
    what: &'static str,
    state: &'static str,
    /// What the button says, where there is one.
    button: Option<&'static str>,
}

struct Point {
    name: &'static str,
    what: &'static str,
    confirmed: Option<String>,
    is_ticked: bool,
}

struct StageLine {
    stage: String,
    runs: String,
    delivered: String,
    shadow: String,
    failed: String,
    conflicts: String,
    latency: String,
}

struct ComparedLine {
    key: String,
    pill: Pill,
    expected: Option<When>,
    found: Option<When>,
    difference: String,
}

async fn show(
    State(app): State<Shared>,
    visit: Visit,
    Path((scope, id)): Path<(String, String)>,
    uri: Uri,
) -> Page {
    let scope = read_scope(&scope, &id)?;
    let fields = Fields::of_query(&uri);
    let done = match fields.text("done") {
        "stage" => Some("The stage is set.".to_owned()),
        "back" => Some(format!(
            "The old scheduler makes the runs again; {} given back.",
            words::counted(fields.text("freed").parse().unwrap_or(0), "run was", "runs were")
        )),
        "ended" => {
            Some("The rollout is over: every run is made here, and there is no old scheduler.".to_owned())
        }
        _ => None,
    };
    shown(&app, &visit, &scope, done, None).await
}

/// A form that was refused: the field at fault, why, and what was typed.
struct Wrong<'f> {
    field: &'static str,
    why: String,
    typed: &'f Fields,
}

async fn shown(
    app: &App,
    visit: &Visit,
    scope: &Scope,
    done: Option<String>,
    wrong: Option<Wrong<'_>>,
) -> Page {
    let title = title(app, visit, scope).await?;
    let now = Visit::now(app);
    let from = now.checked_sub(BACK).unwrap_or(Timestamp::MIN);
    // The end is no part of an interval, and what happens now counts.
    let to = now.checked_add(SignedDuration::from_secs(1)).unwrap_or(now);
    let row = moving::find(&app.engine, scope).await?;
    let stage = Stage::of(row.as_ref());
    let (compared, cut) = moving::comparison(&app.engine, scope, from, to).await?;
    let figures = moving::figures(&app.engine, scope, from, to).await?;
    let gives_back = if stage > Some(Stage::Shadow) {
        moving::would_give_back(&app.engine, scope).await?
    } else {
        Vec::new()
    };
    let confirmed = stages::checklist(row.as_ref());
    let may_act = visit.viewer.may_act() && may_touch(app, visit, scope).await;
    let ticked =
        |name: &str| wrong.as_ref().is_some_and(|wrong| wrong.typed.all("confirm").any(|one| one == name));
    let stored = || row.as_ref().and_then(selected).unwrap_or_default().join("\n");
    answer::form(
        &RolloutPage {
            frame: visit.frame(app, "Migration", "/reports").await?,
            link: link(scope),
            sentence: sentence(stage, &compared),
            done,
            fault: wrong.as_ref().map(|wrong| wrong.why.clone()),
            at_fault: wrong.as_ref().map_or("", |wrong| wrong.field),
            steps: Stage::ALL.into_iter().map(|one| step(one, stage)).collect(),
            points: CHECKLIST
                .into_iter()
                .map(|(name, what)| Point {
                    name,
                    what,
                    confirmed: confirmed.get(name).map(by_whom),
                    is_ticked: ticked(name),
                })
                .collect(),
            runs: wrong.as_ref().map_or_else(stored, |wrong| wrong.typed.text("runs").to_owned()),
            figures: figures.into_iter().map(stage_line).collect(),
            counts: counts(&compared),
            compared: lines(&compared, visit, now),
            cut,
            gives_back,
            may_act,
            is_begun: stage.is_some(),
            can_go_back: stage > Some(Stage::Shadow),
            can_end: stage == Some(Stage::Cutover),
            title,
        },
        wrong.is_some(),
    )
}

fn by_whom(entry: &serde_json::Value) -> String {
    let text = |name: &str| entry.get(name).and_then(|value| value.as_str()).unwrap_or_default();
    format!("{}, {}", text("by"), text("at").split('T').next().unwrap_or_default())
}

fn step(stage: Stage, now: Option<Stage>) -> Step {
    let (name, what) = match stage {
        Stage::Design => ("Design", "No run is made here; the points below are confirmed first."),
        Stage::Shadow => {
            ("Shadow", "A dry run: what would run is recorded and compared with the old scheduler's runs.")
        }
        Stage::RunNow => (
            "Run now",
            "Runs that a person starts are made here, all of them or those listed below; the old scheduler cannot make them.",
        ),
        Stage::Scheduled => (
            "Scheduled",
            "Planned runs too: the scheduler that takes one first makes it; conflicts are held and counted.",
        ),
        Stage::Cutover => ("Cutover", "The old scheduler cannot make any run."),
    };
    let state = match now {
        Some(now) if now == stage => "now",
        Some(now) if now > stage => "past",
        _ => "ahead",
    };
    // tidy-allow: a class of the page, made above
    let button = match state {
        "ahead" => Some("Set"),
        // What is chosen may change without the stage.
        "now" if stage == Stage::RunNow => Some("Change runs"),
        _ => None,
    };
    Step { number: stage.number(), name, what, state, button }
}

fn sentence(stage: Option<Stage>, compared: &[Compared]) -> String {
    let Some(stage) = stage else {
        return "There is no old scheduler here: every run is made by Punctual.".to_owned();
    };
    let differing = compared.iter().filter(|one| one.verdict != Verdict::Match).count();
    let differing = match (compared.len(), differing) {
        (0, _) => "nothing to compare yet".to_owned(),
        (all, 0) => format!("all {all} runs agree"),
        (all, some) => format!("{some} of {all} runs differ"),
    };
    format!("Stage {} of 4; {differing} in the last five weeks.", stage.number())
}

fn counts(compared: &[Compared]) -> [(&'static str, usize, &'static str); 3] {
    let of = |verdict: Verdict| compared.iter().filter(|one| one.verdict == verdict).count();
    [
        ("match", of(Verdict::Match), "good"),
        ("missing", of(Verdict::Missing), "bad"),
        ("extra", of(Verdict::Extra), "warn"),
    ]
}

fn lines(compared: &[Compared], visit: &Visit, now: Timestamp) -> Vec<ComparedLine> {
    let mut ordered: Vec<&Compared> = compared.iter().collect();
    ordered.sort_by_key(|one| {
        (one.verdict == Verdict::Match, std::cmp::Reverse(one.expected_at.or(one.found_at)))
    });
    ordered
        .into_iter()
        .take(LISTED)
        .map(|one| ComparedLine {
            key: one.key.clone(),
            pill: match one.verdict {
                Verdict::Match => Pill { word: "match", class: "good" },
                Verdict::Missing => Pill { word: "missing", class: "bad" },
                Verdict::Extra => Pill { word: "extra", class: "warn" },
            },
            expected: one.expected_at.map(|at| visit.zone.when(at, now)),
            found: one.found_at.map(|at| visit.zone.when(at, now)),
            difference: one.difference_seconds().map(|seconds| format!("{seconds:+} s")).unwrap_or_default(),
        })
        .collect()
}

fn stage_line(row: punctual_store::run_records::StageFigures) -> StageLine {
    let latency = |micros: Option<i64>| micros.map(crate::times::rough).unwrap_or_else(|| "–".to_owned());
    StageLine {
        stage: row.stage.map_or_else(|| "none".to_owned(), |stage| stage.to_string()),
        runs: words::grouped(row.runs),
        delivered: words::grouped(row.delivered),
        shadow: words::grouped(row.shadow),
        failed: words::grouped(row.failed),
        conflicts: words::grouped(row.conflicts),
        latency: format!("{} / {}", latency(row.mean_latency), latency(row.longest_latency)),
    }
}

async fn set(State(app): State<Shared>, Path((scope, id)): Path<(String, String)>, form: Act) -> Page {
    let Act { visit, fields } = form;
    let scope = read_scope(&scope, &id)?;
    must_touch(&app, &visit, &scope).await?;
    let number: Option<i64> = fields.text("stage").parse().ok();
    let Some(stage) = number.and_then(Stage::parse) else {
        return Err(Problem::new(Code::OutOfRange, "A stage is a number from 0 to 4.").into());
    };
    let confirmed = fields.all("confirm").map(str::to_owned).collect();
    let mut change = moving::change(&scope, stage, confirmed, &visit.viewer.by);
    let chosen = entries::listed(fields.text("runs"));
    if stage == Stage::RunNow && !chosen.is_empty() {
        let request = RolloutRequest::read(&json!({ "stage": 2, "runs": chosen }), "");
        match request {
            Ok(request) => change.selected = request.runs,
            Err(_) => {
                let fault =
                    "Runs are named by their ids, one a line, such as 0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071.";
                let wrong = Wrong { field: "runs", why: fault.to_owned(), typed: &fields };
                return shown(&app, &visit, &scope, None, Some(wrong)).await;
            }
        }
    }
    let before = moving::find(&app.engine, &scope).await?;
    if Stage::of(before.as_ref()) > Some(stage) {
        // Going back gives back what was taken here, whichever button was pressed.
        let (_, freed) = moving::roll_back(&app.engine, &change).await?;
        return see_other(&format!("{}?done=back&freed={}", link(&scope), freed.len()));
    }
    match moving::set(&app.engine, &change).await? {
        Ok(_) => see_other(&format!("{}?done=stage", link(&scope))),
        Err(Refused::Unconfirmed(open)) => {
            let names: Vec<&str> =
                CHECKLIST.iter().filter(|(name, _)| open.contains(name)).map(|(_, what)| *what).collect();
            let why = format!("Confirm first: {}.", names.join("; "));
            shown(&app, &visit, &scope, None, Some(Wrong { field: "confirm", why, typed: &fields })).await
        }
    }
}

/// The ways out of a rollout at a stage, each to a page that says what it does.
fn ways(scope: &Scope, stage: Option<Stage>) -> Vec<(String, &'static str)> {
    let mut ways = Vec::new();
    if stage > Some(Stage::Shadow) {
        ways.push((format!("{}/back", link(scope)), "Roll back…"));
    }
    if stage == Some(Stage::Cutover) {
        ways.push((format!("{}/end", link(scope)), "End…"));
    }
    ways
}

fn scope_of(row: &RolloutRow) -> Scope {
    match row.scope.as_str() {
        "subject" => Scope::Subject(row.scope_id.clone()),
        _ => Scope::BusinessUnit(row.scope_id.clone()),
    }
}

pub(super) fn read_scope(scope: &str, id: &str) -> Result<Scope, Refusal> {
    match scope {
        "subscription" => Ok(Scope::Subject(id.to_lowercase())),
        "business-unit" => Ok(Scope::BusinessUnit(id.to_owned())),
        _ => Err(Problem::not_found("rollout", id).into()),
    }
}

pub(super) fn link(scope: &Scope) -> String {
    match scope {
        Scope::Subject(guid) => format!("/reports/rollouts/subscription/{guid}"),
        Scope::BusinessUnit(unit) => format!("/reports/rollouts/business-unit/{}", links::encoded(unit)),
    }
}

/// What it is called, if the viewer may see it.
pub(super) async fn title(app: &App, visit: &Visit, scope: &Scope) -> Result<String, Refusal> {
    match scope {
        Scope::Subject(guid) => Ok(found(app, visit, guid).await?.name),
        Scope::BusinessUnit(unit) if visit.viewer.by.may_see(Some(unit)) => {
            Ok(format!("Business unit {unit}"))
        }
        Scope::BusinessUnit(unit) => Err(Problem::not_found("rollout", unit).into()),
    }
}

async fn may_touch(app: &App, visit: &Visit, scope: &Scope) -> bool {
    match scope {
        Scope::BusinessUnit(unit) => visit.viewer.by.may_touch(Some(unit)),
        Scope::Subject(guid) => match found(app, visit, guid).await {
            Ok(row) => {
                visit.viewer.by.may_touch(row.business_unit.as_deref())
                    && moving::is_there(&app.engine, scope, row.deleted).await.unwrap_or(false)
            }
            Err(_) => false,
        },
    }
}

pub(super) async fn must_touch(app: &App, visit: &Visit, scope: &Scope) -> Result<(), Refusal> {
    if may_touch(app, visit, scope).await {
        Ok(())
    } else {
        Err(Problem::not_found("rollout", scope.parts().1).into())
    }
}
