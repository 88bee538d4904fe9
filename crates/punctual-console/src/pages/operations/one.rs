//! One event or task: when its people are notified, what was sent, and what can be done about either.

use std::collections::HashMap;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_model::{SyncStatus, WorkId};
use punctual_store::{
    notifications,
    operations::{people, rules, rules::RuleRow},
    work::{self, WorkFilter, WorkRow},
};
use punctual_wire::{
    Problem,
    keys::Scope,
    operations::{rules::RuleRequest, texts::RuleTexts},
};
use punctual_workflows::{
    inline,
    operations::{
        Anchor, DEFAULT_CHANNELS, commands, people_of, spec_of, texts,
        words::when_label,
        written::{rule_spec, texts_fit},
    },
};
use serde_json::json;

use super::{organisations::own_words, visible, when};
use crate::{
    Shared,
    answer::{Page, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    links,
    times::When,
    words::{self, Pill},
};

/// Occurrences on the page.
const OCCURRENCES: i64 = 50;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/operations/{kind}/{id}", get(show))
        .route("/operations/repair", post(repair))
        .route("/operations/rule", post(change_rule))
}

#[derive(Template)]
#[template(path = "operations_one.html")]
struct OnePage {
    frame: Frame,
    here: String,
    title: String,
    subject_type: &'static str,
    id: String,
    sentence: String,
    done: Option<&'static str>,
    details: Vec<(&'static str, String)>,
    people: Vec<Person>,
    /// Those who get nothing, and where each is made known.
    unknown: Vec<(String, String)>,
    rules: Vec<Rule>,
    occurrences: Vec<Occurrence>,
    has_start: bool,
    has_end: bool,
    suggested: [(&'static str, &'static str); 6],
    variables: String,
    /// Every channel that one of its people has chosen.
    channels: Vec<String>,
    may_author: bool,
    may_repair: bool,
}

struct Person {
    id: String,
    name: String,
    where_to: String,
    is_known: bool,
}

struct Rule {
    id: String,
    says: String,
    /// Its own words, where it has some.
    subject: String,
    channels: String,
    pill: Pill,
    error: Option<String>,
    next: Option<When>,
    sent: Option<When>,
    active: bool,
    failed: bool,
}

struct Occurrence {
    id: i64,
    title: String,
    pill: Pill,
    reason: String,
    due: When,
    messages: Vec<Message>,
}

struct Message {
    id: String,
    to: String,
    pill: Pill,
}

async fn show(
    State(app): State<Shared>,
    visit: Visit,
    Path((kind, id)): Path<(String, String)>,
    uri: Uri,
) -> Page {
    let subject_type = match kind.as_str() {
        "events" => "event",
        "tasks" => "task",
        _ => return Err(Problem::route_not_found().into()),
    };
    let row = visible(&app, &visit, subject_type, &id).await?;
    let now = Visit::now(&app);
    let mut reader = app.engine.store.read_for_people().await?;
    let own = rules::of_subjects(&mut reader.conn(), &visit.viewer.by.reach(), vec![id.clone()]).await?;
    let filter = WorkFilter {
        source_type: Some(subject_type.to_owned()),
        source_id: Some(id.clone()),
        limit: OCCURRENCES,
        ..WorkFilter::default()
    };
    let works = work::page(&mut reader.conn(), &visit.viewer.by.reach(), &filter).await?.rows;
    let sent = works.iter().flat_map(WorkRow::queued).collect();
    let sent = notifications::by_ids(&mut reader.conn(), &visit.viewer.by.reach(), sent).await?;
    let ids = people_of(&row);
    let known = people::named(&mut reader.conn(), ids.clone()).await?;
    drop(reader);
    let known = |id: &String| known.get(row.business_unit.as_deref(), id);
    let unknown: Vec<(String, String)> = ids
        .iter()
        .filter(|id| known(id).is_none())
        .map(|id| (id.clone(), format!("/operations/people/new{}", links::query([("id", id.as_str())]))))
        .collect();
    let reaches_nobody = unknown.len() == ids.len();
    let people = ids
        .iter()
        .map(|id| match known(id) {
            Some(person) => Person {
                id: links::encoded(id),
                name: person.name.clone(),
                where_to: person.email.clone().unwrap_or_else(|| texts(&person.channels).join(", ")),
                is_known: true,
            },
            None => {
                let where_to = "unknown: gets nothing".into();
                Person { id: String::new(), name: id.clone(), where_to, is_known: false }
            }
        })
        .collect();
    let mut channels: Vec<String> = Vec::new();
    for word in ids.iter().filter_map(known).flat_map(|row| texts(&row.channels)) {
        if !channels.contains(&word) {
            channels.push(word);
        }
    }
    if channels.is_empty() {
        channels.extend(DEFAULT_CHANNELS.iter().map(|&word| word.to_owned()));
    }
    let moment = |at: Option<Timestamp>| at.map(|at| visit.zone.when(at, now));
    let in_words: HashMap<&str, String> = own.iter().map(|rule| (rule.id.as_str(), says(rule))).collect();
    let occurrences = works
        .iter()
        .map(|work| Occurrence {
            id: work.id,
            title: work
                .setting_id
                .as_deref()
                .and_then(|rule| in_words.get(rule).cloned())
                .unwrap_or_else(|| "A removed message".to_owned()),
            pill: words::work(work.status, work.on_hold),
            reason: words::reason(work.reason_code.as_deref()),
            due: visit.zone.when(work.due_at, now),
            messages: sent
                .iter()
                .filter(|one| one.work_id == Some(WorkId(work.id)))
                .map(|one| Message {
                    id: one.id.to_string(),
                    to: one
                        .targets
                        .as_ref()
                        .and_then(|targets| targets.read().ok())
                        .unwrap_or_default()
                        .join(", "),
                    pill: words::notification(one.status),
                })
                .collect(),
        })
        .collect();
    let zone_name = row.time_zone.as_deref().unwrap_or("UTC");
    let mut details = Vec::new();
    for (name, anchor) in [("Starts", Anchor::Start), ("Ends", Anchor::End)] {
        if let Some(at) = row.date(anchor) {
            let text = match row.is_all_day {
                true => format!("{}, all day", when_label(&row, anchor, zone_name)),
                false => {
                    let exact = visit.zone.exact(at);
                    format!("{} {}", exact.text, visit.zone.name)
                }
            };
            details.push((name, text));
        }
    }
    if let Some(organisation) = &row.organisation {
        details.push(("Organisation", organisation.clone()));
    }
    if let Some(zone) = &row.time_zone {
        details.push(("Zone", zone.clone()));
    }
    if let Some(unit) = &row.business_unit {
        details.push(("Business unit", unit.clone()));
    }
    details.push(("Id", format!("{}, version {}", row.id, row.version)));
    let may_touch = visit.viewer.by.may_touch(row.business_unit.as_deref());
    page(&OnePage {
        frame: visit.frame(&app, &row.title, "/operations").await?,
        here: format!("/operations/{kind}/{id}"),
        sentence: match reaches_nobody {
            true => "Nobody is notified: none of its people is known.".to_owned(),
            false => sentence(&own, now, &visit),
        },
        done: done(&Fields::of_query(&uri), reaches_nobody),
        details,
        people,
        unknown,
        rules: own
            .iter()
            .map(|rule| Rule {
                id: rule.id.clone(),
                says: says(rule),
                subject: RuleTexts::stored(rule.texts.as_deref()).subject.unwrap_or_default(),
                channels: texts(&rule.channels).join(", "),
                pill: rule_pill(rule),
                error: rule.sync_error.clone(),
                next: moment(
                    rule.run_at
                        .filter(|at| *at > now && rule.active && rule.sync_status == SyncStatus::Synced),
                ),
                sent: moment(rule.last_sent_at),
                active: rule.active,
                failed: rule.sync_status == SyncStatus::Failed,
            })
            .collect(),
        occurrences,
        has_start: row.start_at.is_some(),
        has_end: row.end_at.is_some(),
        suggested: when::SUGGESTED,
        variables: inline::OPERATION.hint(),
        channels,
        may_author: visit.viewer.may_author() && may_touch,
        may_repair: visit.viewer.may_act() && may_touch,
        subject_type,
        title: row.title,
        id,
    })
}

fn sentence(own: &[RuleRow], now: Timestamp, visit: &Visit) -> String {
    let live = || own.iter().filter(|rule| rule.active);
    if own.iter().any(|rule| rule.sync_status == SyncStatus::Failed) {
        return "Saved, but some messages could not be scheduled. That is retried every minute.".to_owned();
    }
    let next = live().filter_map(|rule| rule.run_at).filter(|at| *at > now).min();
    let sent = own.iter().filter_map(|rule| rule.last_sent_at).max();
    let at = |at: Timestamp| visit.zone.when(at, now).text;
    match (next, sent) {
        (Some(next), _) => format!("Its people are notified {}.", at(next)),
        (None, Some(sent)) => format!("Its people were last notified {}.", at(sent)),
        (None, None) => "Nobody is notified.".to_owned(),
    }
}

fn rule_pill(rule: &RuleRow) -> Pill {
    match rule.sync_status {
        SyncStatus::Failed => Pill { word: "out of step", class: "bad" },
        _ if !rule.active => Pill { word: "paused", class: "muted" },
        SyncStatus::Pending => Pill { word: "being scheduled", class: "warn" },
        _ if rule.last_sent_occurrence.is_some() && rule.last_sent_occurrence == rule.occurrence => {
            Pill { word: "sent", class: "good" }
        }
        _ => Pill { word: "scheduled", class: "neutral" },
    }
}

/// What a rule says, in words.
fn says(rule: &RuleRow) -> String {
    spec_of(rule).map_or_else(|| "A rule that cannot be read".to_owned(), |spec| when::in_words(&spec))
}

fn done(fields: &Fields, reaches_nobody: bool) -> Option<&'static str> {
    Some(match fields.text("done") {
        "created" | "saved" if reaches_nobody => "Saved.",
        "created" => "Saved. Its people will be notified.",
        "saved" => "Saved. Its scheduled messages were moved.",
        "repaired" => "The rule is in step again.",
        "still" => "The rule could not be scheduled again; see its error.",
        "added" => "The message was added.",
        "paused" => "The message is paused.",
        "resumed" => "The message is resumed.",
        "removed" => "The message was removed.",
        _ => return None,
    })
}

