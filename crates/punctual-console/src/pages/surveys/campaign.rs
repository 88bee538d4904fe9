//! Sending a survey by hand: to a list, to several addresses or to one. What would happen is shown first.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, State},
    routing::get,
};
use punctual_store::{lists, surveys::SurveyRow};
use punctual_wire::{Problem, keys::Scope};
use punctual_workflows::surveys::{
    campaign::{self, CampaignFault, Fate, Line},
    ingest::{self, Asked, Item, Why},
};

use super::found_with_rows;
use crate::{
    App, Shared,
    answer::{self, Page, Refusal, see_other},
    form::{Act, Fields},
    frame::{Frame, Visit},
    words,
};

/// A form with ten thousand lines of CSV, every byte of it escaped.
const BODY_LIMIT: usize = 8 << 20;
/// Lines of a plan that are shown: those that are left out first.
const SHOWN: usize = 200;
/// Lists that the field offers; any other can be typed.
const OFFERED: i64 = 200;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/surveys/{id}/send", get(show).post(act)).layer(DefaultBodyLimit::max(BODY_LIMIT))
}

#[derive(Template)]
#[template(path = "survey_campaign.html")]
struct CampaignPage {
    frame: Frame,
    survey: SurveyRow,
    sentence: &'static str,
    /// With the channel of each.
    triggers: Vec<(String, String)>,
    lists: Vec<String>,
    entered: Entered,
    faults: BTreeMap<&'static str, String>,
    plan: Option<Plan>,
}

/// What somebody has in the form.
#[derive(Default)]
struct Entered {
    trigger: String,
    to: String,
    list: String,
    rows: String,
    address: String,
}

impl Entered {
    fn read(fields: &Fields) -> Self {
        let text = |name: &str| fields.text(name).to_owned();
        Self {
            trigger: text("trigger"),
            to: text("to"),
            list: text("list"),
            rows: text("rows").replace("\r\n", "\n"),
            address: text("address"),
        }
    }
}

