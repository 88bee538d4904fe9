//! Reports: who gets what and when, what the next mail looks like, every run with its owner and files, and the way over
//! from an old scheduler.

mod edit;
mod form;
mod leave;
mod one;
mod rollout;
mod run;
mod transfer;

use std::collections::HashMap;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::{Timestamp, tz::TimeZone};
use punctual_model::{Audience, local_time::Adjustment};
use punctual_store::{
    StoreError,
    operations::people,
    report_subscriptions::{self, SubscriptionRow},
    rollouts,
};
use punctual_wire::Problem;
use punctual_workflows::{
    reports::{KIND, Subscription},
    rollout::Stage,
};

use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    words::{self, Pill},
};

/// Subscriptions on one page.
const SHOWN: i64 = 50;
/// Runs ahead that are shown of each.
const AHEAD: usize = 5;
/// People that are offered as owners; others can be written.
const OFFERED: i64 = 200;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/reports", get(show))
        .merge(edit::routes())
        .merge(rollout::routes())
        .merge(run::routes())
        .merge(one::routes())
}

#[derive(Template)]
#[template(path = "reports.html")]
struct ReportsPage {
    frame: Frame,
    sentence: String,
    done: Option<&'static str>,
    may_author: bool,
    rows: Vec<Row>,
    orphans: Vec<Orphan>,
    rollouts: usize,
    next: Option<String>,
}

struct Row {
    guid: String,
    name: String,
    recipients: String,
    is_active: bool,
    pill: Pill,
    stage: Option<Pill>,
    zone: String,
    ahead: Vec<Ahead>,
    unit: Option<String>,
    faults: Vec<String>,
}

/// A run that lies ahead, as the clock on the wall will show it there.
pub(super) struct Ahead {
    pub iso: String,
    pub local: String,
    pub title: String,
    /// What the change of the clock does to it.
    pub note: &'static str,
    pub period: String,
}

struct Orphan {
    guid: String,
    name: String,
    why: String,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let now = Visit::now(&app);
    let mut reader = app.engine.store.read_for_people().await?;
    let mut found = report_subscriptions::page(
        &mut reader.conn(),
        &visit.viewer.by.reach(),
        fields.text("after"),
        SHOWN + 1,
    )
    .await?;
    let orphans =
        report_subscriptions::orphans(&mut reader.conn(), &visit.viewer.by.reach(), "", SHOWN).await?;
    let staged = rollouts::page(&mut reader.conn(), &visit.viewer.by.reach(), KIND, ("", ""), 1_000).await?;
    drop(reader);
    let cut = usize::try_from(SHOWN).unwrap_or(usize::MAX);
    let more = found.len() > cut;
    found.truncate(cut);
    let next = found.last().filter(|_| more).map(|last| format!("/reports?after={}", last.guid));
    let stages: HashMap<(&str, &str), i64> =
        staged.iter().map(|row| ((row.scope.as_str(), row.scope_id.as_str()), row.stage)).collect();
    let stage_of = |row: &SubscriptionRow| {
        let own = stages.get(&("subject", row.guid.as_str()));
        let unit = row.business_unit.as_deref().and_then(|unit| stages.get(&("business_unit", unit)));
        own.or(unit).and_then(|number| Stage::parse(*number))
    };
    let mut rows: Vec<Row> = found.iter().map(|row| shaped(row, stage_of(row), now)).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let orphans = orphans.into_iter();
    let done = match fields.text("done") {
        "deleted" => Some("The report is removed; its runs stay on record."),
        _ => None,
    };
    page(&ReportsPage {
        frame: visit.frame(&app, "Reports", "/reports").await?,
        sentence: sentence(&rows, more),
        done,
        may_author: visit.viewer.may_author(),
        rows,
        orphans: orphans.map(orphan).collect(),
        rollouts: staged.len(),
        next,
    })
}

fn sentence(rows: &[Row], more: bool) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let active = rows.iter().filter(|row| row.is_active).count();
    let all = words::counted(count(rows.len()), "report", "reports");
    let mut text = if more { format!("The first {all}") } else { all };
    text.push_str(&format!(", {} active", words::grouped(count(active))));
    let next = rows
        .iter()
        .flat_map(|row| row.ahead.first().map(|ahead| (ahead, row)))
        .min_by(|a, b| a.0.iso.cmp(&b.0.iso));
    if let Some((ahead, row)) = next {
        text.push_str(&format!("; the next is {}, {} {}", row.name, ahead.local, city(&row.zone)));
    }
    text.push('.');
    text
}