async fn repair(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    if !visit.viewer.may_act() {
        return Err(Problem::scope_missing(Scope::Operate.as_str()).into());
    }
    let id = fields.text("rule");
    let row = commands::repair_rule(&app.engine, &visit.viewer.by, id).await?;
    let word = if row.sync_status == SyncStatus::Synced { "repaired" } else { "still" };
    see_other(&format!("/operations/{}s/{}?done={word}", row.subject_type, row.subject_id))
}

/// Adds, pauses, resumes or removes a message of an event or task.
async fn change_rule(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    if !visit.viewer.may_author() {
        return Err(Problem::scope_missing(Scope::Author.as_str()).into());
    }
    let subject_type = if fields.text("type") == "task" { "task" } else { "event" };
    let subject = visible(&app, &visit, subject_type, fields.text("id")).await?;
    let by = &visit.viewer.by;
    let rule = fields.text("rule");
    let word = match fields.text("action") {
        "pause" | "resume" => {
            let active = fields.text("action") == "resume";
            let change = commands::RuleChange { active: Some(active), ..Default::default() };
            commands::change_rule(&app.engine, by, rule, change).await?;
            if active { "resumed" } else { "paused" }
        }
        "remove" => {
            commands::delete_rule(&app.engine, by, rule).await?;
            "removed"
        }
        _ => {
            let mut channels: Vec<&str> = fields.all("channels").collect();
            if channels.is_empty() {
                channels.extend(DEFAULT_CHANNELS);
            }
            let mut request = json!({
                "subjectType": subject_type, "subjectId": subject.id, "channels": channels,
                "rule": when::rule(fields.text("when"), when::anchor(fields.text("anchor")).as_str()),
            });
            let message = own_words(&fields, 0);
            if !message.is_empty() {
                request["message"] = json!(message);
            }
            let request = RuleRequest::read(&request, "").map_err(Problem::from)?;
            texts_fit(&request.message, "/message").map_err(Problem::from)?;
            let wanted = commands::DefaultRule {
                rule: rule_spec(&request.rule, "/rule").map_err(Problem::from)?,
                channels: request.channels,
                handling: request.handling.into(),
                message: request.message,
            };
            let id = app.engine.random.ordered_uuid(app.engine.clock.now()).to_string();
            let added = commands::add_rule(&app.engine, by, &subject.id, id, &wanted, |_| true);
            match added.await? {
                commands::Changed::Done(_) => "added",
                commands::Changed::NotFound => {
                    return Err(Problem::not_found(subject_type, &subject.id).into());
                }
                commands::Changed::Refused(refused) => {
                    let detail = match refused {
                        commands::RuleRefused::NoDate => "This date is not set; set it first.",
                        commands::RuleRefused::AlreadyThere(_) => "There is such a message already.",
                        commands::RuleRefused::TooMany => "It already has the most messages allowed.",
                    };
                    return Err(Problem::new(punctual_wire::Code::StateNotAllowed, detail).into());
                }
            }
        }
    };
    see_other(&format!("/operations/{subject_type}s/{}?done={word}", subject.id))
}