struct Plan {
    total: String,
    sends: usize,
    counts: Vec<(&'static str, String)>,
    rows: Vec<(usize, String, String)>,
    more: usize,
    /// Set where the plan is another one than the one that was shown before.
    changed: Option<String>,
}

async fn show(State(app): State<Shared>, visit: Visit, Path(id): Path<String>) -> Page {
    if !visit.viewer.may_act() {
        return Err(Problem::scope_missing(Scope::Operate.as_str()).into());
    }
    let survey = found_with_rows(&app, &visit, &id).await?;
    let entered = Entered { to: "list".to_owned(), ..Entered::default() };
    shown(&app, &visit, survey, entered, BTreeMap::new(), None).await
}

async fn act(State(app): State<Shared>, Path(id): Path<String>, form: Act) -> Page {
    let Act { visit, fields } = form;
    let survey = found_with_rows(&app, &visit, &id).await?;
    let entered = Entered::read(&fields);
    let lines = match lines(&app, &survey, &entered).await? {
        Ok(lines) => lines,
        Err((field, detail)) => {
            let faults = BTreeMap::from([(field, detail)]);
            return shown(&app, &visit, survey, entered, faults, None).await;
        }
    };
    let units = visit.viewer.by.units.as_deref();
    let asked = Asked::Campaign { survey_id: survey.id, trigger_id: &entered.trigger, by: &visit.viewer.by };
    let fates = campaign::plan(&app.engine, &app.surveys, &asked, units, &lines).await?;
    let mut plan = planned(&lines, &fates);
    let confirmed: Option<usize> = fields.text("planned").parse().ok();
    if fields.text("then") != "send" || confirmed != Some(plan.sends) {
        plan.changed = confirmed.map(|before| {
            format!("The plan has changed since it was shown: it was {before}. Nothing was sent.")
        });
        return shown(&app, &visit, survey, entered, BTreeMap::new(), Some(plan)).await;
    }
    let taken = lines.into_iter().zip(&fates).filter(|(_, fate)| **fate == Fate::Send);
    let items: Vec<Item> = taken.filter_map(|(line, _)| line.item.ok()).collect();
    let outcomes = ingest::ingest(&app.engine, &app.surveys, &asked, None, units, &items).await?;
    let made = |outcome: &ingest::Outcome| match outcome {
        ingest::Outcome::Matched(made) => made.iter().filter(|made| made.created).count(),
        ingest::Outcome::NoMatch(_) => 0,
    };
    let sent: usize = outcomes.iter().map(made).sum();
    see_other(&format!("/surveys/{}/instances?sent={sent}", survey.id))
}

/// Whom the form names, or the field at fault and why.
async fn lines(
    app: &App,
    survey: &SurveyRow,
    entered: &Entered,
) -> Result<Result<Vec<Line>, (&'static str, String)>, Refusal> {
    let at = |field: &'static str| move |fault: CampaignFault| (field, words::said("", &fault.to_string()));
    Ok(match entered.to.as_str() {
        "list" if entered.list.is_empty() => Err(("list", "Choose a list.".to_owned())),
        "list" => campaign::of_list(&app.engine, &app.surveys, survey, &entered.trigger, &entered.list)
            .await?
            .map_err(at("list")),
        "rows" => campaign::read(&entered.rows).map_err(at("rows")),
        "address" => campaign::read(&entered.address).map_err(at("address")).and_then(|lines| {
            match lines.first().map(|line| &line.item) {
                Some(Err(why)) => Err(("address", words::said("", why))),
                _ => Ok(lines),
            }
        }),
        _ => Err(("to", "Choose the recipients.".to_owned())),
    })
}

/// Whether a line fares like this.
type IsFate = fn(&Fate) -> bool;

fn planned(lines: &[Line], fates: &[Fate]) -> Plan {
    let grouped = |count: usize| words::grouped(i64::try_from(count).unwrap_or(i64::MAX));
    let kinds: [(&'static str, IsFate); 5] = [
        ("Sent", |fate| *fate == Fate::Send),
        ("Asked before", |fate| *fate == Fate::AskedBefore),
        ("Named twice", |fate| matches!(fate, Fate::SameAs(_))),
        ("Not taken by the trigger", |fate| matches!(fate, Fate::NotTaken(_))),
        ("Not valid", |fate| matches!(fate, Fate::Invalid(_))),
    ];
    let count = |is: IsFate| fates.iter().filter(|fate| is(fate)).count();
    let sends = count(kinds[0].1);
    let mut rows: Vec<(bool, usize, String, String)> = lines
        .iter()
        .zip(fates)
        .map(|(line, fate)| (*fate == Fate::Send, line.number, line.address.clone(), in_words(fate)))
        .collect();
    rows.sort_by_key(|(is_sent, number, _, _)| (*is_sent, *number));
    Plan {
        total: words::counted(i64::try_from(lines.len()).unwrap_or(i64::MAX), "line", "lines"),
        sends,
        counts: kinds
            .into_iter()
            .map(|(name, is)| (name, count(is)))
            .filter(|(name, count)| *count > 0 || *name == "Sent")
            .map(|(name, count)| (name, grouped(count)))
            .collect(),
        more: rows.len().saturating_sub(SHOWN),
        rows: rows.into_iter().take(SHOWN).map(|(_, number, who, what)| (number, who, what)).collect(),
        changed: None,
    }
}

fn in_words(fate: &Fate) -> String {
    match fate {
        Fate::Send => "Gets the survey".to_owned(),
        Fate::AskedBefore => "Skipped: asked before, by the duplicate rules".to_owned(),
        Fate::SameAs(line) => format!("Skipped: the same as line {line}, by the duplicate rules"),
        Fate::NotTaken(Why::FilterFalse) => "Skipped: the trigger's filter leaves it out".to_owned(),
        Fate::NotTaken(Why::Disabled) => "Skipped: the trigger is switched off".to_owned(),
        Fate::NotTaken(Why::NoTrigger) => "Skipped: there is no such trigger".to_owned(),
        Fate::Invalid(why) => format!("Skipped: {why}"),
    }
}

async fn shown(
    app: &Shared,
    visit: &Visit,
    survey: SurveyRow,
    entered: Entered,
    faults: BTreeMap<&'static str, String>,
    plan: Option<Plan>,
) -> Page {
    let mut reader = app.engine.store.read_for_people().await?;
    let published = app.surveys.current(&mut reader.conn()).await?;
    let triggers = published.triggers(survey.id);
    let known = lists::page(&mut reader.conn(), &visit.viewer.by.reach(), "", OFFERED).await?;
    drop(reader);
    let title = format!("Send {}", survey.name);
    let is_refused = !faults.is_empty();
    answer::form(
        &CampaignPage {
            frame: visit.frame(app, &title, "/surveys").await?,
            survey,
            sentence: "The plan is shown before anything is sent.",
            triggers,
            lists: known.into_iter().map(|row| row.name).collect(),
            entered,
            faults,
            plan,
        },
        is_refused,
    )
}