fn shaped(row: &SubscriptionRow, stage: Option<Stage>, now: Timestamp) -> Row {
    let read = Subscription::read(row);
    let (ahead, zone, recipients, faults) = match &read {
        Ok(subscription) => (
            if subscription.is_active() { ahead(subscription, now) } else { Vec::new() },
            subscription.cadence.zone_name.clone(),
            to_whom(&subscription.audience),
            Vec::new(),
        ),
        Err(faults) => {
            (Vec::new(), String::new(), String::new(), faults.iter().map(ToString::to_string).collect())
        }
    };
    Row {
        guid: row.guid.clone(),
        name: row.name.clone(),
        recipients,
        is_active: read.is_ok() && !row.deleted && !row.paused,
        pill: state(row, read.is_ok()),
        stage: stage.map(stage_pill),
        zone,
        ahead,
        unit: row.business_unit.clone(),
        faults,
    }
}

fn state(row: &SubscriptionRow, is_read: bool) -> Pill {
    match (row.deleted, row.paused, is_read) {
        (true, _, _) => Pill { word: "deleted", class: "muted" },
        (false, _, false) => Pill { word: "cannot run", class: "bad" },
        (false, true, true) => Pill { word: "paused", class: "muted" },
        (false, false, true) => Pill { word: "active", class: "good" },
    }
}

/// How far it has moved over from an old scheduler.
fn stage_pill(stage: Stage) -> Pill {
    match stage {
        Stage::Design => Pill { word: "0 design", class: "muted" },
        Stage::Shadow => Pill { word: "1 shadow", class: "neutral" },
        Stage::RunNow => Pill { word: "2 run now", class: "warn outline" },
        Stage::Scheduled => Pill { word: "3 scheduled", class: "warn outline" },
        Stage::Cutover => Pill { word: "4 cutover", class: "good outline" },
    }
}

/// The next runs, in the subscription's own local time.
fn ahead(subscription: &Subscription, now: Timestamp) -> Vec<Ahead> {
    let zone = &subscription.cadence.zone;
    let planned = subscription.cadence.after(now).filter_map(|one| subscription.planned(one).ok());
    planned
        .take(AHEAD)
        .map(|planned| {
            let at = planned.occurrence.at;
            let local = at.to_zoned(zone.clone());
            Ahead {
                iso: at.to_string(),
                local: local.strftime("%a %-d %b %Y, %H:%M %Z").to_string(),
                title: format!(
                    "{} · {} UTC",
                    subscription.cadence.zone_name,
                    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M")
                ),
                note: match planned.occurrence.adjusted {
                    Some(Adjustment::Gap) => "the clock goes forward: the hour is skipped",
                    Some(Adjustment::Overlap) => "the clock goes back: the first of two",
                    None => "",
                },
                period: subscription.label(planned.period),
            }
        })
        .collect()
}

fn to_whom(audience: &Audience) -> String {
    match audience {
        Audience::List(list) => format!("list {list}"),
        Audience::Targets(targets) => match targets.as_slice() {
            [] => "nobody".to_owned(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        },
    }
}

fn orphan(row: report_subscriptions::Orphan) -> Orphan {
    let mut why = Vec::new();
    if row.owner_gone {
        why.push(format!("its owner {} is gone", row.owner.as_deref().unwrap_or_default()));
    }
    if row.recipients_gone {
        why.push(format!("the list {} is gone or empty", row.list_name.as_deref().unwrap_or_default()));
    }
    Orphan { guid: row.guid, name: row.name, why: why.join(", ") }
}

/// Who can answer for a subscription: id and name of those that the viewer may see.
async fn people(app: &App, visit: &Visit) -> Result<Vec<(String, String)>, StoreError> {
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = people::page(&mut reader.conn(), &visit.viewer.by.reach(), "", OFFERED).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

/// The city of a zone, as people say it.
fn city(zone: &str) -> String {
    zone.rsplit('/').next().unwrap_or(zone).replace('_', " ")
}

/// The subscription of a page, if the viewer may have it; one that is deleted still has its runs.
async fn found(app: &App, visit: &Visit, guid: &str) -> Result<SubscriptionRow, Refusal> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = report_subscriptions::by_guids(
        &mut reader.conn(),
        &visit.viewer.by.reach(),
        vec![guid.to_lowercase()],
    )
    .await?
    .pop();
    row.ok_or_else(|| Problem::not_found("report subscription", guid).into())
}
