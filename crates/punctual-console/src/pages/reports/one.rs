//! One subscription: what lies ahead, what was made, and what can be done with it.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_store::{report_subscriptions::SubscriptionRow, rollouts};
use punctual_wire::{Code, Problem, keys::Scope};
use punctual_workflows::{
    reports::{
        KIND, Subscription,
        commands::{self, Change, NotRun},
        runs::{self, RunView},
    },
    rollout::{Owner, Stage},
};

use super::{Ahead, ahead, found, people, stage_pill, state, to_whom, transfer};
use crate::{
    Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    links,
    times::When,
    words::{self, Pill},
};

/// Runs on one page.
const RUNS: i64 = 25;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/reports/{guid}", get(show))
        .route("/reports/{guid}/act", post(act))
        .merge(transfer::routes())
}

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage {
    frame: Frame,
    guid: String,
    name: String,
    sentence: String,
    done: Option<String>,
    pill: Pill,
    stage: Option<Pill>,
    faults: Vec<String>,
    details: Vec<(&'static str, String)>,
    /// Whom it can be transferred to: id and name.
    people: Vec<(String, String)>,
    ahead: Vec<Ahead>,
    zone: String,
    runs: Vec<RunLine>,
    next: Option<String>,
    is_paused: bool,
    is_deleted: bool,
    may_author: bool,
    may_act: bool,
}

struct RunLine {
    link: String,
    what: &'static str,
    period: String,
    due: When,
    pill: Pill,
    reason: String,
    owner: String,
    files: usize,
}

async fn show(State(app): State<Shared>, visit: Visit, Path(guid): Path<String>, uri: Uri) -> Page {
    let row = found(&app, &visit, &guid).await?;
    let fields = Fields::of_query(&uri);
    let now = Visit::now(&app);
    let mut reader = app.engine.store.read_for_people().await?;
    let before = fields.text("before").parse().ok();
    let made = runs::of(&mut reader.conn(), &visit.viewer.by.reach(), &row.guid, None, before, RUNS).await?;
    let next = made.next.map(|next| format!("/reports/{}?before={next}", row.guid));
    let views = runs::view(&mut reader.conn(), &visit.viewer.by.reach(), made.rows).await?;
    let rollout = rollouts::over(&mut reader.conn(), KIND, &row.guid, row.business_unit.as_deref()).await?;
    drop(reader);
    let read = Subscription::read(&row);
    let subscription = read.as_ref().ok();
    let lines: Vec<RunLine> =
        views.iter().map(|view| line(view, &row.guid, subscription, &visit, now)).collect();
    let done = match fields.text("done") {
        "saved" => Some("Saved, and the next run is planned.".to_owned()),
        "paused" => Some("Paused. Its planned runs are withdrawn.".to_owned()),
        "resumed" => Some("Resumed. The next run is planned.".to_owned()),
        "transferred" => Some("Transferred.".to_owned()),
        "asked" => Some("The run has started; it appears below.".to_owned()),
        _ => None,
    };
    let may_touch = visit.viewer.by.may_touch(row.business_unit.as_deref()) && !row.deleted;
    let may_author = visit.viewer.may_author() && may_touch;
    page(&ReportPage {
        frame: visit.frame(&app, &row.name, "/reports").await?,
        sentence: sentence(&row, subscription, &lines, now),
        done,
        pill: state(&row, read.is_ok()),
        stage: Stage::of(rollout.as_ref()).map(stage_pill),
        faults: read
            .as_ref()
            .err()
            .map(|faults| faults.iter().map(ToString::to_string).collect())
            .unwrap_or_default(),
        details: subscription.map(details).unwrap_or_default(),
        people: if may_author { people(&app, &visit).await? } else { Vec::new() },
        ahead: subscription.filter(|read| read.is_active()).map(|read| ahead(read, now)).unwrap_or_default(),
        zone: subscription.map(|read| read.cadence.zone_name.clone()).unwrap_or_default(),
        runs: lines,
        next,
        is_paused: row.paused,
        is_deleted: row.deleted,
        may_author,
        may_act: visit.viewer.may_act() && may_touch,
        guid: row.guid,
        name: row.name,
    })
}

fn sentence(row: &SubscriptionRow, read: Option<&Subscription>, lines: &[RunLine], now: Timestamp) -> String {
    let to = read
        .map(|read| format!("To {}", to_whom(&read.audience)))
        .unwrap_or_else(|| "Its definition cannot be read".to_owned());
    let ahead = read.filter(|read| read.is_active()).and_then(|read| ahead(read, now).into_iter().next());
    let next = match ahead {
        Some(ahead) => format!(", next on {}", ahead.local),
        None if row.paused => ", paused".to_owned(),
        None => String::new(),
    };
    let last = lines
        .iter()
        .find(|line| line.pill.word != "waiting")
        .map(|line| format!("; the last run is {}", line.pill.word))
        .unwrap_or_default();
    format!("{to}{next}{last}.")
}

fn details(read: &Subscription) -> Vec<(&'static str, String)> {
    let mut details = vec![("Recipients", to_whom(&read.audience))];
    if let Some(channel) = &read.channel {
        details.push(("Channel", channel.to_string()));
    }
    details.push(("Language", read.locale.clone()));
    details.push(("Zone", read.cadence.zone_name.clone()));
    let catch_up = match read.catch_up {
        punctual_workflows::reports::CatchUp::Skip => "missed runs are left out",
        punctual_workflows::reports::CatchUp::Last => "the last missed run is made up for",
        punctual_workflows::reports::CatchUp::All => "missed runs are made up for, one after the other",
    };
    details.push(("Missed runs", catch_up.to_owned()));
    if let Some(owner) = &read.owner {
        details.push(("Owner", owner.clone()));
    }
    if let Some(unit) = &read.business_unit {
        details.push(("Business unit", unit.clone()));
    }
    details
}

fn line(view: &RunView, guid: &str, read: Option<&Subscription>, visit: &Visit, now: Timestamp) -> RunLine {
    let due = view.work.due_at;
    let period = read.and_then(|read| Some(read.label(read.period_of(&view.work.key, due)?)));
    let reason = view.work.reason_code.as_deref();
    RunLine {
        link: format!("/reports/{guid}/runs/{}", links::encoded(&view.work.key)),
        what: if view.work.trigger_type == "manual_run" { "asked for" } else { "planned" },
        period: period.unwrap_or_default(),
        due: visit.zone.when(due, now),
        pill: words::work(view.work.status, view.work.on_hold),
        reason: words::reason(reason),
        owner: view.ownership.as_ref().map(|owned| owner_name(&owned.owner).to_owned()).unwrap_or_default(),
        files: view.artefacts().len(),
    }
}

/// Who owns a run, in words.
pub(super) fn owner_name(owner: &str) -> &'static str {
    match Owner::parse(owner) {
        Some(Owner::OldScheduler) => "the old scheduler",
        Some(Owner::AutomationScheduler) => "Punctual",
        None => "nobody",
    }
}

async fn act(State(app): State<Shared>, Path(guid): Path<String>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    let row = found(&app, &visit, &guid).await?;
    let action = fields.text("action").to_owned();
    let allowed = if action == "run" { visit.viewer.may_act() } else { visit.viewer.may_author() };
    if !allowed {
        let scope = if action == "run" { Scope::Operate } else { Scope::Author };
        return Err(Problem::scope_missing(scope.as_str()).into());
    }
    if !visit.viewer.by.may_touch(row.business_unit.as_deref()) || row.deleted {
        return Err(Problem::not_found("report subscription", &guid).into());
    }
    let (change, done) = match action.as_str() {
        "run" => {
            let id = app.engine.random.ordered_uuid(app.engine.clock.now()).to_string();
            commands::run_now(&app.engine, &visit.viewer.by, &row.guid, &id).await.map_err(not_run)?;
            return see_other(&format!("/reports/{}?done=asked", row.guid));
        }
        "pause" => (Change::Pause, "paused"),
        "resume" => (Change::Resume, "resumed"),
        "delete" => (Change::Delete, "deleted"),
        _ => return Err(Problem::new(Code::OutOfRange, "There is no such action.").into()),
    };
    commands::change(&app.engine, &visit.viewer.by, &row.guid, &change, None).await?;
    match change {
        Change::Delete => see_other("/reports?done=deleted"),
        _ => see_other(&format!("/reports/{}?done={done}", row.guid)),
    }
}

/// Why no run was asked for, in the words of the API.
fn not_run(refused: NotRun) -> Refusal {
    match refused {
        NotRun::OldSchedulers(stage) => {
            let detail = format!(
                "At stage {} this run is the old scheduler's; move the report on first.",
                stage.number()
            );
            Problem::new(Code::StateNotAllowed, detail).into()
        }
        NotRun::Refused(error) => error.into(),
    }
}
